// A trace on a cluster of the production cores, in virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "tools/policy/replay/trace.hpp"

namespace penstock::policy {

struct ReplayOptions {
  SupervisorConfig supervisor;  ///< With a policy of one pool, for all hosts.
  std::int64_t samples = 400;   ///< Of the whole time, from half as many on.
  /// Called when a job has ended, with the number of those that have ended or were refused.
  std::function<void(std::int64_t ended)> progress{};
};

/// The cluster over some time: means, weighted by time.
struct ReplaySample {
  std::int64_t at_s = 0;  ///< When it begins.
  double used = 0;        ///< Part of all devices that running jobs asked for.
  double fragmented = 0;  ///< Part of the free devices that a job of the trace, drawn at random, could not use.
  /// Jain's index over projects that want something, of the slots that they hold over their entitlement; 0 while no
  /// project holds anything. Demand that no band could hold does not count.
  double fairness = 1;
  bool judged = false;  ///< A project wants something: otherwise the index has no meaning.
  double waiting = 0;
};

/// The outcome of one job.
struct ReplayOutcome {
  std::int64_t started_s = -1;            ///< First; -1: never.
  std::int64_t ended_s = -1;              ///< -1: never.
  std::int64_t ran_s = 0;                 ///< In all.
  std::int64_t waited_s = 0;              ///< In all, also after preemptions.
  std::vector<std::int64_t> preempted_s;  ///< Also where it went on elsewhere at once.
  std::vector<std::uint32_t> bands;       ///< Where it was last, ascending.
};

/// Seconds of several jobs.
struct ReplayTimes {
  double mean_s = 0;
  std::int64_t median_s = 0;  ///< By nearest rank: the least that so many of a hundred do not exceed.
  std::int64_t p95_s = 0;
  std::int64_t max_s = 0;
};

/// The outcomes of the jobs of one project, or of all. A job waits whenever it is there and does not run, also after a
/// preemption; a job that does not end waits until the last moment of the replay; one that no band could hold never
/// waits.
struct ReplayWaits : ReplayTimes {
  std::string project;
  std::int64_t jobs = 0;
  std::int64_t never_started = 0;
  ReplayTimes completion{};  ///< From the arrival to the end, of the jobs that ended.
};

struct ReplayReport {
  std::vector<ReplaySample> samples;
  std::vector<ReplayWaits> projects;
  ReplayWaits all;
  std::vector<ReplayOutcome> jobs;  ///< As in the trace.
  std::int64_t passes = 0;
  std::int64_t preemptions = 0;  ///< Of jobs: a gang that has to leave counts once.
  std::int64_t moves = 0;        ///< Of these: jobs that went on within a second, or as soon as the next pass let them.
  std::int64_t refused = 0;      ///< Jobs that a rule of the site does not admit: none waits for them.
  std::string first_refusal;     ///< The reason of the first of these.
  std::int64_t never_fits = 0;   ///< Jobs that the hosts could not hold if they were empty: none waits for them either.
  std::int64_t never_whole = 0;  ///< Of these: gangs with slots enough in all, but not as gangs are placed.
  std::int64_t never_ended = 0;  ///< Jobs that started, had to leave, and never ran again.
  std::int64_t ended_s = 0;      ///< When the last job ended, or came, of those that could run.
  ReplaySample mean;             ///< From the first arrival to the last end.
  /// From the first arrival to the last of a job that could run, if they are not one instant.
  std::optional<ReplaySample> while_arriving;
  std::vector<std::string> troubles;  ///< Alerts and protocol errors of the cores: none in a sound cluster.
};

/// Submits each job when it arrives to a `LiveCluster` with a worker for each host, ends its runs when they have run
/// for as long as the trace says, and measures what runs. A preempted job goes on later from where it was, as with a
/// checkpoint that costs nothing. Runs until no job runs and no waiting job starts for an hour. Entitlements for the
/// fairness index are the max-min shares of equal projects, whatever they own. Deterministic. REQUIRES: a trace as
/// `read_trace` makes it. Cost: that of the cores; a pass for each change, and for each period in which jobs are there.
ReplayReport replay(const ReplayTrace& trace, const ReplayOptions& options);

}  // namespace penstock::policy
