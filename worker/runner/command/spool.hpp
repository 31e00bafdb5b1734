// Working directories of attempts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/runtime/descriptor.hpp"

namespace penstock::worker {

/// Gives a directory to each attempt that wants one, and takes it back with all that is in it. One that is still as it
/// was made, the usual case, is for the next attempt: to make and remove a directory for each run costs a fifth of the
/// runs that a host can start. Another is removed by a thread that starts with the first of them. For one thread.
class Spool {
 public:
  /// `place` is made if it does not exist; empty is where temporary files are. What spools of lives that ended without
  /// leave (a worker that was killed) have left there is removed when the first directory is taken.
  explicit Spool(std::string place);
  /// Waits until all is removed.
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// Error: StorageFull, or InvalidArgument for a place that cannot be used.
  Result<std::string> take();
  /// REQUIRES: from `take`, and what ran in it has ended.
  void give_back(std::string directory);

 private:
  struct Sweeper;
  Result<void> make_place();
  Result<void> make_root();
  bool lock_root();
  void remove_orphans();
  void remove_later(std::string directory);
  Result<std::string> make();

  std::string place_;
  std::string root_;      ///< Ours in `place_`, and gone with us; empty before the first use.
  Descriptor root_lock_;  ///< Locked as long as we live, so that others can tell.
  std::uint64_t made_ = 0;
  std::vector<std::string> fresh_;  ///< Empty and of nobody.
  std::unique_ptr<Sweeper> sweeper_;
};

}  // namespace penstock::worker
