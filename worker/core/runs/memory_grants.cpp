#include "worker/core/runs/memory_grants.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/percent_of.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

Bytes MemoryGrants::amount_for(const WorkerTemplate& program) const {
  const Bytes requested = program.content.request.memory;
  if (config_.quota_peaks_min == 0) return requested;
  const MemoryPeak peak = peaks_.look_up(program.peak_program);
  if (peak.runs < config_.quota_peaks_min) return requested;
  const Bytes margin = percent_of(peak.bytes, config_.quota_margin_percent);
  if (peak.bytes >= requested - margin) return requested;
  PENSTOCK_COVERAGE_MARK("a grant was what runs were seen to use");
  return std::max(peak.bytes + margin, Bytes{1});
}

QuotaRequest MemoryGrants::request_of(const SubtaskRecord& record, RecordIndex index) const {
  return {index, amount_for(*record.program), tables_.jobs[record.job].priority, record.priority, record.sequence};
}

void MemoryGrants::run_ended(const WorkerTemplate& program, const RunEnd& run) {
  Bytes peak = run.peak;
  if (run.failure != nullptr) peak = std::max(peak, Bytes{run.failure->peak_memory_bytes});
  if (peak <= Bytes{0}) return;
  // Whatever a runner reports, a run is never granted more than its request.
  peaks_.ended(program.peak_program, std::min(peak, program.content.request.memory));
}

void MemoryGrants::measured(const worker_event::RunsMeasured& event) {
  for (const RunMemory& run : event.runs) {
    if (!tables_.subtasks.is_run_of(run.record, run.attempt)) continue;
    const SubtaskRecord& record = tables_.subtasks[run.record];
    if (!record.holds_quota) continue;
    const Bytes used = std::min(run.used, record.program->content.request.memory);
    peaks_.so_far(record.program->peak_program, used);
    if (used <= bands_.of(record).quota.granted_to(run.record)) continue;
    PENSTOCK_COVERAGE_MARK("a grant grew with what its run used");
    ++tables_.counters.grown;
    bands_.of(record).quota.grow(run.record, used);
  }
}

}  // namespace penstock::worker
