// SupervisorHost.
#include <algorithm>

#include "supervisor/core/graph_shape.hpp"
#include "tests/simulation/world/policies.hpp"
#include "tests/simulation/world/worker_host.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using namespace supervisor;
using namespace supervisor::supervisor_action;
using std::chrono::microseconds;
using std::chrono::milliseconds;

SupervisorHost::SupervisorHost(World& world, const SupervisorConfig& config, Rng rng)
    : world_(world), config_(config), rng_(rng) {
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
    if (host->endpoint() == nullptr || world_.rng().chance(1, 4)) continue;  // Some only notice the silence.
    world_.queue().after(world_.latency(),
                         [raw = host.get(), connection = host->endpoint()->connection(), life = host->life()] {
                           if (raw->up() && raw->life() == life)
                             raw->deliver([raw, connection] { raw->connection_broke(connection); });
                         });
  }
  peers_.clear();
  by_life_.clear();
  world_.queue().after(world_.latency(), [this, connection = world_.client().connection()] {
    world_.client().connection_broke(connection);
  });
  client_.reset();
  tick_at_ = kNever;
}

void SupervisorHost::come_back() {
  if (up_) return;
  up_ = true;
  core_ = std::make_unique<SupervisorCore>(config_, rng_.fork(), Durability::Journal);
  barriers_.clear();
  known_.clear();
  RecoveredState state = disk_.state();
  next_worker_ = std::max(next_worker_, state.next_worker.value());
  for (const record::WorkerJoined& worker : state.workers) known_[worker.incarnation.value()] = worker.worker;
  // Those of which nothing is written begin anew when they hear of this life.
  for (const auto& host : world_.workers())
    if (!known_.contains(host->life())) world_.oracle().life_lost(host->life());
  reclaiming_ = true;
  handle(supervisor_event::StateRecovered{std::move(state), world_.now().time_since_epoch() / milliseconds{1}, life_ + 1});
}

/// Whoever has not come back in time may find that others have its work.
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
      if (const SubtaskId subtask{job.job, claimed.subtask};
          given_up_.contains(life) || !counts_on(worker, subtask, claimed.attempt))
        world_.oracle().claim_refused(life, subtask, claimed.attempt);
  if (!claim.last) return;
  world_.note("supervisor: life % has claimed all", {life});
  world_.oracle().life_returned(life, [&](SubtaskId subtask, Attempt attempt) {
    return !given_up_.contains(life) && counts_on(worker, subtask, attempt);
  });
}

void SupervisorHost::fill_disk(Duration duration) { disk_full_until_ = later(world_.now(), duration); }

void SupervisorHost::write(Persist&& order) {
  waiting_.push_back(std::move(order));
  if (waiting_.size() == 1) write_later(microseconds{world_.rng().between(20, disk_delay_max_.count() / 1000)});
}

// What is on the disk is accepted, whether or not anybody has heard of it. A job that was withdrawn is gone again.
void SupervisorHost::write_first(std::uint64_t count) {
  std::map<JobId, std::string> accepted;
  for (; count > 0; --count) {
    for (const Record& record : waiting_.front().records) {
      disk_.write(record);
      if (const auto* job = std::get_if<record::JobAccepted>(&record)) accepted[job->job] = job->spec.name;
      if (const auto* job = std::get_if<record::JobForgotten>(&record)) accepted.erase(job->job);
      if (const auto* changed = std::get_if<record::SubtaskChanged>(&record))
        world_.oracle().failures_written({changed->job, changed->subtask}, Attempt{changed->attempt}, changed->charged);
    }
    waiting_.pop_front();
  }
  for (const auto& [job, name] : accepted) world_.oracle().job_accepted(job, world_.client().graph_of(name));
}

void SupervisorHost::write_later(Duration delay) {
  world_.queue().after(delay, [this, life = life_] {
    if (life == life_ && up_) try_to_write();
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
  const bool applied = planned && applies(*ended);
  core_->handle(std::move(event), world_.now(), actions);
  if (planned) check_plan();
  if (applied) check_limits_and_gangs();
  check_one_pool();
  if (world_.options().validate) core_->validate();
  if (std::exchange(reclaiming_, core_->reclaiming()) && !reclaiming_) give_up_absent();
  carry_out(actions);
  plan_tick();
}

/// A subtask that an operator has cancelled is not given out any more.
void SupervisorHost::witness(const SendToClient& word) {
  const auto* answer = std::get_if<AdminAnswer>(&word.message);
  if (answer != nullptr && !answer->value["draining"].is_null()) witness_drain(*answer);
  if (answer == nullptr || answer->value["subtask"].text() == nullptr || answer->value["cancelled"].is_null()) return;
  if (!answer->value["written"].is_null()) return;  // The disk is full, and it was said that a crash undoes it.
  const Job* job = core_->find_job(job_selector_of(*answer->value["job"].text()).id);
  if (job == nullptr || job->shape == nullptr) return;  // It has ended.
  world_.oracle().cancel_answered({job->id, job->shape->find_key_or_number(*answer->value["subtask"].text())});
}

/// An order that another one has followed before its answer left binds nobody.
void SupervisorHost::witness_drain(const AdminAnswer& answer) {
  if (!answer.value["written"].is_null()) return;
  const WorkerTable& workers = core_->workers();
  for (std::uint32_t i = 0; i < workers.worker_slots(); ++i) {
    const WorkerEntry& worker = workers[WorkerSlot{i}];
    if (worker.alive && worker.draining && worker.description.name == *answer.value["worker"].text())
      drained_.insert(worker.id);
  }
}

void SupervisorHost::witness(const SendToWorker& order) {
  if (const auto* drain = std::get_if<Drain>(&order.message); drain != nullptr && !drain->enabled)
    drained_.erase(order.worker);
  if (const auto* plan = std::get_if<EntitlementBatch>(&order.message))
    for (const Entitlement& each : plan->entitlements) witness_barrier(order.worker, each);
  if (const auto* cancel = std::get_if<CancelBatch>(&order.message); cancel != nullptr && cancel->preempt)
    witness_grace(*cancel);
  const auto* batch = std::get_if<AssignBatch>(&order.message);
  if (batch == nullptr || batch->assignments.empty()) return;
  if (drained_.contains(order.worker))
    world_.oracle().breach(to_string(order.worker) + " is given work, though an operator was told that it drains");
  for (const Assignment& assignment : batch->assignments) world_.oracle().assigned({batch->job, assignment.subtask});
  witness_place(order.worker, batch->job);
}

/// A gang is told to begin when all its slots are held at that moment. Where it must run somewhere it takes them one by
/// one, and without a policy nobody waits.
void SupervisorHost::witness_barrier(WorkerId id, const Entitlement& entitlement) {
  witness_begin(id, entitlement);
  const std::uint64_t barrier = barriers_.told(id, entitlement);
  const Job* job = barrier == 0 ? nullptr : core_->find_job(entitlement.job);
  if (job == nullptr || job->shares == nullptr || job->spec.policy.gang == 0) return;
  if (const WorkerHost* host = world_.find_worker(id); host != nullptr && host->up()) {
    if (gave_up_but_runs(*job, host->kind_of(entitlement.band), barrier)) return;
    witness_whole(*job, host->kind_of(entitlement.band), barriers_.asked_for(entitlement.job, barrier));
  }
  for (const BarrierWitness::Place& place : barriers_.places_of(entitlement.job, barrier)) {
    const WorkerHost* host = world_.find_worker(place.worker);
    if (host == nullptr || !host->up() || !host->knows_barriers()) continue;
    const BandKind kind = host->kind_of(place.band);
    if (job->shares->kinds[static_cast<std::size_t>(kind)].bound) continue;
    if (!host->reservations().holds(entitlement.job, place.band, barrier))
      world_.oracle().breach("the gang of " + to_string(entitlement.job) + " begins, and " + host->name() +
                             " does not hold its slots");
  }
}

/// Nobody whom the supervisor counts on has given back what it lets a gang begin on.
void SupervisorHost::check_give_back(const WorkerHost& host, const BarrierAnswer& answer) const {
  const bool counted_on = up_ && host.supervisor() == incarnation() && core_->workers().find(host.id()).valid();
  if (counted_on && barriers_.has_begun_on({host.id(), answer.band}, answer))
    world_.oracle().breach(host.name() + " gives back what the gang of " + to_string(answer.job) + " was let begin on");
}

/// Where older workers have begun on a gang it keeps what runs when its barrier is given up: that is no beginning.
bool SupervisorHost::gave_up_but_runs(const supervisor::Job& job, BandKind kind, std::uint64_t barrier) const {
  if (job.shares->kinds[static_cast<std::size_t>(kind)].barrier.opened == barrier) return false;
  const supervisor::WorkerTable& workers = core_->workers();
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i)
    if (const supervisor::BandSlot band{i}; workers[band].alive && workers[band].kind == kind)
      if (job.shares->of(band).started > 0) return true;
  return false;
}

/// What workers were asked to hold of a gang that begins, and what older ones have begun on, which are asked for nothing,
/// is all of it.
void SupervisorHost::witness_whole(const supervisor::Job& job, BandKind kind, MilliSlots asked) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (share.bound) return;
  const std::uint64_t all = job.spec.policy.gang * 1000ULL / share.portion.milli * share.portion.milli;
  std::uint64_t milli = static_cast<std::uint64_t>(asked.value()) * share.portion.milli / share.portion.entitles;
  const supervisor::WorkerTable& workers = core_->workers();
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i)
    if (const supervisor::BandSlot band{i}; workers[band].alive && workers[band].kind == kind)
      if (!workers.worker_of(band).description.barriers) milli += job.shares->of(band).planned;
  if (milli < all)
    world_.oracle().breach("the gang of " + to_string(job.id) + " begins with " + std::to_string(milli) + "m of " +
                           std::to_string(all) + "m slots held");
}

/// A gang that has begun nowhere in this life begins at a barrier, and of that all that it is has been asked for; not
/// one whose slots must be where its work is, or which runs already.
void SupervisorHost::witness_begin(WorkerId id, const Entitlement& entitlement) {
  const Job* job = core_->find_job(entitlement.job);
  const WorkerHost* host = world_.find_worker(id);
  if (job == nullptr || job->shares == nullptr || job->spec.policy.gang == 0) return;
  if (host == nullptr) return;
  const BandKind kind = host->kind_of(entitlement.band);
  const WorkerTable& workers = core_->workers();
  bool runs = false;
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i)
    runs |= workers[BandSlot{i}].alive && workers[BandSlot{i}].kind == kind && job->shares->of(BandSlot{i}).started > 0;
  const bool unasked = barriers_.begins_unasked(id, kind, entitlement);
  // One of an older version begins when it is told; what is not limited is under no policy.
  if (!unasked || !host->up() || !host->knows_barriers() || entitlement.slots == MilliSlots::max()) return;
  if (!runs && !job->shares->kinds[static_cast<std::size_t>(kind)].bound)
    world_.oracle().breach("the gang of " + to_string(entitlement.job) + " begins at no barrier");
}

/// Whatever is given out goes to a pool of the job's list, and to a worker that its labels allow.
void SupervisorHost::witness_place(WorkerId id, JobId number) const {
  const Job* job = core_->find_job(number);
  const WorkerSlot slot = core_->workers().find(id);
  if (job == nullptr || !slot.valid()) return;
  const Register& worker = core_->workers()[slot].description;
  if (!allow(label_limits_of(config_.policy, job->spec.policy), worker.labels))
    world_.oracle().breach(to_string(number) + " is given out to " + worker.name + ", which has none of its labels");
  if (job->shares == nullptr || !config_.policy.in_force()) return;
  const auto pool = static_cast<std::uint32_t>(pool_of_worker(config_.policy, worker.name));
  const std::vector<std::uint32_t>& pools = job->shares->turn.pools();
  if (pool != job->shares->pool || std::find(pools.begin(), pools.end(), pool) == pools.end())
    world_.oracle().breach(to_string(number) + " is given out to " + worker.name + ", which is not in its pool");
}

/// Who is preempted has the time that its job asks for, or that of the site.
void SupervisorHost::witness_grace(const CancelBatch& order) const {
  const JobSpec* spec = world_.client().spec_of(order.job);
  if (spec == nullptr) return;
  const Duration own = spec->policy.grace;
  const Duration grace = own > Duration{0} ? std::min(own, config_.policy.grace_max) : config_.policy.grace;
  if (order.kill_after != grace)
    world_.oracle().breach(to_string(order.job) + " is preempted, and has not the grace that it asked for");
}

/// Whatever is in flight of a job with a list of pools is in one of them, but for what must not run twice.
void SupervisorHost::check_one_pool() const {
  if (config_.policy.pools.size() < 2) return;
  const WorkerTable& table = core_->workers();
  std::map<JobId, std::uint32_t> pool_of;
  for (std::uint32_t i = 0; i < table.band_slots(); ++i) {
    if (!table[BandSlot{i}].alive) continue;
    const auto pool =
        static_cast<std::uint32_t>(pool_of_worker(config_.policy, table.worker_of(BandSlot{i}).description.name));
    for (const AssignedRef& ref : table[BandSlot{i}].assigned) {
      const Job* job = core_->find_job(ref.job);
      if (job == nullptr || job->shares == nullptr || job->shares->turn.pools().size() == 1) continue;
      const SubtaskHot& hot = job->hot[ref.subtask];
      if (hot.phase != SubtaskPhase::Assigned || hot.attempt != ref.attempt || hot.band != BandSlot{i}) continue;
      if (!job->shape->template_of(ref.subtask).retryable) continue;
      if (pool_of.try_emplace(ref.job, pool).first->second != pool)
        world_.oracle().breach(to_string(ref.job) + " is in two of its pools at once");
    }
  }
}

void SupervisorHost::carry_out(Actions<SupervisorAction>& actions) {
  for (SupervisorAction& action : actions) {
    if (auto* order = std::get_if<SendToWorker>(&action)) {
      witness(*order);
      if (Endpoint* endpoint = endpoint_of(order->worker)) {
        endpoint->send(std::make_shared<const Message>(std::move(order->message)), world_.now());
        plan_link_tick(order->worker);
      }
    } else if (auto* news = std::get_if<SendToClient>(&action)) {
      witness(*news);
      if (const auto* reply = std::get_if<SubmitReply>(&news->message); reply != nullptr && reply->job.valid())
        world_.oracle().job_accepted(reply->job, world_.client().graph_of(reply->submission));
      if (client_ == nullptr) continue;
      client_->send(std::make_shared<const Message>(std::move(news->message)), world_.now());
      plan_link_tick(WorkerId::none());
    } else if (auto* order_to_write = std::get_if<Persist>(&action)) {
      write(std::move(*order_to_write));
    } else if (const auto* release = std::get_if<ReleaseWorker>(&action)) {
      // Not at once: its link may be on the stack.
      world_.queue().after(Duration{0}, [this, id = release->worker, life = life_] {
        if (life == life_) peers_.erase(id);
      });
    } else if (auto* reload = std::get_if<ReloadPolicy>(&action)) {
      read_policy(*reload);
    } else if (auto* pass = std::get_if<RunPass>(&action)) {
      run_policy(std::move(*pass));
    } else if (const auto* alert = std::get_if<Alert>(&action)) {
      world_.note("supervisor: alert with code %", {static_cast<std::uint64_t>(alert->error.code)});
    }
  }
}

// On a thread of its own: the cluster goes on meanwhile, and now and then it takes too long or fails.
void SupervisorHost::run_policy(RunPass&& order) {
  Rng& rng = world_.rng();
  started_before_ = count_started();
  witness_pass(order.snapshot);
  const Duration takes = rng.chance(1, 20) ? milliseconds{rng.between(1, 3000)} : microseconds{rng.between(10, 5000)};
  auto ended = std::make_shared<supervisor_event::PassEnded>(simulation::run_pass(order));
  if (!ended->failure.empty()) world_.oracle().breach("a pass is impossible: " + ended->failure);
  if (world_.faults_on() && rng.chance(1, 30)) *ended = {order.number, {}, "it was made to fail"};
  world_.queue().after(takes, [this, ended, life = life_] {
    if (life == life_) handle(std::move(*ended));
  });
}

// Somebody has written another configuration, or a wrong one.
void SupervisorHost::read_policy(const ReloadPolicy& order) {
  Rng& rng = world_.rng();
  supervisor_event::PolicyRead read{order.client, order.request,
                                    Error{ErrorCode::InvalidArgument, "policy", "drawn", {}}};
  if (rng.chance(3, 4)) read.config = config_.policy = changed_policy(rng, config_.policy);
  world_.queue().after(world_.latency(), [this, read = std::move(read), life = life_] {
    if (life == life_) handle(supervisor_event::PolicyRead{read});
  });
}

/// By band, what the core has been told to be running for a while under a limit.
std::vector<std::uint64_t> SupervisorHost::count_started() const {
  std::vector<std::uint64_t> started(core_->workers().band_slots());
  for (const JobId id : world_.client().jobs()) {
    const Job* job = core_->find_job(id);
    if (job == nullptr || job->shares == nullptr || job->cancelling) continue;
    for (std::uint32_t i = 0; i < started.size(); ++i) started[i] += job->shares->of(BandSlot{i}).started;
  }
  return started;
}

/// What all jobs are given of a band fits it, or what was told to run there when the pass began or ends: an end may be
/// on its way when the next one in its slot has been running for a while, and nobody is made to leave because of that.
void SupervisorHost::check_plan() const {
  const WorkerTable& table = core_->workers();
  std::vector<std::uint64_t> given(table.band_slots());
  for (const JobId id : world_.client().jobs()) {
    const Job* job = core_->find_job(id);
    if (job == nullptr || job->shares == nullptr || job->cancelling) continue;  // Who ends takes nothing new.
    for (std::uint32_t i = 0; i < given.size(); ++i)
      if (const BandShare share = job->shares->of(BandSlot{i}); share.limited() && share.planned > 0) {
        // What is smaller than a slot of a CPU band is rounded up for each job.
        const auto kind = static_cast<std::size_t>(table[BandSlot{i}].kind);
        const bool rounded = kind == 0 && job->shares->kinds[kind].unit_milli % 1000 != 0;
        given[i] += share.planned - (rounded ? 1000 : 0);
      }
  }
  const std::vector<std::uint64_t> started = count_started();
  for (std::uint32_t i = 0; i < given.size(); ++i) {
    const std::uint64_t before = i < started_before_.size() ? started_before_[i] : 0;
    const std::uint64_t most = 1000 * std::max({std::uint64_t{table[BandSlot{i}].slots}, started[i], before});
    if (!table[BandSlot{i}].alive || given[i] <= most) continue;
    std::string what = "policy gives away more of " + to_string(table[BandSlot{i}].id) + " than its slots";
    for (const JobId id : world_.client().jobs())
      if (const Job* job = core_->find_job(id); job != nullptr && job->shares != nullptr)
        what += "\n  " + to_string(id) + describe_shares(*job, table);
    world_.oracle().breach(std::move(what));
  }
}

/// One that was given up, or has failed, changes nothing.
bool SupervisorHost::applies(const supervisor_event::PassEnded& ended) const {
  const PolicyState& policy = core_->policy();
  return ended.failure.empty() && policy.pass.has_value() && policy.pass->number == ended.number;
}

/// Those that are there, and whether they are drained.
std::set<std::pair<BandId, bool>> SupervisorHost::bands_now() const {
  const WorkerTable& table = core_->workers();
  std::set<std::pair<BandId, bool>> bands;
  for (std::uint32_t i = 0; i < table.band_slots(); ++i)
    if (const supervisor::BandEntry& band = table[BandSlot{i}]; band.alive) bands.emplace(band.id, band.draining);
  return bands;
}

/// The most that any job has which may have to leave for another.
Duration SupervisorHost::longest_grace() const {
  Duration longest = core_->policy().config.grace;
  for (const JobId id : world_.client().jobs())
    if (const Job* job = core_->find_job(id); job != nullptr)
      longest = std::max(longest, std::min(job->spec.policy.grace, core_->policy().config.grace_max));
  return longest;
}

void SupervisorHost::witness_pass(const policy::Snapshot& snapshot) {
  const std::vector<JobId>& jobs = world_.client().jobs();
  limits_.pass_begins(limited_jobs(*core_, jobs));
  const std::vector<GangView> gangs = gangs_of(*core_, jobs);
  bands_before_ = bands_now();
  const PolicyConfig& config = core_->policy().config;
  gangs_.pass_begins(world_.now(), config.gang_wait, longest_grace(), gangs, promised_to_gangs(snapshot, gangs));
  if (!gangs_.broken_promise().empty()) world_.oracle().breach(gangs_.broken_promise());
}

void SupervisorHost::check_limits_and_gangs() const {
  const std::vector<JobId>& jobs = world_.client().jobs();
  const std::set<std::pair<BandId, bool>> bands = bands_now();
  const bool lost = !std::includes(bands.begin(), bands.end(), bands_before_.begin(), bands_before_.end());
  for (std::string breach :
       {limits_.plan_applied(limited_jobs(*core_, jobs)), gangs_.plan_applied(gangs_of(*core_, jobs), lost)}) {
    if (breach.empty()) continue;
    for (const JobId id : jobs)
      if (const Job* job = core_->find_job(id); job != nullptr && job->shares != nullptr)
        breach += "\n  " + to_string(id) + describe_shares(*job, core_->workers());
    world_.oracle().breach(std::move(breach));
  }
}

void SupervisorHost::accept_worker(WorkerHost& host, std::uint64_t connection, Incarnation supervisor,
                                   std::uint64_t received_through) {
  if (!up_) return;
  const auto answer = [&](std::function<void()> what) {
    world_.queue().after(world_.latency(), [&host, life = host.life(), what = std::move(what)] {
      if (host.up() && host.life() == life) host.deliver(what);
    });
  };
  const auto known = by_life_.find(host.life());
  if (known != by_life_.end()) {
    Endpoint* endpoint = endpoint_of(known->second);
    const bool linked = host.endpoint() != nullptr && host.supervisor() == incarnation();
    if (endpoint != nullptr && !linked && endpoint->link().received_through() == 0) {
      // Our first welcome was lost; nothing has come of it.
      const WorkerId id = known->second;
      peers_.erase(id);
      return welcome_anew(host, id, connection);
    }
    // It was sent before the link was made, and counts what came on the one to an earlier life of ours.
    if (linked && supervisor != incarnation()) return;
    if (endpoint == nullptr || endpoint->link().lost() || !linked || host.endpoint()->link().lost()) {
      answer([&host] { host.refused(); });
      return;
    }
    if (endpoint->connection() != 0) endpoint->detach(world_.now());
    endpoint->attach(connection, true, received_through, world_.now());
    plan_link_tick(known->second);
    answer(
        [&host, connection, id = known->second, received = endpoint->link().received_through(), self = incarnation()] {
          host.welcomed(connection, {id, self, true, received});
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
  world_.queue().after(world_.latency(), [&host, life = host.life(), connection, id, self = incarnation()] {
    if (host.up() && host.life() == life)
      host.deliver([&host, connection, id, self] { host.welcomed(connection, {id, self, false, 0}); });
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
    world_.carry(peers_[id].wire, host.cut_off(), [&host, life, frame] {
      if (!host.up() || host.life() != life) return;
      host.deliver([&host, frame] { host.arrive(frame); });
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
    given_up_.insert(life);
    // After the link's own event is through: losing the worker destroys the link.
    world_.queue().after(Duration{0}, [this, id, text = std::string{reason}, mine = life_] {
      if (mine != life_) return;
      handle(supervisor_event::WorkerLost{id, text});
      peers_.erase(id);
    });
  };
}

void SupervisorHost::connection_broke(WorkerId worker, std::uint64_t connection) {
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
      if (mine == life_ && up_) apply_said();
    });
  else
    apply_said();
  if (claim != nullptr && core_->workers().find(worker).valid()) take_claim(worker, life, *claim);
}

void SupervisorHost::accept_client(ClientHost& host) {
  client_ = std::make_unique<Endpoint>(world_.link_config(), incarnation(), kClient, world_.now());
  client_->transmit = [this, &host](const Frame& frame) {
    world_.carry(client_wire_, false, [&host, frame] { host.arrive(frame); });
  };
  client_->deliver = [this](const MessagePtr& message) { receive_from_client(message); };
  client_->lost = [this](const char*) { world_.oracle().breach("the client was lost, though nothing happened to it"); };
  handle(supervisor_event::ClientGone{ClientId{1}});
}

void SupervisorHost::receive_from_client(const MessagePtr& message) {
  if (const auto* submit = std::get_if<SubmitGraph>(message.get())) {
    GraphIntake intake{GraphLimits{}};
    supervisor_event::GraphChecked checked{ClientId{1}, submit->submission, submit->spec, nullptr, {}, draw_identity()};
    if (Result<void> added = intake.add(*submit->graph); !added) {
      checked.refusal = added.error();
    } else if (Result<std::unique_ptr<GraphShape>> shape = intake.finish(); shape) {
      checked.shape = std::move(shape).value();
    } else {
      checked.refusal = shape.error();
    }
    handle(std::move(checked));
  } else if (const auto* said = std::get_if<FromClient>(message.get())) {
    handle(supervisor_event::ClientSaid{ClientId{1}, *said, draw_identity()});
  }
}

void SupervisorHost::plan_tick() {
  const auto deadline = core_->next_deadline();
  if (!deadline || *deadline >= tick_at_) return;
  tick_at_ = *deadline;
  world_.queue().at(*deadline, [this, at = *deadline, life = life_] {
    if (tick_at_ != at || life != life_) return;
    tick_at_ = kNever;
    handle(supervisor_event::Tick{});
  });
}

void SupervisorHost::plan_link_tick(WorkerId worker) {
  Endpoint* endpoint = worker.valid() ? endpoint_of(worker) : client_.get();
  if (endpoint == nullptr) return;
  const Instant at = endpoint->plan();
  if (at == kNever) return;
  world_.queue().at(at, [this, worker, at] {
    Endpoint* target = worker.valid() ? endpoint_of(worker) : client_.get();
    if (target != nullptr && target->due(at, world_.now())) plan_link_tick(worker);
  });
}

void SupervisorHost::arrive(WorkerId from, const Frame& frame) {
  Endpoint* endpoint = from.valid() ? endpoint_of(from) : client_.get();
  if (endpoint == nullptr) return;
  endpoint->arrive(frame, world_.now());
  plan_link_tick(from);
}

}  // namespace penstock::simulation
