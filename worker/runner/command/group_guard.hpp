// Ends the commands of a worker that was killed itself, and the daemons of one that ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/time.hpp"
#include "common/host/descriptor.hpp"
#include "common/host/process.hpp"

namespace penstock::worker {

/// A worker that dies by `kill -9` cannot end its commands, but a small process beside it can: the guard sleeps until
/// the pipe to its worker breaks, and then kills the process groups in a table in memory that both share. Entering a
/// group costs one store into that memory, without a message, a file or a wake-up. The guard finds daemons, which have
/// left their groups, by the entry `PENSTOCK_RUNNER=<token>` in their environment. At an orderly end it kills only
/// those, because the owner has ended the groups but cannot find what has left them. For one thread.
class GroupGuard {
 public:
  /// Starts nothing yet: the guard comes with the first group.
  GroupGuard();
  /// Returns when the daemons are gone: some 20 ms if a group was ever entered, at most two seconds after
  /// `end_daemons`.
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  /// Returns the line of the table that the group took, to be given to `leave`.
  std::size_t enter(int group);
  void leave(std::size_t line);
  /// The owner is about to end in order and has killed all groups: the guard may kill the daemons meanwhile. Does not
  /// wait, so that the guards of several bands work at the same time. Groups entered from now on are not guarded.
  void end_daemons();
  /// False if there is no guard, because the host has no shell or no memory for it. Groups are then not guarded; one
  /// log line has said so.
  bool active() const { return process_.has_value(); }
  const std::string& token() const { return token_; }

 private:
  void start();

  const std::string token_;
  bool tried_ = false;
  std::optional<Instant> ending_;  ///< Time at which the guard was told.
  Descriptor alive_;               ///< The pipe breaks when this process ends.
  char* table_ = nullptr;
  std::vector<std::size_t> free_;
  std::optional<Process> process_;
};

}  // namespace penstock::worker
