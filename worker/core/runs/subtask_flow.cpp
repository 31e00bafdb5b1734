#include "worker/core/runs/subtask_flow.hpp"

#include "common/base/coverage_mark.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

void SubtaskFlow::enqueue(RecordIndex index) {
  SubtaskRecord& record = tables_.subtasks[index];
  Band& band = bands_.of(record);
  if (nothing_to_prepare(record)) {
    make_ready(index, record);
    return;
  }
  tables_.subtasks.move(record, SubtaskState::Queued);
  band.prepare.put(
      QueueItem{index, record.job, record.priority, record.sequence, &band.permit, data_.inputs.bytes(record)});
  band.dirty = true;
}

void SubtaskFlow::put_back(RecordIndex index) {
  SubtaskRecord& record = tables_.subtasks[index];
  ends_.give_back_all(index, record);
  // A subtask that got a permit while grants were stopped, and needs none now, waits where it was, without it.
  if (nothing_to_prepare(record)) tables_.subtasks.move(record, SubtaskState::Queued);
  enqueue(index);
}

// A permit is useless for a subtask without inputs to bring and without memory to wait for. While grants are stopped it
// waits with the others.
bool SubtaskFlow::nothing_to_prepare(const SubtaskRecord& record) const {
  return record.inputs.empty() && record.program->content.request.memory.is_zero() && !bands_.of(record).quota.paused();
}

void SubtaskFlow::begin_prepare(RecordIndex index) {
  SubtaskRecord& record = tables_.subtasks[index];
  Band& band = bands_.of(record);
  record.holds_permit = true;
  if (record.program->content.request.memory.is_zero() && !band.quota.paused()) {
    bring_inputs(index);
    return;
  }
  switch (band.quota.request(grants_.request_of(record, index))) {
    case QuotaAnswer::Granted:
      record.holds_quota = true;
      bring_inputs(index);
      return;
    case QuotaAnswer::Waits:
      record.holds_quota = true;
      tables_.subtasks.move(record, SubtaskState::Quota);
      return;
    case QuotaAnswer::Refused: break;
  }
  FailureDetail refused;
  refused.failure = FailureClass::Refused;
  refused.code = ErrorCode::RequestTooLarge;
  refused.message = "memory request of " + std::to_string(record.program->content.request.memory.value()) +
                    " bytes exceeds the hard limit of " + std::to_string(band.quota.hard_limit().value()) +
                    " bytes of band " + band.description.name;
  ends_.fail(index, refused);
}

void SubtaskFlow::bring_inputs(RecordIndex index) {
  SubtaskRecord& record = tables_.subtasks[index];
  if (record.inputs.empty()) {
    make_ready(index, record);
    return;
  }
  tables_.subtasks.move(record, SubtaskState::Preparing);
  if (const std::optional<DataKey> lost = data_.inputs.pin(record); lost.has_value()) {
    FailureDetail failure;
    failure.failure = FailureClass::InputLost;
    failure.lost_producer = lost->producer.index;
    failure.message = "input " + to_string(*lost) + " is not on this worker any more";
    ends_.fail(index, failure);
    return;
  }
  if (data_.inputs.wait(index, record)) make_ready(index, record);
}

void SubtaskFlow::input_arrived(DatumIndex index) {
  for (const RecordIndex waiter : data_.keeper.arrived(index))
    if (SubtaskRecord& record = tables_.subtasks[waiter]; --record.fetches_pending == 0) make_ready(waiter, record);
}

void SubtaskFlow::input_settled(const InputNews& news) {
  if (!news.datum.valid()) return;
  if (!news.failure) return input_arrived(news.datum);
  for (const RecordIndex waiter : data_.keeper.take_waiters(news.datum)) {
    --tables_.subtasks[waiter].fetches_pending;
    ends_.fail(waiter, *news.failure);
  }
}

void SubtaskFlow::make_ready(RecordIndex index, SubtaskRecord& record) {
  Band& band = bands_.of(record);
  tables_.subtasks.move(record, SubtaskState::Ready);
  record.ready = event_.now;
  band.execute.put(
      QueueItem{index, record.job, record.priority, record.sequence, &record.program->execution, Bytes{0}});
  if (!band.preparing) band.dirty = true;  // Otherwise its turn comes next anyway.
}

void SubtaskFlow::cache(SubtaskRecord& record) {
  tables_.subtasks.move(record, SubtaskState::Cached);
  ++bands_.of(record).cached;
}

void SubtaskFlow::producer_finished(JobSlot slot, const AttemptRef& producer) {
  tables_.successors.finished_here(slot, producer, complete_);
  forward_complete();
}

void SubtaskFlow::producer_noticed(JobSlot slot, SubtaskIndex producer) {
  tables_.successors.noticed(slot, producer, complete_);
}

void SubtaskFlow::forward_late(RecordIndex index) {
  PENSTOCK_COVERAGE_MARK("producers had finished before their successor arrived");
  complete_.push_back(index);
  cache(tables_.subtasks[index]);
  forward_complete();
}

void SubtaskFlow::forward_complete() {
  // Indexed, because `complete_` is a member, although forwarding completes nothing more.
  for (std::size_t i = 0; i < complete_.size(); ++i) forward(complete_[i]);
  complete_.clear();
}

// Spec: worker 6. All producers of a cached successor have finished: start it without asking if all it needs is here.
void SubtaskFlow::forward(RecordIndex index) {
  SubtaskRecord& record = tables_.subtasks[index];
  --bands_.of(record).cached;
  record.forward = try_forward(index, record);
  if (record.forward == ForwardResult::Hit) {
    ++tables_.counters.forward_hits;
    make_ready(index, record);
  } else {
    ++tables_.counters.forward_misses[static_cast<std::size_t>(record.forward)];
    enqueue(index);
  }
}

// Tries first, then commits: only a `Hit` has changed anything.
ForwardResult SubtaskFlow::try_forward(RecordIndex index, SubtaskRecord& record) {
  if (const ForwardResult place = data_.inputs.place(record); place != ForwardResult::Hit) return place;
  MemoryQuota& quota = bands_.of(record).quota;
  if (!record.program->content.request.memory.is_zero()) {
    if (!quota.try_request(grants_.request_of(record, index))) {
      PENSTOCK_COVERAGE_MARK("a forward found no memory");
      return ForwardResult::Quota;
    }
    record.holds_quota = true;
  } else if (quota.paused()) {
    return ForwardResult::Quota;
  }
  data_.inputs.pin_present(record);
  return ForwardResult::Hit;
}

}  // namespace penstock::worker
