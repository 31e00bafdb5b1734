// SupervisorCore: a gang in groups, as passes see it.
#include "supervisor/core/driver/gang_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/snapshot.hpp"
#include "tests/support/policed_supervisor.hpp"

namespace penstock::supervisor {
namespace {

/// Two hosts of 3 slots, on which others run. Job 3 wants two slots of each for its groups, and waits: on the second
/// host one is free.
class GangPartsTest {
 public:
  explicit GangPartsTest(const std::string& preset) : cluster{policed(preset)} {
    for (int i = 0; i < 2; ++i) cluster.join({.slots = 3});
    submit({}, 1, "worker-1");
    const bool shares = preset == "fair_share";  // Else all of them are in one project, and take nothing from another.
    submit({.preemptible = shares ? Preemptible::No : Preemptible::ByKind}, 2, "worker-2");
    submit({.gang = 4, .together = "host", .gang_groups = 2}, 4, "");
  }
  ~GangPartsTest() { cluster.ignore(); }
  GangPartsTest(const GangPartsTest&) = delete;
  GangPartsTest& operator=(const GangPartsTest&) = delete;

  void submit(JobPolicy policy, std::uint32_t subtasks, const std::string& worker) {
    GraphBuilder builder;
    builder.template_at(0).required = {worker, ""};
    JobSpec spec;
    spec.name = "job " + std::to_string(++jobs_);
    spec.policy = std::move(policy);
    cluster.submit(builder.sources(subtasks).build(), spec);
    cluster.settle(3);
  }
  const policy::Snapshot& snapshot() { return cluster.core().policy().last->snapshot; }
  /// The members of the gang in the last pass.
  std::vector<policy::Member> members() {
    std::vector<policy::Member> all;
    for (const policy::Member& each : snapshot().members)
      if (snapshot().workloads[each.workload].name == "job-3") all.push_back(each);
    return all;
  }

  PolicedSupervisor cluster;

 private:
  int jobs_ = 0;
};

TEST(GangParts, WhereSlotsCountOneMemberHasAPartForEachGroup) {
  GangPartsTest it{"fair_share"};
  ASSERT_EQ(it.members().size(), 1U);
  const policy::Member member = it.members().front();
  ASSERT_NE(member.part_list, policy::kNone);
  EXPECT_EQ(it.snapshot().band_lists[member.band_list], (std::vector<std::uint32_t>{0, 1}));
  const std::vector<policy::MemberPart>& parts = it.snapshot().part_lists[member.part_list];
  ASSERT_EQ(parts.size(), 2U);
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(parts[i].slots, 2);
    EXPECT_EQ(it.snapshot().band_lists[parts[i].band_list].size(), 1U) << "each has a host of its own";
  }
  EXPECT_TRUE(policy::check_snapshot(it.snapshot()));
}

TEST(GangParts, WhereQuotasCountEachMemberHasTheBandsOfItsGroup) {
  GangPartsTest it{"quota"};
  std::map<std::vector<std::uint32_t>, int> by_bands;
  for (const policy::Member& each : it.members()) {
    ASSERT_NE(each.band_list, policy::kNone);
    EXPECT_EQ(each.part_list, policy::kNone);
    ++by_bands[it.snapshot().band_lists[each.band_list]];
  }
  EXPECT_EQ(by_bands, (std::map<std::vector<std::uint32_t>, int>{{{0}, 2}, {{1}, 2}}));
}

/// Hosts of 3 slots, and a gang of two groups of 2 slots that runs there. Job 1.
class RunningGang {
 public:
  explicit RunningGang(const std::string& preset) : cluster{policed(preset)} {
    for (int i = 0; i < 2; ++i) cluster.join({.slots = 3});
    JobSpec spec;
    spec.policy = {.gang = 4, .together = "host", .gang_groups = 2};
    cluster.submit(GraphBuilder{}.sources(4).build(), spec);
    cluster.settle(3);
    for (std::uint32_t i = 0; i < 4; ++i) cluster.say(cluster.job().hot[i].band.value() + 1, i, Outcome::Started);
  }
  ~RunningGang() { cluster.ignore(); }
  RunningGang(const RunningGang&) = delete;
  RunningGang& operator=(const RunningGang&) = delete;

  supervisor_action::RunPass next_pass() {
    std::vector<supervisor_action::RunPass> passes;
    for (int tries = 0; tries < 1000 && passes.empty(); ++tries) {
      cluster.tick_after(std::chrono::milliseconds{1});
      passes = cluster.take_passes();
    }
    return passes.at(0);
  }

  PolicedSupervisor cluster;
};

// A gang of which one member leaves its host wants that slot again, and in no other group.
TEST(GangParts, AMemberThatLeavesIsMissingInItsOwnGroup) {
  for (const std::uint32_t left : {0U, 1U}) {
    RunningGang it{"quota"};
    const supervisor_action::RunPass before = it.next_pass();
    const std::vector<policy::Member>& members = before.snapshot.members;
    const auto leaver = std::find_if(members.begin(), members.end(), [&](const policy::Member& each) {
      return !each.places.empty() && each.places.front().band == left;
    });
    ASSERT_NE(leaver, members.end());
    policy::Plan plan;
    plan.preemptions = {
        {static_cast<std::uint32_t>(leaver - members.begin()), policy::PreemptionReason::Consolidation, policy::kNone}};
    it.cluster.handle(supervisor_event::PassEnded{before.number, plan, {}, {}});
    const supervisor_action::RunPass after = it.next_pass();
    std::map<policy::MemberState, int> states;
    for (const policy::Member& each : after.snapshot.members) {
      ++states[each.state];
      if (each.state == policy::MemberState::Leaving) {
        EXPECT_EQ(each.places.front().band, left);
      }
      if (each.state != policy::MemberState::Pending) continue;
      ASSERT_NE(each.band_list, policy::kNone);
      EXPECT_EQ(after.snapshot.band_lists[each.band_list], (std::vector<std::uint32_t>{left}));
    }
    EXPECT_EQ(states, (std::map<policy::MemberState, int>{{policy::MemberState::Pending, 1},
                                                          {policy::MemberState::Running, 3},
                                                          {policy::MemberState::Leaving, 1}}));
  }
}

TEST(GangParts, SlotsThatAreKeptAreMissingInNoPartAndTakenOnesAreMissingNoMore) {
  RunningGang it{"quota"};
  it.next_pass();  // Under way: it has the bands.
  const auto parts_with = [&](const std::vector<PromisedPlace>& held) {
    return GangParts{
        it.cluster.job(), BandKind::Cpu, it.cluster.core().policy(), it.cluster.core().workers(), {}, held};
  };
  const GangParts all = parts_with({});
  ASSERT_TRUE(all.any());
  EXPECT_EQ(all.missing(), 4000U);
  GangParts parts = parts_with({{BandSlot{0}, 2000}, {BandSlot{1}, 1000}});
  EXPECT_EQ(parts.missing(), 1000U);
  EXPECT_EQ(parts.bands_of(0), std::vector<std::uint32_t>{0});
  EXPECT_EQ(parts.take(1000, policy::kNone), std::vector<std::uint32_t>{1}) << "the first part misses nothing";
  EXPECT_EQ(parts.missing(), 0U);
  GangParts promised = parts_with({{BandSlot{0}, 1000}, {BandSlot{1}, 1000}});
  EXPECT_EQ(promised.take(1000, 1), std::vector<std::uint32_t>{1}) << "its promised place is there";
  EXPECT_EQ(promised.take(1000, policy::kNone), std::vector<std::uint32_t>{0});
}

TEST(GangParts, AGangInOneGroupHasNone) {
  GangPartsTest it{"fair_share"};
  it.submit({.gang = 2, .together = "host", .gang_groups = 1}, 2, "");
  EXPECT_TRUE(it.snapshot().part_lists.size() <= 1) << "of job 3";
}

}  // namespace
}  // namespace penstock::supervisor
