// SupervisorCore: lost outputs that have a checkpoint are read again instead of made again.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

/// For an output that is needed and held by nobody.
void SupervisorCore::find_again(Job& job, std::uint32_t subtask) {
  if (!read_again(job, subtask)) recompute(job, subtask);
}

/// A checkpoint need not be made again: a worker takes it over now, or as soon as there is one. False if there is none,
/// or if no present worker can read it.
bool SupervisorCore::read_again(Job& job, std::uint32_t subtask) {
  if (job.data.checkpoint(subtask) == nullptr || job.cancelling) return false;
  if (data_.promote_checkpoint(job, subtask)) return true;
  if (somebody_may_work()) return false;
  PENSTOCK_COVERAGE_MARK("a checkpoint waits for a worker");
  unread_.push_back({job.id, SubtaskIndex{subtask}});
  return true;
}

bool SupervisorCore::somebody_may_work() const {
  if (workers_.alive_bands() == 0) return false;
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (worker.alive && !worker.claiming && !worker.bands.empty() && !workers_[worker.bands.front()].draining)
      return true;
  }
  return false;
}

/// Before anything is given to a worker that has come.
void SupervisorCore::read_what_waits() {
  for (const SubtaskId& id : std::exchange(unread_, {})) {
    if (!jobs_.knows(id.job) || jobs_[id.job].state != JobState::Running) continue;
    Job& job = jobs_[id.job];
    const std::uint32_t subtask = id.index.value();
    if (job.recovering || job.cancelling || !DataDirectory::is_gone(job, subtask)) continue;
    if (DataDirectory::is_needed(job, subtask)) find_again(job, subtask);
  }
}

}  // namespace penstock::supervisor
