// Fair share with gangs, and waiting in an order that ages: nobody is left behind.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "common/base/rng.hpp"
#include "supervisor/policy/ordering/multifactor.hpp"
#include "tests/support/policy_builder.hpp"

namespace penstock::policy {
namespace {

constexpr int kPassesMax = 40;

/// The exact share in proportion to weight and demand, at least 1 each, by bisection.
double exact_share(const std::vector<std::pair<double, double>>& weight_and_demand, double capacity,
                   std::size_t which) {
  const auto given = [&](double level, std::size_t i) {
    const auto& [weight, demand] = weight_and_demand[i];
    return std::clamp(level * weight * demand, 1.0, demand);
  };
  double low = 0;
  double high = 1e6;
  for (int step = 0; step < 200; ++step) {
    const double level = (low + high) / 2;
    double sum = 0;
    for (std::size_t i = 0; i < weight_and_demand.size(); ++i) sum += given(level, i);
    (sum < capacity ? low : high) = level;
  }
  return given(low, which);
}

/// One band, gangs of every size: at rest, a job with a gang that waits is less than that gang, a slot and half a gang
/// of each other job of equal gangs below its share: those are rounded up from half a gang on.
void nobody_lacks_more_than_a_gang(std::uint64_t seed) {
  Rng rng{seed};
  PolicyBuilder builder;
  const std::int64_t capacity = rng.between(1, 24);
  builder.band(capacity);
  const auto add = [&](const std::string& name) {
    builder.workload(name).weight = rng.between(1, 5) * 500;
    for (std::int64_t i = rng.between(1, 5); i > 0; --i)
      builder.waiting(rng.between(1, std::min<std::int64_t>(capacity, 6)));
  };
  for (std::int64_t i = rng.between(1, 6); i > 0; --i) add("job" + std::to_string(i));
  const PolicyEngine engine{{parts_named("fair_share")}};
  for (int pass = 0;; ++pass) {
    RC_ASSERT(pass < kPassesMax);
    const Plan plan = engine.pass(builder.snapshot);
    builder.carry_out(plan);
    if (plan.starts.empty() && plan.preemptions.empty()) break;
    if (pass < 2 && rng.chance(1, 2)) add("late" + std::to_string(pass));
  }
  const std::size_t count = builder.snapshot.workloads.size();
  if (static_cast<std::int64_t>(count) > capacity) return;  // Too few slots for one each: the oldest have them.
  std::vector<std::pair<double, double>> groups;
  std::vector<double> held(count, 0);
  std::vector<double> smallest(count, 0);
  for (const Workload& workload : builder.snapshot.workloads)
    groups.emplace_back(static_cast<double>(workload.weight), 0);
  std::vector<double> unit(count, 0);  // 1 if the gangs of a job differ.
  for (const Member& member : builder.snapshot.members) {
    const auto slots = static_cast<double>(member.slots);
    unit[member.workload] = unit[member.workload] == 0 || unit[member.workload] == slots ? slots : 1;
    groups[member.workload].second += slots;
    double& waits = smallest[member.workload];
    if (member.state == MemberState::Running)
      held[member.workload] += slots;
    else if (waits == 0 || slots < waits)
      waits = slots;
  }
  double halves = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (unit[i] > 1 && held[i] > 0) halves += unit[i] / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const double of_others = halves - (unit[i] > 1 && held[i] > 0 ? unit[i] / 2 : 0);
    if (smallest[i] > 0)
      RC_ASSERT(held[i] + smallest[i] + of_others > exact_share(groups, static_cast<double>(capacity), i) - 1 - 1e-6);
  }
}

TEST(SlotFairnessProperty, NobodyLacksMoreThanAGang) {
  EXPECT_TRUE(
      rc::check("who waits lacks less than a gang and a slot of his exact share", nobody_lacks_more_than_a_gang));
}

constexpr std::int64_t kTurnAfter = 10;

/// The waits and turns of jobs as the supervisor tells a pass of them, second by second.
class TurnKeeper {
 public:
  explicit TurnKeeper(PolicyBuilder& builder)
      : builder_(builder), holds_since_(builder.snapshot.workloads.size(), -1), has_run_(holds_since_.size(), false) {}

  void second(std::int64_t now) {
    Snapshot& snapshot = builder_.snapshot;
    snapshot.now = Instant{std::chrono::seconds{now}};
    std::vector<bool> is_first(holds_since_.size(), true);
    std::vector<bool> holds(holds_since_.size(), false);
    for (const Member& member : snapshot.members)
      if (member.state == MemberState::Running) holds[member.workload] = has_run_[member.workload] = true;
    for (std::size_t i = 0; i < holds.size(); ++i) {
      std::optional<Instant>& waits = snapshot.workloads[i].waits_since;
      if (!holds[i]) {
        holds_since_[i] = -1;
        if (!waits) waits = snapshot.now;
      } else if (holds_since_[i] < 0) {
        const bool turn = waits && snapshot.now >= *waits + std::chrono::seconds{kTurnAfter};
        holds_since_[i] = turn ? now : now - kTurnAfter;
        waits.reset();
      }
    }
    for (Member& member : snapshot.members) {
      const std::uint32_t of = member.workload;
      const bool is_kept = member.state == MemberState::Running && is_first[of] && now < holds_since_[of] + kTurnAfter;
      member.preemptible = !is_kept;
      if (member.state == MemberState::Running) is_first[of] = false;
      snapshot.workloads[of].last_start = Instant{std::chrono::seconds{std::max<std::int64_t>(holds_since_[of], 0)}};
    }
  }
  bool all_have_run() const {
    return std::all_of(has_run_.begin(), has_run_.end(), [](bool each) { return each; });
  }

 private:
  PolicyBuilder& builder_;
  std::vector<std::int64_t> holds_since_;
  std::vector<bool> has_run_;
};

/// However small its share is, and however the others are spread, each job that fits has its turn.
void each_job_has_its_turn(std::uint64_t seed) {
  Rng rng{seed};
  PolicyBuilder builder;
  std::int64_t largest = 0;
  for (std::int64_t i = rng.between(1, 3); i > 0; --i) {
    const std::int64_t slots = rng.between(1, 8);
    builder.band(slots);
    largest = std::max(largest, slots);
  }
  const bool owned = rng.chance(1, 2);
  if (owned) builder.snapshot.share_nodes = {{.name = "a", .weight = rng.between(1, 5) * 500}, {.name = "b"}};
  const std::int64_t jobs = rng.between(1, 7);
  for (std::int64_t i = 0; i < jobs; ++i) {
    Workload& job = builder.workload("job" + std::to_string(i));
    job.weight = rng.between(1, 5) * 500;
    if (owned) job.share_node = static_cast<std::uint32_t>(rng.below(2));
    const std::int64_t slots = rng.between(1, largest);
    for (std::int64_t k = rng.between(1, 12); k > 0; --k) {
      builder.waiting(rng.chance(1, 4) ? rng.between(1, largest) : slots);
      builder.last_member().single_band = rng.chance(1, 2);
    }
  }
  Parts parts = parts_named(rng.chance(1, 2) ? "fair_share" : "fair_share_max_min");
  parts.starvation_after = std::chrono::seconds{kTurnAfter};
  TurnKeeper turns{builder};
  for (std::int64_t now = 0; !turns.all_have_run(); ++now) {
    RC_ASSERT(now <= (jobs + 1) * 3 * kTurnAfter);
    turns.second(now);
    const Plan plan = PolicyEngine{{parts}}.pass(builder.snapshot);
    builder.carry_out(plan);
    builder.snapshot.carried.clear();
    for (const Reservation& each : plan.reservations)
      if (!each.places.empty()) builder.snapshot.carried.push_back({each.member, each.places});
  }
}

TEST(SlotFairnessProperty, EachJobThatFitsHasItsTurn) {
  EXPECT_TRUE(rc::check("each job that fits has its turn", each_job_has_its_turn));
}

/// Whether the one job may be on one of two bands only, or needs all slots of either; then all others want a slot of
/// any.
enum class Bound : std::uint8_t { No, ToOne, ToEither };
/// Whether the one job is the least important or the most.
enum class Rank : std::uint8_t { Least, First };

/// A busy pool to which more comes in every second than it can do, all of it more important than one job that wants the
/// whole pool, or all of its band.
class BusyPool {
 public:
  BusyPool(Rng& rng, Bound bound, Rank rank = Rank::Least) : rng_(rng), bound_(bound), slots_(rng.between(2, 6)) {
    builder_.band(slots_);
    if (bound_ != Bound::No) builder_.band(slots_);
    parts_ = parts_named("multifactor");
    parts_.reserve_depth = rng.chance(1, 2) ? 1 : kReserveAll;
    if (bound_ == Bound::ToEither) {
      parts_.gpu_fitting = rng.chance(1, 2) ? Fitting::Best : Fitting::Worst;
      parts_.ordering = rng.chance(1, 3)   ? Ordering::Priority
                        : rng.chance(1, 2) ? Ordering::Fcfs
                                           : Ordering::Multifactor;
    }
    // Waiting for as long as this outweighs everything else that two jobs can differ in.
    FactorWeights& weights = parts_.multifactor.weights;
    weights = {10'000,
               0,
               static_cast<double>(rng.between(0, 100)),
               0,
               static_cast<double>(rng.between(0, 50)),
               static_cast<double>(rng.between(0, 50))};
    parts_.multifactor.wait_max = std::chrono::seconds{1000};
    outweighed_after_ = static_cast<std::int64_t>(std::ceil((weights.quality + weights.size + weights.user) / 10)) + 1;
    for (std::int64_t i = 0; i < all_slots(); ++i) arrive(1);
    pass();
    Workload& least = arrive(slots_);
    least.quality_factor = least.user_factor = 0;
    if (rank == Rank::First) {
      parts_.ordering = Ordering::Priority;
      least.priority = 1;
    }
    least_ = static_cast<std::uint32_t>(builder_.snapshot.workloads.size() - 1);
    if (bound_ == Bound::ToOne) builder_.only_on({0});
    if (bound_ == Bound::ToEither) builder_.last_member().single_band = true;
    parts_.multifactor.favor = SizeFavor::Small;
  }

  /// A second goes by.
  void step() {
    ++now_;
    for (Member& member : builder_.snapshot.members) {
      const std::optional<Instant> end = builder_.snapshot.workloads[member.workload].ends_by;
      if (member.state != MemberState::Running || *end > at(now_)) continue;
      member.state = MemberState::Succeeded;
      member.places.clear();
    }
    for (std::int64_t i = 0; i < all_slots(); ++i) arrive(bound_ == Bound::No ? rng_.between(1, slots_) : 1);
    pass();
  }
  bool least_has_started() const { return builder_.snapshot.members[least_].state != MemberState::Pending; }
  /// Its start was promised, and then for later.
  bool has_broken_a_promise() const { return broken_; }
  /// Seconds after which no job that comes passes the least one any more.
  std::int64_t outweighed_after() const { return outweighed_after_; }
  std::int64_t waiting() const {
    return std::count_if(builder_.snapshot.members.begin(), builder_.snapshot.members.end(),
                         [](const Member& member) { return member.state == MemberState::Pending; });
  }
  static constexpr std::int64_t kRunsMax = 4;

 private:
  std::int64_t all_slots() const { return bound_ == Bound::No ? slots_ : 2 * slots_; }
  static Instant at(std::int64_t second) { return Instant{std::chrono::seconds{second}}; }

  Workload& arrive(std::int64_t slots) {
    Workload& added = builder_.workload("job" + std::to_string(builder_.snapshot.workloads.size()));
    added.submitted_at = at(now_);
    added.quality_factor = added.user_factor = 1;
    added.time_limit = std::chrono::seconds{rng_.between(1, kRunsMax)};
    builder_.waiting(slots);
    return added;
  }
  void pass() {
    builder_.snapshot.now = at(now_);
    const Plan plan = PolicyEngine{{parts_}}.pass(builder_.snapshot);
    for (const Start& each : plan.starts) {
      Workload& job = builder_.snapshot.workloads[builder_.snapshot.members[each.member].workload];
      job.ends_by = at(now_) + *job.time_limit;
    }
    for (const Reservation& each : plan.reservations) {
      if (each.member != least_) continue;
      broken_ = broken_ || each.starts_by > promised_;
      promised_ = each.starts_by;
    }
    builder_.carry_out(plan);
  }

  Rng& rng_;
  Bound bound_;
  Instant promised_ = kNever;
  bool broken_ = false;
  PolicyBuilder builder_;
  Parts parts_;
  std::int64_t slots_;
  std::int64_t now_ = 0;
  std::int64_t outweighed_after_ = 0;
  std::uint32_t least_ = 0;
};

/// Each that stands before it starts within the longest run of becoming the first, because nothing later may delay the
/// first; and after a while nobody new comes before it.
void nobody_starves(std::uint64_t seed, Bound bound_to_a_band) {
  Rng rng{seed};
  BusyPool pool{rng, bound_to_a_band};
  for (std::int64_t second = 0; second < pool.outweighed_after() && !pool.least_has_started(); ++second) pool.step();
  const std::int64_t bound = (pool.waiting() + 1) * BusyPool::kRunsMax;
  for (std::int64_t second = 0; second < bound && !pool.least_has_started(); ++second) pool.step();
  RC_ASSERT(pool.least_has_started());
}

TEST(SlotFairnessProperty, NobodyStarvesWhereWaitingCounts) {
  EXPECT_TRUE(rc::check("the least important job starts, however much else comes",
                        [](std::uint64_t seed) { nobody_starves(seed, Bound::No); }));
}

TEST(SlotFairnessProperty, NobodyStarvesThatIsBoundToABand) {
  EXPECT_TRUE(rc::check("a job that wants all of one band starts, however much else comes",
                        [](std::uint64_t seed) { nobody_starves(seed, Bound::ToOne); }));
}

// Its start was that at which slots were free together, wherever they were. Spec: policy-flux 10, 17.
TEST(SlotFairnessProperty, TheStartThatIsPromisedToTheFirstNeverMovesLater) {
  const auto keeps_its_promise = [](std::uint64_t seed) {
    Rng rng{seed};
    BusyPool pool{rng, Bound::ToEither, Rank::First};
    for (int second = 0; second <= 2 * BusyPool::kRunsMax && !pool.least_has_started(); ++second) pool.step();
    RC_ASSERT(!pool.has_broken_a_promise());
    RC_ASSERT(pool.least_has_started());
  };
  EXPECT_TRUE(rc::check("the promise to whoever is first and needs all slots of one band is kept", keeps_its_promise));
}

TEST(SlotFairnessProperty, NobodyStarvesThatNeedsAllSlotsOfSomeBand) {
  EXPECT_TRUE(rc::check("a job that wants all slots of one band or another starts, however much else comes",
                        [](std::uint64_t seed) { nobody_starves(seed, Bound::ToEither); }));
}

}  // namespace
}  // namespace penstock::policy
