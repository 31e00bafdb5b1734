#include "worker/runner/command/captured_output.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

TEST(OutputHead, KeepsAllUpToTheLimitWithoutAMark) {
  OutputHead head{4};
  head.add("ab");
  head.add("cd");
  EXPECT_EQ(head.take(), "abcd");
}

TEST(OutputHead, CountsWhatIsBeyond) {
  OutputHead head{3};
  head.add("abcd");
  head.add("ef");
  EXPECT_EQ(head.dropped_bytes(), 3U);
  EXPECT_EQ(head.take(), "abc\n[penstock: the output is cut here, 3 bytes more were dropped]\n");
}

TEST(OutputTail, KeepsTheLastBytes) {
  OutputTail tail{4};
  EXPECT_TRUE(tail.empty());
  tail.add("0123456789");
  tail.add("a");
  tail.add("b");
  EXPECT_EQ(tail.take(), "89ab");
  for (int i = 0; i < 100; ++i) tail.add(std::to_string(i % 10));
  EXPECT_EQ(tail.take(), "6789");
}

}  // namespace
}  // namespace penstock::worker
