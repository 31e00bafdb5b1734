// A directory that belongs to one incarnation of a process.
#pragma once

#include <string>

#include "common/base/result.hpp"
#include "common/host/descriptor.hpp"

namespace penstock {

/// Makes a directory if there is none, and tries whether a file can be made in it. Errors: StorageFull,
/// InvalidArgument.
Result<void> check_directory(const std::string& place);

/// A directory of its own in a place that many processes share, made when it is first asked for and removed with all
/// that is in it. The owner locks it while it lives. Making one removes the unlocked directories of the same prefix and
/// user: their owners were killed. For one thread at a time.
class LifeDirectory {
 public:
  /// `place` is made if it does not exist; empty: the directory for temporary files.
  LifeDirectory(std::string place, std::string prefix);
  ~LifeDirectory();
  LifeDirectory(const LifeDirectory&) = delete;
  LifeDirectory& operator=(const LifeDirectory&) = delete;

  /// The path of the directory. Errors: StorageFull, InvalidArgument for a place that cannot be used or without file
  /// locks.
  Result<std::string> path();

 private:
  Result<void> make();
  Result<bool> lock();
  void remove_orphans() const;

  std::string place_;
  const std::string prefix_;
  std::string path_;  ///< Empty before the first use.
  Descriptor lock_;
};

}  // namespace penstock
