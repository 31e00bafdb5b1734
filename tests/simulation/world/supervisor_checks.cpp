// SupervisorHost: what is checked of each order, answer and plan of the core.
#include <algorithm>
#include <utility>

#include "tests/simulation/world/policies.hpp"
#include "tests/simulation/world/worker_host.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using namespace supervisor;
using namespace supervisor::supervisor_action;

/// A subtask that an operator has cancelled is not given out any more.
void SupervisorHost::witness(const SendToClient& word) {
  const auto* answer = std::get_if<AdminAnswer>(&word.message);
  if (answer != nullptr) maybe_die_behind_answer();
  if (answer != nullptr && !answer->value["draining"].is_null()) witness_drain(*answer);
  if (answer == nullptr || answer->value["subtask"].text() == nullptr || answer->value["cancelled"].is_null()) return;
  if (!answer->value["written"].is_null()) return;  // The disk is full, and it was said that a crash undoes it.
  const Job* job = core_->find_job(job_selector_of(*answer->value["job"].text()).id);
  if (job == nullptr || job->shape == nullptr) return;  // The job has ended.
  const bool everywhere = answer->value["unconfirmed"].is_null() && *answer->value["cancelled"].boolean();
  world_.oracle().cancel_answered({job->id, job->shape->find_key_or_number(*answer->value["subtask"].text())},
                                  everywhere);
}

/// In some worlds it dies now and then just behind an answer: what was answered stands all the same.
void SupervisorHost::maybe_die_behind_answer() {
  if (!dies_behind_answers_ || !world_.faults_on() || !answers_.chance(1, 4)) return;
  const Duration away = std::chrono::milliseconds{answers_.between(1, 500)};
  world_.queue().after(Duration{0}, [this, away, life = life_] {
    if (life != life_ || !up_) return;
    crash();
    world_.queue().after(away, [this] { come_back(); });
  });
}

/// All that may begin or end something, and more. Left are ticks, plans of the policy, and words of load.
bool SupervisorHost::is_progress(const SupervisorEvent& event) {
  if (std::holds_alternative<supervisor_event::Tick>(event) ||
      std::holds_alternative<supervisor_event::PassEnded>(event) ||
      std::holds_alternative<supervisor_event::WorkerSuspected>(event))
    return false;
  const auto* said = std::get_if<supervisor_event::WorkersSaid>(&event);
  if (said == nullptr) return true;
  return !std::all_of(said->said.begin(), said->said.end(), [](const supervisor_event::WorkerSaid& each) {
    const auto* report = std::get_if<ReportBatch>(&each.message);
    return report != nullptr && report->jobs.empty();
  });
}

/// Not in a branch that has jobs which no client knows, and not where nobody waits for the alarm in time.
void SupervisorHost::witness_progress(bool progress) {
  if (branch_ > 1 || config_.watchdog_after >= kWatchdogPatient) return;
  const std::vector<JobId> jobs = world_.jobs();
  const auto running = static_cast<std::size_t>(std::count_if(jobs.begin(), jobs.end(), [this](JobId id) {
    const Job* job = core_->find_job(id);
    return job != nullptr && job->state == JobState::Running;
  }));
  const bool changed = std::exchange(running_jobs_, running) != running;
  const bool succeeded = std::exchange(succeeded_, core_->counters().succeeded) != core_->counters().succeeded;
  const WorkerTable& table = core_->workers();
  bool runs = false;
  for (std::uint32_t i = 0; i < table.band_slots(); ++i) {
    const BandLoad& load = table[BandSlot{i}].load;
    runs |= table[BandSlot{i}].alive && load.running + load.yielded > 0;
  }
  watchdog_.note_load(runs, world_.now());
  if (progress || changed || running == 0 || core_->reclaiming())
    watchdog_.progress(world_.now(), succeeded);
  std::string breach;
  if (std::exchange(alarms_, core_->counters().watchdog_alerts) != alarms_)
    breach = watchdog_.alarm();
  else
    breach = watchdog_.look(world_.now());
  if (!breach.empty()) world_.oracle().breach(std::move(breach));
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
  if (const auto* cancel = std::get_if<CancelBatch>(&order.message)) witness_cancel(order.worker, *cancel);
  const auto* batch = std::get_if<AssignBatch>(&order.message);
  if (batch == nullptr || batch->assignments.empty()) return;
  if (drained_.contains(order.worker))
    world_.oracle().breach(to_string(order.worker) + " is given work, though an operator was told that it drains");
  for (const Assignment& assignment : batch->assignments) {
    const SubtaskId subtask{batch->job, assignment.subtask};
    world_.oracle().assigned(subtask, assignment.attempt);
    // The next life may not know why: what this one knows need not be written yet.
    if (knows_success(subtask)) wanted_again_.insert({subtask, assignment.attempt});
  }
  witness_place(order.worker, batch->job);
}

/// A gang is told to begin when all its slots are held at that moment. Where it must run somewhere it takes them one by
/// one, and without a policy nobody waits.
void SupervisorHost::witness_barrier(WorkerId id, const Entitlement& entitlement) {
  witness_begin(id, entitlement);
  const std::uint64_t barrier = barriers_.told(id, entitlement);
  const Job* job = barrier == 0 ? nullptr : core_->find_job(entitlement.job);
  if (job == nullptr || job->shares == nullptr || job->spec.policy.gang == 0) return;
  // The barrier may have been given up; a worker that has died, unknown to the supervisor, is told of that, too.
  const supervisor::WorkerTable& workers = core_->workers();
  const BandKind told = workers[workers[workers.find(id)].bands[entitlement.band.value()]].kind;
  if (gave_up_but_runs(*job, told, barrier)) return;
  if (const WorkerHost* host = world_.find_worker(id); host != nullptr && host->up())
    witness_whole(*job, told, barriers_.asked_for(entitlement.job, barrier));
  for (const BarrierWitness::Place& place : barriers_.places_of(entitlement.job, barrier)) {
    WorkerHost* const host = world_.find_worker(place.worker);
    if (host == nullptr || !host->up() || !host->knows_barriers()) continue;
    const BandKind kind = host->kind_of(place.band);
    if (job->shares->kinds[static_cast<std::size_t>(kind)].bound) continue;
    if (!host->witness().reservations().holds(entitlement.job, place.band, barrier))
      world_.oracle().breach("the gang of " + to_string(entitlement.job) + " begins, and " + host->name() +
                             " does not hold its slots");
  }
}

/// No worker that the supervisor counts on has given back what it lets a gang begin on. One that has stood still may
/// count on a worker that has heard no word for too long; then the gang gives all back.
void SupervisorHost::check_give_back(WorkerHost& host, const BarrierAnswer& answer) const {
  const bool has_stood_still = world_.now() < later(stopped_until_, config_.worker_lost_after);
  const bool counted_on =
      up_ && !has_stood_still && host.link().supervisor() == incarnation() && peers_.contains(host.link().id());
  if (counted_on && barriers_.has_begun_on({host.link().id(), answer.band}, answer))
    world_.oracle().breach(host.name() + " gives back what the gang of " + to_string(answer.job) + " was let begin on");
}

/// Where older workers have begun on a gang it keeps what runs when its barrier is given up: that is no beginning.
bool SupervisorHost::gave_up_but_runs(const supervisor::Job& job, BandKind kind, std::uint64_t barrier) const {
  if (job.shares->kinds[static_cast<std::size_t>(kind)].barrier->opened == barrier) return false;
  const supervisor::WorkerTable& workers = core_->workers();
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i)
    if (const supervisor::BandSlot band{i}; workers[band].alive && workers[band].kind == kind)
      if (job.shares->of(band).started > 0) return true;
  return false;
}

/// The slots that workers were asked to hold of a gang that begins, and what older ones have begun on, which are asked
/// for nothing, is all of it.
void SupervisorHost::witness_whole(const supervisor::Job& job, BandKind kind, MilliSlots asked) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  if (share.bound) return;
  const std::uint64_t all = job.spec.policy.gang * 1000ULL / share.allocation_unit.milli * share.allocation_unit.milli;
  std::uint64_t milli =
      static_cast<std::uint64_t>(asked.value()) * share.allocation_unit.milli / share.allocation_unit.entitles;
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
  // Behind an open barrier members begin as soon as they are there, and are reported as started only after a while.
  const bool open = job->shares->kinds[static_cast<std::size_t>(kind)].barrier->open;
  bool runs = false;
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i) {
    const supervisor::BandEntry& band = workers[BandSlot{i}];
    const supervisor::BandShare there = job->shares->of(BandSlot{i});
    const bool is_other = band.id != BandId{id, entitlement.band};
    runs |= band.alive && band.kind == kind && (there.started > 0 || (open && is_other && there.runnable > 0));
  }
  const bool unasked = barriers_.begins_unasked(id, kind, entitlement, host->knows_barriers());
  // One of an older version begins when it is told; what is not limited is under no policy.
  if (!unasked || !host->up() || !host->knows_barriers() || entitlement.slots == MilliSlots::max()) return;
  if (!runs && !job->shares->kinds[static_cast<std::size_t>(kind)].bound)
    world_.oracle().breach("the gang of " + to_string(entitlement.job) + " begins at no barrier" +
                           describe_shares(*job, workers));
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
  const std::vector<std::uint32_t>& pools = job->shares->fallback.pools();
  if (pool != job->shares->pool || std::find(pools.begin(), pools.end(), pool) == pools.end())
    world_.oracle().breach(to_string(number) + " is given out to " + worker.name + ", which is not in its pool");
}

void SupervisorHost::witness_cancel(WorkerId worker, const CancelBatch& order) const {
  if (order.preempt) witness_grace(order);
  const WorkerSlot slot = core_->workers().find(worker);
  if (!slot.valid()) return;
  const Oracle::Life life = core_->workers()[slot].incarnation.value();
  for (const AttemptRef& each : order.attempts)
    if (const SubtaskId subtask{order.job, each.subtask}; !counts_on(worker, subtask, each.attempt))
      world_.oracle().withdrawn(life, subtask, each.attempt);
}

/// A preempted run has the time that its job asks for, or that of the site.
void SupervisorHost::witness_grace(const CancelBatch& order) const {
  const JobSpec* spec = world_.spec_of(order.job);
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
      if (job == nullptr || job->shares == nullptr || job->shares->fallback.pools().size() == 1) continue;
      const SubtaskHot& hot = job->hot[ref.subtask];
      if (hot.phase != SubtaskPhase::Assigned || hot.attempt != ref.attempt || hot.band != BandSlot{i}) continue;
      if (!job->shape->template_of(ref.subtask).retryable) continue;
      if (pool_of.try_emplace(ref.job, pool).first->second != pool)
        world_.oracle().breach(to_string(ref.job) + " is in two of its pools at once");
    }
  }
}

/// By band, what the core has been told to be running for a while under a limit.
std::vector<std::uint64_t> SupervisorHost::count_started() const {
  std::vector<std::uint64_t> started(core_->workers().band_slots());
  for (const JobId id : world_.jobs()) {
    const Job* job = core_->find_job(id);
    if (job == nullptr || job->shares == nullptr || job->cancelling) continue;
    for (std::uint32_t i = 0; i < started.size(); ++i) started[i] += job->shares->of(BandSlot{i}).started;
  }
  return started;
}

/// The shares of all jobs on a band fit it, or what was told to run there when the pass began or ends: an end may be
/// on its way when the next one in its slot has been running for a while, and nobody is made to leave because of that.
void SupervisorHost::check_plan() const {
  const WorkerTable& table = core_->workers();
  std::vector<std::uint64_t> given(table.band_slots());
  for (const JobId id : world_.jobs()) {
    const Job* job = core_->find_job(id);
    if (job == nullptr || job->shares == nullptr || job->cancelling) continue;  // A job that ends takes nothing new.
    for (std::uint32_t i = 0; i < given.size(); ++i)
      if (const BandShare share = job->shares->of(BandSlot{i}); share.limited() && share.planned > 0) {
        // A share smaller than a slot of a CPU band is rounded up for each job.
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
    for (const JobId id : world_.jobs())
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

/// The present workers, and whether they are drained.
std::set<std::pair<BandId, bool>> SupervisorHost::bands_now() const {
  const WorkerTable& table = core_->workers();
  std::set<std::pair<BandId, bool>> bands;
  for (std::uint32_t i = 0; i < table.band_slots(); ++i)
    if (const supervisor::BandEntry& band = table[BandSlot{i}]; band.alive)
      bands.emplace(band.id, band.draining);
  return bands;
}

/// The most that any job has which may have to leave for another.
Duration SupervisorHost::longest_grace() const {
  Duration longest = core_->policy().config.grace;
  for (const JobId id : world_.jobs())
    if (const Job* job = core_->find_job(id); job != nullptr)
      longest = std::max(longest, std::min(job->spec.policy.grace, core_->policy().config.grace_max));
  return longest;
}

void SupervisorHost::witness_pass(const policy::Snapshot& snapshot) {
  const std::vector<JobId> jobs = world_.jobs();
  limits_.pass_begins(limited_jobs(*core_, jobs));
  const std::vector<GangView> gangs = gangs_of(*core_, jobs);
  bands_before_ = bands_now();
  const PolicyConfig& config = core_->policy().config;
  gangs_.pass_begins(world_.now(), config.gang_wait, longest_grace(), gangs, promised_to_gangs(snapshot, gangs));
  if (!gangs_.broken_promise().empty()) world_.oracle().breach(gangs_.broken_promise());
}

void SupervisorHost::check_limits_and_gangs() const {
  const std::vector<JobId> jobs = world_.jobs();
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

}  // namespace penstock::simulation
