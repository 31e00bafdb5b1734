// OrderWitness.
#include <algorithm>
#include <utility>

#include "tests/simulation/world/policies.hpp"
#include "tests/simulation/world/worker_host.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using namespace supervisor;
using namespace supervisor::supervisor_action;

/// A subtask that an operator has cancelled is not given out any more.
void OrderWitness::answered(const SendToClient& word) {
  const auto* answer = std::get_if<AdminAnswer>(&word.message);
  if (answer != nullptr) host_.maybe_die_behind_answer();
  if (answer != nullptr && !answer->value["draining"].is_null()) note_drain(*answer);
  if (answer == nullptr || answer->value["subtask"].text() == nullptr || answer->value["cancelled"].is_null()) return;
  if (!answer->value["written"].is_null()) return;  // The disk is full, and it was said that a crash undoes it.
  const Job* job = core().find_job(job_selector_of(*answer->value["job"].text()).id);
  if (job == nullptr || job->graph.shape == nullptr) return;  // The job has ended.
  const bool everywhere = answer->value["unconfirmed"].is_null() && *answer->value["cancelled"].boolean();
  world_.oracle().cancel_answered({job->id, job->graph.shape->find_key_or_number(*answer->value["subtask"].text())},
                                  everywhere);
}

/// An order that another one has followed before its answer left binds nobody.
void OrderWitness::note_drain(const AdminAnswer& answer) {
  if (!answer.value["written"].is_null()) return;
  const WorkerTable& workers = core().workers();
  for (std::uint32_t i = 0; i < workers.worker_slots(); ++i) {
    const WorkerEntry& worker = workers[WorkerSlot{i}];
    if (worker.alive && worker.draining && worker.description.name == *answer.value["worker"].text())
      drained_.insert(worker.id);
  }
}

void OrderWitness::ordered(const SendToWorker& order) {
  if (const auto* drain = std::get_if<Drain>(&order.message); drain != nullptr && !drain->enabled)
    drained_.erase(order.worker);
  if (const auto* plan = std::get_if<EntitlementBatch>(&order.message))
    for (const Entitlement& each : plan->entitlements) host_.witness().gang_starts().told(order.worker, each);
  if (const auto* cancel = std::get_if<CancelBatch>(&order.message)) note_cancel(order.worker, *cancel);
  const auto* batch = std::get_if<AssignBatch>(&order.message);
  if (batch == nullptr || batch->assignments.empty()) return;
  if (drained_.contains(order.worker))
    world_.oracle().breach(to_string(order.worker) + " is given work, though an operator was told that it drains");
  for (const Assignment& assignment : batch->assignments) {
    const SubtaskId subtask{batch->job, assignment.subtask};
    world_.oracle().assigned(subtask, assignment.attempt);
    // The next life may not know why: what this one knows need not be written yet.
    if (host_.knows_success(subtask)) wanted_again_.insert({subtask, assignment.attempt});
  }
  check_place(order.worker, batch->job);
}

/// Whatever is given out goes to a pool of the job's list, and to a worker that its labels allow.
void OrderWitness::check_place(WorkerId id, JobId number) const {
  const Job* job = core().find_job(number);
  const WorkerSlot slot = core().workers().find(id);
  if (job == nullptr || !slot.valid()) return;
  const Register& worker = core().workers()[slot].description;
  if (!allow(label_limits_of(config().policy, job->spec.policy), worker))
    world_.oracle().breach(to_string(number) + " is given out to " + worker.name + ", which has none of its labels");
  if (!runs_jobs_of(worker, job->spec.owner))
    world_.oracle().breach(to_string(number) + " is given out to " + worker.name + ", which does not run jobs of '" +
                           job->spec.owner + "'");
  if (job->shares == nullptr || !is_in_force(config().policy)) return;
  const auto pool = static_cast<std::uint32_t>(pool_of_worker(config().policy, worker.name));
  if (!job->shares->pool.may_hold_in(pool) || !job->shares->pool.lists(pool))
    world_.oracle().breach(to_string(number) + " is given out to " + worker.name + ", which is not in its pool");
}

void OrderWitness::note_cancel(WorkerId worker, const CancelBatch& order) const {
  if (order.preempt) check_grace(order);
  const WorkerSlot slot = core().workers().find(worker);
  if (!slot.valid()) return;
  const Oracle::Life life = core().workers()[slot].incarnation.value();
  for (const AttemptRef& each : order.attempts)
    if (const SubtaskId subtask{order.job, each.subtask}; !host_.counts_on(worker, subtask, each.attempt))
      world_.oracle().withdrawn(life, subtask, each.attempt);
}

/// A preempted run has the time that its job asks for, or that of the site.
void OrderWitness::check_grace(const CancelBatch& order) const {
  const JobSpec* spec = world_.spec_of(order.job);
  if (spec == nullptr) return;
  const Duration own = spec->grace;
  const Duration grace = own > Duration{0} ? std::min(own, config().policy.grace_max) : config().policy.grace;
  if (order.kill_after != grace)
    world_.oracle().breach(to_string(order.job) + " is preempted, and has not the grace that it asked for");
}

}  // namespace penstock::simulation
