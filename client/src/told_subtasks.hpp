// Which subtasks of a job this client has been told the end of.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/client.hpp"

namespace penstock::client {

/// A bit for each subtask: who attaches again is sent everything so far, and must not hear it twice. Single-threaded.
class ToldSubtasks {
 public:
  /// Remembers what the news tell, and takes out of them what was told before.
  void keep_only_new(JobProgress& news);

 private:
  /// True if it was not told before.
  bool tell(std::uint32_t subtask);
  void filter(std::vector<SubtaskRange>& ranges);

  std::vector<bool> told_;
};

}  // namespace penstock::client
