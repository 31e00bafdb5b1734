// Coroutines that wait for results.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "client/include/penstock/client.hpp"
#include "tests/integration/abi/embedded_client.hpp"

namespace penstock::engine {
namespace {

class CoroutinesTest : public EmbeddedClientTest {
 public:
  CoroutinesTest() : EmbeddedClientTest(2) {}
  Coroutine<std::string> joined(std::string left, std::string right) {
    GraphBuilder graph;
    const auto join = graph.operation<std::string>("concatenate");
    const auto both = graph.add(join, graph.value(left), graph.value(right));
    const Job job = submit(std::move(graph));
    Expected<std::string> text = co_await loop.result(job, both);
    co_return text ? text.value() : text.failure().text();
  }
  /// Computes for so long.
  static std::string burn(std::chrono::nanoseconds time) {
    const auto ns = static_cast<std::uint64_t>(time.count());
    return {reinterpret_cast<const char*>(&ns), sizeof ns};
  }

  EventLoop loop{client};
};

TEST_F(CoroutinesTest, AResultIsAwaited) { EXPECT_EQ(loop.run(joined("one ", "two")), "one two"); }

TEST_F(CoroutinesTest, ACoroutineAwaitsOthers) {
  const auto sentence = [](CoroutinesTest& test) -> Coroutine<std::string> {
    const std::string first = co_await test.joined("a", "b");
    co_return co_await test.joined(first, "c");
  };
  EXPECT_EQ(loop.run(sentence(*this)), "abc");
}

TEST_F(CoroutinesTest, ManyThatWaitAtOnceAreEachResumed) {
  std::vector<std::string> seen;
  const auto note = [](CoroutinesTest& test, std::vector<std::string>& into, int number) -> Coroutine<> {
    into.push_back(co_await test.joined("job ", std::to_string(number)));
  };
  for (int number = 0; number < 200; ++number) loop.start(note(*this, seen, number));
  loop.run();
  ASSERT_EQ(seen.size(), 200U);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

TEST_F(CoroutinesTest, SubtasksOfOneJobComeAsTheyEnd) {
  GraphBuilder graph;
  const auto work = graph.operation<std::string>("burn");
  const auto slow = graph.add_with(work, burn(std::chrono::milliseconds{300}));
  const auto quick = graph.add_with(work, burn(std::chrono::nanoseconds{1}));
  const Job job = submit(std::move(graph));
  std::vector<std::string> order;
  const auto note = [](CoroutinesTest& test, const Job& of, Handle<std::string> one, std::string name,
                       std::vector<std::string>& into) -> Coroutine<> {
    const Expected<JobState> state = co_await test.loop.wait(of, one);
    into.push_back(name + (state && state.value() == JobState::Succeeded ? "" : " failed"));
  };
  loop.start(note(*this, job, slow, "slow", order));
  loop.start(note(*this, job, quick, "quick", order));
  loop.run();
  EXPECT_EQ(order, (std::vector<std::string>{"quick", "slow"}));
  const auto whole = [](CoroutinesTest& test, const Job& of) -> Coroutine<bool> {
    co_return (co_await test.loop.wait(of)).value() == JobState::Succeeded;
  };
  EXPECT_TRUE(loop.run(whole(*this, job))) << "it has ended by now";
}

TEST_F(CoroutinesTest, AFailureAndACancelAreResults) {
  GraphBuilder graph;
  const auto failing = graph.operation<std::string>("fail", {.payload = "on purpose", .attempts_max = 1});
  const auto bad = graph.add(failing);
  const auto after_it = graph.add(graph.operation<std::string>("concatenate"), bad);
  const Job job = submit(std::move(graph));
  const auto why = [](CoroutinesTest& test, const Job& of, Handle<std::string> one) -> Coroutine<std::string> {
    const Expected<std::string> result = co_await test.loop.result(of, one);
    co_return result ? "there" : result.failure().code + ": " + result.failure().message;
  };
  EXPECT_EQ(loop.run(why(*this, job, bad)), "UserError: failed for good: on purpose");
  EXPECT_NE(loop.run(why(*this, job, after_it)), "there");
}

TEST_F(CoroutinesTest, AnExceptionLeavesWhereItIsAwaited) {
  const auto thrower = [](CoroutinesTest& test) -> Coroutine<int> {
    static_cast<void>(co_await test.joined("a", "b"));
    throw std::runtime_error{"thrown"};  // tidy: allow call: as the code of an engine may
  };
  const auto catcher = [thrower](CoroutinesTest& test) -> Coroutine<std::string> {
    try {
      co_return std::to_string(co_await thrower(test));
    } catch (const std::runtime_error& error) {
      co_return error.what();
    }
  };
  EXPECT_EQ(loop.run(catcher(*this)), "thrown");
  EXPECT_THROW(loop.run(thrower(*this)), std::runtime_error);
  const auto started = [thrower](CoroutinesTest& test) -> Coroutine<> { static_cast<void>(co_await thrower(test)); };
  loop.start(started(*this));
  EXPECT_THROW(loop.run(), std::runtime_error);
}

TEST_F(CoroutinesTest, AnInterruptedClientEndsTheWaits) {
  GraphBuilder graph;
  const auto slow = graph.add_with(graph.operation<std::string>("burn"), burn(std::chrono::minutes{10}));
  const Job job = submit(std::move(graph));
  const auto why = [](CoroutinesTest& test, const Job& of, Handle<std::string> one) -> Coroutine<std::string> {
    const Expected<std::string> result = co_await test.loop.result(of, one);
    co_return result ? "there" : result.failure().code;
  };
  std::thread other{[&] { client.interrupt(); }};
  EXPECT_EQ(loop.run(why(*this, job, slow)), "Cancelled");
  other.join();
}

}  // namespace
}  // namespace penstock::engine
