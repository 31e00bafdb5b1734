// Orders about the time limits of jobs.
#pragma once

#include "common/protocol/admin.hpp"
#include "supervisor/core/job.hpp"

namespace penstock::supervisor {

struct EventContext;
class JobTable;
class LimitRules;
class PolicyTurns;
class TimeLimits;

/// Changes the time limit of a job that waits or runs. Checked as at submission, whole, before anything changes. Cost:
/// constant.
class TimeLimitOrders {
 public:
  TimeLimitOrders(EventContext& event, JobTable& jobs, const LimitRules& rules, PolicyTurns& turns, TimeLimits& limits)
      : event_(event), jobs_(jobs), rules_(rules), turns_(turns), limits_(limits) {}
  TimeLimitOrders(const TimeLimitOrders&) = delete;
  TimeLimitOrders& operator=(const TimeLimitOrders&) = delete;

  /// `set time-limit JOB TIME|none`. Errors: NotFound, WrongState of a job that has ended, InvalidArgument, and
  /// LimitExceeded of a time above `time_max`.
  Result<Value> set_by_request(const AdminRequest& request);

 private:
  EventContext& event_;
  JobTable& jobs_;
  const LimitRules& rules_;
  PolicyTurns& turns_;
  TimeLimits& limits_;
};

}  // namespace penstock::supervisor
