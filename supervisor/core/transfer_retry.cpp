#include "supervisor/core/transfer_retry.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

bool note_unreachable_input(SubtaskHistory& history, const WorkerTable& workers, WorkerSlot worker,
                            const SupervisorConfig& config, Instant now) {
  if (history.transfers++ == 0) history.unreachable_since = now;
  if (history.transfers >= config.transfers_tried_max) rule_out_worker(history, workers, worker);
  if (now - history.unreachable_since < config.transfer_patience) return false;
  history.unreachable_since = now;
  ++history.failures;
  return true;
}

void rule_out_worker(SubtaskHistory& history, const WorkerTable& workers, WorkerSlot worker) {
  if (history.tried_epoch != workers.epoch()) history.tried.clear();
  history.tried_epoch = workers.epoch();
  for (const BandSlot band : workers[worker].bands)
    if (std::find(history.tried.begin(), history.tried.end(), band) == history.tried.end())
      history.tried.push_back(band);
}

// Only whole copies are named: of several outputs a replica may hold some.
WorkerId copy_to_try(const Job& job, const WorkerTable& workers, std::uint32_t subtask, std::uint32_t producer) {
  const WorkerId primary = workers[job.hot[producer].band].id.worker;
  const SubtaskHistory* history = job.extras.histories->find(SubtaskIndex{subtask});
  const std::vector<WorkerId>* replicas = job.data.replicas(producer);
  const bool any =
      replicas != nullptr && !replicas->empty() && job.graph.shape->template_of(producer).output_count <= 1;
  if (history == nullptr || !any) return primary;
  const std::size_t source = history->transfers % (replicas->size() + 1);
  return source == 0 ? primary : (*replicas)[source - 1];
}

}  // namespace penstock::supervisor
