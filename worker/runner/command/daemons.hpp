// Ends the processes that programs leave behind outside their process groups.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::worker {

/// A program that forks twice and begins a session of its own (a daemon) is in no group that we could kill. But it is a
/// descendant of ours, and as a subreaper we become the parent of every descendant that loses its parent. Its
/// environment tells which program it belonged to; a daemon that has cleared its environment is not found (a memory
/// group still limits it). Only for a process that starts programs in no other way, because unknown children are
/// reaped. For the main thread only. Cost: one small file read for each attempt that ends, and two for each child that
/// was not there the last time.
class Daemons {
 public:
  /// Makes this process the parent of its descendants' orphans.
  Daemons();

  /// Kills every orphan with all of `marks` (`NAME=value`) in its environment, and reaps those that have ended. True if
  /// an orphan was killed, has ended, or could not be read yet: its children become ours only when it has ended, so the
  /// caller should look again soon.
  bool end(const std::vector<std::string>& marks);

 private:
  bool is_program(int child) const;

  const int session_;
  std::map<int, int> unread_;  ///< Orphans with an environment that could not be read, and the number of tries.
  std::set<int> programs_;     ///< Children that are known to be programs started here; their runners reap them.
};

/// Kills the programs, runners and daemons that a previous incarnation of this process has started, found by the band
/// in their environment, and reaps those that have ended. For a process that has started nothing yet.
void end_children_of_former_life();

/// Whether a text of NUL-ended entries, as in /proc/PID/environ, has the entry.
bool has_entry(std::string_view environment, std::string_view entry);

/// The numbers of group and session in a line of /proc/PID/stat, or zeros.
struct GroupAndSession {
  int group = 0;
  int session = 0;
  bool zombie = false;
};
GroupAndSession parse_stat(std::string_view line);

}  // namespace penstock::worker
