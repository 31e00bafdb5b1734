// SupervisorCore: the policy in force, and the place of a job in it.
#include <utility>

#include "supervisor/core/policy_differences.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/core/pool_parts.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

/// Replaces the policy as a whole: a pass under way rests on the old one and is dropped.
void SupervisorCore::set_policy(PolicyConfig config) {
  const std::vector<std::pair<std::string, std::string>> pools = driver_.admission_audit.pools_by_name();
  const PolicyConfig before = std::exchange(policy_base_.state.config, std::move(config));
  policy_base_.state.tree = project_tree(policy_base_.state.config);
  policy_base_.state.parts = parts_in_force(policy_base_.state.config);
  tables_.counters.busy.set_names(policy_base_.state.config);
  policy_base_.state.pass.reset();
  policy_base_.state.settings.clear();
  policy_base_.state.shares.clear();
  policy_base_.state.last.reset();
  policy_base_.state.contended.assign(policy_base_.state.config.pools.size() * kBandKinds, true);
  for (std::uint32_t i = 0; i < fleet_.workers.worker_slots(); ++i)
    if (fleet_.workers[WorkerSlot{i}].alive) driver_.membership.note_pools_of(WorkerSlot{i});
  for (const JobId id : tables_.indices.active.all()) {
    Job& job = tables_.jobs[id];
    if (policy_base_.view.policed())
      driver_.membership.open_shares(job);
    else
      driver_.membership.close_shares(job);
    runs_.priorities.follow_scale(job);
    driver_.fallbacks.open_labels(job);
    placement_.queues.enter_waiting_anew(job);
  }
  driver_.admission_audit.note_pool_moves(pools);
  policy_base_.state.due = kNever;
  policy_base_.turns.policy_changed();
  policy_base_.usage.keep_policy();
}

/// The shell has read the configuration again, because a client or a signal wanted it.
void SupervisorCore::on(supervisor_event::PolicyRead& event) {
  Result<Value> result = [&]() -> Result<Value> {
    if (!event.config) return event.config.error();
    if (const auto parts = parts_of(event.config->pools); !parts) return parts.error();
    std::string changes = differences(policy_base_.state.config, *event.config);
    set_policy(std::move(event.config).value());
    Value::Record done{{"changed", std::move(changes)},
                       {"pools", static_cast<std::uint64_t>(policy_base_.state.config.pools.size())},
                       {"projects", static_cast<std::uint64_t>(policy_base_.state.config.projects.size())},
                       {"accounts", static_cast<std::uint64_t>(policy_base_.state.config.accounts.size())}};
    policy_base_.checks.add_warnings(done);
    return Value{std::move(done)};
  }();
  ledger_.audit.note_order(event.request, result);
  if (!event.client.valid()) {
    if (!result) event_.out->add(supervisor_action::Alert{result.error()});
    return;
  }
  AdminAnswer reply;
  reply.request = event.request.request;
  if (result)
    reply.value = std::move(result).value();
  else
    reply.refusal = result.error();
  ledger_.gate.send_to_client(event.client, std::move(reply));
}

void SupervisorCore::run_policy() {
  if (!policy_base_.view.policed()) return;
  if (policy_base_.state.pass.has_value() &&
      event_.now >= later(policy_base_.state.pass->begun, policy_base_.state.config.pass_max))
    policy_base_.turns.give_up_pass("it took longer than `policy.pass_max`");
  if (policy_base_.state.pass.has_value() || event_.now < policy_base_.state.due) return;
  policy_base_.state.due = kNever;
  if (!tables_.indices.active.empty()) driver_.snapshot.begin_pass();
}

void SupervisorCore::on(supervisor_event::PassEnded& event) {
  if (!policy_base_.state.pass.has_value() || policy_base_.state.pass->number != event.number)
    return;  // The pass was given up.
  if (!event.failure.empty()) return policy_base_.turns.give_up_pass(event.failure);
  policy_base_.state.trouble.clear();
  tables_.counters.passes.add(event_.now - policy_base_.state.pass->begun);
  policy_base_.state.last =
      LastPass{std::move(*policy_base_.state.pass), std::move(event.snapshot), std::move(event.plan)};
  policy_base_.state.pass.reset();
  const policy::Plan& plan = policy_base_.state.last->plan;
  driver_.plan_effects.apply_plan(policy_base_.state.last->pass, plan);
  const bool moves = !plan.preemptions.empty() || !plan.starts.empty();
  if (!tables_.indices.active.empty())
    policy_base_.state.due =
        std::min(policy_base_.state.due,
                 later(event_.now, moves ? policy_base_.state.config.settle : policy_base_.state.config.period));
}

}  // namespace penstock::supervisor
