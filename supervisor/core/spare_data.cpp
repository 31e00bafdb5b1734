// SupervisorCore: retained outputs. All their readers have ended; while memory is plentiful they stay, for subtasks
// that would have to run again if a reader's own outputs were lost with a worker.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

/// Whether a subtask or the client has still to read the outputs.
bool SupervisorCore::is_needed(const Job& job, std::uint32_t subtask) {
  return job.data.readers(subtask) > 0 || (job.hot[subtask].flags & SubtaskFlag::kWanted) != 0;
}

bool SupervisorCore::is_spare(const Job& job, std::uint32_t subtask) {
  return job.data.in_use() && !job.data.gone(subtask) && job.hot[subtask].phase == SubtaskPhase::Succeeded &&
         !is_needed(job, subtask);
}

/// Only lineage could need these data again. One copy is enough for that, and only its worker is watched.
void SupervisorCore::make_spare(Job& job, std::uint32_t subtask) {
  if (job.data.total_bytes(*job.shape, subtask) == 0) return drop_data(job, subtask);  // The data may be nowhere.
  const WorkerSlot slot = workers_[job.hot[subtask].band].worker;
  WorkerEntry& holder = workers_[slot];
  if (!has_spare_room(holder)) return drop_data(job, subtask);
  PENSTOCK_COVERAGE_MARK("data were spare");
  drop_replicas(job, subtask, false);
  if (holder.spare.size() >= config_.spare_data_max) drop_spare(slot, (holder.spare.size() + 1) / 2);
  holder.spare.push_back({job.id, subtask});
}

/// By the last load report. A draining worker must become empty.
bool SupervisorCore::has_spare_room(const WorkerEntry& worker) const {
  if (!worker.alive || worker.draining || worker.bands.empty() || config_.spare_data_max == 0) return false;
  const Bytes used = workers_[worker.bands.front()].load.store_used;
  const std::int64_t percent = worker.description.store_bytes_max.value() / 100;
  return used.value() < percent * config_.spare_data_percent;
}

/// Drops half of them at a time: a worker keeps no more than that of their memory for the next ones.
void SupervisorCore::look_after_spare(WorkerSlot slot) {
  const std::size_t count = workers_[slot].spare.size();
  if (count == 0 || has_spare_room(workers_[slot])) return;
  PENSTOCK_COVERAGE_MARK("spare data made room");
  drop_spare(slot, (count + 1) / 2);
}

/// Drops the oldest ones. An entry may be needed again, have been dropped, or be elsewhere.
void SupervisorCore::drop_spare(WorkerSlot slot, std::size_t count) {
  std::vector<HeldOutput>& spare = workers_[slot].spare;
  const auto end = spare.begin() + static_cast<std::ptrdiff_t>(std::min(count, spare.size()));
  for (auto each = spare.begin(); each != end; ++each) {
    if (!jobs_.knows(each->job)) continue;
    Job& job = jobs_[each->job];
    if (job.state == JobState::Running && is_spare(job, each->subtask)) drop_data(job, each->subtask);
  }
  spare.erase(spare.begin(), end);
}

/// Drops the retained outputs of an ended job; its workers keep the outputs that its client wants.
void SupervisorCore::drop_spare_of(Job& job) {
  for (std::uint32_t i = 0; i < job.total() && job.data.in_use(); ++i)
    if (is_spare(job, i) && job.data.total_bytes(*job.shape, i) > 0) drop_data(job, i);
}

}  // namespace penstock::supervisor
