// SupervisorCore: gangs that stay together, on one host or on the workers of one label.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

/// Racks r1 (workers 1 and 2) and r2 (workers 3 and 4) of two slots a worker.
class Racks {
 public:
  explicit Racks(const std::string& preset) : cluster{policed(preset)} {
    for (const char* rack : {"r1", "r1", "r2", "r2"}) cluster.join({.slots = 2, .labels = {rack, "any"}});
  }
  ~Racks() { cluster.ignore(); }
  Racks(const Racks&) = delete;
  Racks& operator=(const Racks&) = delete;

  JobId submit(std::uint32_t subtasks, JobPolicy policy, const std::string& worker = "") {
    GraphBuilder builder;
    builder.template_at(0).required = {worker, ""};
    JobSpec spec;
    spec.name = "job " + std::to_string(++jobs_);
    spec.policy = std::move(policy);
    const JobId id = cluster.submit(builder.sources(subtasks).build(), spec);
    if (id.valid()) cluster.settle(3);
    return id;
  }
  /// One slot of that worker.
  void fill(const std::string& worker) { submit(1, {}, worker); }
  /// Thousandths of slots by rack.
  std::map<std::string, std::uint64_t> held(std::uint32_t job) {
    std::map<std::string, std::uint64_t> sums;
    const WorkerTable& workers = cluster.core().workers();
    for (std::uint32_t i = 0; i < workers.band_slots(); ++i)
      if (const std::uint64_t milli = cluster.job(job).shares->of(BandSlot{i}).planned; milli > 0)
        sums[workers.worker_of(BandSlot{i}).description.labels.front()] += milli;
    return sums;
  }
  std::string held_by(std::uint32_t job) {
    const Result<Value> said = cluster.ask("explain", {"job-" + std::to_string(job)});
    return said && (*said)["held_by"].text() != nullptr ? *(*said)["held_by"].text() : "";
  }

  PolicedSupervisor cluster;

 private:
  int jobs_ = 0;
};

using Held = std::map<std::string, std::uint64_t>;

TEST(ColocationTest, AGangGoesWhereOneGroupHasRoomForAllOfIt) {
  for (const char* preset : {"quota", "fair_share", "multifactor"}) {
    Racks racks{preset};
    racks.fill("worker-1");
    racks.submit(4, {.gang = 4, .together = "r*"});
    EXPECT_EQ(racks.held(2), (Held{{"r2", 4000}})) << preset;
    const Result<Value> said = racks.cluster.ask("explain", {"job-2"});
    ASSERT_TRUE(said.has_value());
    EXPECT_EQ((*said)["together_on"], Value{"label 'r2'"}) << preset;
  }
}

TEST(ColocationTest, AGangWithoutTheWishTakesSlotsOfSeveral) {
  Racks racks{"quota"};
  racks.fill("worker-1");
  racks.fill("worker-3");
  racks.submit(4, {.gang = 4});
  EXPECT_EQ(racks.held(3).size(), 2U);
}

// Six slots are free, three in each rack.
TEST(ColocationTest, AGangWaitsForOneGroupAndTakesTheOneThatBecomesFree) {
  for (const char* preset : {"quota", "multifactor"}) {
    Racks racks{preset};
    racks.fill("worker-1");
    racks.fill("worker-3");
    racks.submit(4, {.gang = 4, .together = "r*"});
    EXPECT_EQ(racks.held(3), Held{}) << preset;
    EXPECT_NE(racks.held_by(3).find("; its gang is tried on label 'r"), std::string::npos) << racks.held_by(3);
    if (std::string{preset} == "quota")  // A start that is reserved keeps the gang in one group.
      PENSTOCK_EXPECT_COVERAGE_MARK("a gang that stays together is tried in another group", racks.cluster.settle(3));
    racks.cluster.succeed(1, 0);
    racks.cluster.settle(4);
    EXPECT_EQ(racks.held(3), (Held{{"r1", 4000}})) << preset;
    racks.cluster.succeed(3, 0, {}, 2);
    racks.cluster.settle(2);
    EXPECT_EQ(racks.held(3), (Held{{"r1", 4000}})) << preset << ": there it stays";
  }
}

TEST(ColocationTest, JobsLeaveAGroupInWhichAllOfTheGangHasRoomThen) {
  Racks racks{"priority"};
  racks.submit(1, {.preemptible = Preemptible::No}, "worker-1");
  racks.submit(3, {}, "worker-2");
  racks.submit(8, {});
  JobSpec urgent;
  urgent.name = "urgent";
  urgent.priority = 5;
  urgent.policy = {.gang = 4, .together = "r*"};
  racks.cluster.submit(GraphBuilder{}.sources(4).build(), urgent);
  racks.cluster.settle(4);
  EXPECT_EQ(racks.held(4), (Held{{"r2", 4000}})) << "a run that stays is in the other one";
}

TEST(ColocationTest, TwoGangsTakeAGroupEach) {
  Racks racks{"quota"};
  for (int i = 0; i < 2; ++i) racks.submit(4, {.gang = 4, .together = "r*"});
  Held all = racks.held(1);
  for (const auto& [rack, milli] : racks.held(2)) all[rack] += milli;
  EXPECT_EQ(all, (Held{{"r1", 4000}, {"r2", 4000}}));
}

TEST(ColocationTest, AGangThatNoGroupCouldHoldIsRefusedWithTheLargest) {
  Racks racks{"quota"};
  EXPECT_FALSE(racks.submit(6, {.gang = 6, .together = "r*"}).valid());
  EXPECT_NE(to_string(racks.cluster.refusal())
                .find("fits on no group of workers with one label of pool 'all' alone; the "
                      "largest, label 'r1', has 4 slots for it"),
            std::string::npos)
      << to_string(racks.cluster.refusal());
  EXPECT_FALSE(racks.submit(2, {.gang = 2, .together = "row-*"}).valid());
  EXPECT_NE(to_string(racks.cluster.refusal()).find("no worker of pool 'all' has such a label"), std::string::npos)
      << to_string(racks.cluster.refusal());
  EXPECT_TRUE(racks.submit(6, {.gang = 6, .together = "any"}).valid());
  EXPECT_FALSE(racks.submit(3, {.gang = 3, .together = "host"}).valid());
  EXPECT_NE(to_string(racks.cluster.refusal()).find("fits on no host of pool 'all' alone"), std::string::npos);
  EXPECT_TRUE(racks.submit(2, {.gang = 2, .together = "host"}).valid());
}

// Of three slots that are free in each rack a group of two takes two.
TEST(ColocationTest, GroupsOfAGangStayTogetherEachForItself) {
  for (const char* preset : {"quota", "fair_share", "priority", "multifactor"}) {
    Racks racks{preset};
    racks.fill("worker-1");
    racks.fill("worker-3");
    racks.submit(4, {.gang = 4, .together = "r*", .gang_groups = 2});
    EXPECT_EQ(racks.held(3), (Held{{"r1", 2000}, {"r2", 2000}})) << preset;
    const Result<Value> said = racks.cluster.ask("explain", {"job-3"});
    ASSERT_TRUE(said.has_value());
    EXPECT_EQ((*said)["together_on"], Value{"label 'r1' (2), label 'r2' (2)"}) << preset;
  }
}

TEST(ColocationTest, SeveralGroupsGoWhereAllOfThemHaveRoom) {
  for (const char* preset : {"quota", "fair_share", "multifactor"}) {
    Racks racks{preset};
    racks.fill("worker-1");
    racks.submit(4, {.gang = 4, .together = "r*", .gang_groups = 2});
    EXPECT_EQ(racks.held(2), (Held{{"r2", 4000}})) << preset;
  }
}

// With one slot taken on each worker but the last, no host has room for a second group.
TEST(ColocationTest, AGangInGroupsWaitsUntilEachOfThemHasRoom) {
  for (const char* preset : {"quota", "fair_share", "multifactor"}) {
    Racks racks{preset};
    for (const char* worker : {"worker-1", "worker-2", "worker-3"}) racks.fill(worker);
    racks.submit(4, {.gang = 4, .together = "host", .gang_groups = 2});
    EXPECT_EQ(racks.held(4), Held{}) << preset << ": five slots are free";
    EXPECT_NE(racks.held_by(4).find("; its gang is tried on host 'host-"), std::string::npos) << racks.held_by(4);
    racks.cluster.succeed(1, 0);
    racks.cluster.settle(6);
    EXPECT_EQ(racks.held(4), (Held{{"r1", 2000}, {"r2", 2000}})) << preset;
  }
}

TEST(ColocationTest, JobsLeaveForAllGroupsOfAGang) {
  for (const char* preset : {"priority", "quota"}) {
    Racks racks{preset};
    racks.submit(8, {});
    JobSpec urgent;
    urgent.name = "urgent";
    urgent.priority = 5;
    urgent.policy = {.gang = 4, .together = "host", .gang_groups = 2};
    racks.cluster.submit(GraphBuilder{}.sources(4).build(), urgent);
    racks.cluster.settle(4);
    std::uint64_t milli = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint64_t there = racks.cluster.job(2).shares->of(BandSlot{i}).planned;
      EXPECT_TRUE(there == 0 || there == 2000) << preset << ": " << there;
      milli += there;
    }
    EXPECT_EQ(milli, 4000U) << preset;
  }
}

// A group that is lost with its worker gets a worker again, the other stays.
TEST(ColocationTest, ALostGroupIsPlacedAgain) {
  for (const char* preset : {"quota", "fair_share"}) {
    Racks racks{preset};
    racks.submit(4, {.gang = 4, .together = "host", .gang_groups = 2});
    std::vector<std::uint32_t> on;
    for (std::uint32_t i = 0; i < 4; ++i)
      if (racks.cluster.job(1).shares->of(BandSlot{i}).planned == 2000) on.push_back(i);
    ASSERT_EQ(on.size(), 2U) << preset;
    racks.cluster.lose(on.front() + 1);
    racks.cluster.settle(4);
    std::uint64_t milli = 0;
    for (std::uint32_t i = 0; i < 4; ++i) milli += racks.cluster.job(1).shares->of(BandSlot{i}).planned;
    EXPECT_EQ(racks.cluster.job(1).shares->of(BandSlot{on.back()}).planned, 2000U) << preset;
    EXPECT_EQ(milli, 4000U) << preset;
  }
}

TEST(ColocationTest, GroupsThatCouldNotBeHeldAreRefused) {
  Racks racks{"quota"};
  EXPECT_FALSE(racks.submit(6, {.gang = 6, .together = "host", .gang_groups = 2}).valid());
  EXPECT_NE(to_string(racks.cluster.refusal())
                .find("has groups of 3, of which one fits on no host of pool 'all' alone; the largest, host "
                      "'host-1', has 2 slots for it"),
            std::string::npos)
      << to_string(racks.cluster.refusal());
  EXPECT_FALSE(racks.submit(9, {.gang = 9, .together = "r*", .gang_groups = 3}).valid());
  EXPECT_NE(to_string(racks.cluster.refusal())
                .find("has 3 groups of 3, and the workers with such labels of pool 'all' could hold 2 of them"),
            std::string::npos)
      << to_string(racks.cluster.refusal());
  EXPECT_TRUE(racks.submit(8, {.gang = 8, .together = "host", .gang_groups = 4}).valid());
}

}  // namespace
}  // namespace penstock::supervisor
