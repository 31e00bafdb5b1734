#include "supervisor/core/policy_pass.hpp"

#include "supervisor/policy/policy_engine.hpp"

namespace penstock::supervisor {

supervisor_event::PassEnded run_pass(const supervisor_action::RunPass& order) {
  if (const Result<void> sound = policy::check_snapshot(order.snapshot); !sound)
    return {order.number, {}, to_string(sound.error())};
  return {order.number, policy::PolicyEngine{order.parts}.pass(order.snapshot), {}};
}

}  // namespace penstock::supervisor
