#include "worker/shell/outbox.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

TEST(Outbox, MessagesAreTakenInOrderAndOnce) {
  Outbox outbox{Register{}};
  outbox.add(DrainState{});
  outbox.add(LogAnswer{7, {}});
  const std::vector<FromWorker> taken = outbox.take();
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<DrainState>(taken[0]));
  EXPECT_TRUE(std::holds_alternative<LogAnswer>(taken[1]));
  EXPECT_TRUE(outbox.empty());
}

TEST(Outbox, AnIntroductionReplacesWhatWasNotSentAndSaysThatTheWorkerReclaims) {
  Register description;
  description.name = "worker-1";
  Outbox outbox{description};
  outbox.add(DrainState{});
  outbox.introduce_again();
  outbox.add(WorkerClaim{});
  const std::vector<FromWorker> taken = outbox.take();
  ASSERT_EQ(taken.size(), 2U);
  const auto* introduction = std::get_if<Register>(&taken[0]);
  ASSERT_NE(introduction, nullptr);
  EXPECT_EQ(introduction->name, "worker-1");
  EXPECT_TRUE(introduction->reclaims);
  EXPECT_TRUE(std::holds_alternative<WorkerClaim>(taken[1]));
}

}  // namespace
}  // namespace penstock::worker
