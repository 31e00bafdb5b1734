#include "supervisor/core/policy_agenda.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/graph_builder.hpp"

namespace penstock::supervisor {
namespace {

JobId job(std::uint32_t number) { return JobId{number}; }

class PolicyAgendaTest : public ::testing::Test {
 protected:
  std::vector<JobId> in_sight() const { return agenda.in_sight().all(); }
  void admit(std::uint32_t depth) {
    agenda.admit(depth, [this](JobId id) { return !begun.contains(id); });
  }

  PolicyAgenda agenda;
  std::set<JobId> begun;
};

TEST_F(PolicyAgendaTest, OfJobsThatAreAlikeTheEarliestAreInSight) {
  for (std::uint32_t i = 1; i <= 5; ++i) agenda.enter(job(i), 0, "same", 2);
  EXPECT_EQ(in_sight(), (std::vector{job(1), job(2)}));
  EXPECT_TRUE(agenda.is_hidden(job(3)));
  EXPECT_EQ(agenda.hidden_like(job(3)), 3U);
  admit(2);
  EXPECT_EQ(in_sight().size(), 2U) << "nothing has begun";
}

TEST_F(PolicyAgendaTest, WhatJobsThatAreAlikeWantIsKeptOnce) {
  for (std::uint32_t i = 1; i <= 2; ++i) agenda.enter(job(i), 0, "same", 2);
  agenda.enter(job(3), 0, "", 2);
  agenda.wanted_alike(job(1))->edit(BandKind::Cpu).unit_milli = 500;
  EXPECT_EQ((*agenda.wanted_alike(job(2)))[0].unit_milli, 500U);
  EXPECT_EQ(agenda.wanted_alike(job(3)), nullptr);
}

TEST_F(PolicyAgendaTest, WhatBeginsOrEndsMakesRoomForTheNext) {
  for (std::uint32_t i = 1; i <= 5; ++i) agenda.enter(job(i), 0, "same", 2);
  admit(2);
  begun.insert(job(1));
  admit(2);
  EXPECT_EQ(in_sight(), (std::vector{job(1), job(2), job(3)}));
  agenda.leave(job(2));
  admit(2);
  EXPECT_EQ(in_sight(), (std::vector{job(1), job(3), job(4)}));
}

TEST_F(PolicyAgendaTest, OtherJobsAreSeenHoweverManyAreAlike) {
  for (std::uint32_t i = 1; i <= 5; ++i) agenda.enter(job(i), 0, "same", 2);
  agenda.enter(job(6), 0, "other", 2);
  agenda.enter(job(7), 9, "", 2);
  admit(1);
  EXPECT_EQ(in_sight(), (std::vector{job(7), job(1), job(2), job(6)})) << "by priority, then by age";
}

TEST_F(PolicyAgendaTest, WhatIsLookedAtStaysInSight) {
  for (std::uint32_t i = 1; i <= 5; ++i) agenda.enter(job(i), 0, "same", 2);
  admit(1);
  agenda.look_at(job(5));
  agenda.change(job(5), 3, "same, of priority 3", 2);
  admit(1);
  EXPECT_EQ(in_sight(), (std::vector{job(5), job(1), job(2)}));
  agenda.change(job(4), 3, "same, of priority 3", 1);
  EXPECT_TRUE(agenda.is_hidden(job(4)));
}

TEST_F(PolicyAgendaTest, WhatIsHiddenAgainWaitsForItsTurn) {
  for (std::uint32_t i = 1; i <= 3; ++i) agenda.enter(job(i), 0, "same", 2);
  agenda.enter(job(4), 0, "", 2);
  admit(3);
  for (std::uint32_t i = 1; i <= 4; ++i) agenda.hide(job(i));
  EXPECT_EQ(in_sight(), (std::vector{job(4)})) << "nothing is like it";
  admit(1);
  EXPECT_EQ(in_sight(), (std::vector{job(1), job(4)}));
  for (std::uint32_t i = 1; i <= 4; ++i) agenda.leave(job(i));
  agenda.leave(job(4));
  admit(1);
  EXPECT_TRUE(in_sight().empty());
  agenda.enter(job(1), 0, "same", 2);
  admit(1);
  EXPECT_EQ(in_sight(), (std::vector{job(1)}));
}

TEST(LikenessTest, WhatAPolicyTellsApartIsNotAlike) {
  const Graph plain = GraphBuilder{}.sources(1).build();
  const std::string like = likeness_of(JobSpec{}, plain, false);
  EXPECT_FALSE(like.empty());
  JobSpec named;
  named.name = "another name";
  Graph argued = plain;
  argued.templates[0].arguments = {"another argument"};
  EXPECT_EQ(likeness_of(named, argued, false), like);
  const auto differs = [&](auto change) {
    JobSpec spec;
    Graph graph = plain;
    change(spec, graph.templates[0]);
    return likeness_of(spec, graph, false) != like;
  };
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.owner = "ann"; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.priority = 1; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.project = "a"; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.account = "a"; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.pools = {"a"}; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.labels = {"a"}; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.weight = 2; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.slots_max = 2; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.kind = JobKind::Inference; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.preemptible = Preemptible::No; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.qos = "a"; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.queue = "a"; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.policy.user_factor = 7; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.grace = std::chrono::seconds{1}; }));
  EXPECT_TRUE(differs([](JobSpec& spec, Template&) { spec.time_limit = std::chrono::seconds{1}; }));
  EXPECT_TRUE(differs([](JobSpec&, Template& of) { of.request.memory = kGiB; }));
  EXPECT_TRUE(differs([](JobSpec&, Template& of) { of.request.named = {{"licence", 1}}; }));
  EXPECT_TRUE(differs([](JobSpec&, Template& of) { of.required.worker = "w1"; }));
  EXPECT_TRUE(differs([](JobSpec&, Template& of) { of.time_limit = std::chrono::seconds{1}; }));
  EXPECT_TRUE(differs([](JobSpec&, Template& of) { of.retryable = false; }));
}

TEST(LikenessTest, AListThatEndsElsewhereIsAnotherOne) {
  const Graph plain = GraphBuilder{}.sources(1).build();
  JobSpec in_pool;
  in_pool.policy.pools = {"labels"};
  JobSpec labelled;
  labelled.policy.labels = {"labels"};
  EXPECT_NE(likeness_of(in_pool, plain, false), likeness_of(labelled, plain, false));
}

TEST(LikenessTest, AGangAndAGraphThatBorrowsAreUnlikeAllOthers) {
  const Graph plain = GraphBuilder{}.sources(1).build();
  JobSpec gang;
  gang.policy.gang = 2;
  std::string likeness = "some";
  PENSTOCK_EXPECT_COVERAGE_MARK("a job is unlike all others", likeness = likeness_of(gang, plain, false));
  EXPECT_TRUE(likeness.empty());
  EXPECT_TRUE(likeness_of(JobSpec{}, plain, true).empty());
}

}  // namespace
}  // namespace penstock::supervisor
