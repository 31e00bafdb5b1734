// SupervisorHost.
#include <algorithm>

#include "supervisor/core/graph_shape.hpp"
#include "supervisor/core/policy_pass.hpp"
#include "tests/simulation/world/policies.hpp"
#include "tests/simulation/world/worker_host.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using namespace supervisor;
using namespace supervisor::supervisor_action;
using std::chrono::microseconds;
using std::chrono::milliseconds;

SupervisorHost::SupervisorHost(World& world, const SupervisorConfig& config, Rng rng)
    : world_(world),
      config_(config),
      rng_(rng),
      watchdog_(config.watchdog_after),
      answers_(mix_bits(world.options().seed) ^ 0xa45e) {
  dies_behind_answers_ = world_.options().faults.supervisor_restarts && answers_.chance(1, 6);
  if (journals()) disk_delay_max_ = world_.rng().chance(1, 4) ? milliseconds{300} : milliseconds{5};
  core_ = std::make_unique<SupervisorCore>(config_, journals() ? rng_.fork() : rng_,
                                           journals() ? Durability::Journal : Durability::None);
}
SupervisorHost::~SupervisorHost() = default;

bool SupervisorHost::journals() const {
  return world_.options().faults.supervisor_restarts || world_.options().faults.disk_failures;
}

void SupervisorHost::crash() {
  world_.note("supervisor: crashes");
  up_ = false;
  stopped_until_ = Instant{};
  ++life_;
  // Of what was on its way to the disk, some may have arrived, though nobody has heard of it.
  const std::uint64_t arrived =
      waiting_.empty() || world_.now() < disk_full_until_ ? 0 : world_.rng().below(waiting_.size() + 1);
  write_first(arrived);
  waiting_.clear();
  said_.clear();
  adopted_before_ += core_->counters().adopted;
  passes_before_ += core_->policy().passes;
  preemptions_before_ += core_->policy().preemptions;
  for (const auto& host : world_.workers()) {
    if (host->link().endpoint() == nullptr || world_.rng().chance(1, 4)) continue;  // A part only notices the silence.
    world_.queue().after(world_.latency(),
                         [raw = host.get(), connection = host->link().endpoint()->connection(), life = host->life()] {
                           if (raw->up() && raw->life() == life)
                             raw->deliver([raw, connection] { raw->link().connection_broke(connection); });
                         });
  }
  peers_.clear();
  by_life_.clear();
  for (const auto& [id, client] : clients_)
    world_.queue().after(world_.latency(), [host = client.host, connection = client.host->connection()] {
      host->connection_broke(connection);
    });
  clients_.clear();
  tick_at_ = kNever;
}

void SupervisorHost::come_back() {
  if (up_) return;
  up_ = true;
  core_ = std::make_unique<SupervisorCore>(config_, rng_.fork(), Durability::Journal);
  barriers_.clear();
  idle_.clear();
  watchdog_ = WatchdogWitness{config_.watchdog_after};
  alarms_ = succeeded_ = 0;
  known_.clear();
  RecoveredState state = disk_.state();
  next_worker_ = std::max(next_worker_, state.next_worker.value());
  for (const record::WorkerJoined& worker : state.workers) known_[worker.incarnation.value()] = worker.worker;
  // Workers of which nothing is written begin anew when they hear of this life.
  std::vector<Oracle::Life> unclaimed;
  for (const auto& host : world_.workers()) {
    if (!known_.contains(host->life())) world_.oracle().life_lost(host->life());
    unclaimed.push_back(host->life());
  }
  world_.oracle().supervisor_began(unclaimed);
  reclaiming_ = true;
  handle(
      supervisor_event::StateRecovered{std::move(state), world_.now().time_since_epoch() / milliseconds{1}, ++term_});
}

/// A worker that has not come back in time may find that others have its work.
void SupervisorHost::give_up_absent() {
  for (const auto& host : world_.workers()) {
    const auto known = by_life_.find(host->life());
    const WorkerSlot slot = known == by_life_.end() ? WorkerSlot::none() : core_->workers().find(known->second);
    if (!slot.valid() || core_->workers()[slot].claiming) {
      world_.note("supervisor: life % is not waited for any more", {host->life()});
      world_.oracle().life_lost(host->life());
    }
  }
}

bool SupervisorHost::knows_success(SubtaskId subtask) const {
  const Job* job = core_->find_job(subtask.job);
  return job == nullptr || subtask.index.value() >= job->hot.size() ||
         (job->hot[subtask.index.value()].flags & SubtaskFlag::kVisible) != 0;
}

bool SupervisorHost::counts_on(WorkerId worker, SubtaskId subtask, Attempt attempt) const {
  const Job* job = core_->find_job(subtask.job);
  if (job == nullptr || subtask.index.value() >= job->hot.size()) return false;
  const SubtaskHot& hot = job->hot[subtask.index.value()];
  return hot.phase == SubtaskPhase::Assigned && hot.attempt == attempt.value() &&
         core_->workers()[hot.band].id.worker == worker;
}

/// The supervisor has heard a part of what this life holds, or all of it: what it has not taken over is fenced.
void SupervisorHost::take_claim(WorkerId worker, std::uint64_t life, const WorkerClaim& claim) {
  for (const ClaimedJob& job : claim.jobs)
    for (const ClaimedAttempt& claimed : job.attempts)
      if (const SubtaskId subtask{job.job, claimed.subtask}; !counts_on(worker, subtask, claimed.attempt))
        world_.oracle().claim_refused(life, subtask, claimed.attempt);
  if (!claim.last) return;
  world_.note("supervisor: life % has claimed all", {life});
  world_.oracle().life_returned(life, [&](SubtaskId subtask, Attempt attempt) {
    return counts_on(worker, subtask, attempt);
  });
}

bool SupervisorHost::stopped() const { return world_.now() < stopped_until_; }

void SupervisorHost::stop_for(Duration duration) {
  world_.note("supervisor: stops for % us", {static_cast<std::uint64_t>(duration.count() / 1000)});
  stopped_until_ = std::max(stopped_until_, later(world_.now(), duration));
  watchdog_.progress(stopped_until_);
  idle_.clear();
  gangs_.stood_still();
}

/// Does something at once, or as soon as the process goes on; nothing if it dies before that.
void SupervisorHost::when_running(std::function<void()> what) {
  if (!stopped()) return what();
  world_.queue().at(stopped_until_, [this, life = life_, what = std::move(what)]() mutable {
    if (life == life_ && up_) when_running(std::move(what));
  });
}

void SupervisorHost::fill_disk(Duration duration) { disk_full_until_ = later(world_.now(), duration); }

void SupervisorHost::write(Persist&& order) {
  waiting_.push_back(std::move(order));
  if (waiting_.size() == 1) write_later(microseconds{world_.rng().between(20, disk_delay_max_.count() / 1000)});
}

// A job on the disk is accepted, heard of or not. A job that was withdrawn is gone again.
void SupervisorHost::write_first(std::uint64_t count) {
  std::map<JobId, std::pair<std::string, JobIdentity>> accepted;
  for (; count > 0; --count) {
    for (const Record& record : waiting_.front().records) {
      disk_.write(record);
      if (const auto* job = std::get_if<record::JobAccepted>(&record))
        accepted[job->job] = {job->spec.name, job->identity};
      if (const auto* job = std::get_if<record::JobForgotten>(&record)) accepted.erase(job->job);
      if (const auto* changed = std::get_if<record::SubtaskChanged>(&record))
        world_.oracle().failures_written({changed->job, changed->subtask}, Attempt{changed->attempt}, changed->charged);
    }
    waiting_.pop_front();
  }
  for (const auto& [job, who] : accepted)
    world_.oracle().job_accepted(job, world_.graph_of(who.first), who.second);
}

void SupervisorHost::write_later(Duration delay) {
  world_.queue().after(delay, [this, life = life_] {
    if (life == life_ && up_) when_running([this] { try_to_write(); });
  });
}

void SupervisorHost::try_to_write() {
  if (world_.now() < disk_full_until_) {
    write_later(milliseconds{50});
    return handle(supervisor_event::StorageFailed{Error{ErrorCode::StorageFull, "disk", "is full", {}}});
  }
  // As much as waits, together.
  const std::uint64_t ticket = waiting_.back().ticket;
  write_first(waiting_.size());
  handle(supervisor_event::Persisted{ticket});
}

// As the supervisor's actor does: what workers said comes in groups, and always before what came behind it.
void SupervisorHost::handle(SupervisorEvent&& event) {
  if (!up_) return;
  if (stopped()) {
    auto waiting = std::make_shared<SupervisorEvent>(std::move(event));
    return when_running([this, waiting] { handle(std::move(*waiting)); });
  }
  apply_said();
  handle_one(std::move(event));
}

void SupervisorHost::apply_said() {
  if (said_.empty()) return;
  const std::vector<Said> said = std::exchange(said_, {});
  std::vector<supervisor_event::WorkerSaid> events;
  for (const Said& each : said) events.push_back({each.worker, std::get<FromWorker>(*each.message)});
  handle_one(supervisor_event::WorkersSaid{events});
}

void SupervisorHost::handle_one(SupervisorEvent&& event) {
  constexpr const char* kEvents[] = {"supervisor: a worker joined",
                                     "supervisor: a worker said something",
                                     "supervisor: a worker is suspected or trusted",
                                     "supervisor: a worker was lost",
                                     "supervisor: a graph was checked",
                                     "supervisor: the client said something",
                                     "supervisor: the client is gone",
                                     "supervisor: tick",
                                     "supervisor: the journal has written",
                                     "supervisor: the journal cannot be written",
                                     "supervisor: a new life begins",
                                     "supervisor: workers said something",
                                     "supervisor: a pass of the policy has ended",
                                     "supervisor: the policy was read"};
  static_assert(std::size(kEvents) == std::variant_size_v<SupervisorEvent>);
  world_.note(kEvents[event.index()]);
  Actions<SupervisorAction> actions;
  const auto* ended = std::get_if<supervisor_event::PassEnded>(&event);
  const bool planned = ended != nullptr;
  const bool gone = std::holds_alternative<supervisor_event::ClientGone>(event);
  const bool applied = planned && applies(*ended);
  const bool progress = is_progress(event);
  core_->handle(std::move(event), world_.now() + clock_of(incarnation()), actions);
  if (planned) check_plan();
  if (applied) check_limits_and_gangs();
  check_one_pool();
  // Each check looks at every job: with thousands of them it is made now and then.
  if (world_.options().validate && ++handled_ % (1 + world_.options().jobs_max / 64) == 0) core_->validate();
  if (gone) check_followers();
  witness_progress(progress);
  if (idle_.is_due(world_.now()))
    if (std::string breach = idle_.look(*core_, world_.jobs(), world_.now()); !breach.empty())
      world_.oracle().breach(breach + world_.describe_unfinished());
  if (std::exchange(reclaiming_, core_->reclaiming()) && !reclaiming_) give_up_absent();
  carry_out_all(actions);
  plan_tick();
}

void SupervisorHost::carry_out_all(Actions<SupervisorAction>& actions) {
  for (SupervisorAction& action : actions) std::visit([this](auto& concrete) { carry_out(concrete); }, action);
}

void SupervisorHost::carry_out(SendToWorker& word) {
  witness(word);
  Endpoint* endpoint = endpoint_of(word.worker);
  if (endpoint == nullptr) return;
  endpoint->send(std::make_shared<const Message>(std::move(word.message)), world_.now());
  plan_link_tick(word.worker);
}

void SupervisorHost::carry_out(SendToClient& word) {
  witness(word);
  tell_client(word.client, std::move(word.message));
}

void SupervisorHost::carry_out(Persist& order) { write(std::move(order)); }

// Not at once: its link may be on the stack.
void SupervisorHost::carry_out(const ReleaseWorker& order) {
  world_.queue().after(Duration{0}, [this, id = order.worker, life = life_] {
    if (life == life_) peers_.erase(id);
  });
}

void SupervisorHost::carry_out(const Alert& alert) {
  world_.note("supervisor: alert with code %", {static_cast<std::uint64_t>(alert.error.code)});
  // Nothing that a world does lasts for so long.
  if (core_->counters().watchdog_alerts > 0 && config_.watchdog_after >= kWatchdogPatient)
    world_.oracle().breach("the watchdog gave alarm: " + to_string(alert.error) + world_.describe_unfinished());
}

// On a thread of its own: the cluster goes on meanwhile, and now and then it takes too long or fails.
void SupervisorHost::carry_out(const RunPass& order) {
  Rng& rng = world_.rng();
  started_before_ = count_started();
  witness_pass(order.snapshot);
  const Duration takes = rng.chance(1, 20) ? milliseconds{rng.between(1, 3000)} : microseconds{rng.between(10, 5000)};
  auto ended = std::make_shared<supervisor_event::PassEnded>(run_pass(order));
  if (!ended->failure.empty()) world_.oracle().breach("a pass is impossible: " + ended->failure);
  if (world_.faults_on() && rng.chance(1, 30)) *ended = {order.number, {}, "it was made to fail"};
  world_.queue().after(takes, [this, ended, life = life_] {
    if (life == life_) handle(std::move(*ended));
  });
}

// Somebody has written another configuration, or a wrong one.
void SupervisorHost::carry_out(const ReloadPolicy& order) {
  Rng& rng = world_.rng();
  supervisor_event::PolicyRead read{order.client, order.request,
                                    Error{ErrorCode::InvalidArgument, "policy", "drawn", {}}};
  if (rng.chance(3, 4)) read.config = config_.policy = changed_policy(rng, config_.policy);
  world_.queue().after(world_.latency(), [this, read = std::move(read), life = life_] {
    if (life == life_) handle(supervisor_event::PolicyRead{read});
  });
}

void SupervisorHost::accept_worker(WorkerHost& host, std::uint64_t connection, Incarnation supervisor,
                                   std::uint64_t received_through) {
  if (!up_) return;
  if (stopped())
    return when_running([this, &host, connection, supervisor, received_through, life = host.life()] {
      if (host.up() && host.life() == life && host.link().asks_on(connection))
        accept_worker(host, connection, supervisor, received_through);
    });
  const auto answer = [&](std::function<void()> what) {
    world_.queue().after(world_.latency(), [&host, life = host.life(), what = std::move(what)] {
      if (host.up() && host.life() == life) host.deliver(what);
    });
  };
  const auto known = by_life_.find(host.life());
  if (known != by_life_.end()) {
    Endpoint* endpoint = endpoint_of(known->second);
    const bool linked = host.link().endpoint() != nullptr && host.link().supervisor() == incarnation();
    if (endpoint != nullptr && !linked && endpoint->link().received_through() == 0) {
      // Our first welcome was lost; nothing has come of it.
      const WorkerId id = known->second;
      peers_.erase(id);
      return welcome_anew(host, id, connection);
    }
    // The frame was sent before the link was made, and counts what came on the one to an earlier life of ours.
    if (linked && supervisor != incarnation()) return;
    if (endpoint == nullptr || endpoint->link().lost() || !linked || host.link().endpoint()->link().lost()) {
      answer([&host] { host.refused(); });
      return;
    }
    if (endpoint->connection() != 0) endpoint->detach(world_.now());
    endpoint->attach(connection, true, received_through, world_.now());
    plan_link_tick(known->second);
    answer([&host, connection, id = known->second, received = endpoint->link().received_through(), self = incarnation(),
            branch = branch_] {
      host.link().welcomed(connection, {id, self, branch, true, received});
    });
    return;
  }
  const auto before = known_.extract(host.life());
  const WorkerId id = before.empty() ? WorkerId{next_worker_++} : before.mapped();
  welcome_anew(host, id, connection);
}

void SupervisorHost::welcome_anew(WorkerHost& host, WorkerId id, std::uint64_t connection) {
  make_peer(host, id);
  peers_[id].endpoint->attach(connection, false, 0, world_.now());
  plan_link_tick(id);
  const WorkerLink::Greeting greeting{id, incarnation(), branch_, false, 0};
  world_.queue().after(world_.latency(), [&host, life = host.life(), connection, greeting] {
    if (host.up() && host.life() == life)
      host.deliver([&host, connection, greeting] { host.link().welcomed(connection, greeting); });
  });
}

void SupervisorHost::make_peer(WorkerHost& host, WorkerId id) {
  by_life_[host.life()] = id;
  Peer& peer = peers_[id];
  peer.host = &host;
  peer.life = host.life();
  peer.endpoint =
      std::make_unique<Endpoint>(world_.link_config(), incarnation(), Incarnation{host.life()}, world_.now());
  peer.endpoint->resends = world_.options().defect != Defect::NoResend;
  peer.endpoint->transmit = [this, id, &host, life = host.life()](const Frame& frame) {
    world_.carry(peers_[id].wire, host.link().cut_off() || host.link().one_way() == OneWay::Deaf, [&host, life, frame] {
      if (!host.up() || host.life() != life) return;
      host.deliver([&host, frame] { host.link().arrive(frame); });
    });
  };
  peer.endpoint->deliver = [this, id, life = host.life()](const MessagePtr& message) { receive(id, life, message); };
  peer.endpoint->suspected = [this, id](bool suspected) {
    world_.queue().after(Duration{0}, [this, id, suspected, mine = life_] {
      if (mine == life_) handle(supervisor_event::WorkerSuspected{id, suspected});
    });
  };
  peer.endpoint->lost = [this, id, life = host.life()](const char* reason) {
    world_.note("supervisor: the link of life % is lost", {life});
    world_.oracle().life_lost(life);
    // After the link's own event is through: losing the worker destroys the link.
    world_.queue().after(Duration{0}, [this, id, text = std::string{reason}, mine = life_] {
      if (mine != life_) return;
      handle(supervisor_event::WorkerLost{id, text});
      peers_.erase(id);
    });
  };
}

void SupervisorHost::connection_broke(WorkerId worker, std::uint64_t connection) {
  if (stopped()) return when_running([this, worker, connection] { connection_broke(worker, connection); });
  Endpoint* endpoint = endpoint_of(worker);
  if (endpoint == nullptr || endpoint->connection() != connection || connection == 0) return;
  endpoint->detach(world_.now());
  plan_link_tick(worker);
}

Endpoint* SupervisorHost::endpoint_of(WorkerId worker) {
  const auto found = peers_.find(worker);
  return found == peers_.end() ? nullptr : found->second.endpoint.get();
}

void SupervisorHost::receive(WorkerId worker, std::uint64_t life, const MessagePtr& message) {
  const auto* said = std::get_if<FromWorker>(message.get());
  if (said == nullptr) return world_.oracle().breach("the supervisor received what is not from a worker");
  if (world_.options().defect == Defect::LosesReports && std::holds_alternative<ReportBatch>(*said) &&
      world_.rng().chance(1, 40))
    return world_.note("DEFECT: a report of life % is not applied", {life});
  if (const auto* description = std::get_if<Register>(said))
    return handle(supervisor_event::WorkerJoined{worker, Incarnation{life}, *description});
  said_.push_back({worker, message});
  const auto* claim = std::get_if<WorkerClaim>(said);
  const bool together = claim == nullptr && said_.size() < config_.messages_together_max && world_.rng().chance(1, 2);
  if (together)
    world_.queue().after(microseconds{world_.rng().between(0, 300)}, [this, mine = life_] {
      if (mine == life_ && up_) when_running([this] { apply_said(); });
    });
  else
    apply_said();
  if (claim != nullptr && core_->workers().find(worker).valid()) take_claim(worker, life, *claim);
}

void SupervisorHost::plan_tick() {
  const auto deadline = core_->next_deadline();
  if (!deadline || *deadline - clock_of(incarnation()) >= tick_at_) return;
  tick_at_ = *deadline - clock_of(incarnation());
  world_.queue().at(tick_at_, [this, at = tick_at_, life = life_] {
    if (tick_at_ != at || life != life_) return;
    when_running([this] {
      tick_at_ = kNever;
      handle(supervisor_event::Tick{});
    });
  });
}

void SupervisorHost::plan_link_tick(WorkerId worker) {
  Endpoint* endpoint = endpoint_of(worker);
  if (endpoint == nullptr) return;
  const Instant at = endpoint->plan();
  if (at == kNever) return;
  world_.queue().at(at, [this, worker, at, life = life_] {
    if (life != life_) return;
    when_running([this, worker, at] {
      Endpoint* target = endpoint_of(worker);
      if (target != nullptr && target->due(at, world_.now())) plan_link_tick(worker);
    });
  });
}

void SupervisorHost::arrive(WorkerId from, const Frame& frame) {
  if (stopped()) return when_running([this, from, frame] { arrive(from, frame); });
  Endpoint* endpoint = endpoint_of(from);
  if (endpoint == nullptr) return;
  endpoint->arrive(frame, world_.now());
  plan_link_tick(from);
}

}  // namespace penstock::simulation
