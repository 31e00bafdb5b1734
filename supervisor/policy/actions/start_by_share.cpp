// Fair share: each contender moves towards its target, and gives back what is above it. Spec: policy-determined 3.2 to
// 3.5.
#include <algorithm>
#include <optional>

#include "supervisor/policy/actions/give_turn.hpp"
#include "supervisor/policy/actions/share_limits.hpp"
#include "supervisor/policy/actions/start_by_reach.hpp"
#include "supervisor/policy/eligibility.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/sharing/share_tree.hpp"
#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {
namespace {

/// Waits of jobs that have starved.
class StarvedJobs {
 public:
  explicit StarvedJobs(SlotPass& pass) : pass_(pass) {}

  /// Notes the member if it would fit once all left that may be preempted now, or when their turns are over.
  void note_blocked(std::uint32_t member) {
    const std::uint32_t workload = pass_.snapshot().members[member].workload;
    if (!has_starved(pass_, workload) || pass_.keeps_place(member)) return;
    if (!in_time_) in_time_.emplace(pass_, Gone::InTime);
    if (in_time_->admits(member))
      blocked_since_ = std::min(blocked_since_, *pass_.snapshot().workloads[workload].waits_since);
  }
  /// The longest wait for a turn of others to be over: its beginning.
  Instant blocked_since() const { return blocked_since_; }

 private:
  SlotPass& pass_;
  std::optional<Eligibility> in_time_;  ///< Made when it is asked.
  Instant blocked_since_ = kNever;
};

/// The workloads that share the pool, oldest first.
std::vector<Contender> contenders(SlotPass& pass, StarvedJobs& starved) {
  const Snapshot& snapshot = pass.snapshot();
  Eligibility eligibility{pass, Gone::Preemptible};
  std::optional<Eligibility> emptied;  // Made when a member is not admitted.
  std::vector<Contender> all(snapshot.workloads.size());
  for (const std::uint32_t member : pass.running()) {
    Contender& owner = all[snapshot.members[member].workload];
    if (snapshot.members[member].slots == 0 || pass.is_preempted(member)) continue;
    owner.running.push_back(member);
    owner.held += snapshot.members[member].slots;
  }
  for (const Member& member : snapshot.members)
    if (member.state == MemberState::Leaving) all[member.workload].leaving += member.slots;
  for (const std::uint32_t member : pass.waiting()) {
    const Member& subject = snapshot.members[member];
    if (subject.slots == 0) continue;
    if (pass.has_carried(member)) {
      all[subject.workload].promised.push_back(member);
      all[subject.workload].held += subject.slots;
      continue;
    }
    if (eligibility.admits(member)) {
      all[subject.workload].pending.push_back(member);
      continue;
    }
    if (!emptied) emptied.emplace(pass, Gone::Everybody);
    if (emptied->admits(member)) {  // The member waits for slots that may not be preempted.
      all[subject.workload].blocked += subject.slots;
      starved.note_blocked(member);
      pass.explain(member, Hold::NoRoom, subject.slots, pass.trial().roomiest());
    } else {
      pass.explain(member, Hold::NeverFits, subject.slots, pass.trial().capacity());
    }
  }
  const auto by_age = [&](std::uint32_t a, std::uint32_t b) { return older(snapshot, a, b); };
  std::vector<Contender> present;
  for (std::uint32_t workload = 0; workload < all.size(); ++workload) {
    Contender& each = all[workload];
    if (each.pending.empty() && each.held == 0) continue;
    each.workload = workload;
    std::sort(each.pending.begin(), each.pending.end(), by_age);
    std::sort(each.running.begin(), each.running.end(), by_age);
    if (const std::int64_t core = snapshot.workloads[workload].core; core > 0)  // The core of a gang leaves last.
      std::stable_partition(each.running.begin(), each.running.end(),
                            [&](std::uint32_t member) { return snapshot.members[member].slots < core; });
    present.push_back(std::move(each));
  }
  std::sort(present.begin(), present.end(), [&](const Contender& a, const Contender& b) {
    const Workload& left = snapshot.workloads[a.workload];
    const Workload& right = snapshot.workloads[b.workload];
    if (left.submitted != right.submitted) return left.submitted < right.submitted;
    return left.name != right.name ? left.name < right.name : a.workload < b.workload;
  });
  return present;
}

/// The slots that each of its members takes; 1 if they differ.
std::int64_t unit_of(const Snapshot& snapshot, const Contender& each) {
  std::int64_t unit = 0;
  for (const std::vector<std::uint32_t>* members : {&each.running, &each.promised, &each.pending})
    for (const std::uint32_t member : *members) {
      if (unit != 0 && snapshot.members[member].slots != unit) return 1;
      unit = snapshot.members[member].slots;
    }
  return std::max<std::int64_t>(unit, 1);
}

/// `turn`: the contender that gets a member whatever its share is.
std::vector<ShareGroup> share_groups(const SlotPass& pass, const std::vector<Contender>& present,
                                     std::optional<std::size_t> turn) {
  const Snapshot& snapshot = pass.snapshot();
  std::vector<ShareGroup> groups;
  for (const Contender& each : present) {
    const Workload& workload = snapshot.workloads[each.workload];
    ShareGroup group;
    group.weight = workload.weight;
    group.node = workload.share_node;
    group.held = each.held;
    group.elsewhere = workload.elsewhere;
    group.demand = each.held + workload.beyond;
    for (const std::uint32_t member : each.running)
      if (!may_preempt(snapshot, member) || is_protected(snapshot, each.workload))
        group.pinned += snapshot.members[member].slots;
    if (has_starved(pass, each.workload))
      for (const std::uint32_t member : each.promised) group.pinned += snapshot.members[member].slots;
    if (turn == groups.size()) group.pinned += snapshot.members[each.pending.front()].slots;
    for (const std::uint32_t member : each.pending) {
      const std::int64_t slots = snapshot.members[member].slots;
      group.demand += slots;
      if (group.smallest_pending == 0 || slots < group.smallest_pending) group.smallest_pending = slots;
    }
    if (workload.slots_max != kUnlimited) group.demand = std::min(group.demand, workload.slots_max);
    group.core = workload.core;
    group.unit = workload.core > 0 ? 1 : unit_of(snapshot, each);
    group.demand -= group.demand % group.unit;
    group.demand = std::max(group.demand, group.pinned);
    groups.push_back(group);
  }
  return groups;
}

/// Of two gangs that do not fit beside each other the one that runs stays. Not to be used where jobs may use certain
/// bands only: a gang may hold slots beyond its share there, and shares that follow what is held would never settle.
void keep_whole_ones(std::vector<ShareGroup>& groups) {
  for (ShareGroup& group : groups) group.stays = group.held >= std::max(group.core, group.unit);
}

/// The groups without contenders that only keep a place; empty if there are none.
std::vector<ShareGroup> without_places_kept(const SlotPass& pass, const std::vector<Contender>& present,
                                            std::vector<ShareGroup> groups) {
  bool any = false;
  for (std::size_t i = 0; i < present.size(); ++i)
    if (pass.snapshot().workloads[present[i].workload].keeps_place)
      any = true, groups[i].demand = groups[i].smallest_pending = 0;
  return any ? groups : std::vector<ShareGroup>{};
}

/// Oldest first, as the order says, until the rest is within the target.
void release(SlotPass& pass, const Contender& each, std::int64_t target) {
  std::int64_t held = each.held;
  for (const std::uint32_t member : each.running) {
    if (held <= target) return;
    if (!may_preempt(pass.snapshot(), member)) continue;
    pass.preempt(member, PreemptionReason::AboveShare, kNone);
    held -= pass.snapshot().members[member].slots;
  }
}

void start_within(SlotPass& pass, const Contender& each, std::int64_t target, OwnedSlots& owned) {
  std::int64_t held = each.held;
  for (const std::uint32_t member : each.pending) {
    const std::int64_t slots = pass.snapshot().members[member].slots;
    if (slots > target - held || owned.is_beyond(each.workload, slots)) {
      pass.explain(member, Hold::AtFairShare, target, held);
      continue;
    }
    std::vector<Place> places = pass.find(member);
    if (places.empty()) {
      pass.explain(member, Hold::NoRoom, slots, pass.trial().roomiest());
      continue;
    }
    pass.trial().take(places);
    pass.start(member, std::move(places), false);
    held += slots;
    owned.add(each.workload, slots);
  }
}

/// Members without slots: by age, wherever there is a place for such.
void start_light(SlotPass& pass) {
  std::vector<std::uint32_t> light;
  for (const std::uint32_t member : pass.waiting())
    if (pass.snapshot().members[member].slots == 0) light.push_back(member);
  std::sort(light.begin(), light.end(), [&](std::uint32_t a, std::uint32_t b) { return older(pass.snapshot(), a, b); });
  for (const std::uint32_t member : light) {
    std::vector<Place> places = pass.find(member);
    if (places.empty()) {
      pass.explain(member, Hold::NoRoom, 1, 0);
      continue;
    }
    pass.trial().take(places);
    pass.start(member, std::move(places), false);
  }
}

}  // namespace

void start_by_share(SlotPass& pass, Sharing sharing) {
  StarvedJobs starved{pass};
  std::vector<Contender> present = contenders(pass, starved);
  const std::optional<std::size_t> turn = next_turn(pass, present, starved.blocked_since());
  const std::int64_t capacity = pass.trial().capacity();
  const ShareLimits limits = share_limits(pass, present);
  const auto groups_with = [&](std::optional<std::size_t> served) {
    std::vector<ShareGroup> all = share_groups(pass, present, served);
    if (limits.empty()) keep_whole_ones(all);
    return all;
  };
  std::vector<ShareGroup> groups = groups_with(turn);
  const DivideSlots by_owner = divide_by_owner(groups, pass.snapshot().share_nodes, sharing);
  std::vector<ShareLimit> bounds = limits_of_users(pass.snapshot(), present);
  bounds.insert(bounds.end(), limits.limits.begin(), limits.limits.end());
  const auto divide = [&](const std::vector<ShareGroup>& among) {
    return limited_targets(among, bounds, capacity, by_owner);
  };
  std::vector<std::int64_t> targets = divide(groups);
  const TurnOutcome outcome = turn ? give_turn(pass, present, *turn, targets) : TurnOutcome::NotYet;
  if (outcome == TurnOutcome::NotYet && (turn || starved.blocked_since() != kNever))
    hold_back_starved(pass, present, targets);
  if (outcome == TurnOutcome::NotYet && turn) {
    groups = groups_with(std::nullopt);
    targets = divide(groups);
  }
  // The share of a contender that keeps its place is neither taken by others nor given back to it.
  const std::vector<ShareGroup> without = without_places_kept(pass, present, groups);
  const std::vector<std::int64_t> at_most = without.empty() ? targets : divide(without);
  for (std::size_t i = 0; i < present.size(); ++i)
    pass.plan().workload_targets.push_back({present[i].workload, {.gpu = targets[i] * 1000}});
  if (!limits.empty()) start_by_reach(pass, present, limits, {groups, targets, at_most, sharing, by_owner});
  OwnedSlots owned = slots_of_owners(pass.snapshot(), present);
  for (std::size_t i = 0; i < present.size() && limits.empty(); ++i) {
    if (present[i].held > std::max(targets[i], at_most[i]))
      release(pass, present[i], std::max(targets[i], at_most[i]));
    else
      start_within(pass, present[i], targets[i], owned);
  }
  start_light(pass);
}

}  // namespace penstock::policy
