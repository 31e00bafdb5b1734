#include "supervisor/policy/policy_engine.hpp"

#include <algorithm>

#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/quota_pass.hpp"
#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {
namespace {

/// Slots that a member's places are worth: whole slots, or thousandths of devices.
void add_entitlements(const Member& member, const std::vector<Place>& places, std::vector<Entitlement>& into) {
  for (const Place& place : places)
    if (place.slots > 0) into.push_back({member.workload, place.band, place.slots * 1000});
}

/// The slots that each workload may hold once the plan is carried out: those that it keeps, and those of its starts.
void entitle(const Snapshot& snapshot, Plan& plan) {
  std::vector<bool> leaves(snapshot.members.size(), false);
  for (const Preemption& each : plan.preemptions) leaves[each.member] = true;
  std::vector<Entitlement> all;
  for (std::uint32_t member = 0; member < snapshot.members.size(); ++member)
    if (is_held(snapshot.members[member].state) && !leaves[member])
      add_entitlements(snapshot.members[member], snapshot.members[member].places, all);
  for (const Start& each : plan.starts) add_entitlements(snapshot.members[each.member], each.places, all);
  std::sort(all.begin(), all.end(), [](const Entitlement& a, const Entitlement& b) {
    return a.workload != b.workload ? a.workload < b.workload : a.band < b.band;
  });
  for (const Entitlement& each : all) {
    if (!plan.entitlements.empty() && plan.entitlements.back().workload == each.workload &&
        plan.entitlements.back().band == each.band)
      plan.entitlements.back().milli_slots += each.milli_slots;
    else
      plan.entitlements.push_back(each);
  }
}

void slot_pass(const Snapshot& snapshot, std::uint32_t pool, const Parts& parts, Plan& plan) {
  SlotPass pass{snapshot, pool, parts, plan};
  pass.settle_carried();
  if (has_action(parts, Action::StartByShare)) start_by_share(pass, parts.sharing);
  if (has_action(parts, Action::StartByPriority)) start_by_priority(pass);
  if (has_action(parts, Action::Backfill)) backfill(pass);
}

void quota_pass(const Snapshot& snapshot, std::uint32_t pool, const Parts& parts, Plan& plan) {
  QuotaPass pass{snapshot, pool, parts};
  pass.settle_carried();
  for (std::uint32_t i = 0; i < parts.action_count; ++i) {
    switch (parts.actions[i]) {
      case Action::Allocate: allocate(pass); break;
      case Action::Consolidate: consolidate(pass); break;
      case Action::Reclaim: reclaim(pass); break;
      case Action::Preempt: preempt(pass); break;
      case Action::BreakStaleGangs: break_stale_gangs(pass); break;
      default: break;
    }
  }
  pass.write(plan);
}

}  // namespace

Plan PolicyEngine::pass(const Snapshot& snapshot) const {
  Plan plan;
  for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) {
    const Parts& parts = pools_[pool];
    const bool counts_slots = has_action(parts, Action::StartByShare) || has_action(parts, Action::StartByPriority) ||
                              has_action(parts, Action::Backfill);
    if (counts_slots) slot_pass(snapshot, pool, parts, plan);
    if (parts.sharing == Sharing::QuotaTree) quota_pass(snapshot, pool, parts, plan);
  }
  std::stable_sort(plan.explanations.begin(), plan.explanations.end(),
                   [](const Explanation& a, const Explanation& b) { return a.workload < b.workload; });
  entitle(snapshot, plan);
  return plan;
}

}  // namespace penstock::policy
