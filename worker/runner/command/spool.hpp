// Working directories of attempts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace penstock::worker {

/// Gives a directory to each attempt that wants one, and takes it back with all that is in it. One that is still as it
/// was made, the usual case, is for the next attempt: to make and remove a directory for each run costs a fifth of the
/// runs that a host can start. Another is removed by a thread that starts with the first of them. For one thread.
class Spool {
 public:
  /// `root` is made if it does not exist. An empty `root` is a directory of its own for temporary files, which goes
  /// with the spool.
  explicit Spool(std::string root);
  /// Waits until all is removed.
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// Error: StorageFull, or InvalidArgument for a root that cannot be used.
  Result<std::string> take();
  /// REQUIRES: from `take`, and what ran in it has ended.
  void give_back(std::string directory);

 private:
  struct Sweeper;
  Result<void> make_root();
  Result<std::string> make();

  std::string root_;
  bool owned_ = false;  ///< The root goes with us.
  bool ready_ = false;
  std::uint64_t made_ = 0;
  std::vector<std::string> fresh_;  ///< Empty and of nobody.
  std::unique_ptr<Sweeper> sweeper_;
};

}  // namespace penstock::worker
