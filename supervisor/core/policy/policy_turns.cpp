#include "supervisor/core/policy/policy_turns.hpp"

#include <algorithm>
#include "common/base/coverage_mark.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"

namespace penstock::supervisor {

void PolicyTurns::policy_changed() {
  if (view_.policed()) policy_.due = std::min(policy_.due, later(event_.now, policy_.config.settle));
}

std::optional<Instant> PolicyTurns::policy_deadline() const {
  if (!view_.policed()) return std::nullopt;
  if (policy_.pass.has_value())
    return std::min(policy_.barriers_end, later(policy_.pass->begun, policy_.config.pass_max));
  return std::min(policy_.barriers_end, policy_.due);
}

void PolicyTurns::give_up_pass(const std::string& why) {
  PENSTOCK_COVERAGE_MARK("a pass of the policy came to nothing");
  policy_.pass.reset();
  ++policy_.given_up;
  if (policy_.trouble != why)
    event_.out->add(supervisor_action::Alert{
        Error{ErrorCode::Internal, "policy", "a pass came to nothing: " + why, "the last plan stays in force"}});
  policy_.trouble = why;
  policy_.due = later(event_.now, policy_.config.period);
}

}  // namespace penstock::supervisor
