// Quotas over random clusters: what must hold whatever is asked for.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "common/base/rng.hpp"
#include "supervisor/policy/fitting/band_score.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/sharing/quota_division.hpp"
#include "supervisor/policy/trial.hpp"
#include "tests/property/supervisor/policy/random_cluster.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

constexpr int kPassesMax = 40;

void plan_is_sound(const Snapshot& snapshot, const Plan& plan) {
  for (const Preemption& each : plan.preemptions) {
    if (each.reason == PreemptionReason::StaleGang) continue;
    RC_ASSERT(snapshot.workloads[snapshot.members[each.member].workload].preemptible);
    // No member leaves for nothing: the job that needs the place is promised one in the same plan.
    RC_ASSERT(std::any_of(plan.reservations.begin(), plan.reservations.end(), [&](const Reservation& reservation) {
      return snapshot.members[reservation.member].workload == each.beneficiary;
    }));
  }
}

void cluster_is_sound(const Snapshot& snapshot, const Parts& parts) {
  const Trial trial{snapshot, 0, parts};
  for (const std::uint32_t band : trial.bands()) {
    const BandRoom& room = trial.room(band);
    RC_ASSERT(room.idle.gpu >= 0);
    RC_ASSERT(room.idle.cpu >= 0);
    RC_ASSERT(room.idle.memory >= 0);
    for (const DeviceGroup& group : room.groups)
      RC_ASSERT(group.held_mib + group.leaving_mib <= room.device_memory_mib);
  }
  for (const Owner& owner : trial.owners())
    for (const OwnedAmount& amount : owner.of) {
      RC_ASSERT(at_most(amount.allocated, amount.limit));
      RC_ASSERT(at_most(amount.fixed, amount.guaranteed));
    }
  for (std::uint32_t workload = 0; workload < snapshot.workloads.size(); ++workload) {
    const std::int64_t running = std::count_if(
        snapshot.members.begin(), snapshot.members.end(),
        [&](const Member& member) { return member.workload == workload && member.state == MemberState::Running; });
    RC_ASSERT(running == 0 || running >= snapshot.workloads[workload].sets[0].min);
  }
}

/// Runs until nothing changes any more.
PolicyBuilder settled(Rng& rng, Shapes shapes) {
  PolicyBuilder builder = random_cluster(rng, shapes);
  const Parts parts = parts_named("quota");
  const PolicyEngine engine{{parts}};
  RC_ASSERT(check_snapshot(builder.snapshot).has_value());
  for (int pass = 0; pass < kPassesMax; ++pass) {
    if (pass < 4) add_jobs(builder, rng, shapes);
    const Plan plan = engine.pass(builder.snapshot);
    RC_ASSERT(plan == engine.pass(builder.snapshot));
    plan_is_sound(builder.snapshot, plan);
    builder.carry_out(plan);
    builder.keep_promises(plan);
    cluster_is_sound(builder.snapshot, parts);
    if (pass >= 4 && plan.starts.empty() && plan.preemptions.empty() && plan.reservations.empty()) return builder;
  }
  RC_FAIL("the passes do not come to rest");
}

void any_shapes_are_sound(std::uint64_t seed) {
  Rng rng{seed};
  settled(rng, Shapes::Any);
}

TEST(QuotaPolicyProperty, PassesAreSoundAndComeToRest) {
  EXPECT_TRUE(rc::check("passes are sound, repeatable, and come to rest", any_shapes_are_sound));
}

void parts_are_sound(std::uint64_t seed) {
  Rng rng{seed};
  settled(rng, Shapes::Parts);
}

TEST(QuotaPolicyProperty, PassesAreSoundInEachDimensionAndComeToRest) {
  EXPECT_TRUE(
      rc::check("passes over parts of devices, memory and processors are sound and come to rest", parts_are_sound));
}

/// With requests that fit wherever a device is free: a project that is below its guarantee and wants more has nothing
/// to wait for, so that no other project is above its own meanwhile.
void guarantees_are_met(std::uint64_t seed) {
  Rng rng{seed};
  const PolicyBuilder builder = settled(rng, Shapes::Plain);
  const Parts parts = parts_named("quota");
  const Trial trial{builder.snapshot, 0, parts};
  for (std::uint32_t owner = 0; owner < trial.owners().size(); ++owner) {
    const OwnedAmount& devices = trial.owners()[owner].of[2];
    if (trial.owners()[owner].parent == kNone) continue;
    RC_ASSERT(devices.allocated >= std::min(devices.guaranteed, devices.request));
  }
}

TEST(QuotaPolicyProperty, GuaranteesAreMet) {
  EXPECT_TRUE(rc::check("whoever wants what is guaranteed to him has it", guarantees_are_met));
}

/// Whatever has been placed, left and undone: the index of bands chooses as a look at every band does, and the running
/// sums are those of a recount.
void index_chooses_what_a_scan_chooses(std::uint64_t seed) {
  Rng rng{seed};
  PolicyBuilder builder = random_cluster(rng, Shapes::Any);
  for (std::uint64_t i = rng.below(8); i > 0; --i) builder.device_band(rng.between(1, 8));
  for (int i = 0; i < 3; ++i) add_jobs(builder, rng, Shapes::Any);
  for (Band& band : builder.snapshot.bands) {
    band.capacity.cpu = rng.between(0, 8) * 1000;
    if (rng.chance(1, 5)) band.capacity.gpu = 0;
  }
  BandLists lists;
  const std::size_t bands = builder.snapshot.bands.size();
  for (Member& member : builder.snapshot.members) {
    std::vector<std::uint32_t> list;
    for (std::int64_t i = rng.chance(1, 3) ? rng.between(1, 2) : 0; i > 0; --i)
      list.push_back(static_cast<std::uint32_t>(rng.below(bands + 1)));  // The last one is not there.
    member.band_list = lists.name(std::move(list), builder.snapshot);
    if (rng.chance(1, 4)) member.request.gpu = member.devices = 0;
    member.request.cpu = rng.between(0, 3) * 1000;
  }
  Parts parts = parts_named("quota");
  if (rng.chance(2, 3)) parts.gpu_fitting = parts.cpu_fitting = Fitting::BinPack;
  Trial trial{builder.snapshot, 0, parts};
  std::size_t mark = 0;
  for (std::uint32_t member = 0; member < builder.snapshot.members.size(); ++member) {
    const Trial::When when = rng.chance(1, 4) ? Trial::When::Later : Trial::When::NowOrLater;
    const std::optional<BandChoice> quick = choose_band(trial, member, when, {});
    const std::optional<BandChoice> slow = choose_band_by_scan(trial, {member, when, {}});
    RC_ASSERT(quick.has_value() == slow.has_value());
    if (quick) {
      RC_ASSERT(quick->band == slow->band);
      RC_ASSERT(quick->fit.now == slow->fit.now);
      trial.place(member, quick->band, quick->fit);
    }
    const auto other = static_cast<std::uint32_t>(rng.below(member + 1));
    if (rng.chance(1, 4) && is_active(trial.state(other))) trial.leave(other);
    if (rng.chance(1, 8)) trial.undo_to(mark);
    if (rng.chance(1, 8)) mark = trial.mark();
    RC_ASSERT(trial.sums_are_right());
  }
}

TEST(QuotaPolicyProperty, IndexChoosesWhatAScanChooses) {
  EXPECT_TRUE(
      rc::check("an index of bands chooses what a look at every band chooses", index_chooses_what_a_scan_chooses));
}

// Spec: policy-runai 14, D1 to D4, D6, D7, D9.
void division_is_right(std::uint64_t seed) {
  Rng rng{seed};
  std::vector<Owner> owners(1 + rng.below(6));
  std::int64_t lows = 0;
  const std::int64_t total = rng.between(0, 30) * 1000;
  for (Owner& owner : owners) {
    owner.priority = 100 + rng.between(0, 1);
    owner.created = rng.between(0, 9);
    owner.of[2] = {.guaranteed = rng.between(0, 6) * 1000,
                   .limit = rng.chance(1, 4) ? rng.between(0, 8) * 1000 : kUnlimited,
                   .weight = rng.between(0, 3) * 1000,
                   .request = rng.between(0, 120) * 100};
    lows += std::min(owner.of[2].guaranteed, owner.of[2].requestable());
  }
  std::vector<Owner> divided = owners;
  divide_tree(divided, {.gpu = total}, 1);
  std::int64_t sum = 0;
  for (const Owner& owner : divided) {
    RC_ASSERT(owner.of[2].fair_share >= std::min(owner.of[2].guaranteed, owner.of[2].requestable()));
    RC_ASSERT(owner.of[2].fair_share <= owner.of[2].requestable());
    sum += owner.of[2].fair_share;
  }
  RC_ASSERT(sum <= std::max(total, lows));
  std::vector<Owner> heavier = owners;
  for (Owner& owner : heavier) owner.of[2].weight *= 3;
  divide_tree(heavier, {.gpu = total}, 1);
  for (std::size_t i = 0; i < owners.size(); ++i) RC_ASSERT(heavier[i].of[2].fair_share == divided[i].of[2].fair_share);
}

TEST(QuotaPolicyProperty, DivisionIsRight) {
  EXPECT_TRUE(rc::check("nobody gets less than his guarantee or more than he wants", division_is_right));
}

}  // namespace
}  // namespace penstock::policy
