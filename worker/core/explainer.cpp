#include "worker/core/explainer.hpp"

#include "worker/core/band/queue_search.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

WorkerExplanation explain_subtask(SubtaskId id, const Tables& tables, const Bands& bands, const MemoryGrants& grants) {
  WorkerExplanation explanation;
  const JobSlot slot = tables.jobs.find(id.job);
  if (!slot.valid()) return explanation;
  const RecordIndex index = tables.subtasks.find(slot, id.index);
  if (!index.valid()) return explanation;
  const SubtaskRecord& record = tables.subtasks[index];
  const Band& band = bands[record.band];
  explanation.known = true;
  explanation.state = record.state;
  explanation.priority = record.priority;
  const auto place = [&](const LatchedQueue& queue, const char* name) {
    std::string reason = std::string{name} + " of " + band.description.name + ", " +
                         std::to_string(position_of(queue, index)) + " before it";
    if (const std::string held_by = obstacle(queue, index); !held_by.empty()) reason += ", held by " + held_by;
    return reason;
  };
  switch (record.state) {
    case SubtaskState::Free: break;
    case SubtaskState::Cached:
      explanation.reason = "waits for " + std::to_string(tables.successors.missing(index)) + " producers";
      break;
    case SubtaskState::Queued: explanation.reason = place(band.prepare, "in the prepare queue"); break;
    case SubtaskState::Quota:
      explanation.reason = "waits for " + std::to_string(grants.amount_for(*record.program).value()) +
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
