// The live attempts on a worker: one record each.
#pragma once

#include <cstdint>

#include "common/base/slab.hpp"
#include "common/protocol/assign.hpp"
#include "worker/core/jobs/job_table.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

/// All records of this worker, found by position or by job and subtask, and the only writer of a record's state.
/// Invariant: a subtask has at most one record; each record is in the list of its job. Cost: constant; no allocation
/// once warm.
class SubtaskTable {
 public:
  explicit SubtaskTable(JobTable& jobs) : jobs_(jobs) {}
  SubtaskTable(const SubtaskTable&) = delete;
  SubtaskTable& operator=(const SubtaskTable&) = delete;

  /// A free record becomes that of the assignment. REQUIRES: the subtask has none; its job is open.
  RecordIndex add(JobSlot slot, const Assignment& assignment, Instant now);
  /// Takes the record out of its job. REQUIRES: the record holds nothing.
  void free(RecordIndex index);
  /// The one place that writes a state. REQUIRES: the move is in the table of subtask_record.cpp.
  void move(SubtaskRecord& record, SubtaskState to) {
    if (!is_legal_move(record.state, to)) [[unlikely]]
      refuse_move(record, to);
    record.state = to;
  }

  /// None if the subtask has no record. REQUIRES: the job is open.
  RecordIndex find(JobSlot job, SubtaskIndex subtask) const {
    const JobContext::Cell* cell = jobs_[job].attempts.find(subtask.value());
    return cell == nullptr ? RecordIndex::none() : cell->record;
  }
  /// The record of that attempt of it, none if it has another one.
  RecordIndex find(JobSlot job, const AttemptRef& attempt) const {
    const RecordIndex index = find(job, attempt.subtask);
    return index.valid() && records_[index].attempt == attempt.attempt ? index : RecordIndex::none();
  }
  /// Whether the record is used by that attempt, and is in that state.
  bool is(RecordIndex index, Attempt attempt, SubtaskState state) const {
    return index.value() < records_.used() && records_[index].state == state && records_[index].attempt == attempt;
  }
  /// Whether the record is used by that attempt, which runs or has lent its slot.
  bool is_run_of(RecordIndex index, Attempt attempt) const {
    return index.value() < records_.used() && is_run(records_[index]) && records_[index].attempt == attempt;
  }

  SubtaskRecord& operator[](RecordIndex index) { return records_[index]; }
  const SubtaskRecord& operator[](RecordIndex index) const { return records_[index]; }
  SubtaskId id_of(const SubtaskRecord& record) const { return {jobs_[record.job].id, record.subtask}; }
  DataKey key_of(const SubtaskRecord& record, const RunInput& input) const {
    return DataKey{{jobs_[record.job].id, input.producer}, input.output};
  }
  /// Calls `visit(index)` for each record of the job; `visit` may free it.
  template <class Visit>
  void for_each_of(JobSlot slot, Visit visit) {
    for (RecordIndex index = jobs_[slot].records; index.valid();) {
      const RecordIndex next = records_[index].next_of_job;
      visit(index);
      index = next;
    }
  }
  std::size_t live() const { return records_.live(); }
  /// Positions that were ever used.
  std::size_t used() const { return records_.used(); }
  /// Prefetches the memory of a record that is about to be used.
  void prefetch(RecordIndex index) const { records_.prefetch(index); }
  /// Numbers arrivals in order.
  std::uint64_t next_sequence() { return next_sequence_++; }
  void validate() const;

 private:
  [[gnu::cold]] void refuse_move(const SubtaskRecord& record, SubtaskState to) const;

  JobTable& jobs_;
  Slab<RecordIndex, SubtaskRecord> records_;
  std::uint64_t next_sequence_ = 1;
};

}  // namespace penstock::worker
