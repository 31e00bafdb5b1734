#include "supervisor/core/jobs/subtask_machine.hpp"

#include <string>

namespace penstock::supervisor {
namespace {

constexpr std::uint8_t bit(SubtaskPhase phase) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(phase)); }

using P = SubtaskPhase;
// Every phase that is not final may end: by a cancel, by a failure of what it needs, or by a success that is recovered.
constexpr std::uint8_t kEnds = bit(P::Succeeded) | bit(P::Failed) | bit(P::Cancelled);
// The one table of moves: a bit for each phase that may follow.
constexpr std::uint8_t kMoves[] = {
    /* Waiting */ bit(P::Placeable) | bit(P::Backoff) | bit(P::Assigned) | kEnds,  // Assigned: adopted after a restart.
    /* Placeable */ bit(P::Waiting) | bit(P::Placeable) | bit(P::Backoff) | bit(P::Assigned) | kEnds,
    /* Assigned */ bit(P::Waiting) | bit(P::Assigned) | kEnds,  // Assigned: a success is claimed from another band.
    /* Backoff */ bit(P::Waiting) | bit(P::Placeable) | bit(P::Backoff) | bit(P::Assigned) | kEnds,
    /* Succeeded */ bit(P::Waiting),  // Its outputs are lost and needed.
    /* Failed */ 0,
    /* Cancelled */ 0,
};

}  // namespace

std::string_view to_string(SubtaskPhase phase) {
  switch (phase) {
    case P::Waiting: return "waiting";
    case P::Placeable: return "kept at the supervisor";
    case P::Assigned: return "assigned";
    case P::Backoff: return "waiting before a retry";
    case P::Succeeded: return "succeeded";
    case P::Failed: return "failed";
    case P::Cancelled: return "cancelled";
  }
  return "unknown";
}

bool is_legal_move(SubtaskPhase from, SubtaskPhase to) {
  return (kMoves[static_cast<std::size_t>(from)] & bit(to)) != 0;
}

std::string SubtaskMachine::illegal_text(const Job& job, std::uint32_t subtask, SubtaskPhase to) {
  return to_string(SubtaskId{job.id, SubtaskIndex{subtask}}) + ": " +
         std::string{to_string(job.hot[subtask].phase)} + " to " + std::string{to_string(to)};
}

void SubtaskMachine::open(Job& job) {
  job.open = job.counts.total = job.total();
  for (std::uint32_t i = 0; i < job.total(); ++i)
    job.hot[i].missing = job.hot[i].unplaced = static_cast<std::uint32_t>(job.shape->predecessors(i).size());
}

void SubtaskMachine::assign(Job& job, std::uint32_t subtask, BandSlot to, std::uint64_t attempt) {
  check_move(job, subtask, SubtaskPhase::Assigned);
  SubtaskHot& hot = job.hot[subtask];
  if (hot.phase == SubtaskPhase::Assigned) leave_band(job, hot);
  hot.phase = SubtaskPhase::Assigned;
  hot.band = to;
  hot.attempt = attempt;
  hot.flags &= static_cast<std::uint8_t>(~SubtaskFlag::kForAttempt);
  BandEntry& band = workers_[to];
  if (band.in_flight++ == 0) band.progress_at = event_.now;
  ++job.in_flight;
  const bool runnable = hot.missing == 0;
  if (runnable) bands_.change_runnable(to, 1);
  if (job.shares == nullptr) [[likely]]
    return;
  job.shares->change(to, band.kind, [&](BandShare& share) {
    ++share.in_flight;
    share.runnable += runnable;
  });
}

// The attempt has ended or was given back: the band has room again.
void SubtaskMachine::leave_band(Job& job, const SubtaskHot& hot) {
  BandEntry& band = workers_[hot.band];
  --band.in_flight;
  band.progress_at = event_.now;
  --job.in_flight;
  const bool runnable = hot.missing == 0;
  if (runnable) bands_.change_runnable(hot.band, -1);
  if (job.shares != nullptr) [[unlikely]]
    job.shares->change(hot.band, band.kind, [&](BandShare& share) {
      --share.in_flight;
      share.runnable -= runnable;
    });
  bands_.mark_dirty(hot.band);
}

void SubtaskMachine::change_runnable(Job& job, const SubtaskHot& hot, std::int32_t change) {
  bands_.change_runnable(hot.band, change);
  if (job.shares == nullptr) [[likely]]
    return;
  job.shares->change(hot.band, workers_[hot.band].kind,
                     [change](BandShare& share) { share.runnable += static_cast<std::uint32_t>(change); });
}

void SubtaskMachine::unplace_successors(Job& job, std::uint32_t subtask) {
  for (const std::uint32_t successor : job.shape->successors(subtask)) {
    SubtaskHot& next = job.hot[successor];
    if (is_final(next.phase)) continue;
    ++next.unplaced;
    if (next.phase == SubtaskPhase::Placeable) next.phase = SubtaskPhase::Waiting;
  }
}

// A subtask that had succeeded is to run again.
void SubtaskMachine::reopen(Job& job, std::uint32_t subtask) {
  ++job.open;
  for (const std::uint32_t successor : job.shape->successors(subtask)) {
    SubtaskHot& next = job.hot[successor];
    if (is_final(next.phase)) continue;
    if (next.missing++ == 0 && next.phase == SubtaskPhase::Assigned) change_runnable(job, next, -1);
    ++next.unplaced;
    if (next.phase == SubtaskPhase::Placeable) next.phase = SubtaskPhase::Waiting;
  }
  recount(job, subtask);
}

void SubtaskMachine::recount(Job& job, std::uint32_t subtask) {
  SubtaskHot& hot = job.hot[subtask];
  hot.missing = hot.unplaced = 0;
  for (const std::uint32_t predecessor : job.shape->predecessors(subtask)) {
    const SubtaskPhase phase = job.hot[predecessor].phase;
    hot.missing += phase != SubtaskPhase::Succeeded;
    hot.unplaced += phase != SubtaskPhase::Succeeded && phase != SubtaskPhase::Assigned;
  }
}

}  // namespace penstock::supervisor
