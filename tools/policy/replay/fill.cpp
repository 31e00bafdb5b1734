#include "tools/policy/replay/fill.hpp"

#include "common/base/rng.hpp"
#include "tools/policy/replay/replay.hpp"

namespace penstock::policy {
namespace {

/// Longer than any trace goes on.
constexpr std::int64_t kForever = 1'000'000'000;
/// Never preempted.
constexpr std::int64_t kStays = 100;

std::int64_t asked_by(const ReplayJob& job) { return job.members * job.devices * job.device_share; }

}  // namespace

ReplayTrace filling_trace(const ReplayTrace& trace, std::int64_t percent, std::uint64_t seed) {
  ReplayTrace filling;
  filling.bands = trace.bands;
  filling.projects = {"all"};
  std::int64_t devices = 0;
  for (const Band& band : trace.bands) devices += band.capacity.gpu;
  Rng rng{seed};
  for (std::int64_t asked = 0; asked * 100 < devices * percent;) {
    ReplayJob job = trace.jobs[rng.below(trace.jobs.size())];
    asked += asked_by(job);
    job.name += "-" + std::to_string(filling.jobs.size());
    job.project = 0;
    job.priority = kStays;
    job.arrives_s = static_cast<std::int64_t>(filling.jobs.size());
    job.runs_s = kForever;
    filling.jobs.push_back(std::move(job));
  }
  return filling;
}

FillResult fill_by_policy(const ReplayTrace& filling, const Parts& parts, std::int64_t period_s) {
  const ReplayReport report = replay(filling, {.parts = parts, .period_s = period_s});
  FillResult result;
  for (const Band& band : filling.bands) result.devices += band.capacity.gpu;
  for (std::size_t i = 0; i < filling.jobs.size(); ++i) {
    const std::int64_t asked = asked_by(filling.jobs[i]);
    const std::int64_t started_s = report.jobs[i].started_s;
    result.asked_for += asked;
    // Later ones got their place when the first of all had ended.
    if (started_s >= 0 && started_s < kForever)
      result.allocated += asked;
    else
      ++result.unplaced;
  }
  return result;
}

}  // namespace penstock::policy
