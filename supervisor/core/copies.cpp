// SupervisorCore: further copies of outputs, so that a lost worker costs no work.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

KeepBatch& SupervisorCore::tail_of_keeps(WorkerSlot slot, Job& job) {
  // The worker must learn when the job has ended.
  const WorkerId id = workers_[slot].id;
  if (std::find(job.known_workers.begin(), job.known_workers.end(), id) == job.known_workers.end())
    job.known_workers.push_back(id);
  return mail_.last_keeps(slot, job.id, config_.assign_batch_max);
}

// The first worker from a place on that depends on the subtask alone, so that copies spread; none if there is none that
// could fetch it, or read it, and has none yet.
WorkerSlot SupervisorCore::choose_keeper(const Job& job, std::uint32_t subtask, std::span<const WorkerId> others,
                                         Reads reads) const {
  const std::uint32_t count = workers_.worker_slots();
  const BandSlot band = job.hot[subtask].band;
  const WorkerSlot holder = reads == Reads::Workers ? workers_[band].worker : WorkerSlot::none();
  for (std::uint32_t i = 0; i < count; ++i) {
    const WorkerSlot slot{(subtask + i) % count};
    const WorkerEntry& worker = workers_[slot];
    if (!worker.alive || worker.claiming || slot == holder || worker.bands.empty()) continue;
    // One that drains, or is being lost: then its bands are closed first.
    if (workers_[worker.bands.front()].draining) continue;
    if (worker.description.data_address.empty()) continue;
    if (reads == Reads::SharedStorage && !worker.description.shared_storage) continue;
    if (std::find(others.begin(), others.end(), worker.id) == others.end()) return slot;
  }
  return WorkerSlot::none();
}

// `replicas`: asks other workers to fetch the data, after all fetches that subtasks wait for. A worker that was asked
// before and has not answered yet may be asked again, which changes nothing.
void SupervisorCore::want_copies(Job& job, std::uint32_t subtask) {
  const std::uint16_t wanted = job.shape->template_of(subtask).replicas;
  if (wanted <= 1 || job.cancelling || !job.data.in_use() || job.data.gone(subtask) || !is_needed(job, subtask)) return;
  const std::int64_t bytes = job.data.total_bytes(*job.shape, subtask);
  if (bytes == 0) return;
  std::vector<WorkerId> others;
  if (const std::vector<WorkerId>* known = job.data.replicas(subtask)) others = *known;
  const WorkerId holder = workers_.worker_of(job.hot[subtask].band).id;
  while (others.size() + 1 < wanted) {
    const WorkerSlot slot = choose_keeper(job, subtask, others, Reads::Workers);
    if (!slot.valid()) return;  // With fewer workers than copies, these must do.
    PENSTOCK_COVERAGE_MARK("a copy was asked for");
    ++counters_.copies_asked;
    introduce_peer(slot, holder);
    tail_of_keeps(slot, job).data.push_back(KeepDatum{SubtaskIndex{subtask}, 0, holder, bytes, {}});
    others.push_back(workers_[slot].id);
  }
}

// `checkpoint`: data on shared storage are as good as local ones for every worker; one of them holds the primary copy
// from now on. False if there is no checkpoint, or no worker to hold it.
bool SupervisorCore::stand_in(Job& job, std::uint32_t subtask) {
  const Incarnation* writer = job.data.checkpoint(subtask);
  if (writer == nullptr || job.cancelling) return false;
  const std::int64_t bytes = job.data.total_bytes(*job.shape, subtask);
  const WorkerSlot heir = choose_keeper(job, subtask, {}, Reads::SharedStorage);
  if (!heir.valid()) return false;
  PENSTOCK_COVERAGE_MARK("a checkpoint took the place of a lost output");
  tail_of_keeps(heir, job).data.push_back(KeepDatum{SubtaskIndex{subtask}, 0, WorkerId::none(), bytes, *writer});
  job.hot[subtask].band = workers_[heir].bands.front();
  job.data.set_gone(subtask, false);
  note_held(heir, job, subtask);
  move_outputs(job, subtask);
  return true;
}

}  // namespace penstock::supervisor
