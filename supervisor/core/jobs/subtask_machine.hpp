// Phases of subtasks, and the counters that follow from them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "common/base/check.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/jobs/nested_jobs.hpp"
#include "supervisor/core/workers/band_indices.hpp"

namespace penstock::supervisor {

/// As `explain` names the phase.
std::string_view to_string(SubtaskPhase phase);
/// By the one table of moves.
constexpr bool is_legal_move(SubtaskPhase from, SubtaskPhase to) {
  using P = SubtaskPhase;
  constexpr auto bit = [](P phase) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(phase)); };
  // Every phase that is not final may end: by a cancel, a failure of what it needs, or a success that is recovered.
  constexpr std::uint8_t kEnds = bit(P::Succeeded) | bit(P::Failed) | bit(P::Cancelled);
  // A bit for each phase that may follow.
  constexpr std::uint8_t kMoves[] = {
      /* Waiting */ bit(P::Placeable) | bit(P::Backoff) | bit(P::Assigned) | kEnds,  // Adopted after a restart.
      /* Placeable */ bit(P::Waiting) | bit(P::Placeable) | bit(P::Backoff) | bit(P::Assigned) | kEnds,
      /* Assigned */ bit(P::Waiting) | bit(P::Assigned) | kEnds,  // Assigned: a success is claimed from another band.
      /* Backoff */ bit(P::Waiting) | bit(P::Placeable) | bit(P::Backoff) | bit(P::Assigned) | kEnds,
      /* Succeeded */ bit(P::Waiting),  // Its outputs are lost and needed.
      /* Failed */ 0,
      /* Cancelled */ 0,
  };
  return (kMoves[static_cast<std::size_t>(from)] & bit(to)) != 0;
}

/// Moves subtasks from phase to phase. No other part writes `SubtaskHot::{phase, missing, unplaced}`, `Job::{open,
/// in_flight}`, `BandEntry::{in_flight, runnable}` and the same counts of a `BandShare`.
/// Invariants (`SupervisorCore::validate` counts them anew): `missing` and `unplaced` are the predecessors that have
/// not succeeded, and those that are not assigned either; `open` and `in_flight` are the subtasks that are not final,
/// and those that are assigned; a band counts what is assigned to it, and what of that can run.
/// Cost: constant for a move, and the number of successors where it changes what they wait for.
class SubtaskMachine {
 public:
  SubtaskMachine(WorkerTable& workers, BandIndices& bands, NestedJobs& nested, const EventContext& event)
      : workers_(workers), bands_(bands), nested_(nested), event_(event) {}
  SubtaskMachine(const SubtaskMachine&) = delete;
  SubtaskMachine& operator=(const SubtaskMachine&) = delete;

  /// All subtasks of a new job wait.
  static void open(Job& job);
  /// To any phase but `Assigned`. A subtask that leaves its band unfinished makes its successors wait again, and so
  /// does one that has succeeded and is to run once more. REQUIRES: a legal move.
  void transition(Job& job, std::uint32_t subtask, SubtaskPhase to) {
    SubtaskHot& hot = job.hot[subtask];
    check_move(job, subtask, to);
    const SubtaskPhase from = std::exchange(hot.phase, to);
    if (from == SubtaskPhase::Assigned) {
      leave_band(job, hot);
      if (to != SubtaskPhase::Succeeded) unplace_successors(job, subtask);
    }
    if (is_final(to))
      --job.tally.open;
    else if (from == SubtaskPhase::Succeeded)
      reopen(job, subtask);
    if (job.tally.has_children) [[unlikely]]
      note_parent(job, subtask);
  }
  /// To `Assigned`, as that attempt; also from one band to another. REQUIRES: a legal move.
  void assign(Job& job, std::uint32_t subtask, BandSlot to, std::uint64_t attempt) {
    SubtaskHot& hot = job.hot[subtask];
    check_move(job, subtask, SubtaskPhase::Assigned);
    if (hot.phase == SubtaskPhase::Assigned) [[unlikely]]
      leave_band(job, hot);
    hot.phase = SubtaskPhase::Assigned;
    hot.band = to;
    hot.attempt = attempt;
    hot.flags &= static_cast<std::uint16_t>(~SubtaskFlag::kForAttempt);
    enter_band(job, hot);
    if (job.tally.has_children) [[unlikely]]
      note_parent(job, subtask);
  }
  /// The subtask has come to be assigned: each successor that waited for nothing else can be placed, and is passed to
  /// `placeable(successor)`. Apart from `assign`, so that the assignment is written while successors come near.
  template <class Placeable>
  void count_assigned(Job& job, std::uint32_t subtask, Placeable placeable) {
    for (const std::uint32_t successor : job.graph.shape->successors(subtask)) {
      SubtaskHot& next = job.hot[successor];
      if (is_final(next.phase)) continue;
      if (--next.unplaced == 0 && next.phase == SubtaskPhase::Waiting) placeable(successor);
    }
  }
  /// The subtask has succeeded and its outputs are known: each successor that is not final misses one input less, and
  /// is passed to `counted(successor)`.
  template <class Counted>
  void count_succeeded(Job& job, std::uint32_t subtask, Counted counted) {
    for (const std::uint32_t successor : job.graph.shape->successors(subtask)) {
      SubtaskHot& next = job.hot[successor];
      if (is_final(next.phase)) continue;
      if (--next.missing == 0 && next.phase == SubtaskPhase::Assigned) change_runnable(job, next, 1);
      counted(successor);
    }
  }
  /// The run has lent its slot: its job holds nothing and wants nothing for it. Nothing happens if it has already.
  void lend(Job& job, std::uint32_t subtask) {
    SubtaskHot& hot = job.hot[subtask];
    if ((hot.flags & SubtaskFlag::kLent) != 0) return;
    if (job.shares != nullptr) change_share(job, hot, -1, hot.missing == 0 ? -1 : 0);
    hot.flags |= SubtaskFlag::kLent;
  }
  /// The run wants a slot again. Nothing happens if it has one.
  void want_back(Job& job, std::uint32_t subtask) {
    SubtaskHot& hot = job.hot[subtask];
    if ((hot.flags & SubtaskFlag::kLent) == 0) return;
    hot.flags &= static_cast<std::uint16_t>(~SubtaskFlag::kLent);
    if (job.shares != nullptr) change_share(job, hot, 1, hot.missing == 0 ? 1 : 0);
  }
  /// Counts `missing` and `unplaced` of an unassigned subtask from its predecessors.
  static void recount(Job& job, std::uint32_t subtask);

 private:
  static void check_move(const Job& job, std::uint32_t subtask, SubtaskPhase to) {
    if (!is_legal_move(job.hot[subtask].phase, to)) [[unlikely]]
      refuse_move(job, subtask, to);
  }
  [[noreturn]] static void refuse_move(const Job& job, std::uint32_t subtask, SubtaskPhase to);
  void enter_band(Job& job, const SubtaskHot& hot) {
    BandEntry& band = workers_[hot.band];
    if (band.in_flight++ == 0) band.progress_at = event_.now;
    ++job.tally.in_flight;
    if (hot.missing == 0) bands_.change_runnable(hot.band, 1);
    if (job.shares != nullptr) [[unlikely]]
      change_share(job, hot, 1, hot.missing == 0 ? 1 : 0);
  }
  // The attempt has ended or was given back: the band has room again.
  void leave_band(Job& job, const SubtaskHot& hot) {
    BandEntry& band = workers_[hot.band];
    --band.in_flight;
    band.progress_at = event_.now;
    --job.tally.in_flight;
    if (hot.missing == 0) bands_.change_runnable(hot.band, -1);
    bands_.mark_dirty(hot.band);
    if (job.shares != nullptr) [[unlikely]]
      change_share(job, hot, -1, hot.missing == 0 ? -1 : 0);
  }
  void change_runnable(Job& job, const SubtaskHot& hot, std::int32_t change) {
    bands_.change_runnable(hot.band, change);
    if (job.shares != nullptr) [[unlikely]]
      change_share(job, hot, 0, change);
  }
  void change_share(Job& job, const SubtaskHot& hot, std::int32_t in_flight, std::int32_t runnable);
  void note_parent(const Job& job, std::uint32_t subtask);
  static void unplace_successors(Job& job, std::uint32_t subtask);
  void reopen(Job& job, std::uint32_t subtask);

  WorkerTable& workers_;
  BandIndices& bands_;
  NestedJobs& nested_;  ///< Hears of subtasks of jobs with children.
  const EventContext& event_;
};

}  // namespace penstock::supervisor
