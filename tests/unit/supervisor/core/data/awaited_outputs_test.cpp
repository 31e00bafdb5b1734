#include "supervisor/core/data/awaited_outputs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace penstock::supervisor {
namespace {

constexpr SubtaskId id(std::uint32_t job, std::uint32_t subtask) { return {JobId{job}, SubtaskIndex{subtask}}; }

/// The waiters that a settle passes on, of which those in `stay` go on waiting for the producer.
std::vector<SubtaskId> settle(AwaitedOutputs& awaited, const SubtaskId& producer = id(1, 0),
                              const std::vector<SubtaskId>& stay = {}) {
  std::vector<SubtaskId> seen;
  awaited.settle([&](const SubtaskId& waiter) {
    seen.push_back(waiter);
    if (std::find(stay.begin(), stay.end(), waiter) != stay.end()) awaited.wait(producer, waiter);
  });
  return seen;
}

TEST(AwaitedOutputs, AWaiterIsLookedAtAtOnceAndThenAtEachChangeOfItsProducer) {
  AwaitedOutputs awaited;
  awaited.wait(id(1, 0), id(2, 5));
  EXPECT_TRUE(awaited.any_changed());
  EXPECT_TRUE(awaited.is_waiting(id(1, 0), id(2, 5)));
  EXPECT_EQ(settle(awaited, id(1, 0), {id(2, 5)}), std::vector<SubtaskId>{id(2, 5)});
  EXPECT_FALSE(awaited.any_changed()) << "to go on waiting is no change";
  EXPECT_TRUE(awaited.is_waiting(id(1, 0), id(2, 5)));
  awaited.changed(id(1, 1));
  EXPECT_TRUE(settle(awaited).empty()) << "another subtask";
  awaited.changed(id(1, 0));
  awaited.changed(id(1, 0));
  EXPECT_EQ(settle(awaited), std::vector<SubtaskId>{id(2, 5)});
  EXPECT_FALSE(awaited.is_waiting(id(1, 0), id(2, 5)));
  awaited.changed(id(1, 0));
  EXPECT_FALSE(awaited.any_changed()) << "nobody waits";
}

TEST(AwaitedOutputs, NothingOfAJobThatHasEndedWaits) {
  AwaitedOutputs awaited;
  awaited.wait(id(1, 0), id(2, 5));
  awaited.wait(id(1, 0), id(3, 5));
  awaited.wait(id(1, 1), id(2, 6));
  awaited.forget_waiters(JobId{2});
  EXPECT_FALSE(awaited.is_waiting(id(1, 1), id(2, 6)));
  EXPECT_EQ(settle(awaited), std::vector<SubtaskId>{id(3, 5)});
}

TEST(AwaitedOutputs, ProducersAreLookedAtInTheirOrder) {
  AwaitedOutputs awaited;
  awaited.wait(id(3, 0), id(4, 1));
  awaited.wait(id(1, 2), id(4, 2));
  awaited.wait(id(1, 2), id(4, 0));
  EXPECT_EQ(settle(awaited), (std::vector<SubtaskId>{id(4, 2), id(4, 0), id(4, 1)}));
}

TEST(AwaitedOutputs, AllOfAJobOrOfAllJobsChangeTogether) {
  AwaitedOutputs awaited;
  const std::vector<SubtaskId> all{id(9, 1), id(9, 2), id(9, 3)};
  const auto wait = [&] {
    awaited.wait(id(1, 0), id(9, 1));
    awaited.wait(id(1, 7), id(9, 2));
    awaited.wait(id(2, 0), id(9, 3));
  };
  wait();
  EXPECT_EQ(settle(awaited).size(), 3U);
  // A fresh set of waiters that no change has been noted of.
  std::vector<SubtaskId> seen;
  bool again = true;
  wait();
  awaited.settle([&](const SubtaskId& waiter) {
    if (std::exchange(again, false)) wait();
    seen.push_back(waiter);
  });
  EXPECT_TRUE(awaited.is_waiting(id(1, 0), id(9, 1)));
  EXPECT_FALSE(awaited.any_changed());
  awaited.all_changed(JobId{3});
  EXPECT_FALSE(awaited.any_changed());
  awaited.all_changed(JobId{1});
  EXPECT_EQ(settle(awaited), std::vector<SubtaskId>{id(9, 1)});
}

}  // namespace
}  // namespace penstock::supervisor
