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

World::World(const WorldOptions& options) : options_(options), rng_(options.seed) {
  draw_configuration();
  faults_end_ = now() + milliseconds{rng_.between(200, 6000)};
  supervisor_ = std::make_unique<SupervisorHost>(*this, supervisor_config_, rng_.fork());
  add_clients();
  plan_ = std::make_unique<FaultPlan>(*this);
}

World::~World() = default;

// Every limit and knob from the seed, small values often: edges are reached by small limits, not by large runs.
void World::draw_configuration() {
  Rng& r = rng_;
  link_config_.window_frames = static_cast<std::uint32_t>(r.chance(1, 3) ? r.between(1, 4) : 1024);
  link_config_.resend_after = milliseconds{r.between(20, 500)};
  link_config_.resend_after_max = seconds{2};
  link_config_.heartbeat = milliseconds{r.between(100, 1000)};
  link_config_.silence_max = milliseconds{r.between(5000, 10000)};
  link_config_.supervisor_absence_max = milliseconds{r.chance(1, 4) ? r.between(500, 6000) : 60000};
  worker_config_.prepare_permits_extra = static_cast<std::uint32_t>(r.below(4));
  worker_config_.prepare_bytes_max = r.chance(1, 3) ? Bytes{r.between(1, 200'000)} : kGiB;
  worker_config_.store_permits = static_cast<std::uint32_t>(r.between(1, 4));
  worker_config_.fetches_max = static_cast<std::uint32_t>(r.between(1, 8));
  worker_config_.bypass_max = static_cast<std::uint32_t>(r.below(5));
  worker_config_.forward_bypass_max = static_cast<std::uint32_t>(r.below(5));
  worker_config_.report_batch_max = static_cast<std::uint32_t>(r.chance(1, 3) ? r.between(1, 5) : 4096);
  worker_config_.report_after = microseconds{r.between(0, 3000)};
  // A part of the stores holds no more than a few data; then outputs wait, are refused, or push others to disk.
  worker_config_.store_bytes_max = r.chance(1, 3) ? Bytes{r.between(300'000, 900'000)} : Bytes{0};
  worker_config_.spill_from_percent = static_cast<std::uint32_t>(r.between(1, 100));
  worker_config_.spill_to_percent = static_cast<std::uint32_t>(r.between(0, 100));
  worker_config_.relieve_every = milliseconds{r.between(1, 1000)};
  // Not from the stream of the others: seeds that once found something go on finding it.
  Rng peaks{mix_bits(options_.seed) ^ 0x9ea5};
  worker_config_.quota_peaks_min = static_cast<std::uint32_t>(peaks.below(6));
  worker_config_.quota_margin_percent = static_cast<std::uint32_t>(peaks.below(101));
  worker_config_.quota_templates_max = static_cast<std::uint32_t>(peaks.chance(1, 3) ? peaks.between(1, 3) : 4096);
  Rng yields{mix_bits(options_.seed) ^ 0x41e1d};
  if (yields.chance(1, 3)) worker_config_.yields_max = static_cast<std::uint32_t>(yields.below(3));
  worker_config_.subtasks_max = static_cast<std::uint32_t>(r.chance(1, 5) ? r.between(4, 20) : 100000);
  supervisor_config_.lookahead_subtasks_initial = static_cast<std::uint32_t>(r.between(1, 40));
  supervisor_config_.lookahead_subtasks_max = static_cast<std::uint32_t>(r.between(1, 60));
  supervisor_config_.lookahead = milliseconds{r.between(1, 50)};
  supervisor_config_.messages_together_max = static_cast<std::uint32_t>(r.between(1, 20));
  supervisor_config_.assign_batch_max = static_cast<std::uint32_t>(r.chance(1, 3) ? r.between(1, 5) : 4096);
  supervisor_config_.attempts_max = static_cast<std::uint16_t>(r.between(1, 5));
  supervisor_config_.lost_workers_max = 1000;
  supervisor_config_.failures_max = 10000;
  supervisor_config_.broadcast_readers_min = static_cast<std::uint32_t>(r.between(2, 64));
  supervisor_config_.progress_every = microseconds{r.between(0, 5000)};
  supervisor_config_.progress_batch_max = static_cast<std::uint32_t>(r.between(1, 50));
  supervisor_config_.cached_graphs_max = static_cast<std::uint32_t>(r.between(0, 2));
  supervisor_config_.lost_writers_max = 2;  // So small that some are forgotten.
  supervisor_config_.steal_after = microseconds{r.between(0, 3000)};
  supervisor_config_.required_band_wait = milliseconds{r.between(1, 5000)};
  supervisor_config_.lineage_depth_max = static_cast<std::uint32_t>(r.chance(1, 5) ? r.between(1, 4) : 10000);
  supervisor_config_.reclaim_wait = milliseconds{r.chance(1, 4) ? r.between(0, 200) : 1500};
  supervisor_config_.watchdog_after = r.chance(1, 3) ? Duration{milliseconds{r.between(20, 500)}} : kWatchdogPatient;
  if (options_.policy) supervisor_config_.policy = random_policy(r);
  Rng spare{mix_bits(options_.seed) ^ 0x59a7};
  supervisor_config_.spare_data_percent = static_cast<std::uint32_t>(spare.chance(1, 3) ? spare.between(0, 100) : 25);
  supervisor_config_.spare_data_max = static_cast<std::uint32_t>(spare.chance(1, 3) ? spare.between(0, 10) : 65536);
  draw_policy_parts();
}

// Each from a stream of its own: seeds that once found something go on finding it.
void World::draw_policy_parts() {
  Rng parts{mix_bits(options_.seed) ^ 0x9a47};
  has_devices_ = options_.policy && options_.workflow == nullptr && parts.chance(1, 3);
  if (options_.policy && parts.chance(1, 3)) guarantee_memory(parts, supervisor_config_.policy);
  Rng gangs{mix_bits(options_.seed) ^ 0x6a46};
  if (options_.policy && gangs.chance(1, 2))
    supervisor_config_.policy.gang_wait = milliseconds{gangs.chance(1, 8) ? 0 : gangs.between(1, 3000)};
  Rng barriers{mix_bits(options_.seed) ^ 0xba44};
  if (options_.policy && barriers.chance(1, 2))
    supervisor_config_.policy.gang_barrier = milliseconds{barriers.chance(1, 8) ? 20 : barriers.between(20, 2000)};
  // A link of a few frames passes so many in each `acknowledge_after`: an answer takes longer than a short barrier.
  if (link_config_.window_frames <= 4)
    supervisor_config_.policy.gang_barrier =
        std::max<Duration>(supervisor_config_.policy.gang_barrier, milliseconds{500});
  // Whatever workers are configured to, the supervisor sees to it that nobody gives back what a gang begins on.
  worker_config_.barrier_margin =
      milliseconds{options_.policy && barriers.chance(1, 2) ? 0 : barriers.between(0, 2000)};
  worker_config_.cut_off_after = link_config_.silence_max;
  supervisor_config_.worker_lost_after = link_config_.silence_max + link_config_.reconnect_grace;
  // No run fails for it: the disk always takes something in the end, but not what a run reads, and the longest run
  // lasts for four times as long as workers may be silent.
  worker_config_.store_wait_max = seconds{30} + 4 * supervisor_config_.worker_lost_after;
  Rng rules{mix_bits(options_.seed) ^ 0x4175};
  has_rules_ = options_.policy && rules.chance(1, 2);
  if (has_rules_) add_rules(rules, supervisor_config_.policy);
}

WorkerHost& World::add_worker() {
  workers_.push_back(std::make_unique<WorkerHost>(*this, "worker-" + std::to_string(workers_.size() + 1)));
  return *workers_.back();
}

std::uint32_t World::gang_max() const {
  const bool pools = supervisor_config_.policy.pools.size() > 1;
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
  if (risky && rng_.chance(1, 50)) queue_.after(latency(), arrival);
  const Instant own = now() + latency();
  if (risky && rng_.chance(1, 50)) return queue_.at(own, std::move(arrival));
  wire = std::max(wire, own);
  queue_.at(wire, std::move(arrival));
}

WorkerHost* World::find_worker(WorkerId id) {
  for (const auto& host : workers_)
    if (id.valid() && supervisor_->number_of(*host) == id) return host.get();
  return nullptr;
}

void World::note(const char* what, std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t name = 0xcbf29ce484222325ULL;
  for (const char* p = what; *p != 0; ++p) name = (name ^ static_cast<unsigned char>(*p)) * 0x100000001b3ULL;
  const auto at = static_cast<std::uint64_t>(now().time_since_epoch().count());
  hash_ = mix_bits(hash_ ^ name ^ mix_bits(at));
  for (const std::uint64_t number : numbers) hash_ = mix_bits(hash_ ^ mix_bits(number + 1));
  if (!options_.keep_trace && options_.trace_to == nullptr) return;
  std::string line = std::to_string(at / 1000) + " us  ";
  const auto* next = numbers.begin();
  for (const char* p = what; *p != 0; ++p) {
    if (*p == '%' && next != numbers.end())
      line += std::to_string(*next++);
    else
      line += *p;
  }
  line += '\n';
  if (options_.trace_to != nullptr) *options_.trace_to << line << std::flush;
  if (options_.keep_trace) trace_ += line;
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

bool World::finished() const {
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
    queue_.after(milliseconds{rng_.between(0, 200)}, [&host] { host.link().connect(); });
  }
  plan_->start();
  const Instant began = now();
  Instant settle = kNever;
  int settles = 0;
  Instant present{};
  std::uint64_t events_before_present = 0;
  while (!queue_.empty() && oracle_.failure().empty()) {
    queue_.run_next();
    ++events_;
    if (now() != std::exchange(present, now())) events_before_present = events_;
    // A deadline that is due for ever would keep a real process busy for ever.
    if (events_ - events_before_present > kEventsAtOneTimeMax) oracle_.breach("time stands still");
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
  return now() - began >= options_.horizon || now() >= faults_end_ + work_ + kTimersMax;
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
      text += "\n  " + to_string(id) + " " + std::string{to_string(job->state)} + ", " + std::to_string(job->open) +
              " open";
    if (job == nullptr || job->state != JobState::Running) continue;
    if (job->shares != nullptr) text += describe_shares(*job, supervisor_->core().workers());
    for (std::uint32_t i = 0; i < job->total() && shown < 8; ++i) {
      const supervisor::SubtaskHot& hot = job->hot[i];
      if (supervisor::is_final(hot.phase)) continue;
      ++shown;
      const SubtaskId subtask{id, SubtaskIndex{i}};
      text += "\n  " + to_string(subtask, Attempt{hot.attempt}) + " phase " +
              std::to_string(static_cast<int>(hot.phase)) + " missing " + std::to_string(hot.missing) + " unplaced " +
              std::to_string(hot.unplaced) + (job->cancelling ? " (job is being cancelled)" : "");
      if (!hot.band.valid()) continue;
      text += " on " + to_string(supervisor_->core().workers()[hot.band].id);
      for (const auto& host : workers_)
        if (const worker::WorkerExplanation why = host->core().explain(subtask); why.known)
          text += "; " + host->name() + " says " + std::string{to_string(why.state)} + ": " + why.reason;
    }
  }
  return text;
}

void World::check_nothing_left() {
  for (const auto& host : workers_) {
    if (!host->up()) continue;
    const worker::WorkerCore& core = host->core();
    if (core.live_records() != 0) oracle_.breach(host->name() + " still has records");
    if (core.data_count() != 0) oracle_.breach(host->name() + " still knows data: " + core.first_datum());
    if (core.job_count() != 0) oracle_.breach(host->name() + " still knows jobs");
    if (!host->data().all().empty())
      oracle_.breach(host->name() + " still holds data: " + to_string(host->data().all().begin()->first));
    if (!host->shell().unstored().empty()) oracle_.breach(host->name() + " still keeps outputs that are not stored");
    for (std::uint16_t i = 0; i < core.band_count(); ++i) {
      const worker::Band& band = core.band(BandIndex{i});
      if (!band.quota.used().is_zero()) oracle_.breach(host->name() + " has not got its memory back");
      if (band.execute.reservations().any()) oracle_.breach(host->name() + " still keeps slots for a gang");
      if (!band.execute.idle() || !band.prepare.idle()) oracle_.breach(host->name() + " has not got its slots back");
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
  result.trace_hash = hash_;
  result.events = events_;
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
  result.makespan = last_end_ - instant_at(seconds{1});
  result.trace = std::move(trace_);
  return result;
}

WorldResult run_world(const WorldOptions& options) { return World{options}.run(); }

}  // namespace penstock::simulation
