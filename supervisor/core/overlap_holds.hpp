// Subtasks that must not begin elsewhere while a lost worker may still run them: those with `overlap = "never"`.
#pragma once

#include <algorithm>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"

namespace penstock::supervisor {

/// A worker that was lost now was heard before, and ends such runs `link.silence_max` after it has sent what was heard.
/// A worker whose connection broke may have been lost earlier than after that silence.
inline Instant overlap_over_at(const SupervisorConfig& config, Instant now) {
  return later(now, config.worker_lost_after + config.overlap_margin);
}

inline bool never_overlaps(const Job& job, std::uint32_t subtask) {
  return job.shape->template_of(subtask).overlap == Overlap::Never;
}

/// The worker that had the subtask was lost.
inline void hold_for_overlap(Job& job, std::uint32_t subtask, Instant until) {
  if (!never_overlaps(job, subtask)) return;
  job.hot[subtask].flags |= SubtaskFlag::kTroubled;
  job.histories.edit()[SubtaskIndex{subtask}].overlap_until = until;
}

/// Until when nobody may get the subtask; not later than now: anybody may. `unclaimed_until`: while workers of before a
/// restart are saying what they run, so long at least for whatever they may run.
inline Instant overlap_ends(const Job& job, std::uint32_t subtask, Instant unclaimed_until) {
  const bool recovered = job.overlap_until > Instant{};
  if (!recovered && (job.hot[subtask].flags & SubtaskFlag::kTroubled) == 0) return {};
  if (!never_overlaps(job, subtask)) return {};
  const SubtaskHistory* history = job.histories->find(SubtaskIndex{subtask});
  const Instant until = history == nullptr ? Instant{} : history->overlap_until;
  return recovered ? std::max({until, job.overlap_until, unclaimed_until}) : until;
}

}  // namespace penstock::supervisor
