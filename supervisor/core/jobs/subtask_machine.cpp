#include "supervisor/core/jobs/subtask_machine.hpp"

#include <string>

namespace penstock::supervisor {

std::string_view to_string(SubtaskPhase phase) {
  using P = SubtaskPhase;
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

void SubtaskMachine::refuse_move(const Job& job, std::uint32_t subtask, SubtaskPhase to) {
  check_failed("is_legal_move", __FILE__, __LINE__,
               to_string(SubtaskId{job.id, SubtaskIndex{subtask}}) + ": " +
                   std::string{to_string(job.hot[subtask].phase)} + " to " + std::string{to_string(to)});
}

void SubtaskMachine::open(Job& job) {
  job.tally.open = job.tally.counts.total = job.total();
  for (std::uint32_t i = 0; i < job.total(); ++i)
    job.hot[i].missing = job.hot[i].unplaced = static_cast<std::uint32_t>(job.graph.shape->predecessors(i).size());
}

void SubtaskMachine::change_share(Job& job, const SubtaskHot& hot, std::int32_t in_flight, std::int32_t runnable) {
  if ((hot.flags & SubtaskFlag::kLent) != 0) return;  // Not counted.
  job.shares->change(hot.band, workers_[hot.band].kind, [=](BandShare& share) {
    share.in_flight += static_cast<std::uint32_t>(in_flight);
    share.runnable += static_cast<std::uint32_t>(runnable);
  });
}

void SubtaskMachine::note_parent(const Job& job, std::uint32_t subtask) {
  nested_.note_moved({job.id, SubtaskIndex{subtask}});
}

void SubtaskMachine::unplace_successors(Job& job, std::uint32_t subtask) {
  for (const std::uint32_t successor : job.graph.shape->successors(subtask)) {
    SubtaskHot& next = job.hot[successor];
    if (is_final(next.phase)) continue;
    ++next.unplaced;
    if (next.phase == SubtaskPhase::Placeable) next.phase = SubtaskPhase::Waiting;
  }
}

// A subtask that had succeeded is to run again.
void SubtaskMachine::reopen(Job& job, std::uint32_t subtask) {
  ++job.tally.open;
  for (const std::uint32_t successor : job.graph.shape->successors(subtask)) {
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
  for (const std::uint32_t predecessor : job.graph.shape->predecessors(subtask)) {
    const SubtaskPhase phase = job.hot[predecessor].phase;
    hot.missing += phase != SubtaskPhase::Succeeded;
    hot.unplaced += phase != SubtaskPhase::Succeeded && phase != SubtaskPhase::Assigned;
  }
}

}  // namespace penstock::supervisor
