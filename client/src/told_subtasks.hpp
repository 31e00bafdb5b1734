// Which subtasks of a job this client has been told the end of.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.hpp"
#include "common/protocol/client.hpp"

namespace penstock::client {

/// A byte for each subtask: who attaches again is sent everything so far, and must not hear it twice. Single-threaded.
class ToldSubtasks {
 public:
  /// Remembers what the news tell, and takes out of them what was told before.
  void keep_only_new(JobProgress& news);
  /// How it has ended; Running if that was not told.
  JobState end_of(SubtaskIndex subtask) const;

 private:
  /// True if it was not told before.
  bool tell(std::uint32_t subtask, JobState end);
  void filter(std::vector<SubtaskRange>& ranges, JobState end);

  std::vector<JobState> ends_;
};

}  // namespace penstock::client
