// The memory that subtasks are granted.
#pragma once

#include "common/protocol/config.hpp"
#include "worker/core/band/memory_quota.hpp"
#include "worker/core/events.hpp"
#include "worker/core/jobs/peak_table.hpp"
#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

class Bands;
struct Tables;

/// Spec: worker 4, the grant shrinks to the memory in use. The request of a template is also the limit at which its
/// runs are ended, so users ask for plenty; the observed use of its runs is a better estimate for the next one.
class MemoryGrants {
 public:
  MemoryGrants(const WorkerConfig& config, Tables& tables, Bands& bands)
      : config_(config), tables_(tables), bands_(bands), peaks_(config.quota_templates_max) {}
  MemoryGrants(const MemoryGrants&) = delete;
  MemoryGrants& operator=(const MemoryGrants&) = delete;

  Bytes amount_for(const WorkerTemplate& program) const;
  QuotaRequest request_of(const SubtaskRecord& record, RecordIndex index) const;
  void run_ended(const WorkerTemplate& program, const RunEnd& run);
  /// A run that was granted the observed memory of others, and uses more, holds as much as it uses from now on, as far
  /// as there is room; and the next run gets as much at once.
  void measured(const worker_event::RunsMeasured& event);

 private:
  const WorkerConfig& config_;
  Tables& tables_;
  Bands& bands_;
  PeakTable peaks_;
};

}  // namespace penstock::worker
