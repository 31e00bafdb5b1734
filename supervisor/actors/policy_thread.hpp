// The thread on which the policy looks at the cluster.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/policy_config.hpp"
#include "supervisor/core/actions.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/policy/parts.hpp"

namespace penstock::supervisor {

/// How the multi-factor sum is made. REQUIRES: `check_policy` accepts the factors.
policy::MultifactorOptions multifactor_of(const FactorConfig& factors);
/// The parts of each pool, for its CPU bands and for its device bands. Error: NotFound, for a preset that nobody knows.
Result<std::vector<policy::Parts>> parts_of(const std::vector<PoolConfig>& pools);

/// What a pass makes of a snapshot; never fails otherwise than in what it returns.
supervisor_event::PassEnded run_pass(const supervisor_action::RunPass& order);

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
