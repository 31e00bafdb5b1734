// The runs of a band.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/base/time.hpp"
#include "worker/core/jobs/subtask_table.hpp"

namespace penstock::worker {

/// The records that run on a band, or have lent their slot, in no order. A record knows its place, so that each change
/// costs the same.
class RunningList {
 public:
  void started(RecordIndex index, SubtaskRecord& record, Instant now) {
    record.started = progress_at_ = now;
    record.running_position = static_cast<std::uint32_t>(records_.size());
    records_.push_back(index);
  }
  /// The last of the list takes its place.
  void ended(const SubtaskRecord& record, SubtaskTable& subtasks, Instant now) {
    const std::uint32_t position = record.running_position;
    if (position + 1 < records_.size()) {
      records_[position] = records_.back();
      subtasks[records_[position]].running_position = position;
    }
    records_.pop_back();
    note_end(now);
  }
  /// `next` follows `ended` on its lane in that instant.
  void followed(const SubtaskRecord& ended, RecordIndex next, SubtaskRecord& record, Instant now) {
    record.started = now;
    record.running_position = ended.running_position;
    records_[record.running_position] = next;
    note_end(now);
  }

  bool empty() const { return records_.empty(); }
  std::size_t size() const { return records_.size(); }
  RecordIndex front() const { return records_.front(); }
  RecordIndex operator[](std::uint32_t position) const { return records_[position]; }
  auto begin() const { return records_.begin(); }
  auto end() const { return records_.end(); }
  const std::vector<RecordIndex>& records() const { return records_; }
  /// The shape that all runs have in common, so that any item of the shape may follow any of them; 0 if none.
  std::uint16_t shape(const SubtaskTable& subtasks) const {
    std::uint16_t shape = 0;
    for (const RecordIndex index : records_) {
      const SubtaskRecord& record = subtasks[index];
      if (shape == 0) shape = record.program->shape;
      const bool same = record.state == SubtaskState::Running && record.program->shape == shape;
      if (!same || shape == 0) return 0;
    }
    return shape;
  }
  /// When a run last started or ended.
  Instant progress_at() const { return progress_at_; }
  /// Whether a run has ended since `forget_ends`.
  bool any_ended() const { return any_ended_; }
  void forget_ends() { any_ended_ = false; }

 private:
  void note_end(Instant now) {
    any_ended_ = true;
    progress_at_ = now;
  }

  std::vector<RecordIndex> records_;
  Instant progress_at_{};
  bool any_ended_ = false;
};

}  // namespace penstock::worker
