// Indices of jobs by state, deadlines and open questions: no event searches all jobs.
#pragma once

#include <set>

#include "common/base/ids.hpp"
#include "supervisor/core/active_jobs.hpp"
#include "supervisor/core/deadlines.hpp"
#include "supervisor/core/limited_jobs.hpp"
#include "supervisor/core/user_jobs.hpp"

namespace penstock::supervisor {

struct JobIndices {
  ActiveJobs active;                            ///< Jobs that have not ended.
  Deadlines kept;                               ///< Ended jobs with kept outputs, by `Job::keep_until`.
  Deadlines bands_awaited;                      ///< By `Job::bands_awaited_until`.
  Deadlines time_limits;                        ///< By the end of their time limits; some may have ended.
  std::set<JobId> with_unschedulable;           ///< Jobs with subtasks that no present band may have.
  LimitedJobs limited;                          ///< Jobs that have `Job::shares`, by their limits.
  UserJobs of_users;                            ///< Jobs that have not ended, by their owners.
};

}  // namespace penstock::supervisor
