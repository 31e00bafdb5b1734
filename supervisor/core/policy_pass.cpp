#include "supervisor/core/policy_pass.hpp"

#include <utility>

#include "supervisor/policy/policy_engine.hpp"

namespace penstock::supervisor {

supervisor_event::PassEnded run_pass(supervisor_action::RunPass order) {
  if (const Result<void> sound = policy::check_snapshot(order.snapshot); !sound)
    return {order.number, {}, to_string(sound.error()), {}};
  policy::Plan plan = policy::PolicyEngine{std::move(order.parts)}.pass(order.snapshot);
  return {order.number, std::move(plan), {}, std::move(order.snapshot)};
}

}  // namespace penstock::supervisor
