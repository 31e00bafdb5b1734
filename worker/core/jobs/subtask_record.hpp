// All that a worker knows and holds for one attempt of one subtask.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/protocol/report.hpp"
#include "worker/core/actions.hpp"
#include "worker/core/data/data_table.hpp"
#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// Stages of an attempt in the worker (spec worker 7).
enum class SubtaskState : std::uint8_t {
  Free,       ///< The record is unused.
  Cached,     ///< Waits for producers.
  Queued,     ///< In the prepare queue.
  Quota,      ///< Prepared: waits for memory.
  Preparing,  ///< Prepared: brings its inputs.
  Ready,      ///< In the execution queue.
  Running,
  Yielded,  ///< Running, but its slot is lent to nested work.
  Storing,  ///< Has run; its outputs become readable.
};
std::string_view to_string(SubtaskState state);

/// True if the move is in the table in subtask_record.cpp. Any other is a defect.
bool is_legal_move(SubtaskState from, SubtaskState next);

/// Why a run is being stopped.
enum class StopReason : std::uint8_t { None, Cancelled, TimedOut, Preempted, CutOff };

struct WorkerTemplate;  // The record keeps its durations up to date.

/// The plain members of a record: resetting them is one assignment.
struct SubtaskFields {
  SubtaskIndex subtask;
  JobSlot job;
  Attempt attempt;
  BandIndex band;
  SubtaskState state = SubtaskState::Free;
  ForwardResult forward = ForwardResult::NotCached;
  StopReason stopping = StopReason::None;
  bool asked_to_stop = false;
  bool killed = false;
  bool killed_overdue = false;  ///< And ordered as overdue.
  bool holds_permit = false;
  bool holds_quota = false;
  bool holds_store_permit = false;
  bool told_started = false;
  bool outputs_stored = true;   ///< The outputs can be read already; otherwise `StoreOutputs` comes first.
  bool drops_outputs = false;   ///< At its end, stored data under its output keys that are not needed are dropped.
  bool waits_for_room = false;  ///< Has run; the store has no room for its outputs.
  std::uint16_t omitted_inputs = 0;
  DeviceSet devices = 0;  ///< As it was reported to have started.
  SlotIndex lane;
  std::uint32_t run_us = 0;
  std::uint32_t fetches_pending = 0;
  std::uint32_t running_position = 0;  ///< In the band's list of running records.
  WorkerTemplate* program = nullptr;
  std::uint64_t priority = 0;
  std::uint64_t sequence = 0;
  Instant arrived{};
  Instant ready{};
  Instant started = kNever;
  Instant stop_at = kNever;  ///< Next step against the run: ask, or kill.
  RecordIndex next_of_job;
  RecordIndex previous_of_job;
};

/// The state machine of one (subtask, attempt). The record owns a permit, a memory grant, pins, a slot and a cache
/// entry through the flags above; `SubtaskEnds::end` is the only place that ends it and gives all of them back,
/// once.
struct SubtaskRecord : SubtaskFields {
  std::vector<RunInput> inputs;
  std::vector<DatumIndex> pins;  ///< Data that it has pinned, without empty inputs.
  std::vector<OutputReport> outputs;
  std::string payload;

  /// Resets to a free record that keeps its buffers.
  void reset();
};

/// Whether it has started and not ended, with a slot or with one that it has lent.
inline bool is_run(const SubtaskRecord& record) {
  return record.state == SubtaskState::Running || record.state == SubtaskState::Yielded;
}

/// Whether it holds nothing that was brought or granted for it, and has not begun.
inline bool is_unprepared(const SubtaskRecord& record) {
  if (record.state == SubtaskState::Cached || record.state == SubtaskState::Queued) return true;
  return record.state == SubtaskState::Ready && !record.holds_permit && !record.holds_quota && record.pins.empty();
}

/// Bytes of its outputs.
inline Bytes output_bytes(const SubtaskRecord& record) {
  Bytes sum;
  for (const OutputReport& output : record.outputs) sum += Bytes{output.bytes};
  return sum;
}

}  // namespace penstock::worker
