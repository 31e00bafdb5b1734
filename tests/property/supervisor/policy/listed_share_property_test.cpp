// Fair share where some jobs may use some bands only, as live pools show them: what runs is shown without its bands.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "common/base/rng.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/sharing/limited_targets.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

constexpr int kPassesMax = 60;

enum class Sizes : std::uint8_t { One, Any };
using Bands = std::vector<std::uint32_t>;

class LabelledPool {
 public:
  LabelledPool(Rng& rng, Sizes sizes) : rng_(rng), sizes_(sizes) {
    for (std::int64_t i = rng.between(1, 6); i > 0; --i) builder_.band(rng.between(1, 4));
    for (std::int64_t i = rng.between(1, 4); i > 0; --i) {
      Bands list;
      for (std::uint32_t band = 0; band < builder_.snapshot.bands.size(); ++band)
        if (rng.chance(1, 2)) list.push_back(band);
      lists_.push_back(std::move(list));  // An empty one: all bands.
    }
    parts_ = parts_named(rng.chance(1, 2) ? "fair_share" : "fair_share_max_min");
  }

  void add_job() {
    Workload& job = builder_.workload("job" + std::to_string(builder_.snapshot.workloads.size()));
    job.weight = rng_.between(1, 5) * 500;
    job.preemptible = !rng_.chance(1, 6);
    if (rng_.chance(1, 6)) job.slots_max = rng_.between(1, 6);
    const bool mixed = rng_.chance(1, 6);
    const Bands list = rng_.chance(1, 3) ? Bands{} : any_list();
    for (std::int64_t i = rng_.between(1, 12); i > 0; --i) {
      builder_.waiting(sizes_ == Sizes::One ? 1 : rng_.between(1, 3));
      builder_.last_member().single_band = rng_.chance(1, 2);
      builder_.only_on(mixed ? any_list() : list);
      wishes_.push_back(builder_.last_member().band_list);
    }
  }
  void end_some() {
    for (Member& member : builder_.snapshot.members)
      if (member.state == MemberState::Running && rng_.chance(1, 4))
        member.state = MemberState::Succeeded, member.places.clear();
  }
  void change_a_weight() {
    auto& jobs = builder_.snapshot.workloads;
    jobs[rng_.below(jobs.size())].weight = rng_.between(1, 5) * 500;
  }

  /// Whether it changed anything.
  bool pass() {
    Snapshot& snapshot = builder_.snapshot;
    for (std::size_t i = 0; i < snapshot.members.size(); ++i)
      snapshot.members[i].band_list = snapshot.members[i].state == MemberState::Pending ? wishes_[i] : kNone;
    RC_ASSERT(check_snapshot(snapshot).has_value());
    plan_ = PolicyEngine{{parts_}}.pass(snapshot);
    RC_ASSERT(plan_ == PolicyEngine{{parts_}}.pass(snapshot));
    for (const Start& start : plan_.starts)
      for (const Place& place : start.places) RC_ASSERT(may_be_on(start.member, place.band));
    for (const Preemption& each : plan_.preemptions) RC_ASSERT(may_preempt(snapshot, each.member));
    for (const Explanation& each : plan_.explanations)
      RC_ASSERT(std::none_of(plan_.starts.begin(), plan_.starts.end(),
                             [&](const Start& start) { return start.member == each.member; }));
    const bool left = std::any_of(snapshot.members.begin(), snapshot.members.end(),
                                  [](const Member& each) { return each.state == MemberState::Leaving; });
    const bool changed = left || !plan_.starts.empty() || !plan_.preemptions.empty() || !plan_.reservations.empty();
    carry_out();
    for (std::uint32_t band = 0; band < snapshot.bands.size(); ++band) RC_ASSERT(free_on(band) >= 0);
    return changed;
  }

  bool may_be_on(std::size_t member, std::uint32_t band) const {
    if (wishes_[member] == kNone) return true;
    const Bands& list = builder_.snapshot.band_lists[wishes_[member]];
    return std::binary_search(list.begin(), list.end(), band);
  }
  std::int64_t free_on(std::uint32_t band) const {
    std::int64_t free = snapshot().bands[band].slots;
    for (const Member& member : snapshot().members)
      for (const Place& place : member.places)
        if (place.band == band) free -= place.slots;
    return free;
  }
  /// The `slots` of a job in proportion to its weight and, but for max-min, its demand.
  double level(std::uint32_t job, std::int64_t slots) const {
    const Workload& of = snapshot().workloads[job];
    std::int64_t demand = std::count_if(
        snapshot().members.begin(), snapshot().members.end(),
        [job](const Member& each) { return each.workload == job && each.state != MemberState::Succeeded; });
    if (of.slots_max != kUnlimited) demand = std::min(demand, of.slots_max);
    return static_cast<double>(slots) /
           static_cast<double>(of.weight * (parts_.sharing == Sharing::MaxMin ? 1 : demand));
  }
  std::int64_t held(std::uint32_t job) const {
    std::int64_t slots = 0;
    for (const Member& member : snapshot().members)
      for (const Place& place : member.places) slots += member.workload == job ? place.slots : 0;
    return slots;
  }
  std::map<std::uint32_t, std::int64_t> targets() const {
    std::map<std::uint32_t, std::int64_t> all;
    for (const Target& each : plan_.workload_targets) all[each.owner] = each.amount.gpu / 1000;
    return all;
  }
  const Snapshot& snapshot() const { return builder_.snapshot; }

 private:
  /// A member that is told to leave takes its time, or goes at once.
  void carry_out() {
    Snapshot& snapshot = builder_.snapshot;
    for (Member& member : snapshot.members)
      if (member.state == MemberState::Leaving) member.state = MemberState::Pending, member.places.clear();
    const auto places_of_victim = [&](std::uint32_t member) { return snapshot.members[member].places; };
    std::map<std::uint32_t, std::vector<Place>> leaving;
    for (const Preemption& each : plan_.preemptions)
      if (rng_.chance(1, 3)) leaving[each.member] = places_of_victim(each.member);
    builder_.carry_out(plan_);
    for (const auto& [member, places] : leaving)
      snapshot.members[member].state = MemberState::Leaving, snapshot.members[member].places = places;
    snapshot.carried.clear();
    for (const Reservation& each : plan_.reservations) snapshot.carried.push_back({each.member, each.places});
  }
  Bands any_list() { return lists_[rng_.below(lists_.size())]; }

  Rng& rng_;
  Sizes sizes_;
  PolicyBuilder builder_;
  std::vector<Bands> lists_;
  std::vector<std::uint32_t> wishes_;  ///< By member: its list, whether it waits or runs.
  Parts parts_;
  Plan plan_;
};

void come_to_rest(LabelledPool& pool) {
  for (int pass = 0; pool.pass(); ++pass) RC_ASSERT(pass < kPassesMax);
}

/// No slot is idle when passes have come to rest, if a waiting member of one slot could use it, may be preempted and
/// has a job below its cap.
void no_slot_is_idle_in_vain(const LabelledPool& pool) {
  const Snapshot& snapshot = pool.snapshot();
  for (std::uint32_t i = 0; i < snapshot.members.size(); ++i) {
    const Member& member = snapshot.members[i];
    const Workload& job = snapshot.workloads[member.workload];
    const bool capped = job.slots_max != kUnlimited && pool.held(member.workload) >= job.slots_max;
    if (member.state != MemberState::Pending || !may_preempt(snapshot, i) || capped) continue;
    for (std::uint32_t band = 0; band < snapshot.bands.size(); ++band)
      RC_ASSERT(!pool.may_be_on(i, band) || pool.free_on(band) == 0);
  }
}

/// A member of a job below its target waits for no member that can leave and has a job above its own target. Where all
/// may be preempted, so that every waiting member counts.
void nobody_above_his_share_is_waited_for(const LabelledPool& pool) {
  const Snapshot& snapshot = pool.snapshot();
  for (const Workload& job : snapshot.workloads)
    if (!job.preemptible) return;
  std::map<std::uint32_t, std::int64_t> targets = pool.targets();
  for (std::uint32_t i = 0; i < snapshot.members.size(); ++i) {
    const Member& member = snapshot.members[i];
    if (member.state != MemberState::Pending || pool.held(member.workload) >= targets[member.workload]) continue;
    for (std::uint32_t other = 0; other < snapshot.members.size(); ++other) {
      const Member& holder = snapshot.members[other];
      if (!may_preempt(snapshot, other) || pool.held(holder.workload) <= targets[holder.workload]) continue;
      // No job gives so much that it has less than the job that asks.
      if (pool.level(holder.workload, pool.held(holder.workload) - 1) <=
          pool.level(member.workload, pool.held(member.workload)) + 1e-12)
        continue;
      for (const Place& place : holder.places) RC_ASSERT(!pool.may_be_on(i, place.band));
    }
  }
}

void slots_of_labels_are_used(std::uint64_t seed) {
  Rng rng{seed};
  LabelledPool pool{rng, Sizes::One};
  for (std::int64_t i = rng.between(1, 4); i > 0; --i) pool.add_job();
  for (int turn = 0; turn < 4; ++turn) {
    come_to_rest(pool);
    no_slot_is_idle_in_vain(pool);
    nobody_above_his_share_is_waited_for(pool);
    if (rng.chance(1, 2)) pool.end_some();
    if (rng.chance(1, 3)) pool.change_a_weight();
    if (rng.chance(1, 2)) pool.add_job();
    pool.pass();  // And not all come between passes that have come to rest.
    if (rng.chance(1, 3)) pool.add_job();
  }
}

TEST(ListedShareProperty, SlotsOfLabelsAreUsed) {
  EXPECT_TRUE(rc::check("passes come to rest, no slot is idle in vain, and nobody waits for who has too much",
                        slots_of_labels_are_used));
}

void requests_of_any_size_come_to_rest(std::uint64_t seed) {
  Rng rng{seed};
  LabelledPool pool{rng, Sizes::Any};
  for (std::int64_t i = rng.between(1, 4); i > 0; --i) pool.add_job();
  for (int turn = 0; turn < 3; ++turn) {
    come_to_rest(pool);
    if (rng.chance(1, 2)) pool.end_some();
    if (rng.chance(1, 3)) pool.change_a_weight();
    pool.add_job();
  }
}

TEST(ListedShareProperty, RequestsOfAnySizeComeToRest) {
  EXPECT_TRUE(rc::check("passes come to rest whatever is asked for", requests_of_any_size_come_to_rest));
}

/// Groups with limits that lie within each other or apart: a group with less than it wants has a limit, or the pool,
/// that is used up, and all groups within it that hold more per weight and demand cannot hold less. Without limits
/// nothing changes.
void limits_hold_and_are_used_up(std::uint64_t seed) {
  Rng rng{seed};
  std::vector<ShareGroup> groups(1 + rng.below(8));
  for (ShareGroup& group : groups) {
    group.held = group.pinned = rng.chance(1, 5) ? rng.between(0, 3) : 0;
    group.demand = std::max<std::int64_t>({1, group.pinned, rng.between(1, 30)});
    group.weight = rng.between(1, 5) * 500;
  }
  const std::int64_t capacity = rng.between(0, 60);
  DivideSlots divide = fair_targets;
  if (rng.chance(1, 2)) divide = max_min_targets;
  RC_ASSERT(limited_targets(groups, {}, capacity, divide) == divide(groups, capacity));
  std::vector<ShareLimit> limits;
  for (std::int64_t i = rng.between(1, 4); i > 0; --i) {
    // Positions from one to another: such as lie within each other, or apart; overlapping ones get their union.
    ShareLimit limit;
    const auto first = static_cast<std::uint32_t>(rng.below(groups.size()));
    const auto last = static_cast<std::uint32_t>(rng.between(first, static_cast<std::int64_t>(groups.size()) - 1));
    std::int64_t pinned = 0;
    for (std::uint32_t group = first; group <= last; ++group)
      limit.groups.push_back(group), pinned += groups[group].pinned;
    limit.slots = std::max(pinned, rng.between(0, 30));
    const bool crosses = std::any_of(limits.begin(), limits.end(), [&](const ShareLimit& other) {
      const bool apart = other.groups.back() < first || last < other.groups.front();
      const bool inside = other.groups.front() <= first && last <= other.groups.back();
      return !apart && !inside && !(first <= other.groups.front() && other.groups.back() <= last);
    });
    if (!crosses) limits.push_back(std::move(limit));
  }
  const std::vector<std::int64_t> targets = limited_targets(groups, limits, capacity, divide);
  std::int64_t sum = 0;
  std::int64_t pinned = 0;
  std::vector<bool> is_bound(groups.size(), false);
  for (std::size_t i = 0; i < groups.size(); ++i) sum += targets[i], pinned += groups[i].pinned;
  for (const ShareLimit& limit : limits) {
    std::int64_t inside = 0;
    for (const std::uint32_t group : limit.groups) inside += targets[group];
    RC_ASSERT(inside <= limit.slots);
    if (inside == limit.slots)
      for (const std::uint32_t group : limit.groups) is_bound[group] = true;
  }
  RC_ASSERT(sum <= std::max(capacity, pinned));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    RC_ASSERT(targets[i] >= groups[i].pinned);
    RC_ASSERT(targets[i] <= groups[i].demand);
    RC_ASSERT(targets[i] == groups[i].demand || sum >= capacity || is_bound[i]);
  }
}

TEST(ListedShareProperty, LimitsHoldAndAreUsedUp) {
  EXPECT_TRUE(
      rc::check("no limit is passed, and who lacks something is in one that is used up", limits_hold_and_are_used_up));
}

}  // namespace
}  // namespace penstock::policy
