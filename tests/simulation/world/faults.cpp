#include "tests/simulation/world/faults.hpp"

#include <algorithm>

#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {
namespace {

/// Two of processors, and that of the devices.
constexpr std::uint16_t kBandsMax = 3;

}  // namespace

using std::chrono::milliseconds;

Faults Faults::of_level(std::uint32_t level) {
  Faults faults;
  faults.delays = level >= 1;
  faults.losses = faults.resets = faults.failures = faults.spills = level >= 2;
  faults.partitions = faults.crashes = faults.hangs = faults.fetch_failures = level >= 3;
  faults.cancels = faults.operators = level >= 3;
  faults.supervisor_restarts = faults.disk_failures = level >= 3;
  faults.supervisor_stalls = faults.one_way_partitions = faults.late_workers = level >= 3;
  faults.restores = faults.client_deaths = level >= 3;
  faults.yields = level >= 3;
  faults.nesting = level >= 3;
  return faults;
}

FaultPlan::FaultPlan(World& world)
    : world_(world),
      stalls_(mix_bits(world.options().seed) ^ 0x57a115),
      deaths_(mix_bits(world.options().seed) ^ 0xdead),
      meddling_(mix_bits(world.options().seed) ^ 0x3edd1e) {}

void FaultPlan::start() {
  next();
  if (world_.options().faults.late_workers) plan_late_workers();
  if (world_.options().faults.restores && world_.options().faults.supervisor_restarts) plan_restore();
  if (world_.options().faults.operators && meddling_.chance(1, 5)) plan_meddling();
}

/// Once in a few worlds, with draws of its own. A journal that was torn holds all that was promised; a backup does not.
void FaultPlan::plan_restore() {
  Rng rng{mix_bits(world_.options().seed) ^ 0xba4c};
  if (!rng.chance(1, 6)) return;
  const milliseconds taken{rng.between(100, 3000)};
  const milliseconds put_back = taken + milliseconds{rng.chance(1, 4) ? 0 : rng.between(1, 3000)};
  const milliseconds away{rng.between(1, rng.chance(1, 3) ? 12000 : 500)};
  auto backup = std::make_shared<SupervisorHost::Backup>();
  world_.timeline().after(taken, [this, backup] { *backup = world_.supervisor().back_up(); });
  world_.timeline().after(put_back, [this, backup, away] {
    if (!world_.faults_on()) return;
    SupervisorHost& supervisor = world_.supervisor();
    if (supervisor.up()) {
      supervisor.crash();
      world_.timeline().after(away, [this] { world_.supervisor().come_back(); });
    }
    supervisor.put_back(*backup);
  });
}

/// Draws of its own: which worlds have a fault does not move the draws of the others.
void FaultPlan::plan_late_workers() {
  Rng rng{mix_bits(world_.options().seed) ^ 0x1a7e};
  if (!rng.chance(1, 4)) return;
  for (std::uint64_t count = 1 + rng.below(2); count > 0; --count)
    world_.timeline().after(milliseconds{rng.between(300, 3000)}, [this] { world_.add_worker().link().connect(); });
}

/// True if it has struck.
bool FaultPlan::stop_or_deafen(WorkerHost& host) {
  const Faults& faults = world_.options().faults;
  if (faults.supervisor_stalls && world_.supervisor().up() && stalls_.chance(1, 60)) {
    world_.supervisor().stop_for(milliseconds{stalls_.between(1, stalls_.chance(1, 4) ? 15000 : 300)});
    return true;
  }
  if (!faults.one_way_partitions || !host.up() || host.link().cut_off() || host.link().one_way() != OneWay::None)
    return false;
  if (!stalls_.chance(1, 40)) return false;
  const bool mute = stalls_.chance(1, 2);
  world_.note(mute ? "nothing that life % sends arrives" : "nothing arrives at life %", {host.life()});
  host.link().set_one_way(mute ? OneWay::Mute : OneWay::Deaf);
  world_.timeline().after(milliseconds{stalls_.between(10, 20000)}, [&host] { host.link().set_one_way(OneWay::None); });
  return true;
}

/// An operator that orders something of a subtask that a worker has just now; `operate` mostly finds one that has
/// ended.
void FaultPlan::plan_meddling() {
  world_.timeline().after(milliseconds{meddling_.between(1, 40)}, [this] {
    if (!world_.faults_on()) return;
    meddle();
    plan_meddling();
  });
}

void FaultPlan::meddle() {
  const std::vector<JobId> jobs = world_.jobs();
  if (jobs.empty()) return;
  const JobId id = jobs[meddling_.below(jobs.size())];
  const supervisor::Job* job = world_.supervisor().core().find_job(id);
  if (job == nullptr || job->status.state != JobState::Running) return;
  std::vector<std::uint32_t> under_way;
  for (std::uint32_t i = 0; i < job->hot.size(); ++i)
    if (job->hot[i].phase == supervisor::SubtaskPhase::Assigned) under_way.push_back(i);
  if (under_way.empty()) return;
  const std::string subtask = std::to_string(under_way[meddling_.below(under_way.size())]);
  if (world_.options().faults.cancels && meddling_.chance(1, 8))
    return world_.client().order({0, "cancel", {to_string(id), subtask, "--kill-after-ms=5"}});
  const std::string priority = std::to_string(meddling_.between(-5, 5));
  world_.client().order({0, "priority", {to_string(id), priority, "--subtask=" + subtask}});
}

void FaultPlan::next() {
  world_.timeline().after(milliseconds{world_.rng().between(1, 150)}, [this] {
    if (!world_.faults_on()) return stop();
    strike();
    next();
  });
}

void FaultPlan::strike() {
  Rng& rng = world_.rng();
  const Faults& faults = world_.options().faults;
  if (world_.workers().empty()) return;
  WorkerHost& host = *world_.workers()[rng.below(world_.workers().size())];
  if (faults.supervisor_restarts && world_.supervisor().up() && rng.chance(1, 40)) {
    world_.supervisor().crash();
    world_.timeline().after(milliseconds{rng.between(1, rng.chance(1, 3) ? 12000 : 500)},
                            [this] { world_.supervisor().come_back(); });
    return;
  }
  if (stop_or_deafen(host)) return;
  if (faults.client_deaths && !world_.options().policy && deaths_.chance(1, 60)) {
    ClientHost& client = *world_.clients()[deaths_.below(world_.clients().size())];
    // Two draws, two statements: the order of arguments is the compiler's choice.
    const bool farewell = deaths_.chance(2, 3);
    const milliseconds away{deaths_.between(1, 3000)};
    return client.die(away, farewell);
  }
  if (faults.disk_failures && rng.chance(1, 40))
    return world_.supervisor().disk().fill(milliseconds{rng.between(1, 2000)});
  switch (rng.below(8)) {
    case 0:
      if (faults.crashes && host.up() && rng.chance(1, 3)) crash(host);
      break;
    case 1:
    case 2:
      if (faults.resets && host.up()) reset(host);
      break;
    case 3:
      if (faults.partitions && host.up() && !host.link().cut_off() && rng.chance(1, 2)) cut_off(host);
      break;
    case 4:
      if (faults.hangs && host.up() && rng.chance(1, 2))
        host.hang(milliseconds{rng.between(1, rng.chance(1, 3) ? 15000 : 300)});
      break;
    case 5:
      if (faults.spills && host.up()) host.data().spill_something();
      break;
    default: operate(); break;
  }
}

void FaultPlan::crash(WorkerHost& host) {
  host.crash();
  world_.timeline().after(milliseconds{world_.rng().between(1, 3000)}, [&host] {
    if (!host.up()) host.come_back();
  });
}

void FaultPlan::reset(WorkerHost& host) {
  if (host.link().endpoint() == nullptr || host.link().endpoint()->connection() == 0) return;
  const std::uint64_t connection = host.link().endpoint()->connection();
  world_.note("the connection of life % is reset", {host.life()});
  world_.timeline().after(world_.latency(), [this, life = host.life(), connection] {
    world_.supervisor().links().connection_broke(life, connection);
  });
  world_.timeline().after(world_.latency(), [&host, connection, life = host.life()] {
    if (host.up() && host.life() == life)
      host.deliver([&host, connection] { host.link().connection_broke(connection); });
  });
}

void FaultPlan::cut_off(WorkerHost& host) {
  world_.note("life % is cut off from the network", {host.life()});
  host.link().set_cut_off(true);
  world_.timeline().after(milliseconds{world_.rng().between(10, 20000)}, [&host] { host.link().set_cut_off(false); });
}

void FaultPlan::operate() {
  Rng& rng = world_.rng();
  const Faults& faults = world_.options().faults;
  const std::vector<JobId> jobs = world_.jobs();
  if (jobs.empty()) return;
  const std::string job = to_string(jobs[rng.below(jobs.size())]);
  const std::string subtask = std::to_string(rng.below(world_.options().subtasks_max));
  keep_or_not(job);
  switch (rng.below(6)) {
    case 0:
      if (faults.cancels && rng.chance(1, 6)) world_.client().order({0, "cancel", {job}});
      break;
    case 1:
      if (faults.cancels && rng.chance(2, 3)) world_.client().order({0, "cancel", {job, subtask, "--kill-after-ms=5"}});
      break;
    case 2:
      if (faults.operators) world_.client().order({0, "priority", {job, std::to_string(rng.between(-5, 5))}});
      break;
    case 3:
      if (faults.operators)
        world_.client().order({0, "priority", {job, std::to_string(rng.between(-5, 5)), "--subtask=" + subtask}});
      break;
    case 4: {
      if (!faults.operators) break;
      const WorkerHost& host = *world_.workers()[rng.below(world_.workers().size())];
      std::vector<std::string> whom{host.name()};
      if (rng.chance(1, 4)) whom.emplace_back("--now");
      world_.client().order({0, rng.chance(1, 2) ? "drain" : "undrain", std::move(whom)});
      break;
    }
    case 5: {
      if (!faults.operators) break;
      if (world_.options().policy) return change_policy(job);
      EntitlementBatch plan{++entitlement_version_, {}};
      for (const JobId id : jobs)
        plan.entitlements.push_back({id, BandIndex{0}, MilliSlots{rng.chance(1, 3) ? 0 : 500 * rng.between(1, 6)}, 0});
      keep_to_devices(jobs, plan);
      send_entitlements(plan);
      break;
    }
    default: break;
  }
}

/// In one world of five outputs of jobs are kept without a client, for a while.
bool FaultPlan::keeps_jobs() const {
  return world_.options().faults.operators && Rng{mix_bits(world_.options().seed) ^ 0x6ee9}.chance(1, 5);
}

void FaultPlan::keep_or_not(const std::string& job) {
  if (!keeps_jobs()) return;
  // A stream of its own: seeds that once found something go on finding it.
  const auto now = static_cast<std::uint64_t>(world_.now().time_since_epoch().count());
  Rng rng{mix_bits(world_.options().seed) ^ mix_bits(now + 0x6ee9)};
  if (rng.chance(1, 2)) world_.client().order({0, rng.chance(2, 3) ? "keep" : "unkeep", {job}});
}

/// Of hosts with several devices each job may use parts of some, or all of them again.
void FaultPlan::keep_to_devices(const std::vector<JobId>& jobs, EntitlementBatch& plan) const {
  const std::uint32_t devices = world_.config().devices;
  if (devices < 2) return;
  // A stream of its own: seeds that once found something go on finding it.
  Rng rng{mix_bits(world_.options().seed) ^ mix_bits(plan.version + 0xd37)};
  for (const JobId id : jobs)
    for (std::uint16_t band = 1; band < kBandsMax; ++band) {  // One of them has the devices.
      Entitlement& kept = plan.entitlements.emplace_back(Entitlement{id, BandIndex{band}, MilliSlots::max(), 0});
      if (rng.chance(1, 2)) continue;
      for (std::uint32_t i = 0; i < devices; ++i)
        kept.device_slots.push_back(static_cast<std::uint16_t>(500 * rng.between(0, 2)));
    }
}

/// As the supervisor does: a worker is told of jobs only that it has heard of and that have not ended.
void FaultPlan::send_entitlements(const EntitlementBatch& plan) {
  for (const auto& host : world_.workers()) {
    Endpoint* endpoint = world_.supervisor().links().endpoint_of(host->life());
    if (endpoint == nullptr) continue;
    EntitlementBatch own{plan.version, {}};
    for (const Entitlement& each : plan.entitlements) {
      const supervisor::Job* job = world_.supervisor().core().find_job(each.job);
      if (job == nullptr || job->status.state != JobState::Running) continue;
      if (std::find(job->audience.workers.begin(), job->audience.workers.end(), world_.supervisor().number_of(*host)) !=
          job->audience.workers.end())
        own.entitlements.push_back(each);
    }
    endpoint->send(std::make_shared<const Message>(ToWorker{std::move(own)}), world_.now());
  }
}

void FaultPlan::change_policy(const std::string& job) {
  Rng& rng = world_.rng();
  Rng rules{mix_bits(world_.options().seed) ^
            mix_bits(static_cast<std::uint64_t>(world_.now().time_since_epoch().count()))};
  if (world_.config().has_rules && rules.chance(1, 2)) return change_rules(rules, job);
  const std::vector<JobId> jobs = world_.jobs();
  const std::vector<ProjectConfig>& projects = world_.config().supervisor.policy.projects;
  switch (rng.below(5)) {
    case 0: return world_.client().order({0, "set", {"weight", job, std::to_string(rng.between(1, 9))}});
    case 1: {
      // By its memory a run of several devices may count for more of a worker that comes later: below that its job
      // waits for ever, as it should.
      const std::uint64_t least = 2 * std::uint64_t{world_.config().devices};
      return world_.client().order(
          {0, "set", {"cap", job, rng.chance(1, 2) ? "none" : std::to_string(least + rng.below(4) + 1)}});
    }
    case 2: {
      const std::string other = to_string(jobs[rng.below(jobs.size())]);
      return world_.client().order({0, "move", {job, rng.chance(1, 2) ? "ahead-of" : "behind", other}});
    }
    case 3:
      if (projects.empty()) return;
      return world_.client().order(
          {0, "set", {"quota", projects[rng.below(projects.size())].name, std::to_string(rng.between(0, 6))}});
    default: return world_.client().order({0, "reload", {}});
  }
}

/// Not from the stream of the others: seeds that once found something go on finding it.
void FaultPlan::change_rules(Rng& rng, const std::string& job) {
  static constexpr const char* kLevels[] = {"normal", "standby", "fast", "expedite", "no such level"};
  static constexpr const char* kQueues[] = {"short", "long", "none", "no such queue"};
  switch (rng.below(4)) {
    case 0: return world_.client().order({0, "set", {"qos", job, kLevels[rng.below(std::size(kLevels))]}});
    case 1: return world_.client().order({0, "set", {"queue", job, kQueues[rng.below(std::size(kQueues))]}});
    case 2: return world_.client().order({0, "release", {job}});
    default: return world_.client().order({0, "hold", {job}});
  }
}

void FaultPlan::stop() {
  world_.note("faults end; everything comes back");
  world_.supervisor().come_back();
  world_.supervisor().disk().fill(Duration{0});
  for (const auto& host : world_.workers()) {
    host->link().set_cut_off(false);
    host->link().set_one_way(OneWay::None);
    if (!host->up()) host->come_back();
    // Again for those that are not back yet: they may come back draining.
    for (const int after : {0, 5, 15, 30, 70})
      world_.timeline().after(std::chrono::seconds{after}, [this, name = host->name()] {
        world_.client().order({0, "undrain", {name}});
      });
  }
  // Again, because an order may be lost with a supervisor.
  for (const int after : {0, 5, 15, 30, 70})
    world_.timeline().after(std::chrono::seconds{after}, [this] {
      for (const JobId id : world_.jobs())
        if (world_.config().has_rules) world_.client().order({0, "release", {to_string(id)}});
      for (const JobId id : world_.jobs())
        if (keeps_jobs()) world_.client().order({0, "unkeep", {to_string(id)}});
    });
  if (world_.options().policy) return;
  // Also of accepted jobs, even if their clients have not heard of the acceptance yet.
  constexpr std::uint32_t kNumbersMax = 1000;
  EntitlementBatch plan{++entitlement_version_, {}};
  for (std::uint32_t number = 1; number <= kNumbersMax; ++number)
    for (std::uint16_t band = 0; band < kBandsMax; ++band)
      plan.entitlements.push_back({JobId{number}, BandIndex{band}, MilliSlots::max(), 0});
  send_entitlements(plan);
}

}  // namespace penstock::simulation
