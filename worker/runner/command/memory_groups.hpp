// Memory limits for commands, by control groups.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/base/units.hpp"
#include "common/host/cgroup.hpp"

namespace penstock::worker {

/// The group of one run, with a limit for all its processes together. Address-space limits (RLIMIT_AS) are no
/// substitute: they count mapped memory, not used memory, and each process separately.
class MemoryGroup {
 public:
  MemoryGroup(std::string directory, int version) : directory_(std::move(directory)), version_(version) {}

  /// A process that writes "0" to this file moves itself into the group.
  std::string entrance() const { return directory_ + "/cgroup.procs"; }
  const std::string& directory() const { return directory_; }
  /// The kernel has ended a process of the group for lack of memory.
  bool exceeded() const;
  std::int64_t peak_bytes() const;
  /// Memory of all its processes, now.
  std::int64_t current_bytes() const;

 private:
  std::string directory_;
  int version_;
};

/// Makes and removes groups below the worker's own group. For one thread.
class MemoryGroups {
 public:
  /// Null, after one log line, where control groups are not writable: limits are then not enforced. In version 2 a
  /// group with processes may not have limited groups below, so the worker moves into a group `worker` of its own; it
  /// does so only if it has its group to itself, as under systemd with `Delegate=yes`.
  static std::unique_ptr<MemoryGroups> open();
  ~MemoryGroups();
  MemoryGroups(const MemoryGroups&) = delete;
  MemoryGroups& operator=(const MemoryGroups&) = delete;

  /// Error: Unsupported.
  Result<MemoryGroup> make(Bytes limit);
  /// REQUIRES: its processes have been killed.
  void remove(const MemoryGroup& group);

 private:
  explicit MemoryGroups(CgroupDirectory parent);
  void sweep();

  const CgroupDirectory parent_;
  const std::string prefix_;  ///< Of the groups' names; unique among the runners of the host.
  std::uint64_t made_ = 0;
  std::vector<std::string> leaving_;  ///< Groups with processes that are still ending.
};

}  // namespace penstock::worker
