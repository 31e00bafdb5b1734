// Ends the commands of a worker that was killed itself, and the daemons of one that ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/runtime/descriptor.hpp"
#include "common/runtime/process.hpp"

namespace penstock::worker {

/// A worker that dies by `kill -9` cannot end its commands. A small process beside it can: it sleeps until the pipe to
/// its worker breaks, and then kills the process groups that stand in a table in memory that both share. To enter a
/// group costs a store into that memory; no message, no file, nobody wakes up. Daemons, which have left their groups,
/// it finds by the entry `PENSTOCK_RUNNER=<token>` in their environment. At an orderly end those are all that it kills:
/// who owns it has ended the groups, but cannot tell what has left them. For one thread.
class GroupGuard {
 public:
  /// Starts nothing yet: the guard comes with the first group.
  GroupGuard();
  /// Returns when the daemons are gone: some 20 ms if a group was ever entered, two seconds at most after `end_daemons`.
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  /// Which line of the table it took, to be given to `leave`.
  std::size_t enter(int group);
  void leave(std::size_t line);
  /// We are about to end in order, and have killed all groups: the daemons may go meanwhile. Does not wait, so that the
  /// guards of several bands work at the same time. Groups that are entered from now on are not guarded.
  void end_daemons();
  /// False if there is no guard: no shell, no memory. Groups are then not guarded, and one log line has said so.
  bool active() const { return process_.has_value(); }
  const std::string& token() const { return token_; }

 private:
  void start();

  const std::string token_;
  bool tried_ = false;
  std::optional<Instant> ending_;  ///< When the guard was told.
  Descriptor alive_;  ///< Breaks when we end.
  char* table_ = nullptr;
  std::vector<std::size_t> free_;
  std::optional<Process> process_;
};

}  // namespace penstock::worker
