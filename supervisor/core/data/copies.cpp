// DataDirectory: further copies of outputs, so that a lost worker costs no work.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/data/data_directory.hpp"

namespace penstock::supervisor {

KeepBatch& DataDirectory::last_keeps(WorkerSlot slot, Job& job) {
  // The worker must hear when the job has ended.
  const WorkerId id = workers_[slot].id;
  if (std::find(job.audience.workers.begin(), job.audience.workers.end(), id) == job.audience.workers.end())
    job.audience.workers.push_back(id);
  return mail_.last_keeps(slot, job.id, job.identity, config_.assign_batch_max);
}

// The first worker from a place on that depends on the subtask alone, so that copies spread; none if there is none that
// could fetch it, or read it, and has none yet.
WorkerSlot DataDirectory::choose_keeper(const Job& job, std::uint32_t subtask, std::span<const WorkerId> others,
                                        Reads reads) const {
  const std::uint32_t count = workers_.worker_slots();
  const BandSlot band = job.hot[subtask].band;
  const WorkerSlot holder = reads == Reads::Workers ? workers_[band].worker : WorkerSlot::none();
  for (std::uint32_t i = 0; i < count; ++i) {
    const WorkerSlot slot{(subtask + i) % count};
    const WorkerEntry& worker = workers_[slot];
    if (!worker.alive || worker.claiming || slot == holder || worker.bands.empty()) continue;
    // A worker that drains, or is being lost: then its bands are closed first.
    if (workers_[worker.bands.front()].draining) continue;
    if (worker.description.data_address.empty()) continue;
    if (reads == Reads::SharedStorage && !worker.description.shared_storage) continue;
    if (std::find(others.begin(), others.end(), worker.id) == others.end()) return slot;
  }
  return WorkerSlot::none();
}

// Copies are fetched after all that subtasks wait for. A worker that was asked before and has not said so yet may be
// asked again, which changes nothing.
void DataDirectory::replicate(Job& job, std::uint32_t subtask) {
  const std::uint16_t wanted = job.graph.shape->template_of(subtask).replicas;
  if (wanted <= 1 || job.status.cancelling || !job.data.in_use() || job.data.gone(subtask) || !is_needed(job, subtask))
    return;
  const std::int64_t bytes = job.data.total_bytes(*job.graph.shape, subtask);
  if (bytes == 0) return;
  std::vector<WorkerId> others;
  if (const std::vector<WorkerId>* known = job.data.replicas(subtask)) others = *known;
  const WorkerId holder = workers_.worker_of(job.hot[subtask].band).id;
  while (others.size() + 1 < wanted) {
    const WorkerSlot slot = choose_keeper(job, subtask, others, Reads::Workers);
    if (!slot.valid()) return;  // With fewer workers than copies, these must do.
    PENSTOCK_COVERAGE_MARK("a copy was asked for");
    ++counters_.copies_asked;
    mail_.introduce(slot, holder);
    last_keeps(slot, job).data.push_back(KeepDatum{SubtaskIndex{subtask}, 0, holder, bytes, {}});
    others.push_back(workers_[slot].id);
  }
}

/// A replica takes the place of the primary copy. A worker may hold a part of the outputs; then the subtask's data
/// count as lost.
void DataDirectory::drop_copies(const Job& job, const DataRef& datum) {
  const std::uint32_t subtask = datum.producer.value();
  if (job.hot.empty() || !job.data.in_use() || job.data.gone(subtask)) return;
  mail_.last_drops(workers_[job.hot[subtask].band].worker, job.id, true).data.push_back(datum);
  const std::vector<WorkerId>* replicas = job.data.replicas(subtask);
  for (std::size_t i = 0; replicas != nullptr && i < replicas->size(); ++i)
    if (const WorkerSlot slot = workers_.find((*replicas)[i]); slot.valid())
      mail_.last_drops(slot, job.id, true).data.push_back(datum);
}

bool DataDirectory::promote_replica(Job& job, std::uint32_t subtask) {
  const std::vector<WorkerId>* replicas = job.data.replicas(subtask);
  if (replicas == nullptr || replicas->empty() || job.graph.shape->template_of(subtask).output_count > 1) return false;
  PENSTOCK_COVERAGE_MARK("a replica took the place of a lost output");
  const WorkerId heir = replicas->front();
  job.hot[subtask].band = workers_[workers_.find(heir)].bands.front();
  job.data.remove_replica(subtask, heir);
  tell_place(job, subtask);
  replicate(job, subtask);
  return true;
}

bool DataDirectory::promote_checkpoint(Job& job, std::uint32_t subtask) {
  const Incarnation* writer = job.data.checkpoint(subtask);
  if (writer == nullptr || job.status.cancelling) return false;
  const std::int64_t bytes = job.data.total_bytes(*job.graph.shape, subtask);
  const WorkerSlot heir = choose_keeper(job, subtask, {}, Reads::SharedStorage);
  if (!heir.valid()) return false;
  PENSTOCK_COVERAGE_MARK("a checkpoint took the place of a lost output");
  last_keeps(heir, job).data.push_back(KeepDatum{SubtaskIndex{subtask}, 0, WorkerId::none(), bytes, *writer});
  job.hot[subtask].band = workers_[heir].bands.front();
  job.data.set_gone(subtask, false);
  note_held(heir, job, subtask);
  tell_place(job, subtask);
  return true;
}

}  // namespace penstock::supervisor
