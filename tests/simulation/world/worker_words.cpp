// WorkerHost: whether the worker follows what it is told, and says all that it has.
#include <set>

#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

/// The last priority that an operator gave a subtask is the one that counts here, whether it is higher or lower.
void WorkerHost::check_followed(const ToWorker& order) {
  if (const auto* drain = std::get_if<Drain>(&order); drain != nullptr && drain->enabled) draining_ = true;
  const auto* batch = std::get_if<PriorityBatch>(&order);
  if (batch == nullptr) return;
  std::set<SubtaskIndex> looked_at;
  for (auto change = batch->changes.rbegin(); change != batch->changes.rend(); ++change) {
    if (!looked_at.insert(change->subtask).second) continue;
    const SubtaskId subtask{batch->job, change->subtask};
    const worker::WorkerExplanation told = core_->explain(subtask);
    if (told.known && told.state != worker::SubtaskState::Yielded && told.priority != change->priority)
      world_.oracle().breach(name_ + " does not follow the last priority of " + to_string(subtask));
  }
}

/// The operator that drains it waits for that word.
void WorkerHost::check_drained() const {
  if (draining_ && !said_empty_ && endpoint_ != nullptr && core_->live_records() == 0)
    world_.oracle().breach(name_ + " drains and has nothing left, and has not said so");
}

/// All data that it holds, in memory or on disk, are claimed; what an attempt under way has made is no datum yet.
void WorkerHost::check_claim(const WorkerClaim& claim) {
  for (const ClaimedJob& job : claim.jobs) {
    for (const ClaimedDatum& datum : job.data) claimed_.insert(DataKey{{job.job, datum.producer}, datum.output});
    for (const ClaimedAttempt& attempt : job.attempts) claimed_attempts_.insert({job.job, attempt.subtask});
  }
  if (!claim.last) return;
  // An attempt that ended behind the claim, in the same step of the core, is not known to the core any more.
  for (const auto& [key, content] : store_)
    if (!claimed_.contains(key) && !claimed_attempts_.contains(key.producer))
      world_.oracle().breach(name_ + " holds " + to_string(key) + ", and does not claim it");
  claimed_.clear();
  claimed_attempts_.clear();
}

}  // namespace penstock::simulation
