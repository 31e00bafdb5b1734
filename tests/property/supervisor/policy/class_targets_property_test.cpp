// Fair shares of jobs that may each be on some bands only, against progressive filling by bisection, where what can be
// placed together is known by looking at every set of rooms.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "common/base/rng.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/sharing/class_targets.hpp"
#include "tests/property/supervisor/policy/slow_shares.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

SharedPool random_case(Rng& rng) {
  SharedPool made;
  ClassedPool& pool = made.pool;
  const std::int64_t rooms = rng.between(1, 4);
  for (std::int64_t i = 0; i < rooms; ++i) pool.rooms.push_back(rng.between(0, 9));
  for (std::int64_t i = rng.between(1, 4); i > 0; --i) {
    std::vector<std::uint32_t> of_class;
    for (std::uint32_t room = 0; room < rooms; ++room)
      if (rng.chance(1, 2)) of_class.push_back(room);
    if (!of_class.empty()) pool.classes.push_back(of_class);
  }
  if (pool.classes.empty()) pool.classes.push_back({0});
  for (std::int64_t i = rng.between(1, 5); i > 0; --i) {
    ShareGroup group;
    group.weight = rng.between(1, 5) * 500;
    group.pinned = rng.chance(1, 4) ? rng.between(1, 3) : 0;
    std::vector<ClassDemand> demands;
    std::int64_t sum = 0;
    for (std::uint32_t kind = 0; kind < pool.classes.size(); ++kind)
      if (rng.chance(1, demands.empty() ? 2 : 4)) demands.push_back({kind, rng.between(1, 12)});
    for (const ClassDemand& each : demands) sum += each.slots;
    if (rng.chance(1, 5)) sum = rng.between(0, sum);  // Its own cap.
    group.held = group.pinned;
    group.demand = group.pinned + sum;
    group.smallest_pending = sum > 0 ? 1 : 0;
    made.groups.push_back(group);
    pool.demands.push_back(demands);
    pool.holdings.emplace_back();
  }
  return made;
}

void shares_are_max_min(std::uint64_t seed, Slope slope) {
  Rng rng{seed};
  const SharedPool made = random_case(rng);
  const std::vector<std::int64_t> targets = class_targets(made.groups, made.pool, slope);
  RC_ASSERT(targets == class_targets(made.groups, made.pool, slope));
  std::vector<double> amounts;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    RC_ASSERT(targets[i] >= made.groups[i].pinned);
    RC_ASSERT(targets[i] <= made.groups[i].demand);
    amounts.push_back(static_cast<double>(targets[i] - made.groups[i].pinned));
  }
  RC_ASSERT(has_room(made.pool, amounts));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == made.groups[i].demand) continue;
    std::vector<double> more = amounts;
    ++more[i];
    RC_ASSERT(!has_room(made.pool, more));
  }
  const SlowShares exact{made, slope};
  for (std::size_t i = 0; exact.possible() && i < targets.size(); ++i)
    RC_ASSERT(std::abs(static_cast<double>(targets[i]) - exact.of(i)) < 1.01);
}

TEST(ClassTargetsProperty, TheyAreTheMaxMinFairOnesThatCanBePlaced) {
  EXPECT_TRUE(rc::check("nobody could have more unless somebody with less had less, by weight and demand",
                        [](std::uint64_t seed) { shares_are_max_min(seed, Slope::Demand); }));
  EXPECT_TRUE(
      rc::check("the same by weight alone", [](std::uint64_t seed) { shares_are_max_min(seed, Slope::Weight); }));
}

constexpr int kPassesMax = 40;

/// A pool of labelled bands, and jobs of single slots whose members may each be on some of them.
class LabelledPool {
 public:
  explicit LabelledPool(Rng& rng) : rng_(rng) {
    for (std::int64_t i = rng.between(1, 4); i > 0; --i) {
      builder_.band(rng.between(1, 6));
      if (rng.chance(1, 3)) builder_.snapshot.bands.back().labels = {rng.chance(1, 2) ? "a" : "b"};
    }
  }
  void add_job() {
    Snapshot& snapshot = builder_.snapshot;
    Workload& added = builder_.workload("job" + std::to_string(snapshot.workloads.size()));
    added.weight = rng_.between(1, 5) * 500;
    if (rng_.chance(1, 8)) added.slots_max = rng_.between(1, 5);
    const bool preemptible = !rng_.chance(1, 6);
    added.preemptible = preemptible;
    std::vector<std::uint32_t> only;
    for (std::int64_t i = rng_.between(1, 10); i > 0; --i) {
      builder_.waiting(1);
      Member& member = builder_.last_member();
      if (rng_.chance(1, 3)) member.label = rng_.chance(1, 2) ? "a" : "b";
      if (rng_.chance(1, 3)) only.clear();
      for (std::uint32_t band = 0; only.empty() && band < snapshot.bands.size(); ++band)
        if (rng_.chance(1, 2)) only.push_back(band);
      if (rng_.chance(2, 3) && !only.empty()) builder_.only_on(only);
      if (rng_.chance(1, 10)) member.blocked_bands = {static_cast<std::uint32_t>(rng_.below(snapshot.bands.size()))};
    }
  }
  /// Who finishes makes room.
  void finish_some() {
    for (Member& member : builder_.snapshot.members)
      if (member.state == MemberState::Running && rng_.chance(1, 5)) {
        member.state = MemberState::Succeeded;
        member.places.clear();
      }
  }
  PolicyBuilder& builder() { return builder_; }

  bool may_be_on(const Member& member, std::uint32_t band) const {
    const Snapshot& snapshot = builder_.snapshot;
    const auto contains = [](const auto& list, const auto& value) {
      return std::find(list.begin(), list.end(), value) != list.end();
    };
    const std::vector<std::string>& labels = snapshot.bands[band].labels;
    return (member.label.empty() ? labels.empty() : contains(labels, member.label)) &&
           (member.band_list == kNone || contains(snapshot.band_lists[member.band_list], band)) &&
           !contains(member.blocked_bands, band);
  }
  /// As it is now: a room for each band, a class for each set of bands.
  SharedPool shared() const {
    const Snapshot& snapshot = builder_.snapshot;
    SharedPool made;
    for (const Band& band : snapshot.bands) made.pool.rooms.push_back(band.slots);
    made.groups.resize(snapshot.workloads.size());
    made.pool.demands.resize(snapshot.workloads.size());
    for (std::size_t i = 0; i < made.groups.size(); ++i) made.groups[i].weight = snapshot.workloads[i].weight;
    std::map<std::vector<std::uint32_t>, std::uint32_t> classes;
    for (const Member& member : snapshot.members) {
      if (member.state == MemberState::Succeeded) continue;
      ShareGroup& group = made.groups[member.workload];
      const bool runs = member.state == MemberState::Running;
      if (runs) ++group.held;
      if (runs && !snapshot.workloads[member.workload].preemptible) {
        --made.pool.rooms[member.places[0].band];
        ++group.pinned;
        ++group.demand;
        continue;
      }
      std::vector<std::uint32_t> bands;
      for (std::uint32_t band = 0; band < snapshot.bands.size(); ++band)
        if (may_be_on(member, band) && could_be_left(band)) bands.push_back(band);
      if (bands.empty()) continue;
      const auto [known, added] = classes.try_emplace(bands, static_cast<std::uint32_t>(classes.size()));
      if (added) made.pool.classes.push_back(bands);
      made.pool.demands[member.workload].push_back({known->second, 1});
      ++group.demand;
    }
    for (std::size_t i = 0; i < made.groups.size(); ++i)
      if (const std::int64_t most = snapshot.workloads[i].slots_max; most != kUnlimited)
        made.groups[i].demand = std::max(made.groups[i].pinned, std::min(made.groups[i].demand, most));
    return made;
  }

 private:
  /// Not all of it is held by those who stay.
  bool could_be_left(std::uint32_t band) const {
    std::int64_t left = builder_.snapshot.bands[band].slots;
    for (const Member& member : builder_.snapshot.members)
      if (member.state == MemberState::Running && !builder_.snapshot.workloads[member.workload].preemptible)
        left -= member.places[0].band == band ? 1 : 0;
    return left > 0;
  }

  Rng& rng_;
  PolicyBuilder builder_;
};

/// However the slots were taken before, who may be elsewhere makes way.
void shares_are_reached(std::uint64_t seed) {
  Rng rng{seed};
  LabelledPool labelled{rng};
  PolicyBuilder& builder = labelled.builder();
  const bool by_weight = rng.chance(1, 2);
  const PolicyEngine engine{{parts_named(by_weight ? "fair_share_max_min" : "fair_share")}};
  Plan plan;
  for (int pass = 0;; ++pass) {
    RC_ASSERT(pass < kPassesMax);
    if (pass < 5) labelled.add_job();
    if (pass < 5 && rng.chance(1, 3)) labelled.finish_some();
    plan = engine.pass(builder.snapshot);
    RC_ASSERT(plan == engine.pass(builder.snapshot));
    std::vector<std::int64_t> used(builder.snapshot.bands.size(), 0);
    for (const Start& start : plan.starts)
      RC_ASSERT(labelled.may_be_on(builder.snapshot.members[start.member], start.places[0].band));
    for (const Preemption& each : plan.preemptions)
      RC_ASSERT(builder.snapshot.workloads[builder.snapshot.members[each.member].workload].preemptible);
    builder.carry_out(plan);
    for (const Member& member : builder.snapshot.members)
      for (const Place& place : member.places) ++used[place.band];
    for (std::size_t band = 0; band < used.size(); ++band) RC_ASSERT(used[band] <= builder.snapshot.bands[band].slots);
    if (pass >= 5 && plan.starts.empty() && plan.preemptions.empty()) break;
  }
  const SharedPool now = labelled.shared();
  std::vector<double> amounts;
  for (const ShareGroup& group : now.groups) amounts.push_back(static_cast<double>(group.held - group.pinned));
  for (const Target& target : plan.workload_targets)
    RC_ASSERT(now.groups[target.owner].held * 1000 == target.amount.gpu);
  for (std::size_t i = 0; i < now.groups.size(); ++i) {
    if (now.groups[i].held >= now.groups[i].demand) continue;
    std::vector<double> more = amounts;
    ++more[i];
    RC_ASSERT(!has_room(now.pool, more));
  }
  // By weight alone, where labels do not bind, the filling is that of the reference cases, which is not within a slot.
  const SlowShares exact{now, Slope::Demand};
  for (std::size_t i = 0; !by_weight && exact.possible() && i < now.groups.size(); ++i)
    RC_ASSERT(std::abs(static_cast<double>(now.groups[i].held) - exact.of(i)) < 1.01);
}

TEST(ClassTargetsProperty, PassesReachThemWhoeverCameFirst) {
  EXPECT_TRUE(rc::check("at rest all hold the slots of their shares, which nobody can better", shares_are_reached));
}

}  // namespace
}  // namespace penstock::policy
