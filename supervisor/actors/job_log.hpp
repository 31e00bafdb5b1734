// Lines of the log about jobs, out of the records of the journal.
#pragma once

#include <set>
#include <string>

#include "common/base/ids.hpp"
#include "supervisor/core/records.hpp"

namespace penstock::supervisor {

/// One line when a job is accepted and one when it ends, with the first cause of a failure. A record of an end may be
/// written several times, so the jobs that run are remembered. Without a journal there are no records, and no lines.
class JobLog {
 public:
  /// Jobs of before the restart.
  void recovered(const RecoveredState& state);
  void note(const Record& record);

 private:
  void note(const record::JobAccepted& accepted);
  void note(const record::JobEnded& ended);

  std::set<JobId> running_;
};

/// Why a job has not succeeded, in one sentence; empty: it has. The first failure is named, the others are counted.
std::string cause_of(const JobProgress& end);

}  // namespace penstock::supervisor
