// Keeps the lease of a state while its supervisor runs.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/storage/file_lease.hpp"

namespace penstock::supervisor {

/// Renews a lease several times within its duration, on a thread of its own: reading a large journal takes longer. Once
/// the supervisor has a loop, the loop must beat, or the keeper leaves the lease to a standby supervisor.
///
/// All members may be called by any thread.
class LeaseKeeper {
 public:
  /// Called once, on any thread, when the lease is found to be lost.
  using OnLost = std::function<void(const Error&)>;

  LeaseKeeper(std::unique_ptr<FileLease> lease, Duration duration);
  ~LeaseKeeper();

  /// From now on the lease is renewed only as long as `beat` is called once in each `beat_every`.
  void expect_beats();
  void beat();
  Duration beat_every() const { return every_; }
  /// Calls at once if the lease is lost already. An empty one ends it.
  void when_lost(OnLost on_lost);
  /// Whether the state is ours. Error: StorageLocked, names the holder.
  Result<void> check();

 private:
  void run();
  void lose(const Error& error);

  const std::unique_ptr<FileLease> lease_;
  const Duration every_;
  std::mutex mutex_;  ///< Guards all below.
  std::condition_variable changed_;
  bool beats_expected_ = false;
  bool has_beaten_ = false;
  bool ending_ = false;
  std::optional<Error> lost_;
  OnLost on_lost_;
  std::thread thread_;
};

}  // namespace penstock::supervisor
