#include "worker/runner/command/daemons.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

using namespace std::string_view_literals;

TEST(Daemons, AnEntryIsFoundWholeOrNotAtAll) {
  constexpr std::string_view kEnvironment = "A=1\0PENSTOCK_SUBTASK=1:2\0B=\0"sv;
  EXPECT_TRUE(has_entry(kEnvironment, "PENSTOCK_SUBTASK=1:2"));
  EXPECT_TRUE(has_entry(kEnvironment, "A=1"));
  EXPECT_TRUE(has_entry(kEnvironment, "B="));
  EXPECT_FALSE(has_entry(kEnvironment, "PENSTOCK_SUBTASK=1:21"));
  EXPECT_FALSE(has_entry(kEnvironment, "PENSTOCK_SUBTASK=1:"));
  EXPECT_FALSE(has_entry("", "A=1"));
}

TEST(Daemons, AProgramsNameCannotForgeItsGroup) {
  const GroupAndSession plain = parse_stat("17 (sleep) S 1 16 15 0 -1 4194304\n");
  EXPECT_EQ(plain.group, 16);
  EXPECT_EQ(plain.session, 15);
  EXPECT_FALSE(plain.zombie);
  const GroupAndSession forged = parse_stat("17 (a) S 1 2 3 (b) Z 1 16 15 0");
  EXPECT_EQ(forged.group, 16);
  EXPECT_EQ(forged.session, 15);
  EXPECT_TRUE(forged.zombie);
  EXPECT_EQ(parse_stat("").group, 0);
  EXPECT_EQ(parse_stat("17 (sleep) S").session, 0);
}

}  // namespace
}  // namespace penstock::worker
