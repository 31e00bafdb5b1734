#include "worker/core/successor_table.hpp"

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
  List finished(std::uint32_t producer) {
    std::vector<RecordIndex> complete;
    table.finished_here(kJob, SubtaskIndex{producer}, complete);
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
  table.applied(kJob, SubtaskIndex{1});
  EXPECT_FALSE(table.is_finished(kJob, SubtaskIndex{1}));
  EXPECT_EQ(add(10, {1}), 1U);
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
