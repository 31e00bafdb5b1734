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
  for (const auto& [worker, question] : cluster.take<ExplainQuestion>()) {
    EXPECT_EQ(question.subtask, (SubtaskId{JobId{1}, SubtaskIndex::none()}));
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
  cluster.worker_says(2, ExplainAnswer{questions[1], true, "", "1:1#1 two\n"});
  EXPECT_EQ(cluster.take_for<AdminAnswer>(kOperator).size(), 0U);
  cluster.worker_says(1, ExplainAnswer{questions[0], true, "", "1:0#1 one\n"});
  const std::vector<std::string> logs = answer(cluster);
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_TRUE(logs[0].ends_with(": 1:0#1 one\n")) << logs[0];
  EXPECT_TRUE(logs[1].ends_with(": 1:1#1 two\n")) << logs[1];
}

TEST_F(Logs, OfOneSubtaskAreAskedByItsKey) {
  SupervisorHarness cluster;
  start(cluster);
  const auto questions = ask(cluster, {"1", "b"});
  ASSERT_EQ(questions.size(), 2U);
  cluster.worker_says(1, ExplainAnswer{questions[0], false, "", ""});
  cluster.worker_says(2, ExplainAnswer{questions[1], true, "", "1:0#1 one\n1:1#1 two\n1:11#1 eleven\n1:1#2 three\n"});
  const std::vector<std::string> logs = answer(cluster);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_TRUE(logs[0].ends_with(": 1:1#1 two\n1:1#2 three\n")) << logs[0];
}

TEST_F(Logs, AWorkerThatIsLostOrSpeaksForAnotherHoldsUpNobody) {
  SupervisorHarness cluster;
  start(cluster);
  const auto questions = ask(cluster, {"1"});
  ASSERT_EQ(questions.size(), 2U);
  cluster.worker_says(1, ExplainAnswer{questions[1], true, "", "for another\n"});
  cluster.worker_says(1, ExplainAnswer{questions[0], true, "", "1:0#1 one\n"});
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
  cluster.worker_says(1, ExplainAnswer{questions[0], true, "", std::string(half, 'a')});
  const ExplainAnswer larger{questions[1], true, "", std::string(half, 'b') + "c"};
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
