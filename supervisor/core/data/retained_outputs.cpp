// DataDirectory: outputs that all have read. While memory is plentiful they stay, for subtasks that would have to run
// again if the outputs of a reader were lost with a worker.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/data/data_directory.hpp"

namespace penstock::supervisor {

bool DataDirectory::is_retained(const Job& job, std::uint32_t subtask) {
  return job.data.in_use() && !job.data.gone(subtask) && job.hot[subtask].phase == SubtaskPhase::Succeeded &&
         !is_needed(job, subtask);
}

/// Only lineage could need its data again. One copy is enough for that, and only its worker is looked after.
void DataDirectory::retain(Job& job, std::uint32_t subtask) {
  if (job.data.total_bytes(*job.graph.shape, subtask) == 0) return drop(job, subtask);  // The output may be nowhere.
  const WorkerSlot slot = workers_[job.hot[subtask].band].worker;
  WorkerEntry& holder = workers_[slot];
  if (!has_room_to_retain(holder)) return drop(job, subtask);
  PENSTOCK_COVERAGE_MARK("outputs were retained");
  drop_replicas(job, subtask, false);
  if (holder.retained.size() >= config_.spare_data_max) drop_retained(slot, (holder.retained.size() + 1) / 2);
  holder.retained.push_back({job.id, subtask});
}

/// By the worker's last report. A worker that drains must become empty.
bool DataDirectory::has_room_to_retain(const WorkerEntry& worker) const {
  if (!worker.alive || worker.draining || worker.bands.empty() || config_.spare_data_max == 0) return false;
  const Bytes used = workers_[worker.bands.front()].load.store_used;
  const std::int64_t percent = worker.description.store_bytes_max.value() / 100;
  return used.value() < percent * config_.spare_data_percent;
}

/// Half of them at a time: what is dropped then is no more than a worker keeps of their memory for the next ones.
void DataDirectory::make_room(WorkerSlot slot) {
  const std::size_t count = workers_[slot].retained.size();
  if (count == 0 || has_room_to_retain(workers_[slot])) return;
  PENSTOCK_COVERAGE_MARK("retained outputs made room");
  drop_retained(slot, (count + 1) / 2);
}

/// The oldest ones. Single outputs may be needed again, have been dropped, or be elsewhere.
void DataDirectory::drop_retained(WorkerSlot slot, std::size_t count) {
  std::vector<HeldOutput>& retained = workers_[slot].retained;
  const auto end = retained.begin() + static_cast<std::ptrdiff_t>(std::min(count, retained.size()));
  for (auto each = retained.begin(); each != end; ++each) {
    if (!jobs_.knows(each->job)) continue;
    Job& job = jobs_[each->job];
    if (job.status.state == JobState::Running && is_retained(job, each->subtask)) drop(job, each->subtask);
  }
  retained.erase(retained.begin(), end);
}

void DataDirectory::drop_retained(Job& job) {
  for (std::uint32_t i = 0; i < job.total() && job.data.in_use(); ++i)
    if (is_retained(job, i) && job.data.total_bytes(*job.graph.shape, i) > 0) drop(job, i);
  drop_leftovers(job);
}

void DataDirectory::drop_leftovers(Job& job) {
  for (const auto& [worker, producer, output] : *job.extras.leftovers) {
    const WorkerSlot slot = workers_.find(worker);
    if (!slot.valid() || holds(slot, {job.id, producer.value()})) continue;  // Made there again, or a copy.
    PENSTOCK_COVERAGE_MARK("a datum from before a restart is dropped at the end of its job");
    mail_.last_drops(slot, job.id, false).data.push_back({producer, output});
  }
  job.extras.leftovers = {};
}

}  // namespace penstock::supervisor
