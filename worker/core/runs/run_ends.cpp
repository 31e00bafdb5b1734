#include "worker/core/runs/run_ends.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {
namespace {

/// Mean over the latest runs, in nanoseconds; the newest counts for an eighth.
std::uint32_t later_mean(std::uint32_t mean, const RunEnd& run) {
  const std::uint64_t newest =
      run.run_ns > 0 ? run.run_ns
                     : std::min<std::uint64_t>(std::uint64_t{run.run_us} * 1000, WorkerTemplate::kUnknown - 1);
  if (mean == WorkerTemplate::kUnknown) return static_cast<std::uint32_t>(newest);
  return static_cast<std::uint32_t>((std::uint64_t{mean} * 7 + newest) / 8);
}

std::string bytes_text(Bytes bytes) { return std::to_string(bytes.value()) + " bytes"; }

}  // namespace

void RunEnds::ended(std::span<const RunEnd> runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    look_ahead(runs.subspan(i));
    run_ended(runs[i]);
  }
}

// Records and edges were last touched thousands of subtasks ago, most by another processor: what runs that are told
// next will touch is asked for while this one is dealt with, step by step.
void RunEnds::look_ahead(std::span<const RunEnd> runs) const {
  constexpr std::size_t kToCell = 9;
  constexpr std::size_t kToEdge = 6;
  constexpr std::size_t kToSuccessor = 3;
  const auto running = [&](std::size_t ahead) -> const SubtaskRecord* {
    if (ahead >= runs.size() || runs[ahead].record.value() >= tables_.subtasks.used()) return nullptr;
    const SubtaskRecord& record = tables_.subtasks[runs[ahead].record];
    return record.job.valid() && tables_.jobs.is_open(record.job) ? &record : nullptr;
  };
  if (const SubtaskRecord* record = running(kToCell)) tables_.successors.prefetch_cell(record->job, record->subtask);
  if (const SubtaskRecord* record = running(kToEdge)) tables_.successors.prefetch_edge(record->job, record->subtask);
  const SubtaskRecord* record = running(kToSuccessor);
  if (record == nullptr) return;
  const RecordIndex successor = tables_.successors.first_waiting(record->job, record->subtask);
  if (!successor.valid()) return;
  tables_.subtasks.prefetch(successor);
  bands_[record->band].execute.items().prefetch(successor);
}

void RunEnds::run_ended(const RunEnd& run) {
  if (run.record.value() >= tables_.subtasks.used()) return;
  SubtaskRecord& record = tables_.subtasks[run.record];
  if (!is_run(record) || record.attempt != run.attempt) {
    PENSTOCK_CHECK(!run.next.valid());  // Only a running attempt hands its slot over.
    ++tables_.counters.stale;
    if (!run.stored && !run.outputs.empty()) event_.out->add(worker_action::DiscardOutputs{run.record, run.attempt});
    return;
  }
  record.run_us = run.run_us;
  record.outputs.assign(run.outputs.begin(), run.outputs.end());
  record.outputs_stored = run.stored;
  record.program->typical_ns = later_mean(record.program->typical_ns, run);
  if (record.holds_quota) grants_.run_ended(*record.program, run);
  if (tables_.jobs[record.job].trace) reports_.reporter.trace_run(record, std::min(run.ended, event_.now));
  if (run.next.valid()) {
    starts_.take_over(run);
  } else {
    Band& band = bands_.of(record);
    band.execute.remove(run.record);
    band.running.ended(record, tables_.subtasks, std::min(run.ended, event_.now));
    band.dirty = true;
  }
  tables_.subtasks.move(record, SubtaskState::Storing);
  // A preempted run that has succeeded within its grace is done.
  const bool was_stopped = record.stopping != StopReason::None && record.stopping != StopReason::Preempted;
  if (!run.succeeded || was_stopped) return end_stopped(run);
  if (record.stopping == StopReason::Preempted) PENSTOCK_COVERAGE_MARK("a preempted run succeeded within its grace");
  if (record.outputs.empty() || !data_.room.bounded()) return store_outputs(run.record, record);
  if (refuse_outputs(run.record)) return;
  if (!data_.room.any_waiting() && data_.room.has_room(output_bytes(record))) return store_outputs(run.record, record);
  // Fault F42: back-pressure. At most the outputs of the runs at this moment are in memory beyond the limit. The
  // attempt no longer needs its inputs; they may go to disk.
  ++tables_.counters.room_waits;
  data_.inputs.let_go(run.record, record);
  data_.room.wait(run.record);
}

// The run has failed, or was stopped for a reason that counts more.
void RunEnds::end_stopped(const RunEnd& run) {
  SubtaskRecord& record = tables_.subtasks[run.record];
  record.drops_outputs |= !record.outputs.empty();
  if (record.stopping == StopReason::Cancelled) return ends_.end(run.record, Outcome::Cancelled);
  if (record.stopping == StopReason::Preempted) return ends_.end(run.record, Outcome::Returned);
  FailureDetail failure;
  if (run.failure != nullptr) failure = *run.failure;
  if (record.stopping == StopReason::TimedOut) {
    failure.failure = FailureClass::Timeout;
    failure.message = "ran longer than its time limit of " +
                      std::to_string(record.program->content.time_limit.count() / 1'000'000) + " ms";
  }
  if (record.stopping == StopReason::CutOff) {
    failure = {};
    failure.failure = FailureClass::WorkerLost;
    failure.message = "killed, as its worker was cut off from the supervisor (overlap = \"never\")";
  }
  ends_.fail(run.record, failure);
}

// True if the store could never hold them: then the attempt has failed, with the numbers.
bool RunEnds::refuse_outputs(RecordIndex index) {
  const SubtaskRecord& record = tables_.subtasks[index];
  const Bytes bytes = output_bytes(record);
  if (!data_.room.too_large(bytes)) return false;
  PENSTOCK_COVERAGE_MARK("outputs were larger than the store");
  tables_.subtasks[index].drops_outputs = true;
  FailureDetail refused;
  refused.failure = FailureClass::Refused;
  refused.code = ErrorCode::LimitExceeded;
  refused.outputs_bytes = bytes.value();
  refused.message = "its outputs of " + bytes_text(bytes) + " can never fit into the store of this worker, which has " +
                    bytes_text(config_.store_bytes_max) + " (worker.store_bytes_max)";
  ends_.fail(index, refused);
  return true;
}

void RunEnds::store_outputs(RecordIndex index, SubtaskRecord& record) {
  if (record.outputs_stored || record.outputs.empty()) return succeed(index, record);
  if (!bands_.of(record).store_permits.take(index)) return;
  record.holds_store_permit = true;
  event_.out->add(worker_action::StoreOutputs{index, tables_.subtasks.id_of(record), record.attempt});
}

void RunEnds::stored(const worker_event::OutputsStored& event) {
  if (event.record.value() >= tables_.subtasks.used()) return;
  if (!tables_.subtasks.is(event.record, event.attempt, SubtaskState::Storing)) {
    ++tables_.counters.stale;
    return;
  }
  tables_.subtasks[event.record].outputs_stored = true;  // Or could not be stored: the shell has dropped them.
  finish_storing(event.record, event.failure);
}

void RunEnds::finish_storing(RecordIndex index, const FailureDetail* failure) {
  SubtaskRecord& record = tables_.subtasks[index];
  if (record.stopping == StopReason::Cancelled) {
    record.drops_outputs |= !record.outputs.empty();
    ends_.end(index, Outcome::Cancelled);
  } else if (failure != nullptr) {
    ends_.fail(index, *failure);
  } else {
    succeed(index, record);
  }
}

void RunEnds::succeed(RecordIndex index, const SubtaskRecord& record) {
  const SubtaskId id = tables_.subtasks.id_of(record);
  const Attempt attempt = record.attempt;
  const JobSlot slot = record.job;
  for (const OutputReport& output : record.outputs) {
    const DatumIndex datum = data_.table.ensure(DataKey{id, output.output}, slot, tables_.jobs[slot].data);
    if (data_.keeper.made_here(datum, Bytes{output.bytes}, record.program->content.checkpoint))
      flow_.input_arrived(datum);
  }
  ends_.end(index, Outcome::Succeeded);
  if (!tables_.jobs.is_open(slot)) return;
  tables_.jobs[slot].settled.insert(id.index);
  flow_.producer_finished(slot, {id.index, attempt});
}

void RunEnds::serve_room() {
  std::size_t looked_at = 0;
  for (std::size_t i = 0; i < data_.room.waiting() && looked_at < config_.scan_max; ++looked_at) {
    const RecordIndex index = data_.room.waiting(i);
    if (!data_.room.has_room(output_bytes(tables_.subtasks[index]))) {
      ++i;
      continue;
    }
    if (i == 0) data_.room.note_progress();
    data_.room.stop_waiting(index);
    store_outputs(index, tables_.subtasks[index]);  // Storing may complete others, which may end up in the list.
    i = 0;
  }
}

void RunEnds::give_up_room() {
  if (event_.now < data_.room.given_up_at()) return;
  PENSTOCK_COVERAGE_MARK("outputs found no room for too long");
  const RecordIndex index = data_.room.waiting(0);
  SubtaskRecord& record = tables_.subtasks[index];
  FailureDetail full;
  full.failure = FailureClass::Refused;
  full.code = ErrorCode::StorageFull;
  full.message = "the store is full: its outputs of " + bytes_text(output_bytes(record)) + " found no room beside " +
                 bytes_text(data_.room.bytes_taken()) + " of " + bytes_text(config_.store_bytes_max) +
                 " (worker.store_bytes_max), which are in use or for which the disk has no room";
  if (const Bytes beyond = data_.room.bytes_beyond(); !beyond.is_zero())
    full.message += "; " + bytes_text(beyond) + " of them were dropped, but clients of this host still read them";
  record.drops_outputs = true;
  data_.room.note_progress();
  data_.room.stop_waiting(index);
  ends_.fail(index, full);
}

}  // namespace penstock::worker
