// WorkerCore: explains why a subtask is where it is.
#include "worker/core/worker_core.hpp"

namespace penstock::worker {

void WorkerCore::receive(const ExplainQuestion& message) {
  const WorkerExplanation explanation = explain(message.subtask);
  out_->add(worker_action::SendExplanation{
      {message.question, explanation.known, std::string{to_string(explanation.state)}, explanation.reason}});
}

WorkerExplanation WorkerCore::explain(SubtaskId id) const {
  WorkerExplanation explanation;
  const JobSlot slot = jobs_.find(id.job);
  if (!slot.valid()) return explanation;
  const RecordIndex index = find_record(slot, id.index);
  if (!index.valid()) return explanation;
  const SubtaskRecord& record = records_[index];
  const Band& band = *bands_[record.band.value()];
  explanation.known = true;
  explanation.state = record.state;
  explanation.priority = record.priority;
  const auto place = [&](const LatchedQueue& queue, const char* name) {
    std::string reason = std::string{name} + " of " + band.description.name + ", " +
                         std::to_string(queue.position_of(index)) + " before it";
    if (const std::string obstacle = queue.obstacle(index); !obstacle.empty()) reason += ", held by " + obstacle;
    return reason;
  };
  switch (record.state) {
    case SubtaskState::Free: break;
    case SubtaskState::Cached:
      explanation.reason = "waits for " + std::to_string(successors_.missing(index)) + " producers";
      break;
    case SubtaskState::Queued: explanation.reason = place(band.prepare, "in the prepare queue"); break;
    case SubtaskState::Quota:
      explanation.reason = "waits for " + std::to_string(memory_to_grant(*record.program).value()) +
                           " bytes of memory; " + std::to_string(band.quota.used().value()) + " of " +
                           std::to_string(band.quota.capacity().value()) + " are granted on " + band.description.name;
      if (band.quota.paused()) explanation.reason += "; grants are stopped because the host is above its limit";
      break;
    case SubtaskState::Preparing:
      explanation.reason = "waits for " + std::to_string(record.fetches_pending) + " inputs to arrive";
      break;
    case SubtaskState::Ready: explanation.reason = place(band.execute, "in the execution queue"); break;
    case SubtaskState::Running:
      explanation.reason = "runs in slot " + std::to_string(record.lane.value()) + " of " + band.description.name;
      break;
    case SubtaskState::Yielded:
      explanation.reason = band.execute.waits(index) ? "wants the slot back that it has lent: " +
                                                           place(band.execute, "in the execution queue")
                                                     : "has lent its slot and waits for nested work";
      break;
    case SubtaskState::Storing:
      explanation.reason = record.holds_store_permit ? "stores its outputs" : "waits for a permit to store its outputs";
      break;
  }
  return explanation;
}

}  // namespace penstock::worker
