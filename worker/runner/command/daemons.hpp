// Ends what programs leave behind outside their process groups.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::worker {

/// A program that forks twice and begins a session of its own (a daemon) is in no group that we could kill. But it is a
/// descendant of ours, and as their subreaper we become the parent of all whose parents end. What it carries of the
/// environment tells whose it was; one that has thrown that away is not found (a memory group holds it all the same).
/// Only for a process that starts programs in no other way: it reaps what it does not know. For one thread, the main
/// one. Cost: one small file read for each attempt that ends, and two for each child that was not there the last time.
class Daemons {
 public:
  /// Makes this process the parent of its descendants' orphans.
  Daemons();

  /// Kills every orphan whose environment has all of `marks` (`NAME=value`), and reaps those that have ended. True if
  /// one was killed or has ended, or did not tell yet: the children of those come to us only when they are gone, so it
  /// is worth to look again soon.
  bool end(const std::vector<std::string>& marks);

 private:
  bool is_program(int child) const;

  const int session_;
  std::map<int, int> unread_;  ///< Orphans whose environment could not be read, and how often.
  std::set<int> programs_;     ///< Children that are known to be programs started here; they are others' to reap.
};

/// Kills what a former life of this process has started as programs, runners and their daemons, told by the band in
/// their environment, and reaps what has ended. For a process that has started nothing yet.
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
