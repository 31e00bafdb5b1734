#include "tests/simulation/world/supervisor_host.hpp"

#include <algorithm>
#include <set>

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
      answers_(mix_bits(world.options().seed) ^ 0xa45e),
      disk_(*this),
      links_(*this),
      witness_(*this) {
  begin_life(journals() ? rng_.fork() : rng_);
}

bool SupervisorHost::journals() const {
  return world_.options().faults.supervisor_restarts || world_.options().faults.disk_failures;
}

void SupervisorHost::begin_life(Rng rng) {
  witness_.begin(std::make_unique<SupervisorCore>(config_, rng, journals() ? Durability::Journal : Durability::None));
  shell_.emplace(witness_, *this, config_.messages_together_max);
  tick_at_ = kNever;
}

void SupervisorHost::crash() {
  world_.note("supervisor: crashes");
  up_ = false;
  stopped_until_ = Instant{};
  ++life_;
  disk_.crash();
  links_.crash();
}

void SupervisorHost::maybe_die_behind_answer() {
  const bool dies = world_.options().faults.supervisor_restarts && mix_bits(world_.options().seed ^ 0xa45e) % 6 == 0;
  if (!dies || !world_.faults_on() || !answers_.chance(1, 4)) return;
  const Duration away = milliseconds{answers_.between(1, 500)};
  world_.timeline().after(Duration{0}, [this, away, life = life_] {
    if (life != life_ || !up_) return;
    crash();
    world_.timeline().after(away, [this] { come_back(); });
  });
}

void SupervisorHost::come_back() {
  if (up_) return;
  up_ = true;
  begin_life(rng_.fork());
  RecoveredState state = disk_.content().state();
  std::set<std::uint64_t> known;
  for (const record::WorkerJoined& worker : state.workers) known.insert(worker.incarnation.value());
  // Workers of which nothing is written begin anew when they hear of this life.
  std::vector<Oracle::Life> unclaimed;
  for (const auto& worker : world_.workers()) {
    if (!known.contains(worker->life())) world_.oracle().life_lost(worker->life());
    unclaimed.push_back(worker->life());
  }
  world_.oracle().supervisor_began(unclaimed);
  shell_->recovered(std::move(state), world_.now().time_since_epoch() / milliseconds{1}, ++term_);
}

bool SupervisorHost::stopped() const { return world_.now() < stopped_until_; }

void SupervisorHost::stop_for(Duration duration) {
  world_.note("supervisor: stops for % us", {static_cast<std::uint64_t>(duration.count() / 1000)});
  stopped_until_ = std::max(stopped_until_, later(world_.now(), duration));
  witness_.stood_still_until(stopped_until_);
}

void SupervisorHost::when_running(std::function<void()> what) {
  if (!stopped()) return what();
  world_.timeline().at(stopped_until_, [this, life = life_, what = std::move(what)]() mutable {
    if (life == life_ && up_) when_running(std::move(what));
  });
}

void SupervisorHost::after(Duration delay, std::function<void()> what) { at(world_.now() + delay, std::move(what)); }

void SupervisorHost::at(Instant when, std::function<void()> what) {
  world_.timeline().at(when, [this, life = life_, what = std::move(what)]() mutable {
    if (life == life_ && up_) when_running(std::move(what));
  });
}

WorkerId SupervisorHost::number_of(const WorkerHost& worker) const {
  return shell_->workers().find(Incarnation{worker.life()});
}

bool SupervisorHost::knows_success(SubtaskId subtask) const {
  const Job* job = core().find_job(subtask.job);
  return job == nullptr || subtask.index.value() >= job->hot.size() ||
         (job->hot[subtask.index.value()].flags & SubtaskFlag::kVisible) != 0;
}

bool SupervisorHost::counts_on(WorkerId worker, SubtaskId subtask, Attempt attempt) const {
  const Job* job = core().find_job(subtask.job);
  if (job == nullptr || subtask.index.value() >= job->hot.size()) return false;
  const SubtaskHot& hot = job->hot[subtask.index.value()];
  return hot.phase == SubtaskPhase::Assigned && hot.attempt == attempt.value() &&
         core().workers()[hot.band].id.worker == worker;
}

void SupervisorHost::take_claim(std::uint64_t life, const WorkerClaim& claim) {
  const WorkerId worker = shell_->workers().find(Incarnation{life});
  if (!core().workers().find(worker).valid()) return;
  for (const ClaimedJob& job : claim.jobs)
    for (const ClaimedAttempt& claimed : job.attempts)
      if (const SubtaskId subtask{job.job, claimed.subtask}; !counts_on(worker, subtask, claimed.attempt))
        world_.oracle().claim_refused(life, subtask, claimed.attempt);
  if (!claim.last) return;
  world_.note("supervisor: life % has claimed all", {life});
  world_.oracle().life_returned(
      life, [&](SubtaskId subtask, Attempt attempt) { return counts_on(worker, subtask, attempt); });
}

Instant SupervisorHost::now() const { return world_.now() + clock_of(incarnation()); }

void SupervisorHost::alert(const Error& error) {
  world_.note("supervisor: alert with code %", {static_cast<std::uint64_t>(error.code)});
  // Nothing that a world does lasts for so long.
  if (core().counters().watchdog_alerts > 0 && config_.watchdog_after >= kWatchdogPatient)
    world_.oracle().breach("the watchdog gave alarm: " + to_string(error) + world_.describe_unfinished());
}

// On a thread of its own: the cluster goes on meanwhile, and now and then it takes too long or fails.
void SupervisorHost::run_pass(RunPass order) {
  Rng& rng = world_.rng();
  const Duration takes = rng.chance(1, 20) ? milliseconds{rng.between(1, 3000)} : microseconds{rng.between(10, 5000)};
  auto ended = std::make_shared<supervisor_event::PassEnded>(supervisor::run_pass(order));
  if (!ended->failure.empty()) world_.oracle().breach("a pass is impossible: " + ended->failure);
  if (world_.faults_on() && rng.chance(1, 30)) *ended = {order.number, {}, "it was made to fail", {}};
  after(takes, [this, ended] { shell_->handle(std::move(*ended)); });
}

// Somebody has written another configuration, or a wrong one.
Result<PolicyConfig> SupervisorHost::read_policy() {
  Rng& rng = world_.rng();
  if (!rng.chance(3, 4)) return Error{ErrorCode::InvalidArgument, "policy", "drawn", {}};
  config_.policy = changed_policy(rng, config_.policy);
  return config_.policy;
}

void SupervisorHost::arm(std::optional<Instant> at) {
  if (!at) {
    tick_at_ = kNever;
    return;
  }
  tick_at_ = *at - clock_of(incarnation());
  world_.timeline().at(tick_at_, [this, planned = tick_at_, life = life_] {
    if (tick_at_ != planned || life != life_) return;
    when_running([this] {
      tick_at_ = kNever;
      shell_->tick();
    });
  });
}

SupervisorHost::Backup SupervisorHost::back_up() const { return {disk_.content(), world_.oracle(), term_}; }

}  // namespace penstock::simulation
