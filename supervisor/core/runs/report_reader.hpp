// Reports of workers about attempts.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/duration_counts.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class Adoption;
class AttemptCounts;
struct EventContext;
struct Fleet;
struct JobTables;
struct Outputs;
struct Placement;
struct PolicyBase;
class Recomputation;
class Retries;
class SubtaskEnds;
class TimeLimits;

/// Applies reports: successes count down successors, ends that are stale are dropped, readers of a finished producer
/// are told where its output is. Cost: for a report a few touches of its record and edges.
class ReportReader {
 public:
  ReportReader(EventContext& event, Fleet& fleet, JobTables& tables, Outputs& outputs, PolicyBase& policy_base,
               Placement& placement, SubtaskEnds& ends, TimeLimits& time_limits, Recomputation& recomputation,
               Retries& retries, AttemptCounts& attempts, Adoption& adoption)
      : event_(event),
        fleet_(fleet),
        tables_(tables),
        outputs_(outputs),
        policy_base_(policy_base),
        placement_(placement),
        ends_(ends),
        time_limits_(time_limits),
        recomputation_(recomputation),
        retries_(retries),
        attempts_(attempts),
        adoption_(adoption) {}
  ReportReader(const ReportReader&) = delete;
  ReportReader& operator=(const ReportReader&) = delete;

  /// Applies the reports of one worker about one running job, in order.
  void apply(WorkerSlot slot, Job& job, const JobReports& reports);
  /// Reports about a job that has ended, or is forgotten (null), count for nothing; outputs that are not kept are
  /// dropped.
  void ignore(WorkerSlot slot, const Job* ended, const JobReports& reports);
  /// Notifies the worker that caches a successor that one of its producers has finished elsewhere. `holder` is none if
  /// the outputs are lost.
  void notice(Job& job, std::uint32_t producer, WorkerSlot to, WorkerId holder);

 private:
  /// An attempt has ended because it was told to.
  void cancelled(Job& job, std::uint32_t subtask);
  /// The run has lent its slot, or wants one again.
  void move_slot(Job& job, std::uint32_t subtask, Outcome outcome);
  void succeed(Job& job, const AttemptReport& report, std::span<const OutputReport> outputs, WorkerSlot slot);
  /// The outputs of a stale attempt. A worker that claims may be the holder of what an earlier attempt of the same
  /// subtask is known to have made; its claim tells.
  void drop_stale(WorkerSlot slot, const Job& job, const AttemptReport& report, std::span<const OutputReport> outputs);
  void count_down_successors(Job& job, std::uint32_t subtask, WorkerSlot worker);
  void measure(Job& job, const AttemptReport& report);
  /// Reports of one template on one band that follow each other: what they have in common is looked up once.
  struct CountedRuns {
    std::uint32_t of = ~std::uint32_t{0};  ///< Template; none: nothing is counted.
    BandIndex band;
    BandSlot slot;
    std::uint32_t project = 0;
    std::uint64_t slots = 0;
    DurationCounts* durations = nullptr;
    std::uint64_t run_us = 0;
  };
  /// The time on a slot of an attempt that has ended, whatever its end.
  void count_run(WorkerSlot slot, const Job& job, const AttemptReport& report, CountedRuns& runs);
  CountedRuns begin_runs(WorkerSlot slot, const Job& job, const AttemptReport& report);
  void end_runs(const CountedRuns& runs);

  EventContext& event_;
  Fleet& fleet_;
  JobTables& tables_;
  Outputs& outputs_;
  PolicyBase& policy_base_;
  Placement& placement_;
  SubtaskEnds& ends_;
  TimeLimits& time_limits_;
  Recomputation& recomputation_;
  Retries& retries_;
  AttemptCounts& attempts_;
  Adoption& adoption_;
};

}  // namespace penstock::supervisor
