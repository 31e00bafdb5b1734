// SupervisorCore: what runners have written is asked from all workers and answered as one.
#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

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

// It would leave a message out that it does not know, and the operator waited for ever.
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

}  // namespace
}  // namespace penstock::supervisor
