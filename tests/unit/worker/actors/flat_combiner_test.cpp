#include "worker/actors/flat_combiner.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace penstock::worker {
namespace {

using Next = FlatCombiner<int>::Next;
constexpr auto kNothing = [] {};

TEST(FlatCombiner, OneThreadCombinesForAllThatComeMeanwhile) {
  FlatCombiner<int> combiner;
  std::vector<int> news;
  EXPECT_TRUE(combiner.submit(1));
  EXPECT_FALSE(combiner.submit(2));
  EXPECT_FALSE(combiner.call());
  EXPECT_EQ(combiner.next(news, false, 8, kNothing), Next::Combine);
  EXPECT_EQ(news, (std::vector<int>{1, 2}));
}

TEST(FlatCombiner, ItLeavesWhenNothingWaitsAndTheNextToComeCombines) {
  FlatCombiner<int> combiner;
  std::vector<int> news;
  EXPECT_TRUE(combiner.call());
  EXPECT_EQ(combiner.next(news, false, 8, kNothing), Next::Combine);
  bool at_rest = false;
  EXPECT_EQ(combiner.next(news, false, 7, [&] { at_rest = true; }), Next::Leave);
  EXPECT_TRUE(at_rest);
  EXPECT_TRUE(combiner.submit(1));
}

TEST(FlatCombiner, ItStaysTheCombinerWhenItPauses) {
  FlatCombiner<int> combiner;
  std::vector<int> news;
  EXPECT_TRUE(combiner.submit(1));
  EXPECT_EQ(combiner.next(news, false, 0, kNothing), Next::Pause);
  EXPECT_FALSE(combiner.submit(2));
  EXPECT_EQ(combiner.next(news, false, 1, kNothing), Next::Combine);
  EXPECT_EQ(news.size(), 2U);
}

TEST(FlatCombiner, AReasonForARoundKeepsItThere) {
  FlatCombiner<int> combiner;
  std::vector<int> news;
  EXPECT_TRUE(combiner.submit(1));
  EXPECT_EQ(combiner.next(news, false, 8, kNothing), Next::Combine);
  news.clear();
  EXPECT_EQ(combiner.next(news, true, 7, kNothing), Next::Combine);
  EXPECT_TRUE(news.empty());
}

TEST(FlatCombiner, NewsAreLeftToAThreadThatIsExpected) {
  using Submitted = FlatCombiner<int>::Submitted;
  FlatCombiner<int> combiner;
  std::vector<int> news;
  EXPECT_EQ(combiner.submit_or_leave(1, [] { return true; }), Submitted::Left);
  EXPECT_TRUE(combiner.has_left());
  EXPECT_TRUE(combiner.call()) << "nobody combines yet";
  EXPECT_EQ(combiner.submit_or_leave(2, [] { return true; }), Submitted::Taken);
  EXPECT_EQ(combiner.next(news, false, 8, kNothing), Next::Combine);
  EXPECT_EQ(news, (std::vector<int>{1, 2}));
  EXPECT_FALSE(combiner.has_left());
  news.clear();
  EXPECT_EQ(combiner.next(news, false, 7, kNothing), Next::Leave);
  EXPECT_EQ(combiner.submit_or_leave(3, [] { return false; }), Submitted::Combine);
  EXPECT_FALSE(combiner.has_left());
}

TEST(FlatCombiner, AnIdleLaneLeavesItsRoundToAThreadThatIsExpected) {
  using Submitted = FlatCombiner<int>::Submitted;
  FlatCombiner<int> combiner;
  std::vector<int> news;
  EXPECT_EQ(combiner.call_or_leave([] { return true; }), Submitted::Left);
  EXPECT_TRUE(combiner.has_left());
  EXPECT_EQ(combiner.call_or_leave([] { return false; }), Submitted::Combine);
  EXPECT_EQ(combiner.call_or_leave([] { return true; }), Submitted::Taken);
  EXPECT_EQ(combiner.next(news, false, 8, kNothing), Next::Combine) << "a round without news";
  EXPECT_FALSE(combiner.has_left());
  EXPECT_EQ(combiner.next(news, false, 7, kNothing), Next::Leave);
}

TEST(FlatCombiner, NothingIsLeftBehindOrDoneTwice) {
  FlatCombiner<int> combiner;
  long sum = 0;  // Of the combining thread.
  std::vector<int> news;
  const auto work = [&] {
    for (int i = 1; i <= 10'000; ++i) {
      if (!combiner.submit(i)) continue;
      while (combiner.next(news, false, 1, kNothing) == Next::Combine) {
        for (const int each : news) sum += each;
        news.clear();
      }
    }
  };
  std::thread other{work};
  work();
  other.join();
  EXPECT_EQ(sum, 2L * 10'000 * 10'001 / 2);
}

}  // namespace
}  // namespace penstock::worker
