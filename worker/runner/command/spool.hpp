// Working directories of attempts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "common/host/account.hpp"
#include "common/host/descriptor.hpp"
#include "worker/store/blocking_work.hpp"

namespace penstock::worker {

/// Gives a directory to each attempt that wants one, and takes it back with all that is in it. A directory that is
/// still as it was made, the usual case, is given to the next attempt: making and removing a directory for each run
/// costs a fifth of the runs that a host can start. The others are removed elsewhere, because a command may have left
/// a million files. For one thread.
class Spool {
 public:
  /// `place` is made if it does not exist; empty: the directory for temporary files. Leftovers of spools of killed
  /// workers are removed there when the first directory is taken.
  /// Directories are removed in `removals`, which may end later; null: at once.
  Spool(std::string place, std::shared_ptr<BlockingWork> removals);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// Of that account, which alone may look into it; null: of ours. Error: StorageFull, or InvalidArgument for a place
  /// that cannot be used.
  Result<std::string> take(const Account* account = nullptr);
  /// REQUIRES: it is from `take`, and its program has ended.
  void give_back(std::string directory);

 private:
  Result<void> make_place();
  Result<void> make_root();
  bool lock_root();
  void remove_orphans();
  void remove_later(std::function<void()> removal);
  Result<std::string> make();

  std::string place_;
  const std::shared_ptr<BlockingWork> removals_;
  std::string root_;      ///< Our directory in `place_`, removed at our end; empty before the first use.
  Descriptor root_lock_;  ///< Locked as long as this spool lives, so that other spools know it is in use.
  std::uint64_t made_ = 0;
  std::vector<std::string> fresh_;  ///< Empty directories for further attempts.
};

}  // namespace penstock::worker
