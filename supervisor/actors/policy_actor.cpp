#include "supervisor/actors/policy_actor.hpp"

#include <caf/scheduled_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <exception>

#include "common/loop/actor_host.hpp"

namespace penstock::supervisor {
namespace {

/// A pass for which memory is short fails; the cluster goes on with the plan in force.
supervisor_event::PassEnded run_guarded(Pass pass, supervisor_action::RunPass& order) {
  try {
    return pass(std::move(order));
  } catch (const std::exception& failure) {
    return {order.number, {}, failure.what(), {}};
  }
}

PolicyActor::behavior_type policy_behavior(PolicyActor::pointer self, Pass pass) {
  take_failures(*self, ActorFailure::EndsActor);
  return {[self, pass](supervisor_action::RunPass& order) {
    using supervisor_event::PassEnded;
    return PassMail{std::make_shared<PassEnded>(self->mailbox().empty()
                                                    ? run_guarded(pass, order)
                                                    : PassEnded{order.number, {}, "a newer pass was ordered", {}})};
  }};
}

}  // namespace

PolicyActor spawn_policy(caf::scheduled_actor& owner, Pass pass) {
  return owner.spawn<caf::detached + caf::monitored>(policy_behavior, pass);
}

}  // namespace penstock::supervisor
