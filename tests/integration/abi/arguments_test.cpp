// Arguments that callers give by mistake are refused: by penstock.h and by client.hpp.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "client/include/penstock/client.hpp"
#include "common/base/ids.hpp"
#include "common/net/runner_channel.hpp"
#include "common/wire/codec_runner.hpp"
#include "tests/integration/abi/one_literal.hpp"

namespace penstock::engine {
namespace {

const char* last_code() { return penstock_last_error().name; }

TEST(Arguments, AStructWithoutItsSizeIsRefused) {
  penstock_client_options options{};
  options.address = "127.0.0.1:1";
  EXPECT_EQ(penstock_client_open(&options), nullptr) << "a cluster inside this process was opened";
  EXPECT_STREQ(last_code(), "InvalidArgument");
  penstock_graph* graph = penstock_graph_new();
  penstock_template content{};
  content.program = "noop";
  EXPECT_LT(penstock_graph_add_template(graph, &content), 0);
  const std::array<std::uint32_t, 1> templates{0};
  penstock_subtasks columns{};
  columns.count = 1;
  columns.templates = templates.data();
  EXPECT_LT(penstock_graph_add_subtasks(graph, &columns), 0);
  EXPECT_STREQ(last_code(), "InvalidArgument");
  penstock_graph_free(graph);
}

TEST(Arguments, AStructOfTheFirstVersionIsTaken) {
  penstock_graph* graph = penstock_graph_new();
  penstock_template content{};
  content.size = offsetof(penstock_template, milli_gpu);
  content.program = "noop";
  content.milli_gpu = UINT32_MAX;
  EXPECT_EQ(penstock_graph_add_template(graph, &content), 0) << penstock_last_error().message;
  penstock_graph_free(graph);
}

TEST(Arguments, AListThatIsNotThereIsRefused) {
  penstock_graph* graph = penstock_graph_new();
  penstock_template content{};
  content.size = sizeof content;
  content.program = "noop";
  const auto refused = [&](void (*spoil)(penstock_template&)) {
    penstock_template spoilt = content;
    spoil(spoilt);
    return penstock_graph_add_template(graph, &spoilt) < 0 && std::string{last_code()} == "InvalidArgument";
  };
  static const std::array<const char*, 1> kNull{nullptr};
  EXPECT_TRUE(refused([](penstock_template& t) { t.argument_count = 1; }));
  EXPECT_TRUE(refused([](penstock_template& t) { t.environment_count = 1; }));
  EXPECT_TRUE(refused([](penstock_template& t) { t.resource_count = 1; }));
  EXPECT_TRUE(refused([](penstock_template& t) { t.payload.size = 1; }));
  EXPECT_TRUE(refused([](penstock_template& t) { t.argument_count = 1, t.arguments = kNull.data(); }));
  EXPECT_LT(penstock_graph_add_template(graph, nullptr), 0);
  EXPECT_LT(penstock_graph_add_template(nullptr, &content), 0);
  EXPECT_LT(penstock_graph_add_subtasks(graph, nullptr), 0);
  EXPECT_LT(penstock_graph_want(graph, nullptr, 1), 0);
  ASSERT_EQ(penstock_graph_add_template(graph, &content), 0);
  const std::array<std::uint32_t, 1> templates{0};
  const std::array<std::uint32_t, 2> name_offsets{0, 3};
  const std::array<std::uint64_t, 2> payload_offsets{0, 3};
  penstock_subtasks columns{};
  columns.size = sizeof columns;
  columns.count = 1;
  columns.templates = templates.data();
  columns.payload_offsets = payload_offsets.data();
  EXPECT_LT(penstock_graph_add_subtasks(graph, &columns), 0) << "`payloads` is NULL";
  columns.payload_offsets = nullptr;
  columns.name_offsets = name_offsets.data();
  columns.name_bytes = 3;
  EXPECT_LT(penstock_graph_add_subtasks(graph, &columns), 0) << "`names` is NULL";
  penstock_graph_free(graph);
}

// The sum of both went round and was small.
TEST(Arguments, PayloadsThatEndBeyondAllNumbersAreRefused) {
  OneLiteral one;
  ASSERT_EQ(one.add(), 0);
  one.offsets[1] = UINT64_MAX - 1;
  EXPECT_LT(one.add(), 0);
  EXPECT_STREQ(last_code(), "LimitExceeded");
  penstock_graph_free(one.graph);
}

TEST(Arguments, AClusterWithLessThanNoMemoryIsRefused) {
  penstock_client_options options{};
  options.size = sizeof options;
  options.memory_bytes = -5;
  EXPECT_EQ(penstock_client_open(&options), nullptr);
  EXPECT_STREQ(last_code(), "InvalidArgument");
  options.memory_bytes = 0;
  options.operator_count = 1;
  EXPECT_EQ(penstock_client_open(&options), nullptr);
}

TEST(Arguments, ARunOfALaterVersionIsTaken) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  penstock_runner* runner = penstock_runner_open(ends[0], "c++", "20");
  ASSERT_NE(runner, nullptr);
  struct {
    penstock_run run{};
    std::uint64_t more = 0;
  } later;
  EXPECT_EQ(penstock_runner_next(runner, &later.run), -1) << "its size is not set";
  EXPECT_STREQ(last_code(), "InvalidArgument");
  EXPECT_EQ(penstock_runner_next(runner, nullptr), -1);
  later.run.size = sizeof later;
  ::close(ends[1]);
  EXPECT_EQ(penstock_runner_next(runner, &later.run), 0) << "nobody needs it";
  penstock_runner_close(runner);
}

/// A runner and its worker; the test plays the worker.
class RunnerArgumentsTest : public ::testing::Test {
 protected:
  RunnerArgumentsTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    runner = penstock_runner_open(ends[0], "c++", "20");
    worker.emplace(Descriptor{ends[1]}, UINT32_MAX);
  }
  ~RunnerArgumentsTest() override { penstock_runner_close(runner); }
  void send(Attempt attempt) {
    ToRunner message;
    message.programs = {{7, "program"}};
    message.runs = {{1, 7, {JobId{2}, SubtaskIndex{3}}, attempt, 1, "payload", {}, {0xa, 0xb}}};
    ASSERT_TRUE(worker->send(encode_runner(message)));
  }

  penstock_runner* runner = nullptr;
  std::optional<RunnerChannel> worker;
};

TEST_F(RunnerArgumentsTest, AttemptsOfTwoLivesOfASupervisorShareNoNumber) {
  penstock_run run{};
  run.size = sizeof run;
  send(Attempt{1});
  ASSERT_EQ(penstock_runner_next(runner, &run), 1);
  EXPECT_EQ(run.attempt, 1U);
  EXPECT_EQ(run.attempt_number, 1U);
  const std::string first = run.attempt_id;
  EXPECT_EQ(first, "000000000000000a000000000000000b-3-1");
  penstock_runner_succeed(runner);
  send(Attempt{attempts_begin(2).value() + 1});
  ASSERT_EQ(penstock_runner_next(runner, &run), 1);
  EXPECT_EQ(run.attempt, 1U) << "the low half, as it always was";
  EXPECT_EQ(run.attempt_number, 4294967297U);
  EXPECT_NE(run.attempt_id, first);
}

TEST_F(RunnerArgumentsTest, ARunOfTheFirstVersionIsTaken) {
  penstock_run old{};
  old.size = offsetof(penstock_run, attempt_number);
  old.attempt_number = 77;  // A field unknown to the caller may be any data of the caller's.
  send(Attempt{attempts_begin(2).value() + 5});
  ASSERT_EQ(penstock_runner_next(runner, &old), 1);
  EXPECT_EQ(old.attempt, 5U);
  EXPECT_EQ(old.subtask, 3U);
  EXPECT_EQ(old.attempt_number, 77U) << "it was written to";
}

class ArgumentsTest : public ::testing::Test {
 protected:
  Client client = Client::open({.address = {}, .slots = 1}).value();
  std::int64_t submit(const penstock_job_options& options) {
    penstock_graph* graph = penstock_graph_new();
    penstock_template content{};
    content.size = sizeof content;
    content.program = "noop";
    penstock_graph_add_template(graph, &content);
    const std::array<std::uint32_t, 1> templates{0};
    penstock_subtasks columns{};
    columns.size = sizeof columns;
    columns.count = 1;
    columns.templates = templates.data();
    penstock_graph_add_subtasks(graph, &columns);
    return penstock_submit(client.native(), graph, &options);
  }
};

TEST_F(ArgumentsTest, OptionsOfAJobAreChecked) {
  penstock_job_options options{};
  options.name = "lost";
  EXPECT_LT(submit(options), 0) << "its name was not seen";
  options.size = sizeof options;
  const auto refused = [&](void (*spoil)(penstock_job_options&)) {
    penstock_job_options spoilt = options;
    spoil(spoilt);
    return submit(spoilt) < 0 && std::string{last_code()} == "InvalidArgument";
  };
  EXPECT_TRUE(refused([](penstock_job_options& o) { o.weight_thousandths = 1'000'000'001; }));
  EXPECT_TRUE(refused([](penstock_job_options& o) { o.gang = 1'000'000'001; }));
  EXPECT_TRUE(refused([](penstock_job_options& o) { o.slots_max = 1'000'000'001; }));
  EXPECT_TRUE(refused([](penstock_job_options& o) { o.preemptible = 3; }));
  EXPECT_TRUE(refused([](penstock_job_options& o) { o.time_limit_ns = -1; }));
  EXPECT_TRUE(refused([](penstock_job_options& o) { o.time_limit_ns = 999'999; }));
  EXPECT_TRUE(refused([](penstock_job_options& o) { o.pool_count = 1; }));
  EXPECT_TRUE(refused([](penstock_job_options& o) { o.label_count = 1; }));
  options.size = offsetof(penstock_job_options, project);
  EXPECT_GE(submit(options), 0) << "as older callers do";
}

TEST_F(ArgumentsTest, NoOtherJobIsMeantByANumberThatIsNone) {
  penstock_job_options options{};
  options.size = sizeof options;
  const std::int64_t job = submit(options);
  ASSERT_EQ(penstock_wait(client.native(), job, -1), PENSTOCK_SUCCEEDED);
  const std::int64_t wrong = job + (std::int64_t{1} << 32);
  penstock_counts counts{};
  EXPECT_LT(penstock_wait(client.native(), wrong, 0), 0);
  EXPECT_LT(penstock_job_counts(client.native(), wrong, &counts), 0);
  EXPECT_LT(penstock_job_counts(client.native(), job + 1, &counts), 0) << "there is none";
  EXPECT_STREQ(last_code(), "NotFound");
  EXPECT_LT(penstock_cancel(client.native(), wrong), 0);
  EXPECT_EQ(penstock_fetch(client.native(), wrong, nullptr, 1, 0), nullptr);
  penstock_release(client.native(), wrong);
  penstock_detach(client.native(), wrong);
  EXPECT_EQ(penstock_job_counts(client.native(), job, &counts), 0) << "it is still followed";
  EXPECT_LT(penstock_attach(client.native(), nullptr), 0);
  EXPECT_LT(penstock_wait(nullptr, job, 0), 0);
}

TEST_F(ArgumentsTest, AJobThatWasLeftSaysSo) {
  GraphBuilder graph;
  const auto value = graph.value(1);
  Job job = client.submit(std::move(graph)).value();
  const Expected<JobState> watched =
      job.watch(std::chrono::milliseconds{1}, [&](const penstock_counts&) { job.release(); });
  EXPECT_TRUE(watched || watched.failure().code == "WrongState");
  EXPECT_EQ(job.wait().failure().code, "WrongState");
  EXPECT_EQ(job.result(value).failure().code, "WrongState");
  EXPECT_EQ(job.cancel().failure().code, "WrongState");
  EXPECT_EQ(job.failures().failure().code, "WrongState");
  EXPECT_EQ(job.counts().total, 0U);
  const Job moved = std::move(job);
  EXPECT_EQ(job.poll().failure().code, "WrongState");
}

TEST_F(ArgumentsTest, ABuilderIsSubmittedOnce) {
  GraphBuilder graph;
  graph.value(1);
  GraphBuilder moved = std::move(graph);
  EXPECT_EQ(client.submit(std::move(graph)).failure().code, "WrongState");
  EXPECT_TRUE(client.submit(std::move(moved)));
  EXPECT_EQ(client.submit(std::move(moved)).failure().code, "WrongState");
}

TEST_F(ArgumentsTest, ARunnerWithoutACommandAndAWatchWithoutAListenerAreRefused) {
  GraphBuilder graph;
  graph.add(graph.runner<int>({}));
  EXPECT_EQ(client.submit(std::move(graph)).failure().code, "InvalidArgument");
  GraphBuilder good;
  good.value(1);
  const Job job = client.submit(std::move(good)).value();
  EXPECT_EQ(job.watch(std::chrono::milliseconds{1}, nullptr).failure().code, "InvalidArgument");
}

// Another value was given, or taken, without a word.
TEST_F(ArgumentsTest, AHandleOfAnotherGraphIsRefused) {
  GraphBuilder first;
  const auto one = first.value(1);
  GraphBuilder second;
  const auto two = second.value(2);
  const Job job = client.submit(std::move(second)).value();
  EXPECT_EQ(job.result(one).failure().code, "InvalidArgument");
  EXPECT_EQ(job.result(two).value(), 2);
  GraphBuilder third;
  third.add(third.operation<int>("concatenate"), one);
  EXPECT_EQ(client.submit(std::move(third)).failure().code, "InvalidArgument");
  GraphBuilder fourth;
  fourth.borrow(job, one);
  EXPECT_EQ(client.submit(std::move(fourth)).failure().code, "InvalidArgument");
}

}  // namespace
}  // namespace penstock::engine
