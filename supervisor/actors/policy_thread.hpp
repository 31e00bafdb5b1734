// The thread on which the policy looks at the cluster.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "supervisor/core/actions.hpp"
#include "supervisor/core/events.hpp"

namespace penstock::supervisor {

/// Runs passes one after the other, off the supervisor's thread. Of those that wait only the last is run: the core has
/// given up the others.
class PolicyThread {
 public:
  using Done = std::function<void(supervisor_event::PassEnded&&)>;  ///< Called on this thread.

  explicit PolicyThread(Done done);
  /// Waits for the pass that is under way.
  ~PolicyThread();
  void run(supervisor_action::RunPass&& order);

 private:
  void serve();

  const Done done_;
  std::mutex mutex_;                 ///< Guards the two below; not held while a pass runs.
  std::condition_variable changed_;  ///< Something waits, or the end has come.
  std::optional<supervisor_action::RunPass> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace penstock::supervisor
