#include "supervisor/core/workers/readoption.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::seconds;

constexpr Instant at(int seconds_after) { return Instant{} + seconds{seconds_after}; }

record::WorkerJoined worker(std::uint32_t number) {
  return {WorkerId{number}, Incarnation{100 + number}, "w" + std::to_string(number)};
}

class ReadoptionTest : public ::testing::TestWithParam<Durability> {
 protected:
  ReadoptionTest() {
    config.reclaim_wait = seconds{9};
    event.out = &out;
  }
  bool gives_up_at(int when) {
    event.now = at(when);
    return readoption.gives_up_absent();
  }
  /// Workers that the records of this event say are gone.
  std::vector<std::uint32_t> written_as_gone() {
    gate.commit(true);
    std::vector<std::uint32_t> gone;
    for (const SupervisorAction& action : out)
      if (const auto* persist = std::get_if<supervisor_action::Persist>(&action))
        for (const Record& record : persist->records)
          if (const auto* each = std::get_if<record::WorkerGone>(&record)) gone.push_back(each->worker.value());
    out.clear();
    return gone;
  }
  using Numbers = std::vector<std::uint32_t>;

  SupervisorConfig config;
  EventContext event;
  Actions<SupervisorAction> out;
  CommitGate gate{GetParam(), event};
  Readoption readoption{config, gate, event};
};

class ReadoptionWithJournal : public ReadoptionTest {};
class ReadoptionWithoutJournal : public ReadoptionTest {};
INSTANTIATE_TEST_SUITE_P(Both, ReadoptionTest, ::testing::Values(Durability::None, Durability::Journal));
INSTANTIATE_TEST_SUITE_P(Of, ReadoptionWithJournal, ::testing::Values(Durability::Journal));
INSTANTIATE_TEST_SUITE_P(Of, ReadoptionWithoutJournal, ::testing::Values(Durability::None));

TEST_P(ReadoptionTest, WithoutWorkersOfBeforeNothingIsWaitedFor) {
  readoption.begin({});
  EXPECT_FALSE(readoption.is_active());
  EXPECT_FALSE(readoption.is_complete());
  EXPECT_EQ(readoption.next_due(), kNever);
}

TEST_P(ReadoptionTest, TheWaitIsCompleteWhenAllAreBackAndHaveSaidAll) {
  readoption.begin({worker(1), worker(2)});
  EXPECT_TRUE(readoption.is_active());
  EXPECT_EQ(readoption.missing(), 2U);
  for (const std::uint32_t number : {2U, 1U}) {
    const std::optional<Readoption::Returned> back = readoption.take_back(WorkerId{number}, Incarnation{100 + number});
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->worker, worker(number));
    EXPECT_FALSE(back->late);
    readoption.claim_begun();
  }
  EXPECT_EQ(readoption.missing(), 2U);
  readoption.claim_ended();
  EXPECT_FALSE(readoption.is_complete());
  readoption.claim_lost();
  EXPECT_TRUE(readoption.is_complete());
  readoption.end();
  EXPECT_FALSE(readoption.is_active());
  EXPECT_FALSE(readoption.is_complete());
  EXPECT_EQ(readoption.next_due(), kNever);
}

TEST_P(ReadoptionTest, OnlyTheIncarnationOfTheRecordIsTakenBackAndOnce) {
  readoption.begin({worker(1)});
  EXPECT_FALSE(readoption.take_back(WorkerId{1}, Incarnation{102}).has_value());
  EXPECT_FALSE(readoption.take_back(WorkerId{2}, Incarnation{101}).has_value());
  EXPECT_TRUE(readoption.take_back(WorkerId{1}, Incarnation{101}).has_value());
  EXPECT_FALSE(readoption.take_back(WorkerId{1}, Incarnation{101}).has_value());
}

TEST_P(ReadoptionTest, AnIncarnationThatHasEndedIsWaitedForNoLonger) {
  readoption.begin({worker(1), worker(2)});
  EXPECT_FALSE(readoption.take_ended(Incarnation{103}).has_value());
  const std::optional<record::WorkerJoined> ended = readoption.take_ended(Incarnation{102});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->worker, WorkerId{2});
  EXPECT_EQ(readoption.missing(), 1U);
}

TEST_P(ReadoptionWithoutJournal, AbsentWorkersAreGivenUpAfterTheWaitAndStayKnown) {
  readoption.begin({worker(1)});
  EXPECT_EQ(readoption.next_due(), at(9));
  EXPECT_FALSE(gives_up_at(8));
  EXPECT_TRUE(gives_up_at(9));
  EXPECT_EQ(readoption.next_due(), kNever);
  readoption.end();
  ASSERT_EQ(readoption.absent().size(), 1U);
  const std::optional<Readoption::Returned> back = readoption.take_back(WorkerId{1}, Incarnation{101});
  ASSERT_TRUE(back.has_value());
  EXPECT_TRUE(back->late);
}

TEST_P(ReadoptionWithJournal, AbsentWorkersAreGivenUpWhenTheirRecordsAreOnTheDisk) {
  readoption.begin({worker(1), worker(2), worker(3)});
  EXPECT_TRUE(readoption.take_back(WorkerId{2}, Incarnation{102}).has_value());
  EXPECT_FALSE(gives_up_at(9)) << "the records come first";
  EXPECT_TRUE(readoption.awaits_disk());
  EXPECT_FALSE(readoption.are_given_up_on_disk());
  EXPECT_EQ(written_as_gone(), (Numbers{1, 3}));
  EXPECT_FALSE(gives_up_at(20)) << "once is enough";
  const std::optional<Readoption::Returned> back = readoption.take_back(WorkerId{3}, Incarnation{103});
  ASSERT_TRUE(back.has_value());
  EXPECT_TRUE(back->late) << "a record says that the worker is gone";
  gate.persisted(1);
  EXPECT_TRUE(readoption.are_given_up_on_disk());
  readoption.end();
  EXPECT_FALSE(readoption.awaits_disk());
  EXPECT_FALSE(readoption.are_given_up_on_disk());
}

TEST_P(ReadoptionWithJournal, WithoutAbsentWorkersThereIsNothingToWrite) {
  readoption.begin({worker(1)});
  readoption.take_back(WorkerId{1}, Incarnation{101});
  readoption.claim_begun();
  EXPECT_TRUE(gives_up_at(9 * 27));
  EXPECT_EQ(written_as_gone(), Numbers{});
}

TEST_P(ReadoptionTest, EachClaimThatEndsLengthensTheWaitByAThirdUpToTwentyTimes) {
  readoption.begin({worker(1), worker(2), worker(3), worker(4)});
  int known = 9;
  for (const auto& [when, until] : {std::pair{2, 9}, {8, 11}, {26, 29}, {179, 180}}) {
    EXPECT_EQ(readoption.next_due(), at(known));
    readoption.claim_begun();
    event.now = at(when);
    readoption.claim_ended();
    EXPECT_EQ(readoption.next_due(), at(until));
    known = until;
  }
}

TEST_P(ReadoptionWithoutJournal, WorkersThatAreBackAndClaimGetMoreTimeThanAbsentOnes) {
  readoption.begin({worker(1), worker(2)});
  readoption.take_back(WorkerId{1}, Incarnation{101});
  readoption.claim_begun();
  PENSTOCK_EXPECT_COVERAGE_MARK("a claim takes long", EXPECT_FALSE(gives_up_at(9)));
  EXPECT_GT(readoption.next_due(), at(12));
  EXPECT_LT(readoption.next_due(), at(13)) << "a look at every third of the wait";
  EXPECT_FALSE(gives_up_at(242));
  EXPECT_EQ(readoption.next_due(), at(243));
  EXPECT_TRUE(gives_up_at(243));
}

}  // namespace
}  // namespace penstock::supervisor
