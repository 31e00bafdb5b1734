// Subtasks that must not begin elsewhere while a lost worker may still run them: those with `overlap = "never"`.
#pragma once

#include <algorithm>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"

namespace penstock::supervisor {

/// A worker that is lost now was heard before, and ends such runs `link.silence_max` after its last heard message. A
/// worker with a broken connection may have been lost before that silence ended.
inline Instant overlap_over_at(const SupervisorConfig& config, Instant now) {
  return later(now, config.worker_lost_after + config.overlap_margin);
}

inline bool never_overlaps(const Job& job, std::uint32_t subtask) {
  return job.graph.shape->template_of(subtask).overlap == Overlap::Never;
}

/// The worker that had the subtask was lost.
inline void hold_for_overlap(Job& job, std::uint32_t subtask, Instant until) {
  if (!never_overlaps(job, subtask)) return;
  job.hot[subtask].flags |= SubtaskFlag::kTroubled;
  job.extras.histories.edit()[SubtaskIndex{subtask}].overlap_until = until;
}

/// The end of the time in which no worker may get the subtask; a time not later than now is no limit.
/// `unclaimed_until`: while workers from before a restart report their attempts, at least that long for subtasks that
/// they may run.
inline Instant overlap_ends(const Job& job, std::uint32_t subtask, Instant unclaimed_until) {
  const bool recovered = job.status.overlap_until > Instant{};
  if (!recovered && (job.hot[subtask].flags & SubtaskFlag::kTroubled) == 0) return {};
  if (!never_overlaps(job, subtask)) return {};
  const SubtaskHistory* history = job.extras.histories->find(SubtaskIndex{subtask});
  const Instant until = history == nullptr ? Instant{} : history->overlap_until;
  return recovered ? std::max({until, job.status.overlap_until, unclaimed_until}) : until;
}

}  // namespace penstock::supervisor
