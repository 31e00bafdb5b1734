// When the next pass of the policy begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

struct EventContext;
class PolicyView;

/// Keeps when the next pass of the policy begins: changes are gathered for `policy.settle`, and a pass that has moved
/// something is followed by the next one as soon.
/// Cost: constant.
class PolicyTurns {
 public:
  PolicyTurns(EventContext& event, PolicyState& policy, const PolicyView& view)
      : event_(event), policy_(policy), view_(view) {}
  PolicyTurns(const PolicyTurns&) = delete;
  PolicyTurns& operator=(const PolicyTurns&) = delete;

  /// Something that policy looks at has changed. Changes are gathered for a while.
  void policy_changed();
  /// The next time at which a pass begins or is given up, or a gang gives up its barrier; none without a policy.
  std::optional<Instant> policy_deadline() const;
  /// The last plan stays in force.
  void give_up_pass(const std::string& why);

 private:
  EventContext& event_;
  PolicyState& policy_;
  const PolicyView& view_;
};

}  // namespace penstock::supervisor
