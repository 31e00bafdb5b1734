// Facts about gangs at barriers, and their texts, for the parts that let gangs begin and that take their slots back.
#pragma once

#include <algorithm>
#include <string>

#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// Whether the gang has begun at its present place: it runs something that is never preempted on a band where the plan
/// gives it slots. A run at a place that the gang has given up does not count.
inline bool has_runs_that_stay(const WorkerTable& workers, const Job& job, BandKind kind) {
  if (job.spec.policy.may_be_preempted() && !job.shares->kinds[static_cast<std::size_t>(kind)].all_stay) return false;
  for (std::uint32_t i = 0; i < workers.band_slots(); ++i) {
    const BandShare there = job.shares->of(BandSlot{i});
    const bool counts = workers[BandSlot{i}].alive && workers[BandSlot{i}].kind == kind;
    if (counts && there.started > 0 && there.planned > 0) return true;
  }
  return false;
}

/// `worker/band`, as operators write it.
inline std::string band_text(const WorkerTable& workers, BandSlot band) {
  return workers.worker_of(band).description.name + "/" + workers[band].description.name;
}

inline std::string seconds_text(Duration duration) {
  const std::int64_t milliseconds = std::max<std::int64_t>(duration / std::chrono::milliseconds{1}, 0);
  return decimal_text(milliseconds) + " s";
}

}  // namespace penstock::supervisor
