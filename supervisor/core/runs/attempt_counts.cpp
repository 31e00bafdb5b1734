#include "supervisor/core/runs/attempt_counts.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

void AttemptCounts::note_started(Job& job, std::uint32_t subtask) {
  SubtaskHot& hot = job.hot[subtask];
  if (job.shares != nullptr && (hot.flags & SubtaskFlag::kStarted) == 0) {
    ++job.shares->at(hot.band).started;
    add(usage_.accrue(job).started_rate, usage_.rate_of(job, subtask));
  }
  hot.flags |= SubtaskFlag::kStarted;
}

void AttemptCounts::note_lent(Job& job, std::uint32_t subtask) {
  SubtaskHot& hot = job.hot[subtask];
  if (job.shares != nullptr && (hot.flags & SubtaskFlag::kStarted) != 0) {
    --job.shares->at(hot.band).started;
    subtract(usage_.accrue(job).started_rate, usage_.rate_of(job, subtask));
  }
  hot.flags &= static_cast<std::uint16_t>(~SubtaskFlag::kStarted);
}

void AttemptCounts::note_devices(Job& job, std::uint32_t subtask, DeviceSet devices, Instant now) {
  if (devices != 0) job.extras.devices.edit()[SubtaskIndex{subtask}] = {job.hot[subtask].attempt, devices, now};
}

bool AttemptCounts::note_stopped(Job& job, std::uint32_t subtask) {
  const SubtaskHot& hot = job.hot[subtask];
  if (job.extras.devices.any()) job.extras.devices.edit().erase(SubtaskIndex{subtask});
  if (job.shares == nullptr) return false;
  if ((hot.flags & SubtaskFlag::kStarted) != 0) {
    --job.shares->at(hot.band).started;
    subtract(usage_.accrue(job).started_rate, usage_.rate_of(job, subtask));
  }
  return !job.shares->preempting->empty() && job.shares->preempting.edit().erase(SubtaskIndex{subtask});
}

bool AttemptCounts::is_current(const Job& job, const AttemptReport& report, WorkerSlot slot) const {
  if (report.subtask.value() >= job.total()) return false;
  const SubtaskHot& hot = job.hot[report.subtask.value()];
  return hot.phase == SubtaskPhase::Assigned && hot.attempt == report.attempt.value() &&
         workers_[hot.band].worker == slot;
}

}  // namespace penstock::supervisor
