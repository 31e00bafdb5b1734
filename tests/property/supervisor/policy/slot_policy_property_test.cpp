// Fair share, priority and backfill over random pools: what must hold whatever is asked for.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "common/base/rng.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/sharing/fair_targets.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

constexpr int kPassesMax = 24;

PolicyBuilder random_pool(Rng& rng) {
  PolicyBuilder builder;
  const std::uint64_t bands = 1 + rng.below(4);
  for (std::uint64_t i = 0; i < bands; ++i) builder.band(rng.between(0, 8), rng.between(0, 2));
  const std::uint64_t workloads = 1 + rng.below(6);
  for (std::uint64_t i = 0; i < workloads; ++i) {
    Workload& added = builder.workload("job" + std::to_string(i), rng.between(1, 4));
    added.weight = rng.between(1, 5) * 500;
    added.preemptible = !rng.chance(1, 4);
    if (rng.chance(1, 4)) added.slots_max = rng.between(1, 6);
    if (rng.chance(1, 2)) added.position.reset();
    if (rng.chance(1, 2)) added.time_limit = std::chrono::seconds{rng.between(1, 50)};
    const std::uint64_t members = 1 + rng.below(5);
    for (std::uint64_t k = 0; k < members; ++k) {
      builder.waiting(rng.chance(1, 6) ? 0 : rng.chance(1, 3) ? rng.between(2, 9) : 1);
      builder.last_member().single_band = rng.chance(1, 5);
      if (rng.chance(1, 8)) builder.last_member().blocked_bands = {static_cast<std::uint32_t>(rng.below(bands))};
    }
  }
  return builder;
}

Parts random_parts(Rng& rng) {
  static constexpr const char* kNames[] = {"fair_share", "fair_share_max_min", "priority", "multifactor"};
  Parts parts = parts_named(kNames[rng.below(4)]);
  parts.preemption = rng.chance(1, 2);
  parts.mixed_sizes = rng.chance(1, 2);
  parts.gpu_fitting = rng.chance(1, 2) ? Fitting::Best : Fitting::Worst;
  parts.reserve_depth = static_cast<std::uint32_t>(rng.below(3));
  return parts;
}

void no_band_is_over_capacity(const Snapshot& snapshot) {
  for (std::uint32_t band = 0; band < snapshot.bands.size(); ++band) {
    std::int64_t slots = 0;
    std::int64_t light = 0;
    for (const Member& member : snapshot.members)
      for (const Place& place : member.places) {
        if (place.band != band) continue;
        slots += place.slots;
        light += place.slots == 0 ? 1 : 0;
      }
    RC_ASSERT(slots <= snapshot.bands[band].slots);
    RC_ASSERT(light <= snapshot.bands[band].light_places);
  }
}

void plan_is_sound(const Snapshot& snapshot, const Plan& plan, const Parts& parts) {
  for (const Start& start : plan.starts) {
    const Member& member = snapshot.members[start.member];
    RC_ASSERT(member.state == MemberState::Pending);
    std::int64_t slots = 0;
    for (const Place& place : start.places) slots += place.slots;
    RC_ASSERT(slots == member.slots);  // A gang starts as a whole.
    RC_ASSERT(!member.single_band || start.places.size() == 1);
    if (start.backfilled && parts.has(Action::StartByPriority)) RC_ASSERT(may_preempt(snapshot, start.member));
  }
  for (const Preemption& each : plan.preemptions) {
    RC_ASSERT(may_preempt(snapshot, each.member));
    if (parts.has(Action::StartByPriority)) {
      RC_ASSERT(parts.preemption);
      // Whoever it leaves for has its place then.
      RC_ASSERT(std::any_of(plan.reservations.begin(), plan.reservations.end(), [&](const Reservation& reservation) {
        return snapshot.members[reservation.member].workload == each.beneficiary;
      }));
    }
  }
}

/// The same pass again, and passes until nothing changes: both hold whatever the pool.
void passes_settle(std::uint64_t seed) {
  Rng rng{seed};
  PolicyBuilder builder = random_pool(rng);
  const Parts parts = random_parts(rng);
  const PolicyEngine engine{{parts}};
  RC_ASSERT(check_snapshot(builder.snapshot).has_value());
  for (int pass = 0; pass < kPassesMax; ++pass) {
    const Plan plan = engine.pass(builder.snapshot);
    RC_ASSERT(plan == engine.pass(builder.snapshot));
    plan_is_sound(builder.snapshot, plan, parts);
    builder.carry_out(plan);
    no_band_is_over_capacity(builder.snapshot);
    if (plan.starts.empty() && plan.preemptions.empty()) return;
    // New work comes while the first passes run.
    if (pass < 3 && rng.chance(1, 2)) {
      builder.workload("late" + std::to_string(pass), rng.between(1, 4)).weight = rng.between(1, 5) * 500;
      builder.waiting(rng.between(1, 6), 2);
    }
  }
  RC_FAIL("the passes do not come to rest");
}

TEST(SlotPolicyProperty, PassesAreSoundAndComeToRest) {
  EXPECT_TRUE(rc::check("passes are sound, repeatable, and come to rest", passes_settle));
}

/// Water filling by bisection in floating point: another way to the same amounts.
double level_model(const std::vector<ShareGroup>& groups, std::int64_t capacity, std::size_t which) {
  const auto given = [&](double level, std::size_t i) {
    const ShareGroup& group = groups[i];
    const auto low = static_cast<double>(std::max<std::int64_t>(group.pinned, 1));
    const double wish = level * static_cast<double>(group.weight) * static_cast<double>(group.demand);
    return std::clamp(wish, low, static_cast<double>(group.demand));
  };
  double low = 0;
  double high = 1e6;
  for (int step = 0; step < 200; ++step) {
    const double level = (low + high) / 2;
    double sum = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) sum += given(level, i);
    (sum < static_cast<double>(capacity) ? low : high) = level;
  }
  return given(low, which);
}

void targets_are_fair(std::uint64_t seed) {
  Rng rng{seed};
  std::vector<ShareGroup> groups(1 + rng.below(8));
  std::int64_t demands = 0;
  std::int64_t pinned = 0;
  std::int64_t lows = 0;
  for (ShareGroup& group : groups) {
    group.pinned = rng.chance(1, 4) ? rng.between(0, 3) : 0;
    group.demand = std::max<std::int64_t>({1, group.pinned, rng.between(1, 40)});
    group.weight = rng.between(1, 9) * 500;
    demands += group.demand;
    pinned += group.pinned;
    lows += std::max<std::int64_t>(1, group.pinned);
  }
  const std::int64_t capacity = rng.between(0, 60);
  const std::vector<std::int64_t> targets = fair_targets(groups, capacity);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    RC_ASSERT(targets[i] >= groups[i].pinned);
    RC_ASSERT(targets[i] <= groups[i].demand);
    sum += targets[i];
  }
  RC_ASSERT(sum == std::max(pinned, std::min(capacity, demands)));
  if (lows <= capacity)
    for (std::size_t i = 0; i < groups.size(); ++i)
      RC_ASSERT(std::abs(static_cast<double>(targets[i]) - level_model(groups, capacity, i)) <= 1.0 + 1e-6);
  std::vector<ShareGroup> doubled = groups;
  for (ShareGroup& group : doubled) group.weight *= 2;
  RC_ASSERT(fair_targets(doubled, capacity) == targets);
}

TEST(SlotPolicyProperty, TargetsAreWithinOneSlotOfTheExactShare) {
  EXPECT_TRUE(rc::check("targets are within one slot of the exact share", targets_are_fair));
}

}  // namespace
}  // namespace penstock::policy
