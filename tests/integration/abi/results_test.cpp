// Results by penstock.h: what is there, what is empty, and what is not there.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>

#include "client/include/penstock/client.hpp"
#include "tests/integration/abi/embedded_client.hpp"
#include "tests/integration/abi/one_literal.hpp"

namespace penstock::engine {
namespace {

class ResultsTest : public EmbeddedClientTest {
 protected:
  ResultsTest() : EmbeddedClientTest(1) {}
  template <class T>
  static std::string why_not(const Expected<T>& result) {
    return result ? "it is there" : result.failure().code + ": " + result.failure().message;
  }
};

constexpr const char* kNotHere =
    "NotFound: has no result here: it has not succeeded, was not to be kept, or was released";

GraphBuilder one_value(Handle<std::string>& value) {
  GraphBuilder graph;
  value = graph.value(std::string{"payload"});
  return graph;
}

// The results of a released job came back as empty, and as success.
TEST_F(ResultsTest, ThoseOfAJobThatWasReleasedAreNotEmpty) {
  Handle<std::string> value;
  { EXPECT_EQ(submit(one_value(value), {.name = "again"}).result(value).value(), "payload"); }
  const Job job = submit(one_value(value), {.name = "again"});
  EXPECT_FALSE(job.ours()) << "the same job, released";
  // Until the worker has heard of the release its bytes may still be read, and are right.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};  // tidy: allow call: a deadline
  Expected<std::string> result = job.result(value);
  while (result && std::chrono::steady_clock::now() < deadline) {  // tidy: allow call: a deadline
    EXPECT_EQ(result.value(), "payload");
    result = job.result(value);
  }
  EXPECT_EQ(why_not(result), kNotHere);
}

TEST_F(ResultsTest, WhatWasNotToBeKeptIsNotEmpty) {
  GraphBuilder graph;
  const auto join = graph.operation<std::string>("concatenate");
  const auto read = graph.add(join, graph.value(std::string{"a"}));
  const auto other = graph.add(join, read);
  const auto wanted = graph.add(join, read);
  graph.want(wanted);
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.result(wanted).value(), "a");
  EXPECT_EQ(why_not(job.result(other)), kNotHere);
  EXPECT_EQ(why_not(job.result(read)), kNotHere);
  EXPECT_EQ(why_not(job.result(output_of<std::string>(wanted, 1))), kNotHere) << "it makes one";
}

TEST_F(ResultsTest, NothingIsThereOfAJobThatKeepsNothing) {
  OneLiteral one;
  ASSERT_EQ(one.add(), 0);
  penstock_job_options options{};
  options.size = sizeof options;
  options.keep_nothing = 1;
  const std::int64_t job = penstock_submit(client.native(), one.graph, &options);
  ASSERT_EQ(penstock_wait(client.native(), job, -1), PENSTOCK_SUCCEEDED);
  EXPECT_EQ(penstock_fetch(client.native(), job, nullptr, 1, 0), nullptr);
  EXPECT_STREQ(penstock_last_error().name, "NotFound");
  EXPECT_EQ(penstock_fetch(client.native(), job, nullptr, 1, 65536), nullptr) << "that is not output 0";
  EXPECT_STREQ(penstock_last_error().name, "InvalidArgument");
}

TEST_F(ResultsTest, WhatIsEmptyIsThere) {
  GraphBuilder graph;
  const auto empty = graph.value(std::string{});
  const Job job = submit(std::move(graph), {.name = "empty"});
  EXPECT_EQ(job.result(empty).value(), "");
  const Expected<Job> found = client.attach("empty");
  ASSERT_TRUE(found);
  EXPECT_EQ(found.value().result(empty).value(), "") << "the supervisor knows";
}

// Reading one result waited for the whole job.
TEST_F(ResultsTest, OneIsGivenWhileOthersRun) {
  GraphBuilder graph;
  const auto early = graph.value(std::string{"early"});
  const auto waits = graph.add_with(graph.runner<std::string>({PENSTOCK_TEST_RUNNER}), "wait", after(early));
  graph.want(early);
  graph.want(waits);
  Job job = submit(std::move(graph));
  EXPECT_EQ(job.result(early).value(), "early");
  EXPECT_EQ(job.poll().value(), JobState::Running);
  ASSERT_TRUE(job.cancel(waits));
  EXPECT_EQ(job.wait().value(), JobState::Cancelled);
  EXPECT_EQ(why_not(job.result(waits)).substr(0, 9), "Cancelled");
  EXPECT_EQ(job.result(early).value(), "early") << "it had succeeded";
}

// The job had failed, its error said that it had not, and what had succeeded could not be read.
TEST_F(ResultsTest, AJobThatWentOnWithoutWhatHasFailedSaysWhyAndGivesTheRest) {
  GraphBuilder graph;
  OperationOptions options;
  options.attempts_max = 1;
  options.continue_on_failure = true;
  const auto good = graph.value(std::string{"good"});
  const auto bad = graph.add_with(graph.runner<std::string>({PENSTOCK_TEST_RUNNER}, options), "fail");
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.wait().value(), JobState::Failed);
  EXPECT_LT(penstock_job_error(client.native(), job.number()), 0);
  EXPECT_EQ(job.result(good).value(), "good");
  EXPECT_NE(why_not(job.result(bad)).find("it does not work"), std::string::npos) << why_not(job.result(bad));
  const Expected<std::vector<SubtaskFailure>> failures = job.failures();
  ASSERT_TRUE(failures && failures.value().size() == 1);
  EXPECT_EQ(failures.value()[0].subtask, bad.subtask);
  EXPECT_EQ(failures.value()[0].history.size(), 1U);
}

TEST_F(ResultsTest, WhoeverWritesToOneIsSeenByNobodyElse) {
  const auto letters = [](const penstock_data* data, std::size_t index) {
    const penstock_bytes view = penstock_data_views(data)[index];
    const char* text = static_cast<const char*>(view.data);
    return std::string{text[0], text[view.size - 1]};
  };
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{1} << 20U}) {
    Handle<std::string> value;
    GraphBuilder graph;
    graph.want(value = graph.value(std::string(bytes, 'a')));
    const Job job = submit(std::move(graph));
    ASSERT_EQ(job.result(value).value().size(), bytes);
    const std::array<std::uint32_t, 2> twice{value.subtask, value.subtask};
    penstock_data* one = penstock_fetch(client.native(), job.number(), twice.data(), 2, 0);
    penstock_data* other = penstock_fetch(client.native(), job.number(), twice.data(), 1, 0);
    for (const char letter : {'b', 'c'}) {
      auto* own = static_cast<char*>(penstock_data_write(one, 1));
      ASSERT_NE(own, nullptr) << penstock_last_error().message;
      EXPECT_EQ(own, penstock_data_views(one)[1].data);
      own[0] = letter;
    }
    EXPECT_EQ(letters(one, 1), "ca");
    EXPECT_EQ(letters(one, 0), "aa") << "the same, asked for twice";
    EXPECT_EQ(letters(other, 0), "aa");
    EXPECT_EQ(job.result(value).value(), std::string(bytes, 'a'));
    EXPECT_EQ(penstock_data_write(one, 2), nullptr);
    EXPECT_STREQ(penstock_last_error().name, "InvalidArgument");
    penstock_data_free(one);
    penstock_data_free(other);
  }
  EXPECT_EQ(penstock_data_write(nullptr, 0), nullptr);
}

TEST_F(ResultsTest, ASubtaskBeginsAfterAnotherWithoutItsDatum) {
  GraphBuilder graph;
  const auto first = graph.value(std::string{"a"});
  const auto second = graph.value(std::string{"b"});
  const auto both = graph.add(graph.operation<std::string>("concatenate"), first, after(second));
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.result(both).value(), "a");
}

}  // namespace
}  // namespace penstock::engine
