#include "tools/policy/command_policy_positions.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::tools {
namespace {

/// The ranks of jobs at these positions; 0: the job has none.
std::vector<std::int64_t> ranks_of(const std::vector<std::string>& texts) {
  CasePositions positions;
  policy::Snapshot snapshot;
  snapshot.workloads.resize(texts.size());
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    cli::DocumentValue value;
    value.kind = texts[i].empty() ? cli::DocumentValue::Kind::Null : cli::DocumentValue::Kind::Text;
    value.text = texts[i];
    EXPECT_TRUE(positions.set(i, value)) << texts[i];
  }
  positions.give_to(snapshot);
  std::vector<std::int64_t> ranks;
  for (const policy::Workload& each : snapshot.workloads) ranks.push_back(each.position.value_or(0));
  return ranks;
}

TEST(CasePositions, EveryDigitCounts) {
  EXPECT_EQ(ranks_of({"1640995200000005", "1640995200000000", "1640995200000000.0000000001"}),
            (std::vector<std::int64_t>{3, 1, 2}));
  EXPECT_EQ(ranks_of({"123456789012345678901234567890", "123456789012345678901234567889"}),
            (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(ranks_of({"0.00000000000000000002", "0.00000000000000000001"}), (std::vector<std::int64_t>{2, 1}));
}

TEST(CasePositions, TheSameNumberIsOnePlaceHoweverItIsWritten) {
  EXPECT_EQ(ranks_of({"1.50", "15e-1", "+001.5", "0.015E+2", "2"}), (std::vector<std::int64_t>{1, 1, 1, 1, 2}));
}

TEST(CasePositions, WhoHasNoneStandsBetweenNegativeAndPositiveOnes) {
  EXPECT_EQ(ranks_of({"", "-2.5", "-30", "0", "-0.0", "4"}), (std::vector<std::int64_t>{0, -1, -2, 0, 0, 1}));
}

TEST(CasePositions, WhatIsNoNumberIsRefused) {
  for (const char* text :
       {"", "-", ".", "1.2.3", "1e", "1e5x", "ten", "1 2", "--1", "1,5", "1e99999999999", "1e+-1", "1e--1"})
    EXPECT_FALSE(parse_decimal(text)) << text;
}

TEST(CasePositions, NumbersAreTakenAsTheyStandInTheFile) {
  CasePositions positions;
  policy::Snapshot snapshot;
  snapshot.workloads.resize(3);
  const Result<cli::DocumentValue> file =
      cli::parse_document(R"({"n": [9007199254740993, 9007199254740992, 0.1]})", cli::DocumentFormat::Json, "case");
  ASSERT_TRUE(file);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(positions.set(i, file->find("n")->items[i]));
  EXPECT_FALSE(positions.set(0, *file));
  positions.give_to(snapshot);
  EXPECT_EQ(snapshot.workloads[0].position, 3);
  EXPECT_EQ(snapshot.workloads[1].position, 2);
  EXPECT_EQ(snapshot.workloads[2].position, 1);
}

}  // namespace
}  // namespace penstock::tools
