// SupervisorCore: the answer to a cancel leaves when workers have carried it out.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

JobSpec named(const std::string& name) {
  JobSpec spec;
  spec.name = name;
  return spec;
}

std::vector<std::string> unconfirmed(const AdminAnswer& answer) {
  std::vector<std::string> names;
  if (const Value::List* list = answer.value["unconfirmed"].list())
    for (const Value& name : *list) names.push_back(*name.text());
  return names;
}

/// Two workers hold something of a job that is written down.
class ConfirmationsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster->join();
    cluster->join();
    cluster->submit(GraphBuilder{}.sources(4).build(), named("one"));
    cluster.write_all();
    cluster->ignore();
  }

  void cancel(std::uint64_t request = 1) { cluster->client_says(AdminRequest{request, "cancel", {"one"}}); }

  /// What each worker was asked since the last call, behind its cancel.
  std::vector<std::pair<WorkerId, ExplainQuestion>> asked() {
    cluster->cancels();
    return cluster->take<ExplainQuestion>();
  }

  void confirm(const std::pair<WorkerId, ExplainQuestion>& asked) {
    cluster->worker_says(asked.first.value(), ExplainAnswer{asked.second.question, false, {}, {}});
  }

  JournalHarness cluster;
};

TEST_F(ConfirmationsTest, ACancelIsAnsweredWhenTheDiskAndAllItsWorkersHaveIt) {
  for (const bool disk_first : {true, false}) {
    SCOPED_TRACE(disk_first);
    if (!disk_first) {
      cluster->submit(GraphBuilder{}.sources(4).build(), named("two"));
      cluster.write_all();
      cluster->ignore();
    }
    cluster->client_says(AdminRequest{1, "cancel", {disk_first ? "one" : "two"}});
    const auto questions = asked();
    ASSERT_EQ(questions.size(), 2U);
    if (disk_first) cluster.write_all();
    EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty()) << "no worker has confirmed it";
    confirm(questions[0]);
    EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty()) << "one has not";
    confirm(questions[1]);
    EXPECT_EQ(cluster->take_for<AdminAnswer>().size(), disk_first ? 1U : 0U);
    if (!disk_first) {
      cluster.write_all();
      const auto answers = cluster->take_for<AdminAnswer>();
      ASSERT_EQ(answers.size(), 1U);
      EXPECT_EQ(unconfirmed(answers[0]), Lines{});
    }
    cluster->ignore();
  }
}

TEST_F(ConfirmationsTest, AWorkerIsAskedBehindItsCancel) {
  cancel();
  std::map<WorkerId, bool> cancelled;
  for (const auto& [worker, batch] : cluster->take<CancelBatch>()) cancelled[worker] = batch.whole_job;
  EXPECT_EQ(cancelled, (std::map<WorkerId, bool>{{WorkerId{1}, true}, {WorkerId{2}, true}}));
  EXPECT_EQ(asked().size(), 2U);
  cluster->ignore();
}

TEST_F(ConfirmationsTest, AWorkerThatIsLostFirstIsNamedInTheAnswer) {
  cancel();
  const auto questions = asked();
  cluster.write_all();
  PENSTOCK_EXPECT_COVERAGE_MARK("a cancel was not confirmed by a worker", (cluster->lose(1), cluster.write_all()));
  EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty());
  confirm(questions[1]);
  cluster.write_all();
  const auto answers = cluster->take_for<AdminAnswer>();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(unconfirmed(answers[0]), Lines{"worker-1"});
  cluster->ignore();
}

TEST_F(ConfirmationsTest, WithoutWorkersThatKnowTheJobItIsAnsweredAtOnce) {
  cluster->lose(1);
  cluster->lose(2);
  cluster.write_all();
  cluster->ignore();
  cancel();
  cluster.write_all();
  EXPECT_EQ(cluster->take_for<AdminAnswer>().size(), 1U);
  cluster->ignore();
}

TEST_F(ConfirmationsTest, WorkersOfBeforeARestartConfirmItWhenTheyAreBackAndTheOthersAreNamed) {
  cluster.restart_for_claims();
  cancel();
  cluster.write_all();
  EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty());
  EXPECT_TRUE(asked().empty());
  cluster->come_back(1, {.jobs = {{JobId{1}, {{SubtaskIndex{0}, Attempt{1}, BandIndex{0}, ClaimedStage::Queued}}, {}}}});
  PENSTOCK_EXPECT_COVERAGE_MARK("a cancel waited for workers of before a restart to confirm it", {
    cluster->tick_at_deadline();
    cluster.write_all();
  });
  const auto questions = asked();
  ASSERT_EQ(questions.size(), 1U);
  EXPECT_EQ(questions[0].first, WorkerId{1});
  cluster.write_all();
  EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty());
  confirm(questions[0]);
  cluster.write_all();
  const auto answers = cluster->take_for<AdminAnswer>();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(unconfirmed(answers[0]), Lines{"worker-2"});
  cluster->alerts();
  cluster->ignore();
}

TEST_F(ConfirmationsTest, AClientThatIsGoneIsForgotten) {
  cancel();
  const auto questions = asked();
  cluster->handle(supervisor_event::ClientGone{ClientId{1}});
  for (const auto& question : questions) confirm(question);
  cluster.write_all();
  EXPECT_TRUE(cluster->take_for<AdminAnswer>().empty());
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
