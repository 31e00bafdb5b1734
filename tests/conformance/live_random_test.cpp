// Random clusters under every preset: rules that hold for all submissions, on the production cores in virtual time.
#include <algorithm>
#include <map>

#include "common/base/rng.hpp"
#include "tests/conformance/live_policy.hpp"
#include "tests/conformance/live_seeds.hpp"
#include "tests/conformance/random_cluster.hpp"
#include "tests/support/fair_shares.hpp"

namespace penstock::tools {
namespace {

void expect_rest(std::uint64_t seed, const std::string& preset, DrawnJobs kind = DrawnJobs::Mixed) {
  RandomCluster random{seed, preset, kind};
  random.submit_and_end();
  random.live().advance(90s);
  const std::map<SubtaskId, Attempt> before = random.attempts();
  const std::uint64_t left = preemptions(random.live());
  random.live().advance(60s);
  EXPECT_EQ(preemptions(random.live()), left) << preset << ", seed " << seed;
  EXPECT_TRUE(random.attempts() == before) << preset << ", seed " << seed;
  for (const auto& [band, milli] : random.used())
    EXPECT_LE(milli, random.slots_of(band.first) * 1000) << preset << ", seed " << seed << ", " << band.first;
  for (std::size_t i = 0; i < random.jobs().size(); ++i) {
    const Wish& job = random.jobs()[i];
    const std::size_t runs = running(random.live(), random.id(i));
    // Not of a gang of two shapes: its runs may lie so that the rest of its slots is too small for a larger one.
    if (job.gang == 0 || job.gang_max > 0 || random.other_shape(i).subtasks > 0 || runs == 0) continue;
    EXPECT_EQ(runs, random.left(i)) << preset << ", seed " << seed << ", " << job.name << " runs in part";
  }
}

TEST(LiveRandom, NothingMovesOnceNothingChanges) {
  for (const std::uint64_t seed : live_seeds(60))
    for (const std::string& preset : kPresets) expect_rest(seed, preset);
}

TEST(LiveRandom, GangsOfSeveralShapesAreAtRestWithinTheirBands) {
  for (const std::uint64_t seed : live_seeds(60))
    for (const std::string& preset : kPresets) expect_rest(seed, preset, DrawnJobs::Shapes);
}

// Runs that were leaving counted twice in the demand of their job. The share of a gang, half of it, changed with them:
// every pass preempted what the one before had started.
TEST(LiveRandom, ASeedThatOncePreemptedWithoutEndIsAtRest) { expect_rest(9009, "fair_share"); }

TEST(LiveRandom, NoSlotIsIdleWhileASingleSubtaskWaits) {
  for (const std::uint64_t seed : live_seeds(60))
    for (const std::string& preset : kPresets) {
      RandomCluster random{seed, preset, DrawnJobs::Plain};
      random.submit_and_end();
      random.live().advance(60s);
      std::int64_t wanted = 0;
      for (const Wish& job : random.jobs()) wanted += job.subtasks;
      EXPECT_EQ(std::ssize(random.live().runs()), std::min(wanted, random.slots())) << preset << ", seed " << seed;
    }
}

TEST(LiveRandom, NoSubtaskWaitsForALessImportantOneThatMayLeave) {
  for (const std::uint64_t seed : live_seeds(60)) {
    RandomCluster random{seed, "priority", DrawnJobs::Plain};
    random.submit_and_end();
    random.live().advance(60s);
    if (!random.live().core().policy().config.pools[0].preemption.value_or(false)) continue;
    std::int32_t least = INT32_MAX;
    std::int32_t most = INT32_MIN;
    for (std::size_t i = 0; i < random.jobs().size(); ++i) {
      const std::size_t runs = running(random.live(), random.id(i));
      if (runs > 0) least = std::min(least, random.jobs()[i].priority);
      if (runs < random.jobs()[i].subtasks) most = std::max(most, random.jobs()[i].priority);
    }
    EXPECT_LE(most, least) << "seed " << seed;
  }
}

std::vector<double> shares_of(const RandomCluster& random) {
  std::vector<WeighedDemand> demands;
  for (const Wish& job : random.jobs())
    demands.push_back({job.subtasks, job.weight == 0 ? 1 : static_cast<double>(job.weight) / 1000});
  return shares_by_demand(demands, random.slots());
}

TEST(LiveRandom, FairSharesAreThoseOfTheManualWithinOneSlot) {
  for (const std::uint64_t seed : live_seeds(200)) {
    RandomCluster random{seed, "fair_share", DrawnJobs::Plain};
    random.submit_and_end();
    random.live().advance(60s);
    if (random.slots() < std::ssize(random.jobs())) continue;  // One slot each is more than there is.
    const std::vector<double> shares = shares_of(random);
    for (std::size_t i = 0; i < shares.size(); ++i)
      EXPECT_NEAR(static_cast<double>(running(random.live(), random.id(i))), shares[i], 1.0)
          << "seed " << seed << ", job " << i;
  }
}

TEST(LiveRandom, GuaranteesAreReached) {
  for (const std::uint64_t seed : live_seeds(200)) {
    RandomCluster random{seed, "quota", DrawnJobs::Plain};
    random.submit_and_end();
    std::int64_t guaranteed = 0;
    for (const ProjectConfig& project : random.projects()) guaranteed += project.guaranteed_slots;
    if (guaranteed > random.slots()) continue;
    random.live().advance(20s);  // The grace, and two passes.
    for (const ProjectConfig& project : random.projects()) {
      std::int64_t wanted = 0;
      std::int64_t runs = 0;
      for (std::size_t i = 0; i < random.jobs().size(); ++i) {
        if (random.jobs()[i].project != project.name) continue;
        wanted += random.jobs()[i].subtasks;
        runs += static_cast<std::int64_t>(running(random.live(), random.id(i)));
      }
      EXPECT_GE(runs, std::min(wanted, project.guaranteed_slots)) << "seed " << seed << ", " << project.name;
    }
  }
}

/// Two pools of a preset each: jobs that may be in the first alone, and bags in both.
class TwoPools {
 public:
  explicit TwoPools(std::uint64_t seed) : draw_(seed), cluster_(config()) {
    for (const auto& [name, slots] : slots_) cluster_.join(cpu_worker(name, slots));
    told_ = "seed " + std::to_string(seed) + ": " + std::to_string(slots_["x1"]) + " slots by " + presets_[0] + ", " +
            std::to_string(slots_["y1"]) + " by " + presets_[1];
    for (std::size_t i = 2 + draw(4); i > 0; --i) {
      Wish wish{.name = "j" + std::to_string(i), .subtasks = static_cast<std::uint32_t>(2 + draw(8))};
      wish.priority = static_cast<std::int32_t>(draw(3));
      if (draw(2) == 0) wish.pools = {"all", "y"};
      if (!wish.pools.empty() && draw(2) == 0) std::swap(wish.pools[0], wish.pools[1]);
      told_ += "\n" + wish.name + ": " + std::to_string(wish.subtasks) + ", priority " + std::to_string(wish.priority) +
               (wish.pools.empty() ? "" : ", pools " + wish.pools[0] + " " + wish.pools[1]);
      jobs_.emplace_back(wish, submit(cluster_, wish));
      if (draw(2) == 0) cluster_.advance(std::chrono::milliseconds{10 + draw(2000)});
    }
  }

  LiveCluster& live() { return cluster_; }
  const std::string& told() const { return told_; }
  std::int64_t idle(const std::string& worker) const {
    return slots_.at(worker) - std::count_if(cluster_.runs().begin(), cluster_.runs().end(), [&](const auto& run) {
             return cluster_.name_of(run.second.worker) == worker;
           });
  }
  bool any_waits(bool bags_only) const {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
      return running(cluster_, job.second) < job.first.subtasks && !(bags_only && job.first.pools.empty());
    });
  }

 private:
  std::size_t draw(std::size_t below) { return static_cast<std::size_t>(draw_.below(below)); }
  SupervisorConfig config() {
    for (const char* name : {"x1", "y1"}) slots_[name] = static_cast<std::int64_t>(1 + draw(6));
    for (int pool = 0; pool < 2; ++pool) presets_.push_back(kPresets[draw(kPresets.size())]);
    SupervisorConfig config = config_of(presets_[0]);
    config.policy.period = 1s;
    config.policy.pools.push_back({.name = "y", .preset = presets_[1], .workers = {"y*"}});
    return config;
  }

  Rng draw_;
  std::map<std::string, std::int64_t> slots_;
  std::vector<std::string> presets_;
  LiveCluster cluster_;
  std::string told_;
  std::vector<std::pair<Wish, JobId>> jobs_;
};

void expect_bags_at_rest(std::uint64_t seed) {
  TwoPools random{seed};
  random.live().advance(60s);
  EXPECT_FALSE(random.idle("x1") > 0 && random.any_waits(false)) << random.told();
  EXPECT_FALSE(random.idle("y1") > 0 && random.any_waits(true)) << random.told();
  const std::uint64_t before = preemptions(random.live());
  const std::uint64_t passes = random.live().core().policy().passes;
  random.live().advance(30s);
  EXPECT_EQ(preemptions(random.live()), before) << random.told();
  // A pass a period, and one more for each pool to which a job goes on.
  EXPECT_LE(random.live().core().policy().passes - passes, 3U * 30 + 3) << random.told();
}

TEST(LiveRandom, BagsUseIdleSlotsOfAllTheirPoolsAndAreAtRest) {
  for (const std::uint64_t seed : live_seeds(100)) expect_bags_at_rest(seed);
}

// Slots of a bag in one pool made its demand in the other smaller, and with it the shares of all there: a run that
// moved from one pool to the other had another one moved back, in every pass.
TEST(LiveRandom, ASeedOfBagsThatOncePreemptedWithoutEndIsAtRest) { expect_bags_at_rest(296); }

}  // namespace
}  // namespace penstock::tools
