#include "supervisor/core/admin/worker_questions.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {
namespace {

constexpr JobId kJob{1};
constexpr WorkerQuestions::Asker kAsker{ClientId{9}, 7};
constexpr std::array kBoth{WorkerId{1}, WorkerId{2}};

class WorkerQuestionsTest : public ::testing::Test {
 protected:
  WorkerQuestionsTest() {
    event.out = &out;
    for (std::uint32_t i = 1; i <= 2; ++i) {
      Register description;
      description.name = "worker-" + std::to_string(i);
      description.log_questions = true;
      workers.add(WorkerId{i}, Incarnation{i}, description);
    }
  }

  /// The numbers of the questions that workers were asked since the last call, in order.
  template <class Message>
  std::vector<std::uint64_t> asked() {
    mail.flush();
    std::vector<std::uint64_t> numbers;
    for (const SupervisorAction& action : out)
      if (const auto* word = std::get_if<supervisor_action::SendToWorker>(&action))
        numbers.push_back(std::get<Message>(word->message).question);
    out.clear();
    return numbers;
  }
  std::vector<AdminAnswer> answers() {
    std::vector<AdminAnswer> found;
    for (const SupervisorAction& action : out)
      if (const auto* word = std::get_if<supervisor_action::SendToClient>(&action)) {
        EXPECT_EQ(word->client, kAsker.client);
        found.push_back(std::get<AdminAnswer>(word->message));
      }
    out.clear();
    return found;
  }
  static Value about(const char* what) { return Value::Record{{"job", what}}; }

  Actions<SupervisorAction> out;
  EventContext event;
  WorkerTable workers;
  CommitGate gate{Durability::None, event};
  WorkerMail mail{workers, gate, event};
  WorkerQuestions questions{workers, mail, gate, Bytes{64}};
};

TEST_F(WorkerQuestionsTest, AnExplanationIsCompletedByItsWorkerAlone) {
  questions.ask_for_explanation(WorkerSlot{0}, {kJob, SubtaskIndex{3}}, kAsker, about("job-1"));
  const auto numbers = asked<ExplainQuestion>();
  ASSERT_EQ(numbers.size(), 1U);
  questions.answered(WorkerSlot{1}, ExplainAnswer{numbers[0], true, "running", "it runs"});
  questions.answered(WorkerSlot{0}, ExplainAnswer{numbers[0] + 1, true, "running", "it runs"});
  EXPECT_TRUE(answers().empty());
  questions.answered(WorkerSlot{0}, ExplainAnswer{numbers[0], true, "running", "it runs"});
  const auto found = answers();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].request, kAsker.request);
  EXPECT_EQ(*found[0].value["job"].text(), "job-1");
  EXPECT_EQ(*found[0].value["worker_state"].text(), "running");
  EXPECT_EQ(*found[0].value["worker_reason"].text(), "it runs");
  questions.answered(WorkerSlot{0}, ExplainAnswer{numbers[0], true, "running", "again"});
  EXPECT_TRUE(answers().empty());
}

TEST_F(WorkerQuestionsTest, AnExplanationOfALostWorkerSaysSo) {
  questions.ask_for_explanation(WorkerSlot{0}, {kJob, SubtaskIndex{3}}, kAsker, about("job-1"));
  questions.worker_lost(WorkerId{2}, "killed");
  EXPECT_TRUE(answers().empty());
  questions.worker_lost(WorkerId{1}, "killed");
  const auto found = answers();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(*found[0].value["worker_state"].text(), "lost");
  EXPECT_EQ(*found[0].value["worker_reason"].text(), "killed");
}

TEST_F(WorkerQuestionsTest, ALogAnswerDoesNotAnswerAnotherQuestion) {
  questions.ask_for_explanation(WorkerSlot{0}, {kJob, SubtaskIndex{3}}, kAsker, about("job-1"));
  const auto numbers = asked<ExplainQuestion>();
  questions.answered(WorkerSlot{0}, LogAnswer{numbers[0], "1:3#1 lines\n"});
  EXPECT_TRUE(answers().empty());
  questions.answered(WorkerSlot{0}, ExplainAnswer{numbers[0], true, "running", ""});
  EXPECT_EQ(answers().size(), 1U);
}

TEST_F(WorkerQuestionsTest, LogsOfAllWorkersGatherAndAreCutToTheAnswer) {
  ASSERT_TRUE(questions.ask_for_logs(kJob, "1:", kAsker));
  const auto numbers = asked<LogQuestion>();
  ASSERT_EQ(numbers.size(), 2U);
  questions.answered(WorkerSlot{1}, LogAnswer{numbers[1], "1:0#1 " + std::string(100, 'x') + "\n2:0#1 other\n"});
  EXPECT_TRUE(answers().empty());
  PENSTOCK_EXPECT_COVERAGE_MARK("a log was cut to its part of the answer",
                                questions.answered(WorkerSlot{0}, LogAnswer{numbers[0], "1:1#1 short\n"}));
  const auto found = answers();
  ASSERT_EQ(found.size(), 1U);
  const Value::List& logs = *found[0].value["logs"].list();
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(*logs[0]["log"].text(), "1:1#1 short\n");
  EXPECT_EQ(*logs[1]["log"].text(), "... earlier lines were left out\n" + std::string(31, 'x') + "\n");
}

TEST_F(WorkerQuestionsTest, WithoutWorkersNobodyIsAsked) {
  workers.remove(WorkerSlot{0});
  workers.remove(WorkerSlot{1});
  EXPECT_FALSE(questions.ask_for_logs(kJob, "", kAsker));
  EXPECT_FALSE(questions.ask_for_confirmations(kJob, kBoth, kAsker, about("job-1")));
}

TEST_F(WorkerQuestionsTest, ACancelIsConfirmedByAllAndNamesTheLost) {
  ASSERT_TRUE(questions.ask_for_confirmations(kJob, kBoth, kAsker, about("job-1")));
  const auto numbers = asked<ExplainQuestion>();
  ASSERT_EQ(numbers.size(), 2U);
  PENSTOCK_EXPECT_COVERAGE_MARK("a cancel was not confirmed by a worker", questions.worker_lost(WorkerId{1}, "killed"));
  EXPECT_TRUE(answers().empty());
  questions.answered(WorkerSlot{1}, ExplainAnswer{numbers[1], false, {}, {}});
  const auto found = answers();
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].value["unconfirmed"].list()->size(), 1U);
  EXPECT_EQ(*(*found[0].value["unconfirmed"].list())[0].text(), "worker-1");
}

TEST_F(WorkerQuestionsTest, WorkersOfBeforeARestartAreAskedWhenTheyAreBack) {
  questions.ask_for_confirmations_later(kJob, kAsker, about("job-1"));
  questions.workers_are_back(JobId{2}, kBoth, {});
  EXPECT_TRUE(asked<ExplainQuestion>().empty());
  questions.workers_are_back(kJob, std::span{kBoth}.first(1), {"worker-2"});
  const auto numbers = asked<ExplainQuestion>();
  ASSERT_EQ(numbers.size(), 1U);
  questions.answered(WorkerSlot{0}, ExplainAnswer{numbers[0], false, {}, {}});
  const auto found = answers();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(*(*found[0].value["unconfirmed"].list())[0].text(), "worker-2");
}

TEST_F(WorkerQuestionsTest, AClientThatIsGoneIsAnsweredNothing) {
  questions.ask_for_logs(kJob, "", kAsker);
  const auto numbers = asked<LogQuestion>();
  questions.client_gone(kAsker.client);
  for (std::uint32_t i = 0; i < 2; ++i) questions.answered(WorkerSlot{i}, LogAnswer{numbers[i], "line\n"});
  EXPECT_TRUE(answers().empty());
}

// Logs: the lines of runners are asked from all workers and answered as one.

constexpr ClientId kOperator{99};

/// The questions that two workers were asked for the log of job 1.
std::vector<std::uint64_t> ask(SupervisorHarness& cluster, std::vector<std::string> arguments) {
  cluster.client_says(AdminRequest{7, "logs", std::move(arguments)}, kOperator);
  std::vector<std::uint64_t> numbers;
  for (const auto& [worker, question] : cluster.take<LogQuestion>()) {
    EXPECT_EQ(question.job, JobId{1});
    numbers.push_back(question.question);
  }
  return numbers;
}

std::vector<std::string> answer(SupervisorHarness& cluster) {
  std::vector<std::string> logs;
  for (const AdminAnswer& reply : cluster.take_for<AdminAnswer>(kOperator)) {
    EXPECT_EQ(reply.request, 7U);
    for (const Value& entry : *reply.value["logs"].list())
      logs.push_back(*entry["worker"].text() + ": " + *entry["log"].text());
  }
  return logs;
}

class Logs : public ::testing::Test {
 protected:
  void start(SupervisorHarness& cluster) {
    cluster.join();
    cluster.join();
    cluster.submit(GraphBuilder{}.sources(2).keys({"a", "b"}).build());
    cluster.assigned();
  }
};

TEST_F(Logs, OfAllWorkersAreAnsweredAsOneWhenTheLastHasSpoken) {
  SupervisorHarness cluster;
  start(cluster);
  const auto questions = ask(cluster, {"1"});
  ASSERT_EQ(questions.size(), 2U);
  cluster.worker_says(2, LogAnswer{questions[1], "1:1#1 two\n"});
  EXPECT_EQ(cluster.take_for<AdminAnswer>(kOperator).size(), 0U);
  cluster.worker_says(1, LogAnswer{questions[0], "1:0#1 one\n"});
  const std::vector<std::string> logs = answer(cluster);
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_TRUE(logs[0].ends_with(": 1:0#1 one\n")) << logs[0];
  EXPECT_TRUE(logs[1].ends_with(": 1:1#1 two\n")) << logs[1];
}

// A worker ignores a message that it does not know, and the operator waited for ever.
TEST_F(Logs, OfAWorkerOfProtocol10AreAskedAndAnsweredAsItKnowsThem) {
  SupervisorHarness cluster;
  cluster.join({.log_questions = false});
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(2).keys({"a", "b"}).build());
  cluster.assigned();
  PENSTOCK_EXPECT_COVERAGE_MARK("a worker of protocol 1.0 was asked for a log",
                                cluster.client_says(AdminRequest{7, "logs", {"1"}}, kOperator));
  const auto old = cluster.take<ExplainQuestion>();
  ASSERT_EQ(old.size(), 1U);
  EXPECT_EQ(old[0].second.subtask, (SubtaskId{JobId{1}, SubtaskIndex::none()}));
  const auto questions = cluster.take<LogQuestion>();
  ASSERT_EQ(questions.size(), 1U);
  cluster.worker_says(1, ExplainAnswer{old[0].second.question, true, "", "1:0#1 one\n"});
  cluster.worker_says(2, LogAnswer{questions[0].second.question, "1:1#1 two\n"});
  EXPECT_EQ(answer(cluster).size(), 2U);
}

TEST_F(Logs, AnAnswerToAnotherQuestionIsNoLog) {
  SupervisorHarness cluster;
  start(cluster);
  cluster.client_says(AdminRequest{7, "explain", {"1", "a"}}, kOperator);
  const auto questions = cluster.take<ExplainQuestion>();
  ASSERT_EQ(questions.size(), 1U);
  const WorkerId asked = questions[0].first;
  cluster.worker_says(asked.value(), LogAnswer{questions[0].second.question, "1:0#1 one\n"});
  EXPECT_EQ(cluster.take_for<AdminAnswer>(kOperator).size(), 0U);
  cluster.worker_says(asked.value(), ExplainAnswer{questions[0].second.question, true, "Running", "runs"});
  EXPECT_EQ(cluster.take_for<AdminAnswer>(kOperator).size(), 1U);
}

TEST_F(Logs, OfOneSubtaskAreAskedByItsKey) {
  SupervisorHarness cluster;
  start(cluster);
  const auto questions = ask(cluster, {"1", "b"});
  ASSERT_EQ(questions.size(), 2U);
  cluster.worker_says(1, LogAnswer{questions[0], ""});
  cluster.worker_says(2, LogAnswer{questions[1], "1:0#1 one\n1:1#1 two\n1:11#1 eleven\n1:1#2 three\n"});
  const std::vector<std::string> logs = answer(cluster);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_TRUE(logs[0].ends_with(": 1:1#1 two\n1:1#2 three\n")) << logs[0];
}

TEST_F(Logs, AWorkerThatIsLostOrSpeaksForAnotherHoldsUpNobody) {
  SupervisorHarness cluster;
  start(cluster);
  const auto questions = ask(cluster, {"1"});
  ASSERT_EQ(questions.size(), 2U);
  cluster.worker_says(1, LogAnswer{questions[1], "for another\n"});
  cluster.worker_says(1, LogAnswer{questions[0], "1:0#1 one\n"});
  EXPECT_EQ(cluster.take_for<AdminAnswer>(kOperator).size(), 0U);
  cluster.lose(2);
  cluster.alerts();
  EXPECT_EQ(answer(cluster).size(), 1U);
  cluster.ignore();
}

TEST_F(Logs, BeyondTheLimitOfAnAnswerTheEndsAreTold) {
  SupervisorConfig config;
  config.log_answer_bytes_max = kKiB * 8;
  SupervisorHarness cluster{config};
  start(cluster);
  const auto questions = ask(cluster, {"1"});
  ASSERT_EQ(questions.size(), 2U);
  const std::size_t half = 4 << 10;
  cluster.worker_says(1, LogAnswer{questions[0], std::string(half, 'a')});
  const LogAnswer larger{questions[1], std::string(half, 'b') + "c"};
  PENSTOCK_EXPECT_COVERAGE_MARK("a log was cut to its part of the answer", cluster.worker_says(2, larger));
  const std::vector<std::string> logs = answer(cluster);
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_TRUE(logs[0].ends_with(": " + std::string(half, 'a')));
  EXPECT_TRUE(logs[1].ends_with("were left out\n" + std::string(half - 1, 'b') + "c"));
}

TEST_F(Logs, OfWhatIsNotKnownAreRefused) {
  SupervisorHarness cluster;
  EXPECT_FALSE(cluster.ask("logs", {"1"}).has_value());
  cluster.submit(GraphBuilder{}.sources(1).build());
  EXPECT_FALSE(cluster.ask("logs", {"1", "nobody"}).has_value());
  const Result<Value> answer = cluster.ask("logs", {"1"});
  ASSERT_TRUE(answer.has_value()) << "without workers there is nothing to wait for";
  EXPECT_TRUE((*answer)["logs"].list()->empty());
}

// Confirmations: the answer to a cancel leaves when workers have carried it out.

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

  /// The questions to each worker since the last call, behind its cancel.
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
  cluster->come_back(1,
                     {.jobs = {{JobId{1}, {{SubtaskIndex{0}, Attempt{1}, BandIndex{0}, ClaimedStage::Queued}}, {}}}});
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
