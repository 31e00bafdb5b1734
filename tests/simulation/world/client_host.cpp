// ClientHost.
#include "tests/simulation/world/client_host.hpp"

#include <algorithm>

#include "tests/simulation/world/graphs.hpp"
#include "tests/simulation/world/policies.hpp"
#include "tests/simulation/world/worker_host.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr std::uint32_t kNestedMax = 20;  ///< In a world.

}  // namespace

ClientHost::ClientHost(World& world, std::uint32_t index) : world_(world), index_(index) {
  const WorldOptions& options = world_.options();
  if (index > 0) {
    wanted_ = 2;
    return;
  }
  wanted_ = static_cast<std::uint32_t>(1 + world_.rng().below(options.jobs_max));
  Rng many{mix_bits(options.seed) ^ 0x3a27};
  if (options.jobs_max >= WorldOptions{}.jobs_max && many.chance(1, 50)) {
    wanted_ = static_cast<std::uint32_t>(many.between(30, 200));
    graph_max_ = 3;
  }
  if (world_.options().workflow != nullptr) wanted_ = 1;
}

void ClientHost::start() {
  connect();
  for (std::uint32_t i = 0; i < wanted_; ++i)
    world_.timeline().after(milliseconds{world_.rng().between(0, 300)}, [this, i] {
      const std::uint32_t number = index_ * kNumbersOfAClient + i + 1;
      draw_graph(number);
      submit(number);
    });
}

void ClientHost::connect() {
  connection_ = world_.next_connection();
  ++lives_;
  endpoint_ =
      std::make_unique<Endpoint>(world_.config().link, incarnation(), world_.supervisor().incarnation(), world_.now());
  world_.supervisor().links().accept_client(*this, connection_);
  endpoint_->transmit = [this, self = incarnation()](const Frame& frame) {
    world_.carry(wire_, false, [this, self, frame] { world_.supervisor().links().client_arrive(self, frame); });
  };
  endpoint_->deliver = [this](const MessagePtr& message) { receive(message); };
  endpoint_->lost = [this, connection = connection_](const char*) {
    const Faults& faults = world_.options().faults;
    if (!faults.supervisor_restarts && !faults.supervisor_stalls && !faults.client_deaths)
      return world_.oracle().breach("the supervisor was lost, though nothing happened to it");
    world_.timeline().after(Duration{0}, [this, connection] { connection_broke(connection); });
  };
  endpoint_->attach(connection_, false, 0, world_.now());
  world_.supervisor().links().plan_client_tick(incarnation());
  plan_link_tick();
}

// Production's client ends here with an error; what its engine does then, this one does: it attaches by name, and
// submits again what it has no answer to.
void ClientHost::connection_broke(std::uint64_t connection) {
  if (connection != connection_ || connection == 0) return;
  world_.note("client: the supervisor is gone");
  connection_ = 0;
  endpoint_.reset();
  world_.supervisor().links().drop_client(incarnation());
  connect_again();
}

void ClientHost::die(Duration away, bool farewell) {
  if (connection_ == 0) return;
  world_.note("client % dies", {index_});
  connection_ = 0;
  endpoint_.reset();
  if (farewell)
    world_.timeline().after(world_.latency(),
                            [this, self = incarnation()] { world_.supervisor().links().drop_client(self); });
  world_.timeline().after(away, [this] { connect_again(); });
}

void ClientHost::connect_again() {
  if (!world_.supervisor().up() || world_.supervisor().stopped()) {
    world_.timeline().after(milliseconds{200}, [this] { connect_again(); });
    return;
  }
  connect();
  follow_branch();
  for (const auto& [number, job] : book_.accepted) {
    if (ended_.contains(job)) {
      release(job);
    } else {
      if (world_.oracle().knows(job, book_.identities[number])) world_.oracle().client_reattached(job);
      send(AttachJob{number, JobSelector{JobId::none(), book_.specs[number].name}, book_.identities[number]});
    }
  }
  // Behind those: the number of one that is gone may be given to a new one.
  for (const auto& [number, graph] : book_.submitted)
    if (!book_.accepted.contains(number)) submit(static_cast<std::uint32_t>(number));
  for (FromClient& message : std::exchange(unsent_, {})) send(std::move(message));
}

namespace {

/// A gang that no band holds alone: two of those that are as large as the largest. Where there are no two it stays.
void spread(const std::vector<std::unique_ptr<WorkerHost>>& workers, JobPolicy& wishes) {
  std::uint32_t most = 0;
  int count = 0;
  for (const std::unique_ptr<WorkerHost>& worker : workers) {
    if (worker->largest_band() > most) most = worker->largest_band(), count = 0;
    count += worker->largest_band() == most ? 1 : 0;
  }
  if (count < 2) return;
  wishes.gang = 2 * most;
  if (wishes.gang_max < wishes.gang) wishes.gang_max = 0;
  if (wishes.together == "host") wishes.together.clear(), wishes.gang_groups = 0;
  if (wishes.gang > wishes.slots_max) wishes.slots_max = 0;
}

}  // namespace

void ClientHost::draw_graph(std::uint32_t number) {
  JobSpec& spec = book_.specs[number];
  spec.name = "engine-" + std::to_string(number);
  spec.priority = static_cast<std::int32_t>(world_.rng().between(-1, 1));
  spec.keep = world_.rng().chance(1, 2) ? Keep::Sinks : Keep::Nothing;
  spec.wait_for_resources = world_.rng().chance(1, 2);
  if (world_.options().policy)
    spec.policy =
        random_wishes(world_.rng(), world_.config().supervisor.policy, world_.gang_max(), world_.workers().size());
  if (world_.config().has_rules) {
    Rng rules{mix_bits(world_.options().seed) ^ mix_bits(number + 0x4175)};
    draw_rules(rules, world_.config().supervisor.policy, spec);
  }
  if (spec.policy.gang > 0 && world_.config().supervisor.policy.pools.size() == 1 && world_.rng().chance(1, 3))
    spread(world_.workers(), spec.policy);
  spec.wait_for_resources |= spec.policy.gang > 0;
  Rng graces{mix_bits(world_.options().seed) ^ mix_bits(number + 0x96ace)};
  if (world_.options().policy && graces.chance(1, 2)) spec.grace = milliseconds{graces.between(1, 1500)};
  const WorldOptions& options = world_.options();
  Rng limits{mix_bits(options.seed) ^ mix_bits(number + 0x71e11)};
  if (options.faults.failures && limits.chance(1, 6)) spec.time_limit = milliseconds{limits.between(5, 2000)};
  if (options.workflow != nullptr) {
    spec.name = options.workflow->name;
    book_.submitted[number] = std::shared_ptr<const Graph>{options.workflow, &options.workflow->graph};
  } else {
    book_.submitted[number] = draw_known(number);
    if (book_.submitted[number] == nullptr) {
      Graph graph = random_graph(world_.rng(), std::min(graph_max_, options.subtasks_max), options.faults.failures);
      // A gang would have to fit one device.
      Rng parts{mix_bits(options.seed) ^ mix_bits(number + 0x9a47)};
      if (world_.config().devices > 0 && spec.policy.gang == 0 && parts.chance(1, 2)) {
        request_devices(parts, graph);
        Rng sets{mix_bits(options.seed) ^ mix_bits(number + 0xdec5)};
        request_several(sets, world_.config().devices, graph);
        // Where slots are counted, bands of several devices give whole ones only.
        const std::vector<PoolConfig>& pools = world_.config().supervisor.policy.pools;
        const auto counts_slots = [](const PoolConfig& pool) { return pool.preset != "quota"; };
        if (world_.config().devices > 1 && std::any_of(pools.begin(), pools.end(), counts_slots)) request_whole(graph);
      }
      Rng amounts{mix_bits(options.seed) ^ mix_bits(number + 0xa3077)};
      if (amounts.chance(1, 4)) request_amounts(amounts, graph, spec.policy.gang > 0);
      Rng overlaps{mix_bits(options.seed) ^ mix_bits(number + 0x0fe4)};
      if (overlaps.chance(1, 3)) forbid_overlap(overlaps, graph);
      book_.submitted[number] = std::make_shared<const Graph>(std::move(graph));
    }
  }
  // The one of an earlier job may ask for devices.
  const auto wants_device = [](const Template& each) { return each.request.gpu > MilliGpu{0}; };
  if (std::any_of(book_.submitted[number]->templates.begin(), book_.submitted[number]->templates.end(), wants_device)) {
    spec.policy.gang = spec.policy.gang_max = 0;
    spec.policy.together.clear();
    spec.policy.gang_groups = 0;
    if (spec.policy.slots_max > 0) spec.policy.slots_max = std::max(spec.policy.slots_max, world_.config().devices);
  }
  // A job with a subtask above the limit of its project is refused, or waits for ever if it says so, as it should.
  if (!may_hold_largest(world_.config().supervisor.policy, spec.policy, *book_.submitted[number]))
    spec.policy.project.clear();
  // A job that must run on the first worker waits for ever in a pool without it, as it should.
  const std::vector<Template>& templates = book_.submitted[number]->templates;
  const bool bound = std::any_of(templates.begin(), templates.end(),
                                 [](const Template& each) { return !each.required.worker.empty(); });
  if (const PolicyConfig& policy = world_.config().supervisor.policy; bound && policy.pools.size() > 1) {
    spec.policy.pools = {policy.pools[0].name};
    spec.policy.kind = JobKind::Training;
  }
  draw_labels(number);
}

/// The first worker is always there again some time; in a pool without it the job would wait for ever, as it should.
void ClientHost::draw_labels(std::uint32_t number) {
  JobSpec& spec = book_.specs[number];
  Rng labels{mix_bits(world_.options().seed) ^ mix_bits(number + 0x1abe)};
  if (world_.options().workflow != nullptr || labels.chance(3, 4)) return;
  const std::vector<Template>& templates = book_.submitted[number]->templates;
  const bool anywhere = std::all_of(templates.begin(), templates.end(), [](const Template& each) {
    return each.required.empty() && each.request.gpu == MilliGpu{0};
  });
  spec.policy.labels = {"any", "nobody's"};
  if (!anywhere || spec.policy.gang > 0 || world_.config().supervisor.policy.pools.size() > 1 || labels.chance(1, 2))
    return;
  spec.policy.labels = {"nobody's", "first"};
  spec.wait_for_resources = true;
  if (labels.chance(1, 2)) return;
  spec.policy.labels.clear();
  spec.owner = "guest";
}

// Now and then the graph of an earlier job, whether or not the supervisor has heard of it or keeps it; null: a new one.
std::shared_ptr<const Graph> ClientHost::draw_known(std::uint32_t number) {
  std::vector<std::shared_ptr<const Graph>> known;
  for (const auto& [other, graph] : book_.submitted)
    if (other != number && !is_referencing(other) && graph != nullptr) known.push_back(graph);
  if (known.empty() || !world_.rng().chance(1, 3)) return nullptr;
  book_.again.insert(number);
  return known[world_.rng().below(known.size())];
}

const JobSpec* ClientHost::spec_of(JobId job) const {
  for (const auto& [number, id] : book_.accepted)
    if (id == job && world_.oracle().knows(job, book_.identities.at(number))) return &book_.specs.at(number);
  return nullptr;
}

std::string ClientHost::unsubmitted() const {
  std::string text = std::to_string(book_.accepted.size()) + " of " + std::to_string(wanted_) + " accepted, not";
  for (const auto& [number, spec] : book_.specs)
    if (!book_.accepted.contains(number)) text += " " + spec.name;
  return text;
}

std::shared_ptr<const Graph> ClientHost::graph_of(const std::string& name) {
  for (const auto& [number, spec] : book_.specs)
    if (spec.name == name) return book_.submitted[number];
  return nullptr;
}

// Now and then another job reads what this one keeps. Not from the stream of the others: see above.
void ClientHost::reference(std::uint32_t number) {
  if (!world_.options().references || world_.options().workflow != nullptr) return;
  Rng rng{mix_bits(world_.options().seed) ^ mix_bits(number)};
  if (book_.specs[number].keep != Keep::Sinks || number >= kReferencing || !rng.chance(1, 3)) return;
  const std::uint32_t referencing = number + kReferencing;
  if (book_.specs.contains(referencing)) return;  // The producer job is submitted for the second time.
  book_.producer_jobs[referencing] = book_.accepted[number];
  ++wanted_;
  JobSpec& spec = book_.specs[referencing];
  spec.name = "borrower-" + std::to_string(referencing);
  spec.wait_for_resources = true;
  spec.owner = book_.specs[number].owner;  // Of nobody else may one borrow.
  spec.policy = book_.specs[number].policy;
  spec.policy.gang = spec.policy.gang_max = spec.policy.slots_max = 0;
  spec.policy.together.clear();
  spec.policy.gang_groups = 0;
  const Graph graph =
      referencing_graph(rng, book_.accepted[number], book_.identities[number], *book_.submitted[number]);
  world_.timeline().after(milliseconds{rng.between(0, 400)},
                          [this, referencing, graph = std::make_shared<const Graph>(graph)] {
                            book_.submitted[referencing] = graph;
                            submit(referencing);
                          });
}

/// Now and then it leaves a job for a while, and is told everything when it is back.
void ClientHost::look_away(std::uint32_t number) {
  Rng rng{mix_bits(world_.options().seed) ^ mix_bits(number + 0x1ea7e)};
  if (!rng.chance(1, 4)) return;
  const JobId job = book_.accepted[number];
  const milliseconds leaves{rng.between(0, 300)};
  const milliseconds away{rng.between(0, 200)};
  const JobIdentity identity = book_.identities[number];
  const auto is_it = [this, number, identity] {
    return book_.accepted.contains(number) && book_.identities[number] == identity;
  };
  world_.timeline().after(leaves, [this, job, identity, is_it] {
    if (is_it()) send(UnfollowJob{job, identity});
  });
  world_.timeline().after(leaves + away, [this, job, number, identity, is_it] {
    if (is_it() && !ended_.contains(job)) send(AttachJob{number, JobSelector{job, {}}, identity});
  });
}

/// An output that its producer job has not made, or that no worker has any more, cannot be an external input; a run may
/// be over before its job is there.
bool ClientHost::gives_up(const SubmitReply& reply) {
  if (is_nested(reply.submission) && reply.refusal.code == ErrorCode::WrongState)
    return forget_submission(reply.submission);
  const bool is_lost = reply.refusal.code == ErrorCode::InputLost || reply.refusal.code == ErrorCode::NotFound;
  if (!is_referencing(reply.submission) || !is_lost) return false;
  if (forget_submission(reply.submission)) release_producer_job(reply.submission);
  return true;
}

/// True in any case. A client that has died submits once more what may be on its way: both are answered.
bool ClientHost::forget_submission(std::uint64_t number) {
  if (!book_.accepted.contains(number) && book_.submitted.erase(number) > 0) --wanted_;
  return true;
}

void ClientHost::maybe_nest(const ParentRun& run) {
  const WorldOptions& options = world_.options();
  if (!options.faults.nesting || options.policy || options.workflow != nullptr || nested_ >= kNestedMax) return;
  Rng world{mix_bits(options.seed) ^ 0x4e57ed};
  Rng rng{mix_bits(options.seed) ^ mix_bits((std::uint64_t{run.id.job.value()} << 32U) | run.id.index.value()) ^
          mix_bits(run.attempt.value() + 0x4e57ed)};
  if (!world.chance(1, 3) || !rng.chance(1, 8)) return;
  const std::uint32_t number = kNested + nested_++;
  ++wanted_;
  JobSpec& spec = book_.specs[number];
  spec.name = kNestedName + std::to_string(number);
  spec.keep = rng.chance(1, 2) ? Keep::Sinks : Keep::Nothing;
  spec.wait_for_resources = true;
  spec.parent = Seldom{run};
  book_.submitted[number] = std::make_shared<const Graph>(random_graph(rng, 3, options.faults.failures));
  world_.timeline().after(milliseconds{rng.between(0, 5)}, [this, number] { submit(number); });
}

/// The job was kept until it was known whether this one borrows from it.
void ClientHost::release_producer_job(std::uint64_t referencing) {
  const auto producer_job = book_.producer_jobs.find(referencing);
  if (producer_job == book_.producer_jobs.end()) return;
  const JobId job = producer_job->second;
  book_.producer_jobs.erase(producer_job);
  if (ended_.contains(job)) release(job);
}

/// Unless it is kept for another job.
void ClientHost::release(JobId job) {
  if (is_to_be_referenced(job)) return;
  for (const auto& [number, id] : book_.accepted) {
    if (id != job) continue;
    if (releases_outputs(number)) return release_outputs(number, number % 2 == 0 ? 1 : 2);
    return send(ReleaseJob{job, book_.identities[number]});
  }
}

/// Whether it lets the job go by its outputs, one after the other.
bool ClientHost::releases_outputs(std::uint64_t number) const {
  Rng rng{mix_bits(world_.options().seed) ^ mix_bits(number + 0x0e1ea5e)};
  return book_.specs.at(number).keep == Keep::Sinks && rng.chance(1, 3);
}

/// Outputs of one in so many subtasks, whether they are kept or not; the others stay to the end.
void ClientHost::release_outputs(std::uint64_t number, std::uint32_t one_in) {
  Rng rng{mix_bits(world_.options().seed) ^ mix_bits(number + one_in)};
  ReleaseOutputs message{book_.accepted[number], book_.identities[number], {}};
  for (std::uint32_t i = 0; i < book_.submitted[number]->size(); ++i)
    if (rng.chance(1, one_in)) append(message.subtasks, SubtaskIndex{i});
  if (!message.subtasks.empty()) send(std::move(message));
}

/// At a time when it runs or has ended, unless another job is to read them.
void ClientHost::release_some(std::uint32_t number) {
  if (!releases_outputs(number)) return;
  Rng rng{mix_bits(world_.options().seed) ^ mix_bits(number + 0x50e)};
  const JobIdentity identity = book_.identities[number];
  world_.timeline().after(milliseconds{rng.between(0, 500)}, [this, number, identity] {
    const bool is_it = book_.accepted.contains(number) && book_.identities[number] == identity;
    if (is_it && !is_to_be_referenced(book_.accepted[number])) release_outputs(number, 3);
  });
}

bool ClientHost::is_to_be_referenced(JobId job) const {
  return std::any_of(book_.producer_jobs.begin(), book_.producer_jobs.end(),
                     [&](const auto& entry) { return entry.second == job; });
}

/// An external input is lost only with a worker.
void ClientHost::check_failures(const JobProgress& progress) const {
  if (world_.options().faults.supervisor_restarts || world_.supervisor().core().counters().workers_lost > 0) return;
  for (const SubtaskFailure& failure : progress.failures)
    if (failure.last.message.find("is lost (") != std::string::npos)
      world_.oracle().breach(to_string(SubtaskId{progress.job, failure.subtask}) +
                             " fails, though no worker was lost: " + failure.last.message);
}

void ClientHost::submit(std::uint32_t number) {
  if (endpoint_ == nullptr) return;               // The answer comes with the next connection.
  if (!book_.submitted.contains(number)) return;  // The job was given up meanwhile.
  if (book_.again.contains(number))
    return send(SubmitAgain{number, {}, book_.specs[number], content_hash(*book_.submitted[number])});
  SubmitGraph submit;
  submit.submission = number;
  submit.spec = book_.specs[number];
  submit.graph = book_.submitted[number];
  endpoint_->send(std::make_shared<const Message>(std::move(submit)), world_.now());
  plan_link_tick();
}

void ClientHost::order(AdminRequest request) { send(std::move(request)); }

void ClientHost::send(FromClient message) {
  if (endpoint_ == nullptr) return unsent_.push_back(std::move(message));
  endpoint_->send(std::make_shared<const Message>(std::move(message)), world_.now());
  plan_link_tick();
}

void ClientHost::arrive(const Frame& frame) {
  if (endpoint_ == nullptr) return;
  endpoint_->arrive(frame, world_.now());
  plan_link_tick();
}

void ClientHost::plan_link_tick() {
  const Instant at = endpoint_->plan();
  if (at == kNever) return;
  world_.timeline().at(at, [this, at, connection = connection_] {
    if (connection == connection_ && endpoint_ != nullptr && endpoint_->due(at, world_.now())) plan_link_tick();
  });
}

void ClientHost::receive(const MessagePtr& message) {
  const auto* said = std::get_if<ToClient>(message.get());
  if (said == nullptr) return world_.oracle().breach("the client received what is not for clients");
  if (const auto* reply = std::get_if<SubmitReply>(said)) {
    const bool passing =
        reply->refusal.code == ErrorCode::StorageFull || reply->refusal.code == ErrorCode::NoAvailableBand;
    if (!reply->job.valid() && passing) {
      world_.timeline().after(milliseconds{100}, [this, number = reply->submission] {
        if (!book_.accepted.contains(number)) submit(static_cast<std::uint32_t>(number));
      });
      return;
    }
    if (!reply->job.valid() && reply->refusal.code == ErrorCode::UnknownGraph) {
      if (book_.again.erase(reply->submission) > 0) {
        book_.sent_whole.insert(reply->submission);
        return submit(static_cast<std::uint32_t>(reply->submission));
      }
      // The job was named twice, after a full disk and for a new connection: the second answer says nothing new.
      if (book_.sent_whole.contains(reply->submission)) return;
    }
    if (!reply->job.valid() && gives_up(*reply)) return;
    if (!reply->job.valid()) return world_.oracle().breach("a good graph was refused: " + to_string(reply->refusal));
    // The client had asked twice: everything comes once more.
    if (!book_.accepted.emplace(reply->submission, reply->job).second) return told_anew(reply->job);
    book_.identities[reply->submission] = reply->identity;
    jobs_.push_back(reply->job);
    look_away(static_cast<std::uint32_t>(reply->submission));
    release_producer_job(reply->submission);
    reference(static_cast<std::uint32_t>(reply->submission));
    release_some(static_cast<std::uint32_t>(reply->submission));
  } else if (const auto* attached = std::get_if<AttachReply>(said)) {
    if (!attached->job.valid()) return is_gone(attached->request, attached->refusal);
    if (attached->identity != book_.identities[attached->request])
      world_.oracle().breach("a client that means another job follows " + to_string(attached->job));
    told_anew(attached->job);  // Behind this everything comes once more.
  } else if (const auto* progress = std::get_if<JobProgress>(said)) {
    world_.note("client: job % has % succeeded subtasks, % failed, % cancelled; state %",
                {progress->job.value(), progress->counts.succeeded, progress->counts.failed, progress->counts.cancelled,
                 static_cast<std::uint64_t>(progress->state)});
    if (is_of_this_branch()) world_.oracle().client_told(*progress);
    check_failures(*progress);
    if (progress->state == JobState::Running) return;
    if (!ended_.insert(progress->job).second) return;  // The client came back to it just before it was told.
    world_.job_ended();
    release(progress->job);
  }
}

}  // namespace penstock::simulation
