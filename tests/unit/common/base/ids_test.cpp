#include "common/base/ids.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Ids, TextsAreThoseOfCommandsAndLogs) {
  const SubtaskId id{JobId{3}, SubtaskIndex{14}};
  EXPECT_EQ(to_string(JobId{3}), "job-3");
  EXPECT_EQ(to_string(id), "3:14");
  EXPECT_EQ(to_string(DataKey{id, 2}), "3:14.2");
  EXPECT_EQ(to_string(BandId{WorkerId{5}, BandIndex{1}}), "w5/1");
  EXPECT_EQ(to_string(id, Attempt{2}), "3:14#2");
}

TEST(Ids, NoIdIsSaidSo) {
  EXPECT_EQ(to_string(JobId{}), "job-none");
  EXPECT_EQ(to_string(WorkerId{}), "w-none");
}

TEST(Ids, AnAttemptOfALaterTermNamesTheTerm) {
  EXPECT_EQ(to_string(Attempt{1}), "1");
  EXPECT_EQ(to_string(Attempt{attempts_begin(3).value() + 2}), "3.2");
}

TEST(Ids, AnIdentityIsReadAsItWasWritten) {
  const JobIdentity identity{0x0123456789abcdefU, 0xfedcba9876543210U};
  EXPECT_EQ(to_string(identity), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(parse_identity(to_string(identity)), identity);
}

TEST(Ids, WhatIsNoIdentityIsNone) {
  EXPECT_EQ(parse_identity(""), JobIdentity{});
  EXPECT_EQ(parse_identity("0123456789abcdeffedcba987654321"), JobIdentity{});
  EXPECT_EQ(parse_identity("0123456789abcdeffedcba987654321g"), JobIdentity{});
  EXPECT_EQ(parse_identity("g123456789abcdeffedcba9876543210"), JobIdentity{});
}

}  // namespace
}  // namespace penstock
