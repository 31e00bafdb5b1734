#include "supervisor/core/ledger/commit_gate.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace penstock::supervisor {
namespace {

constexpr ClientId kClient{7};

SupervisorAction progress_of(std::uint32_t job) {
  JobProgress progress;
  progress.job = JobId{job};
  return supervisor_action::SendToClient{kClient, std::move(progress)};
}

SupervisorAction reply_for(std::uint32_t job) {
  SubmitReply reply;
  reply.submission = 3;
  reply.job = JobId{job};
  return supervisor_action::SendToClient{kClient, reply};
}

SupervisorAction answer(std::uint64_t request) {
  return supervisor_action::SendToClient{kClient, AdminAnswer{request, Value{}, {}}};
}

Record forgotten(std::uint32_t job) { return record::JobForgotten{JobId{job}}; }

class CommitGateTest : public ::testing::Test {
 protected:
  CommitGateTest() { event.out = &out; }

  /// The jobs of progress, and the requests of answers, that have left since the last call.
  std::vector<std::uint64_t> left() {
    std::vector<std::uint64_t> numbers;
    for (const SupervisorAction& action : out) {
      const auto* word = std::get_if<supervisor_action::SendToClient>(&action);
      if (word == nullptr) continue;
      if (const auto* progress = std::get_if<JobProgress>(&word->message)) numbers.push_back(progress->job.value());
      if (const auto* reply = std::get_if<AdminAnswer>(&word->message)) numbers.push_back(reply->request);
    }
    return numbers;
  }
  /// The same, and forgets all actions.
  std::vector<std::uint64_t> take() {
    const std::vector<std::uint64_t> numbers = left();
    out.clear();
    return numbers;
  }
  std::vector<const supervisor_action::Persist*> orders() {
    std::vector<const supervisor_action::Persist*> found;
    for (const SupervisorAction& action : out)
      if (const auto* persist = std::get_if<supervisor_action::Persist>(&action)) found.push_back(persist);
    return found;
  }

  using Numbers = std::vector<std::uint64_t>;
  Actions<SupervisorAction> out;
  EventContext event;
  CommitGate gate{Durability::Journal, event};
};

TEST_F(CommitGateTest, WithoutAJournalActionsLeaveAtOnceAndNothingIsWritten) {
  CommitGate none{Durability::None, event};
  none.write(forgotten(1));
  none.write_with_next(forgotten(2));
  none.defer(progress_of(1));
  none.defer_until_written(progress_of(2));
  EXPECT_EQ(left(), (Numbers{1, 2}));
  none.commit(true);
  EXPECT_TRUE(orders().empty());
}

TEST_F(CommitGateTest, AnActionLeavesWhenTheRecordsOfItsEventAreOnTheDisk) {
  gate.write(forgotten(1));
  gate.defer(progress_of(1));
  gate.commit(false);
  ASSERT_EQ(orders().size(), 1U);
  EXPECT_EQ(orders()[0]->ticket, 1U);
  EXPECT_EQ(orders()[0]->records.size(), 1U);
  EXPECT_EQ(take(), Numbers{});
  EXPECT_FALSE(gate.persisted(0));
  EXPECT_EQ(take(), Numbers{});
  EXPECT_FALSE(gate.persisted(1));
  EXPECT_EQ(take(), Numbers{1});
}

TEST_F(CommitGateTest, AnActionOfAnEventWithoutRecordsWaitsForThoseOfEarlierOnes) {
  gate.write(forgotten(1));
  gate.commit(false);
  gate.defer(progress_of(2));
  gate.commit(false);
  EXPECT_EQ(take(), Numbers{});
  gate.persisted(1);
  EXPECT_EQ(take(), Numbers{2});
  gate.defer(progress_of(3));
  gate.commit(false);
  EXPECT_EQ(take(), Numbers{3});
}

TEST_F(CommitGateTest, AnAnswerWaitsOnlyForRecordsOfItsOwnEvent) {
  gate.write(forgotten(1));
  gate.commit(false);
  gate.defer(answer(2));
  gate.commit(false);
  EXPECT_EQ(take(), Numbers{2});
  gate.write(forgotten(2));
  gate.defer(answer(3));
  gate.commit(false);
  EXPECT_EQ(take(), Numbers{});
  gate.defer_until_written(answer(4));
  gate.persisted(1);
  EXPECT_EQ(take(), Numbers{});
  gate.persisted(2);
  EXPECT_EQ(take(), (Numbers{3, 4}));
}

TEST_F(CommitGateTest, ARefusalLeavesAtOnce) {
  gate.write(forgotten(1));
  gate.defer(reply_for(JobId::none().value()));
  gate.commit(false);
  EXPECT_EQ(out.size(), 2U);
}

TEST_F(CommitGateTest, ARecordWithoutCommitOfItsOwnIsWrittenBeforeTheNextOnes) {
  gate.write_with_next(forgotten(1));
  gate.commit(false);
  EXPECT_TRUE(orders().empty());
  gate.write(forgotten(2));
  gate.commit(false);
  ASSERT_EQ(orders().size(), 1U);
  EXPECT_EQ(std::get<record::JobForgotten>(orders()[0]->records[0]).job, JobId{1});
  EXPECT_EQ(std::get<record::JobForgotten>(orders()[0]->records[1]).job, JobId{2});
  gate.write_with_next(forgotten(3));
  gate.commit(true);
  EXPECT_EQ(orders().size(), 2U);
}

TEST_F(CommitGateTest, ProgressIsUnderWayUntilItsTicketIsOnTheDisk) {
  gate.write(forgotten(1));
  gate.commit(false);
  EXPECT_FALSE(gate.progress_is_under_way());
  gate.write_progress({JobId{1}, {}, {}, {}, {}, {}, {}, {}});
  gate.commit(false);
  EXPECT_TRUE(gate.progress_is_under_way());
  gate.persisted(1);
  EXPECT_TRUE(gate.progress_is_under_way());
  gate.persisted(2);
  EXPECT_FALSE(gate.progress_is_under_way());
}

// Faults F11, F12.
TEST_F(CommitGateTest, InTroubleAnswersLeaveAndTheRestWaitsUntilTheDiskIsBack) {
  EXPECT_TRUE(gate.fail(Error{ErrorCode::StorageFull, "journal", "no space left", ""}));
  EXPECT_FALSE(gate.fail(Error{ErrorCode::StorageFull, "journal", "still none", ""}));
  gate.write(forgotten(1));
  gate.defer(answer(1));
  gate.defer(progress_of(2));
  gate.commit(false);
  EXPECT_EQ(take(), Numbers{1});
  EXPECT_TRUE(gate.persisted(1)) << "the trouble is over";
  EXPECT_FALSE(gate.trouble().has_value());
  EXPECT_EQ(take(), Numbers{2});
}

TEST_F(CommitGateTest, AWithdrawnJobIsRefusedAndItsProgressDropped) {
  gate.write(forgotten(9));
  gate.defer(reply_for(1));
  gate.defer(progress_of(1));
  gate.defer(reply_for(2));
  gate.commit(false);
  out.clear();
  gate.fail(Error{ErrorCode::StorageFull, "journal", "no space left", ""});
  gate.withdraw(JobId{1});
  ASSERT_EQ(out.size(), 1U);
  const auto& reply = std::get<SubmitReply>(std::get<supervisor_action::SendToClient>(out[0]).message);
  EXPECT_FALSE(reply.job.valid());
  EXPECT_EQ(reply.submission, 3U);
  EXPECT_EQ(reply.refusal.message, "no space left");
  out.clear();
  gate.persisted(1);
  EXPECT_EQ(out.size(), 1U) << "the other job stands";
}

TEST_F(CommitGateTest, AnOrderThatHasMadeAWithdrawnJobIsRefused) {
  gate.write(forgotten(9));
  for (const char* job : {"job-1", "job-2"})
    gate.send_to_client(ClientId{1}, AdminAnswer{5, Value{Value::Record{{"job", job}}}, {}});
  gate.commit(false);
  out.clear();
  gate.fail(Error{ErrorCode::StorageFull, "journal", "no space left", ""});
  gate.withdraw(JobId{1});
  ASSERT_EQ(out.size(), 1U);
  const auto& answer = std::get<AdminAnswer>(std::get<supervisor_action::SendToClient>(out[0]).message);
  EXPECT_EQ(answer.request, 5U);
  EXPECT_EQ(answer.refusal.message, "no space left");
}

TEST(CommitGateProperty, ActionsLeaveInOrderAndNoneBeforeItsTicket) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<bool, bool>>& events, std::uint8_t lag) {
    Actions<SupervisorAction> out;
    EventContext event;
    event.out = &out;
    CommitGate gate{Durability::Journal, event};
    std::vector<std::uint64_t> ticket_of;  // By number of the action.
    std::uint64_t ticket = 0;
    std::uint64_t disk = 0;
    std::uint32_t gone = 0;
    for (const auto& [writes, disk_moves] : events) {
      if (writes) gate.write(forgotten(1));
      ticket += writes;
      gate.defer(progress_of(static_cast<std::uint32_t>(ticket_of.size())));
      ticket_of.push_back(ticket);
      gate.commit(false);
      if (disk_moves) gate.persisted(disk = std::max(disk, ticket - std::min<std::uint64_t>(ticket, lag % 4U)));
      for (const SupervisorAction& action : out) {
        const auto* word = std::get_if<supervisor_action::SendToClient>(&action);
        if (word == nullptr) continue;
        RC_ASSERT(std::get<JobProgress>(word->message).job == JobId{gone});
        RC_ASSERT(ticket_of[gone] <= disk);
        ++gone;
      }
      out.clear();
      RC_ASSERT(gone == static_cast<std::uint32_t>(std::upper_bound(ticket_of.begin(), ticket_of.end(), disk) -
                                                   ticket_of.begin()));
    }
  }));
}

}  // namespace
}  // namespace penstock::supervisor
