// SupervisorCore: why something waits, and the alarm when everything does (spec worker 11).
#include <algorithm>
#include <charconv>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/lookahead.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

/// Jobs that an alarm of the watchdog names, the best first.
constexpr std::size_t kNamedMax = 8;

}  // namespace

// Spec: worker 11. Work pending and nothing happening for long is a defect or a cluster that cannot serve the job; the
// reason is named once.
void SupervisorCore::watch() {
  if (tables_.indices.active.empty()) return tables_.watchdog.stop();
  if (!tables_.watchdog.looks(event_.now)) return;
  bool runs = false;
  for (std::uint32_t i = 0; i < fleet_.workers.band_slots(); ++i)
    runs = runs || (fleet_.workers[BandSlot{i}].alive &&
                    (fleet_.workers[BandSlot{i}].load.running > 0 || fleet_.workers[BandSlot{i}].load.yielded > 0));
  if (runs || !tables_.watchdog.alarms(event_.now)) return;
  PENSTOCK_COVERAGE_MARK("the watchdog gave alarm");
  ++tables_.counters.watchdog_alerts;
  std::size_t named = 0;
  for (const JobId id : tables_.indices.active) {
    if (named++ == kNamedMax) break;
    const std::size_t others = named == kNamedMax ? tables_.indices.active.size() - kNamedMax : 0;
    Job& job = tables_.jobs[id];
    const Value explanation = admin_.cluster_answers.explain_job(job, false);
    const std::string* reason = explanation["reason"].text();
    event_.out->add(
        supervisor_action::Alert{Error{ErrorCode::Internal, to_string(id),
                                       "has pending work and nothing runs: " + (reason == nullptr ? "" : *reason) +
                                           (others > 0 ? "; and " + std::to_string(others) + " other jobs" : ""),
                                       "`penstock explain " + to_string(id) + "` tells more"}});
  }
}

}  // namespace penstock::supervisor
