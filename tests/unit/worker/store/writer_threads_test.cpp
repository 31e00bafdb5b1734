#include "worker/store/writer_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <vector>

namespace penstock::worker {
namespace {

TEST(WriterThreads, WorkIsDoneAtTheSameTimeAsFarAsThereAreThreads) {
  WriterThreads writers{2};
  std::latch both{2};
  std::latch ended{2};
  for (int i = 0; i < 2; ++i)
    writers.add([&] {
      both.arrive_and_wait();  // Comes true only if both are done at once.
      ended.count_down();
    });
  ended.wait();
}

TEST(WriterThreads, BeyondThatItIsDoneInOrder) {
  WriterThreads writers{1};
  std::vector<int> order;  // Of one thread, read behind the latch.
  std::latch ended{5};
  for (int i = 0; i < 5; ++i)
    writers.add([&, i] {
      order.push_back(i);
      ended.count_down();
    });
  ended.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(WriterThreads, TheEndWaitsForWhatIsBeingDoneAndForgetsTheRest) {
  WriterThreads writers{1};
  std::latch begun{1};
  std::latch may_end{1};
  std::atomic<int> done{0};
  writers.add([&] {
    begun.count_down();
    may_end.wait();
    ++done;
  });
  begun.wait();
  writers.add([&] { done += 10; });
  may_end.count_down();
  writers.end();
  const int at_end = done;
  EXPECT_TRUE(at_end == 1 || at_end == 11) << at_end;  // The second may have begun before the end.
  writers.add([&] { done += 100; });
  writers.end();
  EXPECT_EQ(done, at_end);
}

}  // namespace
}  // namespace penstock::worker
