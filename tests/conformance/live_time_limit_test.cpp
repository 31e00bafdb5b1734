// The time limit of a job on a live cluster.
#include "tests/conformance/live_policy.hpp"

namespace penstock::tools {
namespace {

std::string text_of(const Result<Value>& answer, const char* field) {
  const std::string* text = answer ? (*answer)[field].text() : nullptr;
  return text == nullptr ? "" : *text;
}

double number_of(const Result<Value>& answer, const char* field) {
  const double* number = answer ? (*answer)[field].number() : nullptr;
  return number == nullptr ? -1 : *number;
}

// With a limit the runs end at it, so the promise to the head of the queue is kept whatever they do.
TEST(LiveTimeLimit, AJobThatEndsInTimePassesTheBlockedHeadAndOneWithoutALimitDoesNot) {
  for (const auto& [limit, passes] : {std::pair{Duration{30s}, true}, {Duration{0}, false}, {Duration{200s}, false}}) {
    LiveCluster cluster{config_of("multifactor")};
    cluster.join(cpu_worker("w1", 4));
    const JobId runs = submit(cluster, {.name = "runs", .milli = 3000, .time_limit = 100s});
    cluster.advance(1s);
    ASSERT_EQ(running(cluster, runs), 1U);
    const JobId head = submit(cluster, {.name = "head", .milli = 4000});
    cluster.advance(1s);
    const JobId small = submit(cluster, {.name = "small", .time_limit = limit});
    cluster.advance(5s);
    EXPECT_EQ(running(cluster, small), passes ? 1U : 0U) << limit.count();
    const Result<Value> start = cluster.ask("explain", {"head"});
    ASSERT_TRUE(start.has_value());
    EXPECT_EQ(text_of((*start)["start"], "kind"), "reserved");
    EXPECT_NEAR(number_of((*start)["start"], "within_s"), 93, 2) << "by the limit of what runs";
    cluster.advance(100s);
    EXPECT_EQ(running(cluster, head), 1U) << "at the end of the limits, though nothing has ended by itself";
    EXPECT_EQ(running(cluster, runs), 0U);
  }
}

// D7 of issue 23: the same under `priority`, where only limits that are kept count.
TEST(LiveTimeLimit, UnderPriorityAJobThatEndsInTimePassesTheHead) {
  for (const auto& [limit, passes] : {std::pair{Duration{30s}, true}, {Duration{0}, false}, {Duration{200s}, false}}) {
    LiveCluster cluster{config_of("priority")};
    cluster.join(cpu_worker("w1", 4));
    const JobId runs = submit(cluster, {.name = "runs", .milli = 3000, .time_limit = 100s});
    cluster.advance(1s);
    ASSERT_EQ(running(cluster, runs), 1U);
    const JobId head = submit(cluster, {.name = "head", .milli = 4000, .priority = 5});
    cluster.advance(1s);
    const JobId small = submit(cluster, {.name = "small", .subtasks = 20, .time_limit = limit});
    cluster.advance(5s);
    EXPECT_EQ(running(cluster, small), passes ? 1U : 0U) << limit.count();
    EXPECT_EQ(running(cluster, head), 0U);
    cluster.advance(100s);
    EXPECT_EQ(running(cluster, head), 1U);
    EXPECT_EQ(preemptions(cluster), 0U);
  }
}

TEST(LiveTimeLimit, AJobOverItsLimitIsStoppedAndHasFailed) {
  for (const bool policed : {true, false}) {
    SupervisorConfig config = config_of("fair_share");
    if (!policed) config.policy = {};
    LiveCluster cluster{config};
    cluster.join(cpu_worker("w1", 2));
    const JobId job = submit(cluster, {.name = "job", .subtasks = 8, .time_limit = 20s});
    const JobId other = submit(cluster, {.name = "other", .subtasks = 8});
    cluster.advance(15s);
    ASSERT_GE(running(cluster, job), 1U);
    const Result<Value> before = cluster.ask("job", {"job"});
    EXPECT_EQ(number_of(before, "time_limit_s"), 20);
    EXPECT_NEAR(number_of(before, "time_left_s"), 5, 1);
    cluster.advance(6s);
    const Result<Value> after = cluster.ask("job", {"job"});
    EXPECT_EQ(text_of(after, "state"), "failed");
    EXPECT_NE(text_of(after, "error").find("reached its time_limit of 20s (raise time_limit"), std::string::npos);
    EXPECT_EQ(running(cluster, job), 0U);
    EXPECT_EQ(running(cluster, other), 2U) << "its slots are free";
    EXPECT_EQ(cluster.troubles().size(), 0U);
  }
}

TEST(LiveTimeLimit, APreemptedJobHasItsWholeLimitAgainAndTimeInTheQueueIsNone) {
  SupervisorConfig config = config_of("priority");
  config.policy.pools[0].preemption = true;
  LiveCluster cluster{config};
  cluster.join(cpu_worker("w1", 2));
  const JobId low = submit(cluster, {.name = "low", .subtasks = 2, .time_limit = 60s});
  cluster.advance(50s);
  ASSERT_EQ(running(cluster, low), 2U);
  const JobId high = submit(cluster, {.name = "high", .subtasks = 2, .priority = 5});
  cluster.advance(40s);
  ASSERT_EQ(running(cluster, high), 2U);
  ASSERT_EQ(running(cluster, low), 0U);
  EXPECT_EQ(text_of(cluster.ask("job", {"low"}), "state"), "running") << "it waits, past what was its limit";
  EXPECT_EQ(number_of(cluster.ask("job", {"low"}), "time_left_s"), -1);
  for (std::uint32_t subtask = 0; subtask < 2; ++subtask) cluster.end({high, SubtaskIndex{subtask}});
  cluster.advance(5s);
  EXPECT_EQ(running(cluster, low), 2U);
  EXPECT_NEAR(number_of(cluster.ask("job", {"low"}), "time_left_s"), 55, 2);
  cluster.advance(60s);
  EXPECT_EQ(text_of(cluster.ask("job", {"low"}), "state"), "failed");
}

}  // namespace
}  // namespace penstock::tools
