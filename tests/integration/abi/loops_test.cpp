// Loops of an engine: what it has let go takes no memory of the cluster.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "client/include/penstock/client.hpp"
#include "tests/integration/abi/embedded_client.hpp"

namespace penstock::engine {
namespace {

constexpr std::int64_t kStateBytes = 100'000;

class LoopsTest : public EmbeddedClientTest {
 protected:
  LoopsTest() : EmbeddedClientTest(2) {}
  /// Bytes of all outputs on the cluster.
  std::int64_t held() {
    const Expected<std::string> answer = client.ask("data");
    EXPECT_TRUE(answer) << (answer ? "" : answer.failure().text());
    std::int64_t sum = 0;
    const std::string field = "\"bytes\":";
    for (std::size_t at = 0; (at = answer.value().find(field, at)) != std::string::npos; ++at) {
      std::int64_t bytes = 0;
      const char* number = answer.value().data() + at + field.size();
      std::from_chars(number, answer.value().data() + answer.value().size(), bytes);
      sum += bytes;
    }
    return sum;
  }
  bool falls_to(std::int64_t bytes) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};  // tidy: allow call: a deadline
    while (held() > bytes)
      if (std::chrono::steady_clock::now() > deadline) return false;  // tidy: allow call: a deadline
    return true;
  }
};

TEST_F(LoopsTest, AThousandStepsHoldTheStateAndTheNextOne) {
  GraphBuilder first;
  Handle<std::string> state = first.value(std::string(kStateBytes, 'x'));
  Job job = submit(std::move(first));
  std::int64_t most = 0;
  for (int step = 0; step < 1000; ++step) {
    GraphBuilder graph;
    const auto borrowed = graph.borrow(job, state);
    const auto next = graph.add(graph.operation<std::string>("concatenate"), borrowed);
    job = submit(std::move(graph));
    state = next;
    ASSERT_EQ(job.wait(state).value(), JobState::Succeeded);
    if (step % 50 == 0) most = std::max(most, held());
  }
  EXPECT_EQ(job.result(state).value().size(), static_cast<std::size_t>(kStateBytes));
  EXPECT_LE(most, 4 * kStateBytes);
  EXPECT_TRUE(falls_to(kStateBytes + 1000));
  job.release();
  EXPECT_TRUE(falls_to(0));
}

TEST_F(LoopsTest, ResultsOfAJobAreLetGoOneByOne) {
  GraphBuilder graph;
  std::vector<Handle<std::string>> parts;
  for (int i = 0; i < 40; ++i) parts.push_back(graph.value(std::string(kStateBytes, static_cast<char>('a' + i % 26))));
  const auto last = graph.add(graph.operation<std::string>("concatenate"), parts.front(), parts.back());
  for (const auto& part : parts) graph.want(part);
  graph.want(last);
  Job job = submit(std::move(graph));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(job.result(parts[i]).value().front(), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(job.release(parts[i]));
  }
  ASSERT_EQ(job.wait().value(), JobState::Succeeded);
  EXPECT_TRUE(falls_to(2 * kStateBytes + 1000)) << "the last one reads two of them, and is wanted";
  const Expected<std::string> released = job.result(parts.front());
  ASSERT_FALSE(released);
  EXPECT_EQ(released.failure().code, "NotFound");
  EXPECT_EQ(job.result(last).value().size(), static_cast<std::size_t>(2 * kStateBytes));
  ASSERT_TRUE(job.release(std::vector{last}));
  EXPECT_TRUE(falls_to(0));
}

TEST_F(LoopsTest, WhatAnotherCallerHoldsAsWellIsNotReleased) {
  GraphBuilder graph;
  const auto value = graph.value(std::string{"payload"});
  graph.want(value);
  Expected<Job> job = client.submit(std::move(graph), {.name = "shared"});
  ASSERT_TRUE(job);
  Expected<Job> other = client.attach("shared");
  ASSERT_TRUE(other);
  ASSERT_TRUE(job.value().release(value));
  EXPECT_EQ(job.value().result(value).value(), "payload");
  EXPECT_LT(penstock_release_outputs(client.native(), job.value().number(), nullptr, 1), 0);
}

TEST_F(LoopsTest, AWrongQuestionIsRefusedByName) {
  const Expected<std::string> answer = client.ask("colour");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.failure().code, "Unsupported");
}

}  // namespace
}  // namespace penstock::engine
