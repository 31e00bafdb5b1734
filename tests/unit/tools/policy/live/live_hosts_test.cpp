#include "tools/policy/live/live_hosts.hpp"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

constexpr WorkerId kWorker{1};

Register host_of(std::int64_t slots) {
  Register description;
  description.name = description.host = "w1";
  BandDescription& band = description.bands.emplace_back();
  band.name = "numa-0";
  band.capacity.slots = kOneSlot * slots;
  return description;
}

ToWorker assignment(std::uint32_t subtasks) {
  AssignBatch batch;
  batch.job = JobId{1};
  batch.job_name = "a";
  Template wanted;
  wanted.program = "hold";
  wanted.output_count = 0;
  batch.templates.push_back({TemplateIndex{0}, wanted});
  for (std::uint32_t i = 0; i < subtasks; ++i) {
    Assignment& each = batch.assignments.emplace_back();
    each.subtask = SubtaskIndex{i};
    each.template_index = TemplateIndex{0};
    each.attempt = Attempt{1};
    each.band = BandIndex{0};
  }
  return batch;
}

TEST(LiveHosts, TheSlotOfARunThatEndsIsOfTheNext) {
  std::size_t said = 0;
  LiveHosts hosts{[&](WorkerId, const FromWorker&) { ++said; }};
  hosts.add(kWorker, host_of(1));
  const ToWorker order = assignment(2);
  hosts.tell(kWorker, worker::worker_event::MessageArrived{order}, instant_at(std::chrono::seconds{1}));
  ASSERT_EQ(hosts.runs().size(), 1U) << "there is one slot";
  const SubtaskId first = hosts.runs().begin()->first;
  hosts.end_run(first, true, FailureClass::UserError, instant_at(std::chrono::seconds{2}));
  ASSERT_EQ(hosts.runs().size(), 1U);
  EXPECT_NE(hosts.runs().begin()->first, first);
  EXPECT_GT(said, 0U);
  EXPECT_TRUE(hosts.troubles().empty());
}

TEST(LiveHosts, AHostThatHasGoneTakesItsRunsAndHearsNothing) {
  LiveHosts hosts{[](WorkerId, const FromWorker&) {}};
  hosts.add(kWorker, host_of(1));
  const ToWorker order = assignment(2);
  hosts.tell(kWorker, worker::worker_event::MessageArrived{order}, instant_at(std::chrono::seconds{1}));
  ASSERT_EQ(hosts.runs().size(), 1U);
  hosts.remove(kWorker);
  EXPECT_TRUE(hosts.runs().empty());
  EXPECT_FALSE(hosts.knows(kWorker));
  hosts.tell(kWorker, worker::worker_event::MessageArrived{order}, instant_at(std::chrono::seconds{2}));
  EXPECT_TRUE(hosts.runs().empty());
}

TEST(LiveHosts, ADeadlineIsOfAHostThatIsThere) {
  LiveHosts hosts{[](WorkerId, const FromWorker&) {}};
  EXPECT_EQ(hosts.next_deadline(), kNever);
  hosts.add(kWorker, host_of(1));
  const Instant now = instant_at(std::chrono::seconds{1});
  const ToWorker order = assignment(1);
  hosts.tell(kWorker, worker::worker_event::MessageArrived{order}, now);
  const Instant due = hosts.next_deadline();
  ASSERT_NE(due, kNever) << "its start is to be reported";
  hosts.tick_what_is_due(due);
  EXPECT_GT(hosts.next_deadline(), due);
  hosts.remove(kWorker);
  EXPECT_EQ(hosts.next_deadline(), kNever);
  EXPECT_FALSE(hosts.knows(kWorker));
}

}  // namespace
}  // namespace penstock::tools
