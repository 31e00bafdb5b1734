// Phases of subtasks, and the counters that follow from them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "common/base/check.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/workers/band_indices.hpp"

namespace penstock::supervisor {

/// As `explain` names the phase.
std::string_view to_string(SubtaskPhase phase);
/// By the one table of moves.
bool is_legal_move(SubtaskPhase from, SubtaskPhase to);

/// Moves subtasks from phase to phase. Nobody else writes `SubtaskHot::{phase, missing, unplaced}`, `Job::{open,
/// in_flight}`, `BandEntry::{in_flight, runnable}` and the same counts of a `BandShare`.
/// Invariants (`SupervisorCore::validate` counts them anew): `missing` and `unplaced` are the predecessors that have not
/// succeeded, and those that are not assigned either; `open` and `in_flight` are the subtasks that are not final, and
/// those that are assigned; a band counts what is assigned to it, and what of that can run.
/// Cost: constant for a move, and the number of successors where it changes what they wait for.
class SubtaskMachine {
 public:
  SubtaskMachine(WorkerTable& workers, BandIndices& bands, const EventContext& event)
      : workers_(workers), bands_(bands), event_(event) {}
  SubtaskMachine(const SubtaskMachine&) = delete;
  SubtaskMachine& operator=(const SubtaskMachine&) = delete;

  /// All subtasks of a new job wait.
  static void open(Job& job);
  /// To any phase but `Assigned`. A subtask that leaves its band unfinished makes its successors wait again, and so does
  /// one that has succeeded and is to run once more. REQUIRES: a legal move.
  void transition(Job& job, std::uint32_t subtask, SubtaskPhase to) {
    SubtaskHot& hot = job.hot[subtask];
    check_move(job, subtask, to);
    const SubtaskPhase from = std::exchange(hot.phase, to);
    if (from == SubtaskPhase::Assigned) {
      leave_band(job, hot);
      if (to != SubtaskPhase::Succeeded) unplace_successors(job, subtask);
    }
    if (is_final(to))
      --job.open;
    else if (from == SubtaskPhase::Succeeded)
      reopen(job, subtask);
  }
  /// To `Assigned`, as that attempt; also from one band to another. REQUIRES: a legal move.
  void assign(Job& job, std::uint32_t subtask, BandSlot band, std::uint64_t attempt);
  /// The subtask has come to be assigned: each successor that waited for nothing else can be placed, and is passed to
  /// `placeable(successor)`. Apart from `assign`, so that the assignment is written while successors come near.
  template <class Placeable>
  void count_assigned(Job& job, std::uint32_t subtask, Placeable placeable) {
    for (const std::uint32_t successor : job.shape->successors(subtask)) {
      SubtaskHot& next = job.hot[successor];
      if (is_final(next.phase)) continue;
      if (--next.unplaced == 0 && next.phase == SubtaskPhase::Waiting) placeable(successor);
    }
  }
  /// The subtask has succeeded and its outputs are known: each successor that is not final misses one input less, and is
  /// passed to `counted(successor)`.
  template <class Counted>
  void count_succeeded(Job& job, std::uint32_t subtask, Counted counted) {
    for (const std::uint32_t successor : job.shape->successors(subtask)) {
      SubtaskHot& next = job.hot[successor];
      if (is_final(next.phase)) continue;
      if (--next.missing == 0 && next.phase == SubtaskPhase::Assigned) change_runnable(job, next, 1);
      counted(successor);
    }
  }
  /// Counts `missing` and `unplaced` of an unassigned subtask from its predecessors.
  static void recount(Job& job, std::uint32_t subtask);

 private:
  static void check_move(const Job& job, std::uint32_t subtask, SubtaskPhase to) {
    PENSTOCK_CHECK_MSG(is_legal_move(job.hot[subtask].phase, to), illegal_text(job, subtask, to));
  }
  static std::string illegal_text(const Job& job, std::uint32_t subtask, SubtaskPhase to);
  void leave_band(Job& job, const SubtaskHot& hot);
  void change_runnable(Job& job, const SubtaskHot& hot, std::int32_t change);
  static void unplace_successors(Job& job, std::uint32_t subtask);
  void reopen(Job& job, std::uint32_t subtask);

  WorkerTable& workers_;
  BandIndices& bands_;
  const EventContext& event_;
};

}  // namespace penstock::supervisor
