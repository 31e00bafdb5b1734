// The subtasks of a job with ends that were delivered to this client.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.hpp"
#include "common/protocol/client.hpp"

namespace penstock::client {

/// A byte for each subtask: a client that attaches again is sent everything so far, and must not deliver it twice.
/// Single-threaded.
class ToldSubtasks {
 public:
  /// Records the ends in the news, and removes those that were delivered before.
  void keep_only_new(JobProgress& news);
  /// The end of a subtask; Running if none was delivered.
  JobState end_of(SubtaskIndex subtask) const;

 private:
  /// True if the end was not delivered before.
  bool tell(std::uint32_t subtask, JobState end);
  void filter(std::vector<SubtaskRange>& ranges, JobState end);

  std::vector<JobState> ends_;
};

}  // namespace penstock::client
