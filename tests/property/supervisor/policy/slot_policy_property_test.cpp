// Fair share, priority and backfill over random pools: what must hold whatever is asked for.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "common/base/rng.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/sharing/fair_targets.hpp"
#include "supervisor/policy/slot_trial.hpp"
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
      if (rng.chance(1, 8)) builder.only_on({static_cast<std::uint32_t>(rng.below(bands))});
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
    if (start.backfilled && has_action(parts, Action::StartByPriority)) RC_ASSERT(may_preempt(snapshot, start.member));
  }
  for (const Preemption& each : plan.preemptions) {
    RC_ASSERT(may_preempt(snapshot, each.member));
    if (has_action(parts, Action::StartByPriority)) {
      RC_ASSERT(parts.preemption);
      // The job that the member leaves for has its place then.
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

/// Gangs by the book: divide without regard to them, freeze the youngest that does not fit its target, divide again.
std::vector<std::int64_t> targets_by_the_book(std::vector<ShareGroup> groups, std::int64_t capacity) {
  for (std::size_t round = 0;; ++round) {
    std::vector<ShareGroup> without_gangs = groups;
    for (ShareGroup& group : without_gangs) group.smallest_pending = 0;
    const std::vector<std::int64_t> targets = fair_targets(without_gangs, capacity);
    std::int64_t sum = 0;
    std::size_t blocked = groups.size();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      sum += targets[i];
      const std::int64_t spare = targets[i] - groups[i].held;
      if (spare > 0 && groups[i].smallest_pending > spare) blocked = i;
    }
    if (round == groups.size() || sum < capacity || blocked == groups.size()) return targets;
    groups[blocked].demand = groups[blocked].pinned = groups[blocked].held;
    groups[blocked].smallest_pending = 0;
  }
}

void gangs_are_passed_over_one_by_one(std::uint64_t seed) {
  Rng rng{seed};
  std::vector<ShareGroup> groups(1 + rng.below(30));
  for (ShareGroup& group : groups) {
    group.held = rng.chance(1, 2) ? rng.between(0, 6) : 0;
    group.pinned = rng.chance(1, 4) ? rng.between(0, group.held) : 0;
    group.smallest_pending = rng.chance(1, 2) ? rng.between(1, 9) : 0;
    group.demand = group.held + group.smallest_pending * rng.between(1, 3);
    group.weight = rng.between(1, 9) * 500;
  }
  const std::int64_t capacity = rng.between(0, 120);
  RC_ASSERT(fair_targets(groups, capacity) == targets_by_the_book(groups, capacity));
}

TEST(SlotPolicyProperty, GangsArePassedOverOneByOne) {
  EXPECT_TRUE(rc::check("targets are those of a division made anew for each gang", gangs_are_passed_over_one_by_one));
}

/// Whatever has been taken, given back and undone, the index of bands finds what a look at every band finds.
void index_finds_what_a_scan_finds(std::uint64_t seed) {
  Rng rng{seed};
  PolicyBuilder builder = random_pool(rng);
  const std::int64_t size = rng.between(1, 8);
  for (std::uint64_t i = 0; i < rng.below(12); ++i) builder.band(rng.chance(1, 2) ? size : rng.between(0, 8), 1);
  for (Band& band : builder.snapshot.bands) {
    if (rng.chance(1, 10)) band.state = BandState::Draining;
  }
  BandLists lists;
  for (Member& member : builder.snapshot.members) {
    if (rng.chance(1, 5))
      member.band_list =
          lists.name({static_cast<std::uint32_t>(rng.below(builder.snapshot.bands.size()))}, builder.snapshot);
    if (rng.chance(1, 10)) member.slots = rng.between(9, 40);
  }
  const Parts parts = random_parts(rng);
  SlotTrial trial{builder.snapshot, 0, parts};
  std::size_t mark = 0;
  std::vector<std::vector<Place>> taken;
  for (const Member& member : builder.snapshot.members) {
    const std::vector<Place> places = trial.find(member);
    RC_ASSERT(places == trial.find_by_scan(member));
    if (rng.chance(3, 4)) {
      trial.take(places);
      taken.push_back(places);
    }
    if (rng.chance(1, 8)) {
      trial.undo_to(mark);
      taken.clear();
    } else if (rng.chance(1, 8) && !taken.empty()) {
      trial.give_back(taken.back());
      taken.pop_back();
    } else if (rng.chance(1, 8)) {
      mark = trial.mark();
      taken.clear();
    }
    std::int64_t most = 0;
    for (std::uint32_t band = 0; band < builder.snapshot.bands.size(); ++band)
      most = std::max(most, trial.room(band).free());
    RC_ASSERT(trial.roomiest() == most);
  }
}

TEST(SlotPolicyProperty, IndexFindsWhatAScanFinds) {
  EXPECT_TRUE(rc::check("an index of bands finds what a look at every band finds", index_finds_what_a_scan_finds));
}

/// The same of lists of bands that are long and asked for often, so that each has an index of its own.
void index_of_a_list_finds_what_a_scan_finds(std::uint64_t seed) {
  Rng rng{seed};
  PolicyBuilder builder;
  const std::int64_t size = rng.between(1, 4);
  const auto bands = static_cast<std::uint32_t>(rng.between(70, 100));
  for (std::uint32_t i = 0; i < bands; ++i) builder.band(rng.chance(2, 3) ? size : rng.between(0, 8), 1);
  for (Band& band : builder.snapshot.bands) {
    if (rng.chance(1, 20)) band.state = BandState::Draining;
  }
  std::vector<std::vector<std::uint32_t>> lists(static_cast<std::size_t>(rng.between(1, 3)));
  for (std::vector<std::uint32_t>& list : lists)
    for (std::uint32_t band = 0; band < bands + 2; ++band)  // The last are not there.
      if (!rng.chance(1, 12)) list.push_back(band);
  builder.workload("job");
  for (int i = 0; i < 80; ++i) {
    builder.waiting(rng.chance(1, 8) ? 0 : rng.chance(1, 6) ? rng.between(2, 30) : 1);
    builder.last_member().single_band = rng.chance(1, 3);
    if (!rng.chance(1, 6)) builder.only_on(lists[rng.below(lists.size())]);
  }
  const Parts parts = random_parts(rng);
  SlotTrial trial{builder.snapshot, 0, parts};
  std::vector<std::vector<Place>> taken;
  for (const Member& member : builder.snapshot.members) {
    const std::vector<Place> places = trial.find(member);
    RC_ASSERT(places == trial.find_by_scan(member));
    const std::size_t mark = trial.mark();
    trial.take(places);
    taken.push_back(places);
    if (rng.chance(1, 8)) {
      trial.undo_to(mark);
      taken.pop_back();
    } else if (rng.chance(1, 4)) {
      std::swap(taken.back(), taken[rng.below(taken.size())]);
      trial.give_back(taken.back());
      taken.pop_back();
    }
  }
}

TEST(SlotPolicyProperty, IndexOfAListFindsWhatAScanFinds) {
  EXPECT_TRUE(rc::check("an index of a list of bands finds what a look at every band finds",
                        index_of_a_list_finds_what_a_scan_finds));
}

/// With requests of one slot, which fit wherever a slot is free, passes come to rest with everybody within one slot of
/// his exact share. Larger gangs move a share by at most their size; their targets are checked above.
void everybody_holds_his_share(std::uint64_t seed) {
  Rng rng{seed};
  PolicyBuilder builder;
  for (std::uint64_t i = 0; i <= rng.below(4); ++i) builder.band(rng.between(1, 8));
  const std::uint64_t workloads = 1 + rng.below(6);
  for (std::uint64_t i = 0; i < workloads; ++i) {
    builder.workload("job" + std::to_string(i)).weight = rng.between(1, 5) * 500;
    builder.waiting(1, static_cast<int>(rng.between(1, 20)));
  }
  const PolicyEngine engine{{parts_named("fair_share")}};
  for (int pass = 0; pass < kPassesMax; ++pass) {
    const Plan plan = engine.pass(builder.snapshot);
    builder.carry_out(plan);
    if (plan.starts.empty() && plan.preemptions.empty()) break;
    if (pass > 0) continue;
    builder.workload("late").weight = rng.between(1, 5) * 500;
    builder.waiting(1, static_cast<int>(rng.between(1, 20)));
  }
  std::vector<ShareGroup> groups;
  std::int64_t capacity = 0;
  for (const Band& band : builder.snapshot.bands) capacity += band.slots;
  for (const Workload& workload : builder.snapshot.workloads) groups.push_back({.weight = workload.weight});
  for (const Member& member : builder.snapshot.members) ++groups[member.workload].demand;
  if (capacity < std::ssize(groups)) return;  // Too few slots for one each: the oldest have them.
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto held = static_cast<double>(builder.running_of(builder.snapshot.workloads[i].name));
    RC_ASSERT(std::abs(held - level_model(groups, capacity, i)) <= 1.0 + 1e-6);
  }
}

TEST(SlotPolicyProperty, EverybodyHoldsHisShareWithinOneSlot) {
  EXPECT_TRUE(rc::check("everybody holds his exact share within one slot", everybody_holds_his_share));
}

}  // namespace
}  // namespace penstock::policy
