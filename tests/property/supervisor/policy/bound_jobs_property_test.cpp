// Jobs with work that must run in one place: each of their members is shown with the one band that it may be on.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "common/base/rng.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

constexpr int kPassesMax = 40;

void bind(Snapshot& snapshot, Member& member, std::uint32_t band) {
  const std::vector<std::uint32_t> only{band};
  auto& lists = snapshot.band_lists;
  const auto known = std::find(lists.begin(), lists.end(), only);
  member.band_list = static_cast<std::uint32_t>(known - lists.begin());
  if (known == lists.end()) lists.push_back(only);
}

bool may_be_on(const Snapshot& snapshot, const Member& member, std::uint32_t band) {
  return member.band_list == kNone || snapshot.band_lists[member.band_list].front() == band;
}

std::int64_t free_on(const Snapshot& snapshot, std::uint32_t band) {
  std::int64_t free = snapshot.bands[band].slots;
  for (const Member& member : snapshot.members)
    for (const Place& place : member.places)
      if (place.band == band) free -= place.slots;
  return free;
}

/// A part of the jobs is bound, each member to a band of its own, among others that may be anywhere. All want single
/// slots.
void add_job(PolicyBuilder& builder, Rng& rng, bool quotas) {
  const std::string name = "job" + std::to_string(builder.snapshot.workloads.size());
  const auto bands = static_cast<std::uint32_t>(builder.snapshot.bands.size());
  if (quotas)
    builder.job(name, static_cast<std::uint32_t>(rng.below(builder.snapshot.projects.size())), rng.between(50, 60));
  else
    builder.workload(name, rng.between(1, 4)).weight = rng.between(1, 5) * 500;
  const bool bound = rng.chance(2, 3);
  for (std::int64_t members = rng.between(1, 6); members > 0; --members) {
    if (quotas)
      builder.wants(1);
    else
      builder.waiting(1);
    if (bound) bind(builder.snapshot, builder.last_member(), static_cast<std::uint32_t>(rng.below(bands)));
  }
}

/// Passes are sound and come to rest, and then nobody waits for a slot of a band that is free.
void nobody_waits_for_what_is_free(std::uint64_t seed) {
  Rng rng{seed};
  PolicyBuilder builder;
  static constexpr const char* kNames[] = {"fair_share_max_min", "priority", "quota"};
  Parts parts = parts_named(kNames[rng.below(3)]);
  const bool quotas = parts.sharing == Sharing::QuotaTree;
  if (!quotas) parts.preemption = rng.chance(1, 2);
  std::int64_t all = 0;
  for (std::uint64_t i = 0; i <= rng.below(4); ++i) {
    const std::int64_t slots = rng.between(1, 4);
    quotas ? builder.device_band(slots) : builder.band(slots);
    all += slots;
  }
  for (std::uint64_t i = 0; quotas && i <= rng.below(3); ++i) {
    const std::int64_t guaranteed = rng.between(0, std::min<std::int64_t>(all, 3));
    builder.project("p" + std::to_string(i), guaranteed);
    builder.snapshot.projects.back().shares[2].weight = 1000;
    all -= guaranteed;
  }
  const PolicyEngine engine{{parts}};
  for (int pass = 0; pass < kPassesMax; ++pass) {
    if (pass < 4) add_job(builder, rng, quotas);
    RC_ASSERT(check_snapshot(builder.snapshot).has_value());
    const Plan plan = engine.pass(builder.snapshot);
    RC_ASSERT(plan == engine.pass(builder.snapshot));
    for (const Start& start : plan.starts)
      for (const Place& place : start.places)
        RC_ASSERT(may_be_on(builder.snapshot, builder.snapshot.members[start.member], place.band));
    for (const Reservation& each : plan.reservations)
      for (const Place& place : each.places)
        RC_ASSERT(may_be_on(builder.snapshot, builder.snapshot.members[each.member], place.band));
    builder.carry_out(plan);
    if (quotas) builder.keep_promises(plan);
    for (std::uint32_t band = 0; band < builder.snapshot.bands.size(); ++band)
      RC_ASSERT(free_on(builder.snapshot, band) >= 0);
    if (pass < 4 || !plan.starts.empty() || !plan.preemptions.empty()) continue;
    // Elsewhere a free slot may be within the share of a job that cannot use it, or no job passes a more important one.
    if (quotas)
      for (const Member& member : builder.snapshot.members)
        for (std::uint32_t band = 0; member.state == MemberState::Pending && band < builder.snapshot.bands.size();
             ++band)
          RC_ASSERT(!may_be_on(builder.snapshot, member, band) || free_on(builder.snapshot, band) == 0);
    return;
  }
  RC_FAIL("the passes do not come to rest");
}

TEST(BoundJobsProperty, NobodyWaitsForWhatIsFree) {
  EXPECT_TRUE(rc::check("passes over bound jobs are sound and come to rest, and no free slot is waited for",
                        nobody_waits_for_what_is_free));
}

}  // namespace
}  // namespace penstock::policy
