// tidy: foreign-file agents, tasks, task, scheduler
#include "tools/policy/schedule_site.hpp"

#include <gtest/gtest.h>

#include "cli/jobfile/document.hpp"

namespace penstock::tools {
namespace {

cli::DocumentValue file_of(const std::string& text) {
  Result<cli::DocumentValue> file = cli::parse_document(text, cli::DocumentFormat::Json, "case.json", 16);
  EXPECT_TRUE(file) << text;
  return file ? std::move(file).value() : cli::DocumentValue{};
}

TEST(ScheduleSite, AGroupIsAnAccount) {
  CaseChecker checker{"x", "schedule"};
  const cli::DocumentValue file = file_of(R"({"scheduler": {"type": "fair_share", "variant": "max_min"},
      "agents": [{"id": "a", "slots": 4}], "groups": [{"id": "g", "weight": 0.5, "max_slots": 3},
      {"id": "h", "weight": 0}],
      "steps": [{"op": "add_tasks", "groups": [{"id": "later", "max_slots": 4}, {"id": "g", "weight": 7}]}]})");
  const SupervisorConfig config = schedule_site(file, checker);
  EXPECT_EQ(config.policy.pools.at(0).preset, "fair_share_max_min");
  EXPECT_TRUE(config.policy.projects.empty()) << "a group shares slots as a job does";
  ASSERT_EQ(config.policy.accounts.size(), 3U);
  EXPECT_EQ(config.policy.accounts[2].name, "later");
  EXPECT_EQ(config.policy.accounts.at(0).limits.slots_max, 3);
  EXPECT_EQ(config.policy.accounts.at(2).limits.slots_max, kUnbounded) << "all agents together do not reach it";
  EXPECT_TRUE(checker.differences().empty());
}

TEST(ScheduleSite, ValuesThatNoSiteMayHaveAreTold) {
  CaseChecker checker{"x", "schedule"};
  const SupervisorConfig config = schedule_site(
      file_of(R"({"scheduler": {"type": "dice", "fitting": "wrost", "default_priority": 100}})"), checker);
  EXPECT_EQ(checker.differences().size(), 3U);
  EXPECT_EQ(config.policy.pools.at(0).preset, "priority");
  EXPECT_EQ(config.policy.pools.at(0).default_priority, kPriorityLeast);
}

TEST(ScheduleSite, PlacesWithoutSlotsAreABandOfTheirOwn) {
  const Register worker = schedule_worker("a", 4, 2);
  ASSERT_EQ(worker.bands.size(), 2U);
  EXPECT_EQ(worker.bands[0].capacity.slots, kOneSlot * 4);
  EXPECT_EQ(worker.bands[1].kind, BandKind::Gpu);
  EXPECT_EQ(schedule_worker("b", 0, 1).bands.size(), 1U);
  const cli::DocumentValue file = file_of(R"({"agents": [{"slots": 3, "max_zero_slot": 7},
      {"slots": -1}, {"slots": 1e300}]})");
  EXPECT_EQ(slots_of_agents(file), 10'003);
  EXPECT_EQ(places_of(file.find("agents")->items[0]), 7);
  EXPECT_EQ(places_of(file.find("agents")->items[1]), 100);
}

}  // namespace
}  // namespace penstock::tools
