// The time limits of jobs.
#pragma once

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"

namespace penstock::supervisor {

struct EventContext;
class JobRecords;
class JobTable;
struct JobIndices;
class SubtaskEnds;

/// Ends jobs when their time limits are over. The limit of a job counts from when its first subtask began to run: a
/// wait in the queue does not count, and what has begun goes on to count whether or not anything runs. A job from which
/// its last run was taken, by a preemption, a drain or the loss of a worker, waits in the queue as at first, and the
/// limit begins anew with its next run. A restart of the supervisor changes nothing: since when the limit counts is in
/// the journal, and a job is not ended before the workers of before the restart are back.
/// Cost: logarithmic in the jobs with limits, and linear in the bands when a run is taken; for other jobs nothing.
class TimeLimits {
 public:
  TimeLimits(EventContext& event, JobTable& jobs, JobIndices& indices, JobRecords& records, SubtaskEnds& ends)
      : event_(event), jobs_(jobs), indices_(indices), records_(records), ends_(ends) {}
  TimeLimits(const TimeLimits&) = delete;
  TimeLimits& operator=(const TimeLimits&) = delete;

  /// Before the report is applied. `asked_to_leave`: policy has asked the attempt to. REQUIRES: a job with a limit.
  void note_report(Job& job, const AttemptReport& report, bool asked_to_leave);
  /// After a report, or a loss, was applied.
  void begin_anew_if_off(Job& job);
  /// The job has that limit from now on, or none (0). The limit counts from when its first subtask began to run, or, if
  /// the job had none, from now. A job that is past it is ended with the next `end_overdue`.
  void change(Job& job, Duration limit);
  /// The workers of before a restart are back. `some_are_lost`: not all of them.
  void go_on(Job& job, bool some_are_lost);
  /// The job has ended.
  void leave(const Job& job);
  /// Ends the jobs that are past their limits.
  void end_overdue();

 private:
  void begin(Job& job, Duration ran);
  void begin_anew(Job& job);

  EventContext& event_;
  JobTable& jobs_;
  JobIndices& indices_;
  JobRecords& records_;
  SubtaskEnds& ends_;
};

}  // namespace penstock::supervisor
