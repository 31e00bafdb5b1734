#include "worker/core/data/memory_room.hpp"

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {

void MemoryRoom::mapped(const worker_event::DataMapped& event) {
  mapped_.assign(event.here.begin(), event.here.end());
  mapped_beyond_ = event.beyond;
}

void MemoryRoom::wait(RecordIndex index) {
  PENSTOCK_COVERAGE_MARK("outputs waited for room");
  const bool first = !any_waiting();
  subtasks_[index].waits_for_room = true;
  waiting_.push_back(index);
  waiting_bytes_ += output_bytes(subtasks_[index]);
  if (!first) return;
  note_progress();
  bands_.mark_all_dirty();  // Each looks for prepared subtasks that must unpin their inputs.
}

void MemoryRoom::stop_waiting(RecordIndex index) {
  SubtaskRecord& record = subtasks_[index];
  if (!record.waits_for_room) return;
  record.waits_for_room = false;
  waiting_bytes_ -= output_bytes(record);
  std::erase(waiting_, index);
  if (any_waiting()) return;
  given_up_at_ = kNever;
  bands_.mark_all_dirty();
}

void MemoryRoom::validate() const {
  PENSTOCK_CHECK(waiting_.empty() == (given_up_at_ == kNever));
  Bytes waiting_bytes;
  for (const RecordIndex index : waiting_) {
    PENSTOCK_CHECK(subtasks_[index].state == SubtaskState::Storing && subtasks_[index].waits_for_room);
    waiting_bytes += output_bytes(subtasks_[index]);
  }
  PENSTOCK_CHECK(waiting_bytes == waiting_bytes_);
}

}  // namespace penstock::worker
