#include "worker/core/jobs/successor_table.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

constexpr JobSlot kJob{0};

class SuccessorTableTest : public ::testing::Test {
 protected:
  SuccessorTableTest() { table.open_job(kJob); }
  std::uint32_t add(std::uint32_t successor, std::vector<std::uint32_t> producers) {
    std::vector<SubtaskIndex> indices;
    for (const std::uint32_t producer : producers) indices.emplace_back(producer);
    const std::uint32_t missing = table.add(RecordIndex{successor}, kJob, indices);
    table.validate();
    return missing;
  }
  using List = std::vector<std::uint32_t>;
  List take(std::vector<RecordIndex>& complete) {
    table.validate();
    List numbers;
    for (const RecordIndex record : complete) numbers.push_back(record.value());
    return numbers;
  }
  static AttemptRef attempt_of(std::uint32_t producer, std::uint16_t attempt = 1) {
    return {SubtaskIndex{producer}, Attempt{attempt}};
  }
  List finished(std::uint32_t producer, std::uint16_t attempt = 1) {
    std::vector<RecordIndex> complete;
    table.finished_here(kJob, attempt_of(producer, attempt), complete);
    return take(complete);
  }
  List noticed(std::uint32_t producer) {
    std::vector<RecordIndex> complete;
    table.noticed(kJob, SubtaskIndex{producer}, complete);
    return take(complete);
  }

  SuccessorTable table;
};

TEST_F(SuccessorTableTest, ASuccessorIsCompleteWithTheLastOfItsProducersOnce) {
  EXPECT_EQ(add(10, {1, 2, 3}), 3U);
  EXPECT_EQ(finished(2), List{});
  EXPECT_EQ(noticed(3), List{});
  EXPECT_EQ(noticed(3), List{});
  EXPECT_EQ(finished(1), List{10});
  EXPECT_EQ(finished(1), List{});
  EXPECT_EQ(table.cached(), 0U);
}

TEST_F(SuccessorTableTest, AProducerThatFinishedBeforeTheAssignmentArrivedIsNotMissing) {
  finished(1);
  EXPECT_EQ(add(10, {1}), 0U);
  EXPECT_EQ(add(11, {1, 2}), 1U);
  EXPECT_EQ(finished(2), List{11});
}

TEST_F(SuccessorTableTest, OnceAppliedAProducerIsForgotten) {
  finished(1);
  table.applied(kJob, attempt_of(1));
  EXPECT_FALSE(table.is_finished(kJob, SubtaskIndex{1}));
  EXPECT_EQ(add(10, {1}), 1U);
}

// A worker that outlived its supervisor ran it twice: the word of the first run, which counted for nothing, was applied
// when the second had ended and nobody knew. Its successor waited for ever: seed 3144 of 2026-11-22.
TEST_F(SuccessorTableTest, ThatAnOlderAttemptIsAppliedSaysNothingOfTheNewer) {
  finished(1, 2);
  finished(1, 3);
  table.applied(kJob, attempt_of(1, 2));
  EXPECT_EQ(add(10, {1}), 0U);
  table.applied(kJob, attempt_of(1, 3));
  EXPECT_EQ(add(11, {1}), 1U);
}

TEST_F(SuccessorTableTest, WhatIsForgottenIsMissingAgain) {
  finished(1, 2);
  table.forget(kJob, SubtaskIndex{1});
  EXPECT_EQ(add(10, {1}), 1U);
  finished(1, 3);
  table.applied(kJob, attempt_of(1, 2));
  EXPECT_EQ(add(11, {1}), 0U);
}

TEST_F(SuccessorTableTest, RepeatedProducersCountOnceEach) {
  EXPECT_EQ(add(10, {1, 1}), 2U);
  EXPECT_EQ(finished(1), List{10});
}

TEST_F(SuccessorTableTest, ARemovedSuccessorIsNeverComplete) {
  add(10, {1, 2});
  add(11, {1});
  table.remove(RecordIndex{10});
  table.remove(RecordIndex{10});
  EXPECT_EQ(finished(1), List{11});
  EXPECT_EQ(finished(2), List{});
}

TEST_F(SuccessorTableTest, ARecordMayBeCachedAgainAfterItWasRemoved) {
  add(10, {1});
  table.remove(RecordIndex{10});
  add(10, {1, 2});
  EXPECT_EQ(finished(1), List{});
  EXPECT_EQ(finished(2), List{10});
}

TEST_F(SuccessorTableTest, SuccessorsOfOneProducerLeaveInOrderOfCaching) {
  add(12, {1});
  add(10, {1});
  add(11, {1});
  EXPECT_EQ(finished(1), (List{12, 10, 11}));
}

TEST_F(SuccessorTableTest, TellsWhoWaits) {
  add(10, {1});
  add(11, {1, 2});
  table.remove(RecordIndex{10});
  std::vector<RecordIndex> waiting;
  table.waiting_for(kJob, SubtaskIndex{1}, waiting);
  EXPECT_EQ(waiting, std::vector<RecordIndex>{RecordIndex{11}});
}

TEST_F(SuccessorTableTest, AClosedJobLeavesNothing) {
  add(10, {1});
  table.remove(RecordIndex{10});
  finished(2);
  table.close_job(kJob);
  EXPECT_FALSE(table.is_finished(kJob, SubtaskIndex{2}));
  EXPECT_EQ(add(10, {1}), 1U);
  EXPECT_EQ(finished(1), List{10});
}

}  // namespace
}  // namespace penstock::worker
