// An engine's view of a cluster: client.hpp and penstock.h, nothing else of ours.
#include "client/include/penstock/client.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

namespace penstock::engine {
namespace {

/// One cluster inside this process for each test.
class ClientTest : public ::testing::Test {
 protected:
  static Client open() {
    ClientOptions options;
    options.slots = 2;
    Expected<Client> client = Client::open(options);
    EXPECT_TRUE(client) << (client ? "" : client.failure().text());
    return std::move(client).value();
  }
  Job submit(GraphBuilder&& graph, const JobOptions& options = {}) {
    Expected<Job> job = client.submit(std::move(graph), options);
    EXPECT_TRUE(job) << (job ? "" : job.failure().text());
    return std::move(job).value();
  }
  static std::vector<std::string> runner() { return {PENSTOCK_TEST_RUNNER}; }

  Client client = open();
};

TEST_F(ClientTest, AValueComesBackAsItWas) {
  GraphBuilder graph;
  const Handle<double> number = graph.value(2.5);
  const Handle<std::string> text = graph.value(std::string{"bytes"});
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.result(number).value(), 2.5);
  EXPECT_EQ(job.result(text).value(), "bytes");
}

TEST_F(ClientTest, ARunnerGetsItsInputsInOrder) {
  GraphBuilder graph;
  const auto join = graph.runner<std::string>(runner());
  const auto first = graph.value(std::string{"a"});
  const auto second = graph.value(std::string{"b"});
  const auto both = graph.add_with(join, "join", second, first);
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.result(both).value(), "b;a;");
}

TEST_F(ClientTest, ARunnerHasTheVariablesAndTheDirectoryOfItsOperation) {
  GraphBuilder graph;
  OperationOptions options;
  options.environment = {"TEST_RUNNER_WORD=given"};
  options.working_directory = "/usr";
  const auto given = graph.add_with(graph.runner<std::string>(runner(), options), "where");
  const auto plain = graph.add_with(graph.runner<std::string>(runner()), "where");
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.result(given).value(), "/usr given");
  EXPECT_EQ(job.result(plain).value().back(), ' ');
}

TEST_F(ClientTest, AResultIsReadWhereItLies) {
  GraphBuilder graph;
  const auto large = graph.value(std::string(1 << 20, 'x'));
  const Job job = submit(std::move(graph));
  const Expected<Datum> once = job.datum(large);
  const Expected<Datum> again = job.datum(large);
  ASSERT_TRUE(once && again);
  EXPECT_EQ(once.value().bytes().data(), again.value().bytes().data());
  EXPECT_EQ(once.value().bytes().size(), 1U << 20U);
}

TEST_F(ClientTest, ALaterGraphBorrowsWhatAnEarlierJobHasMade) {
  GraphBuilder first;
  const auto large = first.value(std::string(1 << 20, 'x'));
  Job lender = submit(std::move(first));
  GraphBuilder second;
  const auto borrowed = second.borrow(lender, large);
  const auto more = second.value(std::string{"y"});
  const auto both = second.add(second.operation<std::string>("concatenate"), borrowed, more);
  second.want(borrowed);
  second.want(both);
  const Job job = submit(std::move(second));
  EXPECT_EQ(job.result(both).value(), std::string(1 << 20, 'x') + "y");
  const Expected<Datum> here = lender.datum(large);
  const Expected<Datum> there = job.datum(borrowed);
  ASSERT_TRUE(here && there);
  EXPECT_EQ(here.value().bytes().data(), there.value().bytes().data()) << "without a copy";
}

TEST_F(ClientTest, AJobHasAnIdentityThatStaysWithIt) {
  GraphBuilder graph;
  const auto attempt = graph.add_with(graph.runner<std::string>(runner()), "attempt");
  Job job = submit(std::move(graph), {.name = "known"});
  const std::string told = job.result(attempt).value();
  std::array<char, 40> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx%016llx", static_cast<unsigned long long>(job.identity().high),
                static_cast<unsigned long long>(job.identity().low));
  EXPECT_EQ(told, "1 1 " + std::string{digits.data()} + "-0-1") << "as its runners see it";
  const Expected<Job> found = client.attach("known");
  ASSERT_TRUE(found);
  EXPECT_EQ(found.value().identity().low, job.identity().low);
  penstock_identity identity{};
  EXPECT_EQ(penstock_job_identity(client.native(), job.number(), &identity), 0);
  EXPECT_EQ(identity.high, job.identity().high);
  EXPECT_LT(penstock_job_identity(client.native(), job.number(), nullptr), 0);
  EXPECT_LT(penstock_job_identity(client.native(), job.number() + 1, &identity), 0);
  EXPECT_STREQ(penstock_last_error().name, "NotFound");
  job.detach();
  EXPECT_EQ(identity.low, job.identity().low);
}

// The number alone would lend what another job has made that was given it after a state was restored.
TEST_F(ClientTest, AJobThatWasGivenTheNumberSinceDoesNotLend) {
  GraphBuilder first;
  first.value(std::string{"x"});  // Subtask 0.
  const Job lender = submit(std::move(first));
  ASSERT_TRUE(lender.wait());
  const auto borrow_from = [&](const penstock_identity& identity) {
    std::string payload(28, '\0');
    const auto number = static_cast<std::uint32_t>(lender.number());
    std::memcpy(payload.data(), &number, sizeof number);
    std::memcpy(payload.data() + 12, &identity, sizeof identity);
    GraphBuilder second;
    const auto lent = second.add_with(second.operation<std::string>("alias"), payload);
    Expected<Job> job = client.submit(std::move(second));
    return job ? job->result(lent) : Expected<std::string>{job.failure()};
  };
  EXPECT_EQ(borrow_from(lender.identity()).value(), "x");
  penstock_identity other = lender.identity();
  other.low ^= 1;
  const Expected<std::string> refused = borrow_from(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, "NotFound");
  EXPECT_NE(refused.failure().message.find("which is another job now"), std::string::npos) << refused.failure().text();
}

TEST_F(ClientTest, NothingIsBorrowedFromAJobThatIsReleased) {
  GraphBuilder first;
  const auto value = first.value(std::string{"x"});
  Job lender = submit(std::move(first));
  ASSERT_TRUE(lender.wait());
  GraphBuilder second;
  second.borrow(lender, value);
  lender.release();
  const Expected<Job> job = client.submit(std::move(second));
  ASSERT_FALSE(job);
  EXPECT_EQ(job.failure().code, "InputLost");
  EXPECT_NE(job.failure().message.find("borrows output 0 of subtask 0 of job-1"), std::string::npos);
}

TEST_F(ClientTest, OnlyWhatIsWantedIsKept) {
  GraphBuilder graph;
  const auto kept = graph.value(1);
  graph.add(graph.operation<int>("noop"), kept);
  graph.want(kept);
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.result(kept).value(), 1);
}

TEST_F(ClientTest, AGraphOfMoreThanOneChunkIsWhole) {
  GraphBuilder graph;
  const auto noop = graph.operation<std::string>("noop");
  auto last = graph.add(noop);
  for (int i = 1; i < 150000; ++i) last = graph.add(noop, last);
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.wait().value(), JobState::Succeeded);
  EXPECT_EQ(job.counts().succeeded, 150000U);
}

TEST_F(ClientTest, AFailureIsToldWithItsCause) {
  GraphBuilder graph;
  OperationOptions once;
  once.attempts_max = 1;
  const auto bad = graph.add_with(graph.runner<int>(runner(), once), "fail");
  const Job job = submit(std::move(graph));
  const Expected<int> result = job.result(bad);
  ASSERT_FALSE(result);
  EXPECT_NE(result.failure().message.find("it does not work"), std::string::npos) << result.failure().text();
}

TEST_F(ClientTest, WhatRepeatingDoesNotMendIsToldByItsCodeAfterOneAttempt) {
  GraphBuilder graph;
  const auto bad = graph.add_with(graph.runner<int>(runner()), "refuse InvalidArgument");
  const Job job = submit(std::move(graph));
  const Expected<int> result = job.result(bad);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.failure().code, "InvalidArgument") << result.failure().text();
  Expected<std::vector<SubtaskFailure>> failures = job.failures();
  ASSERT_TRUE(failures);
  ASSERT_EQ(failures->size(), 1U);
  EXPECT_EQ(failures->front().subtask, 0U);
  EXPECT_EQ(failures->front().code, "InvalidArgument");
  EXPECT_EQ(failures->front().message, "it never will");
  EXPECT_EQ(failures->front().history.size(), 1U);
}

TEST_F(ClientTest, AJobIsSubmittedOnceUnderItsNameAndFoundByIt) {
  GraphBuilder graph;
  const auto value = graph.value(7);
  const Job job = submit(std::move(graph), {.name = "seven", .owner = {}});
  GraphBuilder same;
  same.value(7);
  const Job again = submit(std::move(same), {.name = "seven", .owner = {}});
  EXPECT_EQ(job.number(), again.number());
  EXPECT_TRUE(again.existed());
  EXPECT_FALSE(job.existed());
  GraphBuilder other;
  other.value(8);
  JobOptions options;
  options.name = "seven";
  const Expected<Job> refused = client.submit(std::move(other), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, "NameTaken");
  EXPECT_TRUE(job.ours());
  EXPECT_FALSE(again.ours()) << "one of the two releases it";
  Expected<Job> found = client.attach("seven");
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->ours());
  EXPECT_EQ(found->result(value).value(), 7);
  EXPECT_FALSE(client.attach("eight"));
}

TEST_F(ClientTest, AJobThatIsDetachedFromIsNotFollowedAndKept) {
  GraphBuilder graph;
  const auto value = graph.value(7);
  Job job = submit(std::move(graph), {.name = "seven", .owner = {}});
  Expected<Job> other = client.attach("seven");
  ASSERT_TRUE(other);
  job.detach();
  EXPECT_EQ(other->result(value).value(), 7) << "it is given twice, and left once";
  other->detach();
  EXPECT_EQ(client.attach("seven")->result(value).value(), 7);
}

// Destroying an attached job released its results for all clients that had the job.
TEST_F(ClientTest, WhoHasAttachedToAJobAndDestroysItTakesNothingFromOthers) {
  GraphBuilder graph;
  const auto value = graph.value(7);
  const Job job = submit(std::move(graph), {.name = "seven", .owner = {}});
  { Expected<Job> found = client.attach("seven"); }
  GraphBuilder reader;
  const auto read = reader.borrow(job, value);
  EXPECT_EQ(submit(std::move(reader)).result(read).value(), 7) << "a release before it was heard by now";
  EXPECT_EQ(job.result(value).value(), 7);
}

TEST_F(ClientTest, AJobThatRunsIsCancelled) {
  GraphBuilder graph;
  const auto waiting = graph.add_with(graph.runner<int>(runner()), "wait");
  Job job = submit(std::move(graph));
  EXPECT_EQ(job.poll().value(), JobState::Running);
  ASSERT_TRUE(job.cancel());
  EXPECT_EQ(job.wait().value(), JobState::Cancelled);
  EXPECT_FALSE(job.result(waiting));
}

TEST_F(ClientTest, ProgressIsToldUntilTheEnd) {
  GraphBuilder graph;
  const auto noop = graph.operation<int>("noop");
  for (int i = 0; i < 100; ++i) graph.add(noop);
  const Job job = submit(std::move(graph));
  penstock_counts last{};
  ASSERT_TRUE(job.watch(std::chrono::milliseconds{1}, [&](const penstock_counts& counts) { last = counts; }));
  EXPECT_EQ(last.succeeded, 100U);
}

TEST_F(ClientTest, OneSubtaskIsWaitedForWhateverBecomesOfTheRest) {
  GraphBuilder graph;
  OperationOptions once;
  once.attempts_max = 1;
  once.continue_on_failure = true;
  const auto operation = graph.runner<std::string>(runner(), once);
  const auto made = graph.value(std::string{"made"});
  const auto failing = graph.add_with(operation, "fail");
  const auto waiting = graph.add_with(operation, "wait");
  Job job = submit(std::move(graph));
  EXPECT_EQ(job.wait(made).value(), JobState::Succeeded);
  EXPECT_EQ(job.result(made).value(), "made");
  EXPECT_EQ(job.wait(failing).value(), JobState::Failed);
  EXPECT_NE(job.result(failing).failure().message.find("it does not work"), std::string::npos);
  EXPECT_EQ(job.wait(waiting, std::chrono::nanoseconds{0}).value(), JobState::Running);
  EXPECT_EQ(job.poll().value(), JobState::Running);
  EXPECT_EQ(job.wait(Handle<int>{3}).failure().code, "NotFound") << "it has no such subtask";
  ASSERT_TRUE(job.cancel());
  EXPECT_EQ(job.wait(waiting).value(), JobState::Cancelled);
  EXPECT_FALSE(job.result(waiting));
  job.release();
  EXPECT_EQ(job.wait(waiting).failure().code, "WrongState");
  EXPECT_EQ(penstock_wait_subtask(client.native(), 77, 0, -1), -1);
  EXPECT_STREQ(penstock_last_error().name, "NotFound");
}

TEST_F(ClientTest, ASubtaskThatIsCancelledAloneIsToldWhileItsJobRuns) {
  GraphBuilder graph;
  const auto operation = graph.runner<std::string>(runner());
  const auto one = graph.add_with(operation, "wait");
  graph.add_with(operation, "wait");
  Job job = submit(std::move(graph));
  ASSERT_TRUE(job.cancel(one));
  EXPECT_EQ(job.result(one).failure().code, "Cancelled");
  EXPECT_EQ(job.poll().value(), JobState::Running);
}

TEST_F(ClientTest, AnOperationAsksForResourcesAndForOneWorker) {
  const auto refused = [&](const OperationOptions& options) {
    GraphBuilder graph;
    graph.add(graph.operation<int>("noop", options));
    const Expected<Job> job = client.submit(std::move(graph));
    return job ? std::string{} : job.failure().text();
  };
  EXPECT_EQ(refused({}), "");
  OperationOptions resources;
  resources.resources = {{"licence", 2}};
  EXPECT_NE(refused(resources).find("licence"), std::string::npos) << refused(resources);
  OperationOptions elsewhere;
  elsewhere.required_worker = "nobody";
  EXPECT_NE(refused(elsewhere).find("nobody"), std::string::npos) << refused(elsewhere);
  OperationOptions rather;
  rather.preferred_worker = "nobody";
  EXPECT_EQ(refused(rather), "") << "only a wish";
  GraphBuilder graph;
  graph.add(graph.operation<int>("noop", resources));
  Job waits = submit(std::move(graph), {.wait_for_resources = true});
  EXPECT_EQ(waits.poll().value(), JobState::Running);
  ASSERT_TRUE(waits.cancel());
}

TEST_F(ClientTest, WhatMayNotRunTwiceIsNotTriedAgain) {
  GraphBuilder graph;
  OperationOptions once;
  once.attempts_max = 3;
  once.not_retryable = true;
  graph.add_with(graph.runner<int>(runner(), once), "fail");
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.wait().value(), JobState::Failed);
  EXPECT_EQ(job.failures()->front().history.size(), 1U);
}

TEST_F(ClientTest, ASubtaskHasAPriorityAndANameOfItsOwnAndTheOthersHaveNone) {
  GraphBuilder graph;
  OperationOptions once;
  once.attempts_max = 1;
  once.continue_on_failure = true;
  const auto operation = graph.runner<std::string>(runner(), once);
  const auto noop = graph.operation<std::string>("noop");
  const auto first = graph.value(std::string{"first"});
  for (int i = 1; i < 1 << 16; ++i) graph.add(noop);  // A chunk without the columns.
  graph.add_as(operation, {.payload = "fail", .priority = 3, .name = "of its own"}, first);
  const auto plain = graph.value(std::string{"plain"});
  graph.add_as(operation, {.payload = "fail", .name = "another"}, std::vector{first});
  graph.want(first);
  graph.want(plain);
  const Job job = submit(std::move(graph));
  EXPECT_EQ(job.wait().value(), JobState::Failed);
  EXPECT_EQ(job.result(first).value(), "first");
  EXPECT_EQ(job.result(plain).value(), "plain");
  std::set<std::string> names;
  Expected<std::vector<SubtaskFailure>> failures = job.failures();
  ASSERT_TRUE(failures);
  for (const SubtaskFailure& failure : *failures) names.insert(failure.name);
  EXPECT_EQ(names, (std::set<std::string>{"another", "of its own"}));
}

TEST_F(ClientTest, WhatAJobIsForIsTold) {
  const auto submitted = [&](const JobOptions& options) {
    GraphBuilder graph;
    graph.value(7);
    return submit(std::move(graph), options);
  };
  const Job nothing = submitted({.keep_nothing = true});
  EXPECT_EQ(nothing.wait().value(), JobState::Succeeded);
  EXPECT_EQ(nothing.result(Handle<int>{0}).failure().code, "NotFound");
  const Job served = submitted({.kind = JobKind::Inference, .preemptible = false});
  EXPECT_EQ(served.wait().value(), JobState::Succeeded);
  GraphBuilder graph;
  graph.value(7);
  const Expected<Job> refused = client.submit(std::move(graph), {.user_factor_lowered_thousandths = 1001});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.failure().text().find("user_factor_lowered_thousandths"), std::string::npos);
  EXPECT_EQ(client.slots(), 2U);
}

TEST_F(ClientTest, WhatRunnersWriteIsRead) {
  GraphBuilder graph;
  const auto silent = graph.add_with(graph.runner<std::string>(runner()), "where");
  const Job job = submit(std::move(graph));
  ASSERT_TRUE(job.result(silent));
  EXPECT_EQ(job.log().value(), "");
  EXPECT_EQ(job.log(silent).value(), "");
}

TEST_F(ClientTest, AMistakeInAGraphIsToldAtSubmit) {
  GraphBuilder graph;
  graph.add(graph.operation<int>(""));
  EXPECT_FALSE(client.submit(std::move(graph)));
  GraphBuilder unknown;
  unknown.add(unknown.operation<int>("no-such-operator"));
  const Expected<Job> refused = client.submit(std::move(unknown));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, "UnknownOperator");
}

TEST(PenstockAbi, NobodyAtTheAddressIsAnError) {
  const Expected<Client> client = Client::open({.address = "127.0.0.1:1"});
  ASSERT_FALSE(client);
  EXPECT_EQ(client.failure().code, "Unreachable");
}

TEST(PenstockAbi, MalformedColumnsAreRefused) {
  penstock_graph* graph = penstock_graph_new();
  penstock_template content{};
  content.size = sizeof content;
  EXPECT_LT(penstock_graph_add_template(graph, &content), 0) << "it has no program";
  const std::array<std::uint32_t, 2> templates{0, 0};
  const std::array<std::uint32_t, 3> falling{0, 2, 1};
  penstock_subtasks columns{};
  columns.size = sizeof columns;
  columns.count = 2;
  EXPECT_LT(penstock_graph_add_subtasks(graph, &columns), 0);
  columns.templates = templates.data();
  columns.input_offsets = falling.data();
  EXPECT_LT(penstock_graph_add_subtasks(graph, &columns), 0);
  EXPECT_STREQ(penstock_last_error().name, "InvalidArgument");
  columns.input_offsets = nullptr;
  EXPECT_EQ(penstock_graph_add_subtasks(graph, &columns), 0);
  const std::array<std::uint64_t, 3> nothing{};
  columns.payload_offsets = nothing.data();
  EXPECT_EQ(penstock_graph_add_subtasks(graph, &columns), 2) << "a column that the call before did not have";
  penstock_graph_free(graph);
}

TEST_F(ClientTest, NewsTellEachSubtaskOnce) {
  penstock_client_options options{};
  options.size = sizeof options;
  options.slots = 2;
  penstock_client* raw = penstock_client_open(&options);
  ASSERT_NE(raw, nullptr);
  penstock_want_news(raw);
  penstock_graph* graph = penstock_graph_new();
  penstock_template content{};
  content.size = sizeof content;
  content.program = "noop";
  ASSERT_EQ(penstock_graph_add_template(graph, &content), 0);
  const std::vector<std::uint32_t> templates(1000, 0);
  penstock_subtasks columns{};
  columns.size = sizeof columns;
  columns.count = 1000;
  columns.templates = templates.data();
  ASSERT_EQ(penstock_graph_add_subtasks(graph, &columns), 0);
  const std::int64_t job = penstock_submit(raw, graph, nullptr);
  ASSERT_GE(job, 0);
  std::set<std::uint32_t> seen;
  for (int state = PENSTOCK_RUNNING; state == PENSTOCK_RUNNING;) {
    const penstock_news* news = penstock_next_news(raw, -1);
    ASSERT_NE(news, nullptr);
    for (std::uint64_t i = 0; i < news->succeeded_count; ++i)
      for (std::uint32_t subtask = news->succeeded[i].first; subtask <= news->succeeded[i].last; ++subtask)
        EXPECT_TRUE(seen.insert(subtask).second);
    state = news->state;
    penstock_news_free(news);
  }
  EXPECT_EQ(seen.size(), 1000U);
  std::thread waker{[&] { penstock_wake_news(raw); }};
  EXPECT_EQ(penstock_next_news(raw, -1), nullptr);
  waker.join();
  penstock_client_close(raw);
}

TEST(ClientCredential, AClusterInsideThisProcessHasNone) {
  penstock_client_options options{};
  options.size = sizeof options;
  options.slots = 1;
  penstock_client* client = penstock_client_open(&options);
  ASSERT_NE(client, nullptr);
  penstock_data* shown = penstock_client_credential(client);
  ASSERT_NE(shown, nullptr) << penstock_last_error().message;
  EXPECT_EQ(penstock_data_views(shown)->size, 0U);
  penstock_data_free(shown);
  penstock_client_close(client);
  EXPECT_EQ(penstock_client_credential(nullptr), nullptr);
  EXPECT_STREQ(penstock_last_error().name, "InvalidArgument");
}

// A thread that closed a client had to wait for all threads that waited for its jobs.
TEST(ClientInterrupt, AllThatWaitReturnAndNobodyWaitsAgain) {
  penstock_client_options options{};
  options.size = sizeof options;
  options.slots = 1;
  penstock_client* raw = penstock_client_open(&options);
  ASSERT_NE(raw, nullptr);
  penstock_want_news(raw);
  penstock_graph* graph = penstock_graph_new();
  const std::string runner = PENSTOCK_TEST_RUNNER;
  penstock_template waits{};
  waits.size = sizeof waits;
  waits.runner = PENSTOCK_PROCESS;
  waits.program = runner.c_str();
  waits.name = "wait";
  penstock_graph_add_template(graph, &waits);
  const std::uint32_t first = 0;
  const std::uint64_t payload_offsets[] = {0, 4};
  penstock_subtasks one{};
  one.size = sizeof one;
  one.count = 1;
  one.templates = &first;
  one.payload_offsets = payload_offsets;
  one.payloads = "wait";
  ASSERT_GE(penstock_graph_add_subtasks(graph, &one), 0);
  const std::int64_t job = penstock_submit(raw, graph, nullptr);
  ASSERT_GE(job, 0);
  std::vector<std::string> ends(2);
  std::vector<std::thread> waiters;
  for (std::string& end : ends)
    waiters.emplace_back([&] {
      if (penstock_wait(raw, job, -1) < 0) end = penstock_last_error().name;
    });
  waiters.emplace_back([&] {
    while (const penstock_news* news = penstock_next_news(raw, -1)) penstock_news_free(news);
  });
  penstock_client_interrupt(raw);
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(ends, std::vector<std::string>(2, "Cancelled"));
  EXPECT_EQ(penstock_attach(raw, "anything"), -1);
  EXPECT_STREQ(penstock_last_error().name, "Cancelled");
  penstock_client_close(raw);
}

}  // namespace
}  // namespace penstock::engine
