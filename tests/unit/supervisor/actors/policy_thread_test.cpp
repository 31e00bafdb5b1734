#include "supervisor/actors/policy_thread.hpp"

#include <gtest/gtest.h>

#include <future>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

supervisor_action::RunPass order(std::uint64_t number, const std::string& preset) {
  supervisor_action::RunPass pass;
  pass.number = number;
  pass.parts = {policy::preset(preset).value()};
  pass.snapshot.bands = {{.name = "w1/0", .slots = 2}};
  pass.snapshot.workloads = {{.name = "job-1"}};
  pass.snapshot.members = {{.name = "job-1.0", .slots = 1}};
  return pass;
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

}  // namespace
}  // namespace penstock::supervisor
