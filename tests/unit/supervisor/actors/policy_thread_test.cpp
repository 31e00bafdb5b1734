#include "supervisor/actors/policy_thread.hpp"

#include <gtest/gtest.h>

#include <future>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

supervisor_action::RunPass order(std::uint64_t number, const std::string& preset) {
  supervisor_action::RunPass pass;
  pass.number = number;
  pass.pools = {{.name = "all", .preset = preset}};
  pass.snapshot.bands = {{.name = "w1/0", .slots = 2}};
  pass.snapshot.workloads = {{.name = "job-1"}};
  pass.snapshot.members = {{.name = "job-1.0", .slots = 1}};
  return pass;
}

TEST(PolicyThread, APresetThatNobodyKnowsIsOneError) {
  EXPECT_EQ(parts_of({{.name = "all"}})->size(), 2U) << "for CPU bands and for device bands";
  const Result<std::vector<policy::Parts>> parts = parts_of({{.name = "all", .preset = "fair_shrae"}});
  ASSERT_FALSE(parts.has_value());
  EXPECT_EQ(parts.error().subject, "pool 'all', preset 'fair_shrae'");
  EXPECT_EQ(parts.error().remedy, "did you mean 'fair_share'?");
}

TEST(PolicyThread, ThePartsOfAPoolHaveItsFactors) {
  PoolConfig pool{.name = "all", .preset = "multifactor"};
  EXPECT_EQ(parts_of({pool})->front().multifactor.weights.quality, policy::FactorWeights{}.quality)
      << "what is not said is what the preset has";
  pool.factors = {1, 2, 3, 4, 5, 6, std::chrono::hours{1}, "small", "fair_tree"};
  const policy::MultifactorOptions options = parts_of({pool})->back().multifactor;
  EXPECT_EQ(options.weights.wait, 1);
  EXPECT_EQ(options.weights.fair_share, 2);
  EXPECT_EQ(options.weights.quality, 3);
  EXPECT_EQ(options.weights.level, 4);
  EXPECT_EQ(options.weights.size, 5);
  EXPECT_EQ(options.weights.user, 6);
  EXPECT_EQ(options.wait_max, std::chrono::hours{1});
  EXPECT_EQ(options.favor, policy::SizeFavor::Small);
  EXPECT_EQ(options.factor, policy::FairShareFactor::FairTree);
}

TEST(PolicyThread, RunsAPassAndTellsItsEnd) {
  std::promise<supervisor_event::PassEnded> told;
  PolicyThread thread{[&](supervisor_event::PassEnded&& ended) { told.set_value(std::move(ended)); }};
  thread.run(order(7, "fair_share"));
  std::future<supervisor_event::PassEnded> ended = told.get_future();
  ASSERT_EQ(ended.wait_for(std::chrono::seconds{60}), std::future_status::ready);
  const supervisor_event::PassEnded got = ended.get();
  EXPECT_EQ(got.number, 7U);
  EXPECT_EQ(got.failure, "");
  EXPECT_EQ(got.plan.starts.size(), 1U);
}

TEST(PolicyThread, ASnapshotThatCannotBeIsAFailureAndNoPlan) {
  supervisor_action::RunPass wrong = order(1, "quota");
  wrong.snapshot.members[0].slots = -1;
  EXPECT_NE(run_pass(wrong).failure, "");
  EXPECT_NE(run_pass(order(1, "nothing")).failure, "");
}

}  // namespace
}  // namespace penstock::supervisor
