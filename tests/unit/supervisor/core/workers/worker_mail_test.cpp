#include "supervisor/core/workers/worker_mail.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

constexpr JobId kJob{1};

class WorkerMailTest : public ::testing::TestWithParam<Durability> {
 protected:
  WorkerMailTest() {
    event.out = &out;
    for (std::uint32_t i = 1; i <= 2; ++i) {
      Register description;
      description.name = "worker-" + std::to_string(i);
      workers.add(WorkerId{i}, Incarnation{i}, description);
    }
  }

  void end_of_event() {
    mail.flush();
    mail.acknowledge_reports();
    gate.commit(false);
  }
  /// Workers, and the kind of what each was told, since the last call.
  std::vector<std::pair<std::uint64_t, std::size_t>> take() {
    std::vector<std::pair<std::uint64_t, std::size_t>> told;
    for (const SupervisorAction& action : out)
      if (const auto* word = std::get_if<supervisor_action::SendToWorker>(&action))
        told.emplace_back(word->worker.value(), word->message.index());
    out.clear();
    return told;
  }
  template <class Message>
  static std::size_t kind() {
    return ToWorker{Message{}}.index();
  }

  using Told = std::vector<std::pair<std::uint64_t, std::size_t>>;
  Actions<SupervisorAction> out;
  EventContext event;
  WorkerTable workers;
  CommitGate gate{GetParam(), event};
  WorkerMail mail{workers, gate, event};
};

INSTANTIATE_TEST_SUITE_P(All, WorkerMailTest, ::testing::Values(Durability::None, Durability::Journal));

TEST_P(WorkerMailTest, GathersDuringAnEventAndHandsOverAtItsEndInOrder) {
  mail.tell(WorkerSlot{1}, Drain{true});
  mail.tell(WorkerSlot{0}, Drain{true});
  mail.last_drops(WorkerSlot{1}, kJob, false).data.push_back({SubtaskIndex{1}, 0});
  EXPECT_TRUE(take().empty());
  end_of_event();
  EXPECT_EQ(take(), (Told{{2, kind<Drain>()}, {2, kind<DropBatch>()}, {1, kind<Drain>()}}));
  end_of_event();
  EXPECT_TRUE(take().empty());
}

TEST_P(WorkerMailTest, ExtendsTheLastMessageWhereItFitsAndOnlyTheLast) {
  DropBatch& first = mail.last_drops(WorkerSlot{0}, kJob, false);
  EXPECT_EQ(&mail.last_drops(WorkerSlot{0}, kJob, false), &first);
  mail.last_drops(WorkerSlot{0}, kJob, true);
  mail.last_drops(WorkerSlot{0}, JobId{2}, true);
  mail.last_cancels(WorkerSlot{0}, JobId{2}, true);
  mail.last_cancels(WorkerSlot{0}, JobId{2}, true);
  mail.last_cancels(WorkerSlot{0}, JobId{2}, false);
  mail.last_cancels(WorkerSlot{0}, JobId{2}, false).preempt = true;
  mail.last_cancels(WorkerSlot{0}, JobId{2}, false);
  mail.last<StealRequest>(WorkerSlot{0}, kJob);
  mail.last<StealRequest>(WorkerSlot{0}, kJob);
  mail.last<StealRequest>(WorkerSlot{0}, JobId{2});
  mail.last_drops(WorkerSlot{0}, JobId{2}, true);
  EXPECT_EQ(mail.of(WorkerSlot{0}).size(), 9U);
}

TEST_P(WorkerMailTest, KeepsAreExtendedUpToTheirLimit) {
  for (int i = 0; i < 5; ++i) mail.last_keeps(WorkerSlot{0}, kJob, {3, 4}, 2).data.emplace_back();
  EXPECT_EQ(mail.of(WorkerSlot{0}).size(), 3U);
  for (const ToWorker& message : mail.of(WorkerSlot{0}))
    EXPECT_EQ(std::get<KeepBatch>(message).identity, (JobIdentity{3, 4}));
}

TEST_P(WorkerMailTest, NewPeersComeFirstAndOnce) {
  mail.tell(WorkerSlot{0}, Drain{true});
  workers[WorkerSlot{0}].new_peers.push_back({WorkerId{2}, "host:1"});
  workers[WorkerSlot{0}].has_new_peers = true;
  end_of_event();
  EXPECT_EQ(take(), (Told{{1, kind<PeerAddressBatch>()}, {1, kind<Drain>()}}));
  mail.of(WorkerSlot{0});
  end_of_event();
  EXPECT_TRUE(take().empty());
}

TEST_P(WorkerMailTest, AWorkerThatIsGoneIsToldNothing) {
  mail.tell(WorkerSlot{0}, Drain{true});
  workers[WorkerSlot{0}].alive = false;
  mail.tell(WorkerSlot{0}, Drain{false});
  end_of_event();
  EXPECT_TRUE(take().empty());
}

TEST_P(WorkerMailTest, ReportsAreAcknowledgedOnceTheyAreOnTheDisk) {
  workers[WorkerSlot{0}].reports_received = 4;
  mail.of(WorkerSlot{0});
  gate.write(record::JobForgotten{kJob});
  end_of_event();
  if (gate.durable()) {
    EXPECT_TRUE(take().empty());
    gate.persisted(1);
  }
  EXPECT_EQ(take(), (Told{{1, kind<ReportsApplied>()}}));
  mail.of(WorkerSlot{0});
  end_of_event();
  EXPECT_TRUE(take().empty()) << "nothing new was reported";
}

TEST_P(WorkerMailTest, ReportsWaitForTheProgressThatRestsOnThemIfThereIsAJournal) {
  workers[WorkerSlot{0}].reports_received = 4;
  mail.of(WorkerSlot{0});
  mail.flush();
  gate.commit(false);
  EXPECT_EQ(take(), gate.durable() ? Told{} : (Told{{1, kind<ReportsApplied>()}}));
  workers[WorkerSlot{0}].reports_received = 6;
  mail.of(WorkerSlot{0});
  end_of_event();
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(std::get<ReportsApplied>(std::get<supervisor_action::SendToWorker>(out[0]).message).through, 6U);
}

}  // namespace
}  // namespace penstock::supervisor
