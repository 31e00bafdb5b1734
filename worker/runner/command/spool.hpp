// Working directories of attempts.
#pragma once

#include <memory>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"

namespace penstock::worker {

/// Makes a directory for each attempt that wants one, and removes it afterwards with all that is in it. An empty one,
/// the usual case, goes at once; a full one is removed by a thread that starts with the first of them. For one thread.
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
  Result<std::string> make(SubtaskId id, Attempt attempt);
  void remove(const std::string& directory);

 private:
  struct Sweeper;
  Result<void> make_root();

  std::string root_;
  bool owned_ = false;  ///< The root goes with us.
  bool ready_ = false;
  std::uint64_t made_ = 0;
  std::unique_ptr<Sweeper> sweeper_;
};

}  // namespace penstock::worker
