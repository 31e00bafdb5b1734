// A trace through the production policy, in virtual time.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/replay/trace.hpp"

namespace penstock::policy {

struct ReplayOptions {
  Parts parts;
  std::int64_t period_s = 10;             ///< A pass comes at most this often, and only when something has changed.
  std::int64_t samples = 400;             ///< Of the whole time, about.
  std::int64_t half_life_s = 7 * 86'400;  ///< Of the usage of a project, for the order by factors.
};

/// The state of the cluster at one instant.
struct ReplaySample {
  std::int64_t at_s = 0;
  double used = 0;        ///< Part of all devices that running jobs asked for.
  double fragmented = 0;  ///< Part of the free devices that a job of the trace, drawn at random, could not use.
  double fairness = 1;    ///< Jain's index over projects that want something, of what they hold over their entitlement.
  std::int64_t waiting = 0;
};

/// What became of the jobs of one project, or of all.
struct ReplayWaits {
  std::string project;
  std::int64_t jobs = 0;
  std::int64_t never_started = 0;
  double mean_s = 0;  ///< Over those that started, until the first start.
  std::int64_t median_s = 0;
  std::int64_t p95_s = 0;
  std::int64_t max_s = 0;
};

struct ReplayReport {
  std::vector<ReplaySample> samples;
  std::vector<ReplayWaits> projects;
  ReplayWaits all;
  std::int64_t passes = 0;
  std::int64_t preemptions = 0;
  std::int64_t moves = 0;  ///< Of them: who got another place at once.
  std::int64_t ended_s = 0;
  // Weighted by time, while jobs still arrive.
  double used = 0;
  double fragmented = 0;
  double fairness = 1;
};

/// Runs until nobody runs and nobody who waits can start. A preempted job goes on later from where it was, as with a
/// checkpoint that costs nothing. Presets that count slots see whole devices: a part of one takes all of it, and a job
/// without devices a light place. Entitlements for the fairness index are the max-min shares of equal projects.
/// Deterministic. REQUIRES: a trace as `read_trace` makes it. Cost: a pass for each change of the cluster.
ReplayReport replay(const ReplayTrace& trace, const ReplayOptions& options);

}  // namespace penstock::policy
