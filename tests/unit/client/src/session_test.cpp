// A session with a supervisor that dies and comes back.
#include "client/src/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace penstock::client {
namespace {

/// Keeps what was sent; the test is the supervisor.
class FakeTransport final : public Transport {
 public:
  void send(FromClient message) override {
    const std::lock_guard lock{mutex_};
    sent_.push_back(std::move(message));
    changed_.notify_all();
  }
  void wait_for_room() override {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return sent_.size() < room_; });
  }
  void end_waits() override { let_send(SIZE_MAX); }
  /// As a transport with a thread of its own, which has to end first.
  ~FakeTransport() override {
    if (on_end) on_end();
  }
  std::function<void()> on_end;
  void let_send(std::size_t messages) {
    const std::lock_guard lock{mutex_};
    room_ = messages;
    changed_.notify_all();
  }
  std::size_t chunk_bytes() const override { return 1U << 20U; }
  std::size_t message_bytes_max() const override { return 2U << 20U; }
  bool may_renew() const override { return true; }
  bool after(Duration wait, std::function<void()> work) override {
    waits.push_back(wait);
    later_ = std::move(work);
    return true;
  }
  /// The time is over.
  void run_later() { std::exchange(later_, nullptr)(); }
  std::vector<Duration> waits;
  std::size_t sent() {
    const std::lock_guard lock{mutex_};
    return sent_.size();
  }

  /// Waits for message number `index`, counted from 0.
  FromClient wait_for(std::size_t index) {
    std::unique_lock lock{mutex_};
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds{20}, [&] { return sent_.size() > index; }));
    return index < sent_.size() ? sent_[index] : FromClient{};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FromClient> sent_;
  std::size_t room_ = SIZE_MAX;
  std::function<void()> later_;
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : supervisor{session.handlers()} {
    auto transport = std::make_unique<FakeTransport>();
    wire = transport.get();
    session.start(std::move(transport));
  }
  /// A job that it is given by its name, as message number `index`.
  void follow(std::uint32_t job, std::size_t index) {
    std::thread engine{[&] { EXPECT_EQ(session.attach({JobId::none(), "job"}).value(), JobId{job}); }};
    supervisor.on_message(AttachReply{std::get<AttachJob>(wire->wait_for(index)).request, JobId{job}, 6, {}});
    engine.join();
  }
  static JobProgress news(std::uint32_t first, std::uint32_t last, JobState state = JobState::Running) {
    JobProgress progress;
    progress.job = JobId{1};
    progress.state = state;
    progress.succeeded = {{SubtaskIndex{first}, SubtaskIndex{last}}};
    progress.counts.succeeded = last + 1;
    return progress;
  }

  Session session;
  TransportHandlers supervisor;
  FakeTransport* wire = nullptr;
};

Graph one_subtask() {
  Graph graph;
  graph.templates = {Template{}};
  graph.template_of = {0};
  graph.input_offsets = {0, 0};
  return graph;
}

JobSpec named(const std::string& name) {
  JobSpec spec;
  spec.name = name;
  return spec;
}

TEST_F(SessionTest, FollowsItsJobsAgainAndHearsNothingTwice) {
  std::vector<SubtaskRange> heard;
  session.set_on_news([&](const JobProgress& progress) {
    heard.insert(heard.end(), progress.succeeded.begin(), progress.succeeded.end());
  });
  follow(1, 0);
  supervisor.on_message(news(0, 3));
  supervisor.on_renewed(SupervisorLife::Next);
  const auto again = std::get<AttachJob>(wire->wait_for(1));
  EXPECT_EQ(again.job.id, JobId{1});
  supervisor.on_message(AttachReply{again.request, JobId{1}, 6, {}});
  supervisor.on_message(news(0, 5, JobState::Succeeded));
  EXPECT_EQ(session.wait(JobId{1}).value(), JobState::Succeeded);
  EXPECT_EQ(heard, (std::vector<SubtaskRange>{{SubtaskIndex{0}, SubtaskIndex{3}}, {SubtaskIndex{4}, SubtaskIndex{5}}}));
}

// Found by the thread sanitizer: the pointer to the transport was null before the transport's thread had ended.
TEST(Session, WhatTheTransportHearsWhileItEndsIsAnsweredThroughIt) {
  std::size_t asked = 0;
  {
    Session session;
    const TransportHandlers supervisor = session.handlers();
    auto transport = std::make_unique<FakeTransport>();
    FakeTransport* wire = transport.get();
    session.start(std::move(transport));
    std::thread engine{[&] { EXPECT_TRUE(session.attach({JobId::none(), "job"})); }};
    supervisor.on_message(AttachReply{std::get<AttachJob>(wire->wait_for(0)).request, JobId{1}, 6, {}});
    engine.join();
    wire->on_end = [&, wire] {
      supervisor.on_renewed(SupervisorLife::Next);
      asked = wire->sent();
    };
  }
  EXPECT_EQ(asked, 2U);
}

// A graph that takes the supervisor down with it would do so for ever.
TEST_F(SessionTest, AGraphThatTwoLivesOfTheSupervisorDidNotSurviveIsNotSentToAThird) {
  std::optional<Error> error;
  std::thread engine{[&] { error = session.submit(named("job"), one_subtask()).error(); }};
  for (std::size_t i = 0; i < 2; ++i) {
    wire->wait_for(i);
    supervisor.on_renewed(SupervisorLife::Next);
  }
  engine.join();
  EXPECT_EQ(wire->sent(), 2U);
  EXPECT_EQ(error->code, ErrorCode::Disconnected);
  EXPECT_NE(error->message.find("cut short 2 times"), std::string::npos) << to_string(*error);
}

TEST_F(SessionTest, AClientThatWasAwayItselfSendsItsGraphAsOftenAsItTakes) {
  JobId job;
  std::thread engine{[&] { job = session.submit(named("job"), one_subtask()).value().job; }};
  for (std::size_t i = 0; i < 5; ++i) {
    wire->wait_for(i);
    supervisor.on_renewed(SupervisorLife::Same);
  }
  supervisor.on_message(SubmitReply{std::get<SubmitChunk>(wire->wait_for(5)).submission, JobId{1}, false, {}});
  engine.join();
  EXPECT_EQ(job, JobId{1});
}

TEST_F(SessionTest, HowManySubtasksItHasIsKnownOnceItIsAccepted) {
  JobId job;
  std::thread engine{[&] { job = session.submit(named("job"), one_subtask()).value().job; }};
  supervisor.on_message(SubmitReply{std::get<SubmitChunk>(wire->wait_for(0)).submission, JobId{1}, false, {}});
  engine.join();
  EXPECT_EQ(session.counts(job).total, 1U);
  JobProgress first = news(0, 0);
  first.counts.total = 7;
  supervisor.on_message(first);
  EXPECT_EQ(session.counts(job).total, 7U) << "the supervisor knows best";
}

TEST_F(SessionTest, AJobIsUnfollowedWhenTheLastWhoWasGivenItDetaches) {
  int heard = 0;
  std::vector<JobId> left;
  session.set_on_news([&](const JobProgress&) { ++heard; });
  session.set_on_left([&](JobId job) { left.push_back(job); });
  follow(1, 0);
  follow(1, 1);
  session.detach(JobId{1});
  EXPECT_EQ(wire->sent(), 2U) << "another one has it";
  supervisor.on_message(news(0, 3));
  EXPECT_EQ(heard, 1);
  session.detach(JobId{1});
  EXPECT_EQ(std::get<UnfollowJob>(wire->wait_for(2)).job, JobId{1});
  EXPECT_EQ(left, std::vector{JobId{1}});
  supervisor.on_message(news(4, 5, JobState::Succeeded));  // The news was on its way.
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(session.wait(JobId{1}).error().code, ErrorCode::NotFound);
  session.detach(JobId{1});
  supervisor.on_renewed(SupervisorLife::Next);
  EXPECT_EQ(wire->sent(), 3U) << "it is not attached to again";
  follow(1, 3);
  supervisor.on_message(news(0, 5, JobState::Succeeded));
  EXPECT_EQ(session.wait(JobId{1}).value(), JobState::Succeeded);
  EXPECT_EQ(session.view(JobId{1}).counts.succeeded, 6U);
}

TEST_F(SessionTest, WhoWaitsForAJobThatIsLeftIsTold) {
  follow(1, 0);
  std::thread waiter{[&] { EXPECT_EQ(session.wait(JobId{1}).error().code, ErrorCode::NotFound); }};
  session.detach(JobId{1});
  waiter.join();
}

// The supervisor hears that the job is left after it has given it to another.
TEST_F(SessionTest, WhatAnAnswerUnderWayGivesAnewIsFollowedAgain) {
  follow(1, 0);
  std::thread engine{[&] { EXPECT_EQ(session.attach({JobId::none(), "job"}).value(), JobId{1}); }};
  const auto attach = std::get<AttachJob>(wire->wait_for(1));
  session.detach(JobId{1});
  EXPECT_EQ(std::get<UnfollowJob>(wire->wait_for(2)).job, JobId{1});
  supervisor.on_message(AttachReply{attach.request, JobId{1}, 6, {}});
  const auto again = std::get<AttachJob>(wire->wait_for(3));
  EXPECT_EQ(again.job.id, JobId{1});
  engine.join();
  supervisor.on_message(AttachReply{again.request, JobId{1}, 6, {}});
  supervisor.on_message(news(0, 5, JobState::Succeeded));
  EXPECT_EQ(session.wait(JobId{1}).value(), JobState::Succeeded);
  session.detach(JobId{1});
  follow(1, 5);
  EXPECT_EQ(wire->sent(), 6U) << "it was asked for after it had been left";
}

// The other one would have waited for ever.
TEST_F(SessionTest, AJobIsReleasedWhenTheLastWhoHoldsItGivesItBack) {
  follow(1, 0);
  follow(1, 1);
  session.release(JobId{1});
  EXPECT_EQ(wire->sent(), 2U);
  supervisor.on_message(news(0, 5, JobState::Succeeded));
  EXPECT_EQ(session.wait(JobId{1}).value(), JobState::Succeeded);
  session.detach(JobId{1});
  EXPECT_EQ(std::get<ReleaseJob>(wire->wait_for(2)).job, JobId{1});
}

TEST_F(SessionTest, OutputsThatAreToldAgainStandOnceInAView) {
  follow(1, 0);
  JobProgress progress = news(0, 1, JobState::Succeeded);
  progress.outputs = {{SubtaskIndex{1}, 0, 5, "a:1"}, {SubtaskIndex{0}, 0, 5, "a:1"}};
  supervisor.on_message(progress);
  follow(1, 1);
  progress.outputs[1].data_address = "b:2";
  supervisor.on_message(progress);
  const std::vector<OutputLocation> outputs = session.view(JobId{1}).outputs;
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].data_address, "b:2");
}

TEST_F(SessionTest, ReleasedOutputsLeaveTheViewAndAreToldToTheNextLife) {
  follow(1, 0);
  JobProgress progress = news(0, 2, JobState::Succeeded);
  progress.outputs = {{SubtaskIndex{0}, 0, 5, "a:1"}, {SubtaskIndex{1}, 0, 5, "a:1"}, {SubtaskIndex{2}, 0, 5, "a:1"}};
  supervisor.on_message(progress);
  const auto range = [](std::uint32_t first, std::uint32_t last) {
    return SubtaskRange{SubtaskIndex{first}, SubtaskIndex{last}};
  };
  EXPECT_TRUE(session.release_outputs(JobId{1}, {SubtaskIndex{2}, SubtaskIndex{0}, SubtaskIndex{2}}));
  EXPECT_EQ(std::get<ReleaseOutputs>(wire->wait_for(1)).subtasks, (std::vector{range(0, 0), range(2, 2)}));
  ASSERT_EQ(session.view(JobId{1}).outputs.size(), 1U);
  EXPECT_EQ(session.view(JobId{1}).outputs[0].producer, SubtaskIndex{1});
  session.release_outputs(JobId{1}, {SubtaskIndex{1}});
  session.release_outputs(JobId{1}, {});
  supervisor.on_renewed(SupervisorLife::Next);
  EXPECT_EQ(std::get<ReleaseOutputs>(wire->wait_for(3)).subtasks, std::vector{range(0, 2)});
  EXPECT_FALSE(session.release_outputs(JobId{2}, {SubtaskIndex{0}}));
  EXPECT_EQ(wire->sent(), 4U) << "a job that is not followed";
  follow(1, 4);
  EXPECT_FALSE(session.release_outputs(JobId{1}, {SubtaskIndex{0}}));
  EXPECT_EQ(wire->sent(), 5U) << "another caller has it as well";
}

TEST_F(SessionTest, AJobThatTheNextLifeDoesNotKnowHasFailed) {
  follow(1, 0);
  supervisor.on_message(news(0, 3));
  supervisor.on_renewed(SupervisorLife::Next);
  const auto again = std::get<AttachJob>(wire->wait_for(1));
  supervisor.on_message(
      AttachReply{again.request, JobId::none(), 0, {ErrorCode::NotFound, "job-1", "there is no such job", {}}});
  EXPECT_EQ(session.wait(JobId{1}).value(), JobState::Failed);
  EXPECT_EQ(session.view(JobId{1}).error.code, ErrorCode::NotFound);
}

// Issue 21, point 2: after a restore the number may be another job's.
TEST_F(SessionTest, AsksTheNextLifeForTheVeryJobThatItWasGiven) {
  std::thread engine{[&] { EXPECT_EQ(session.attach({JobId::none(), "job"}).value(), JobId{1}); }};
  supervisor.on_message(AttachReply{std::get<AttachJob>(wire->wait_for(0)).request, JobId{1}, 6, {}, {7, 8}});
  engine.join();
  supervisor.on_renewed(SupervisorLife::Next);
  EXPECT_EQ(std::get<AttachJob>(wire->wait_for(1)).identity, (JobIdentity{7, 8}));
  session.release(JobId{1});
  EXPECT_EQ(std::get<ReleaseJob>(wire->wait_for(2)).identity, (JobIdentity{7, 8}));
}

// A graph that no message can carry would break the connection, and then again: under its name it was sent for ever.
TEST_F(SessionTest, WhatNoMessageCanCarryIsRefusedAtOnce) {
  Graph graph = one_subtask();
  graph.payloads.assign(std::size_t{3} << 20U, 'p');
  graph.payload_offsets = {0, 3U << 20U};
  const auto submitted = session.submit(named("one"), graph);
  ASSERT_FALSE(submitted.has_value());
  EXPECT_EQ(submitted.error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(submitted.error().subject, "subtask 0");
  EXPECT_EQ(wire->sent(), 0U);
}

Graph three_chunks() {
  Graph graph = one_subtask();
  graph.template_of = {0, 0, 0};
  graph.input_offsets = {0, 0, 0, 0};
  graph.payloads.assign(std::size_t{3} << 20U, 'p');
  graph.payload_offsets = {0, 1U << 20U, 2U << 20U, 3U << 20U};
  return graph;
}

// Fault F20: a supervisor that allows less says so before the rest is sent.
TEST_F(SessionTest, ALargeGraphSaysWithItsFirstChunkHowLargeItIs) {
  std::thread engine{[&] { EXPECT_FALSE(session.submit({}, three_chunks()).has_value()); }};
  EXPECT_EQ(std::get<SubmitChunk>(wire->wait_for(0)).whole, totals_of(three_chunks()));
  supervisor.on_message(SubmitReply{std::get<SubmitChunk>(wire->wait_for(0)).submission,
                                    JobId::none(),
                                    false,
                                    {ErrorCode::LimitExceeded, "", "", ""}});
  engine.join();
}

// Fault F20: a large graph is not held a second time by its sender.
TEST_F(SessionTest, ALargeGraphWaitsForRoomChunkByChunk) {
  wire->let_send(0);
  std::thread engine{[&] { EXPECT_TRUE(session.submit({}, three_chunks()).has_value()); }};
  for (std::size_t chunk = 0; chunk < 3; ++chunk) {
    EXPECT_EQ(wire->sent(), chunk);
    wire->let_send(chunk + 1);
    EXPECT_EQ(std::get<SubmitChunk>(wire->wait_for(chunk)).last, chunk == 2);
  }
  supervisor.on_message(SubmitReply{std::get<SubmitChunk>(wire->wait_for(0)).submission, JobId{7}, false, {}});
  engine.join();
}

TEST_F(SessionTest, TheRestOfAGraphIsNotSentToTheNextLife) {
  wire->let_send(1);
  std::thread engine{[&] { EXPECT_EQ(session.submit({}, three_chunks()).error().code, ErrorCode::Disconnected); }};
  wire->wait_for(0);
  supervisor.on_renewed(SupervisorLife::Next);
  wire->let_send(SIZE_MAX);
  engine.join();
  EXPECT_LE(wire->sent(), 2U) << "the one that waited, and no more";
}

// Fault F06.
TEST_F(SessionTest, SubmitsAgainWhatWasNotAnswered) {
  std::thread engine{[&] {
    const auto submitted = session.submit(named("one"), one_subtask());
    ASSERT_TRUE(submitted.has_value());
    EXPECT_EQ(submitted->job, JobId{7});
  }};
  const auto first = std::get<SubmitChunk>(wire->wait_for(0));
  supervisor.on_renewed(SupervisorLife::Next);
  const auto second = std::get<SubmitChunk>(wire->wait_for(1));
  EXPECT_NE(first.submission, second.submission) << "chunks of both must not be taken for one graph";
  EXPECT_EQ(first.spec.submitter, second.spec.submitter);
  EXPECT_EQ(first.graph, second.graph);
  supervisor.on_message(SubmitReply{second.submission, JobId{7}, true, {}});
  engine.join();
}

// A client that closed or dropped a job that it had found released the results of another client.
TEST_F(SessionTest, AJobThatExistedIsOursOnlyIfItsFirstAnswerWasLost) {
  std::vector<bool> ours;
  std::vector<bool> told_existed;
  std::vector<std::uint64_t> submitters;
  const auto submit = [&](std::size_t index, bool existed, bool same_submitter) {
    std::thread engine{[&] {
      const auto submitted = session.submit(named("one"), one_subtask());
      ours.push_back(submitted->ours);
      told_existed.push_back(submitted->existed);
    }};
    const auto chunk = std::get<SubmitChunk>(wire->wait_for(index));
    submitters.push_back(chunk.spec.submitter);
    supervisor.on_message(SubmitReply{chunk.submission, JobId{7}, existed, {}, same_submitter});
    engine.join();
  };
  submit(0, true, false);  // Another's, or of an earlier call of ours.
  session.detach(JobId{7});
  submit(2, true, true);  // As if the answer to a first one had been lost.
  session.forget(JobId{7});
  submit(3, false, false);
  EXPECT_EQ(ours, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(told_existed, (std::vector<bool>{true, false, false})) << "no call says so of its own first try";
  EXPECT_EQ(std::count(submitters.begin(), submitters.end(), 0U), 0);
  EXPECT_EQ((std::set<std::uint64_t>{submitters.begin(), submitters.end()}).size(), 3U) << "each call has its own";
}

TEST_F(SessionTest, WithoutANameItIsNotSubmittedTwice) {
  std::thread engine{[&] { EXPECT_EQ(session.submit({}, one_subtask()).error().code, ErrorCode::Disconnected); }};
  wire->wait_for(0);
  supervisor.on_renewed(SupervisorLife::Next);
  engine.join();
}

TEST_F(SessionTest, AsksAgainWhatWasNotAnswered) {
  std::thread operator_at_work{[&] { EXPECT_TRUE(session.ask("jobs", {}).has_value()); }};
  wire->wait_for(0);
  supervisor.on_renewed(SupervisorLife::Next);
  const auto again = std::get<AdminRequest>(wire->wait_for(1));
  EXPECT_EQ(again.command, "jobs");
  supervisor.on_message(AdminAnswer{again.request, Value{true}, {}});
  operator_at_work.join();
}

TEST_F(SessionTest, OneSubtaskIsWaitedForAndItsNewsAreToldBefore) {
  std::set<std::uint32_t> told;  // By the thread of the supervisor; read once its end is known.
  session.set_on_news([&](const JobProgress& progress) { told.insert(progress.succeeded.front().first.value()); });
  follow(1, 0);
  EXPECT_EQ(session.wait_subtask(JobId{1}, SubtaskIndex{2}, Duration{0}).value(), JobState::Running);
  std::thread told_later{[&] {
    supervisor.on_message(news(0, 0));
    supervisor.on_message(news(2, 2));
  }};
  EXPECT_EQ(session.wait_subtask(JobId{1}, SubtaskIndex{2}).value(), JobState::Succeeded);
  EXPECT_TRUE(told.contains(2));
  told_later.join();
  EXPECT_EQ(session.wait_subtask(JobId{1}, SubtaskIndex{1}, Duration{0}).value(), JobState::Running);
  supervisor.on_message(news(1, 1, JobState::Succeeded));
  EXPECT_EQ(session.wait_subtask(JobId{1}, SubtaskIndex{9}).error().code, ErrorCode::NotFound)
      << "it has none of that number";
  session.detach(JobId{1});
  EXPECT_EQ(session.wait_subtask(JobId{1}, SubtaskIndex{1}).error().code, ErrorCode::NotFound);
}

TEST_F(SessionTest, AllThatWaitReturnWhenItIsInterruptedAndNobodyWaitsAgain) {
  follow(1, 0);
  std::vector<ErrorCode> ends(4, ErrorCode::Internal);
  std::vector<std::thread> waiters;
  waiters.emplace_back([&] { ends[0] = session.wait(JobId{1}).error().code; });
  waiters.emplace_back([&] { ends[1] = session.attach({JobId::none(), "job"}).error().code; });
  waiters.emplace_back([&] { ends[2] = session.ask("jobs", {}, Duration::max()).error().code; });
  waiters.emplace_back([&] { ends[3] = session.submit({}, {}).error().code; });
  wire->wait_for(3);
  session.interrupt();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(ends, std::vector<ErrorCode>(4, ErrorCode::Cancelled));
  EXPECT_EQ(session.attach({JobId::none(), "other"}).error().code, ErrorCode::Cancelled);
}

const Error kTooFast{ErrorCode::LimitExceeded, "user 'ada'", "sends too fast", "wait"};
constexpr Duration kSoon = std::chrono::milliseconds{1};

SubmitReply too_fast(std::uint64_t submission) {
  return {.submission = submission, .refusal = kTooFast, .retry_after = kSoon};
}

TEST_F(SessionTest, AGraphThatIsRefusedForATimeIsSentAgainAsTheSameSubmit) {
  std::thread engine{[&] { EXPECT_EQ(session.submit(named(""), one_subtask())->job, JobId{4}); }};
  const auto first = std::get<SubmitChunk>(wire->wait_for(0));
  supervisor.on_message(too_fast(first.submission));
  const auto second = std::get<SubmitChunk>(wire->wait_for(1));
  EXPECT_NE(second.submission, first.submission);
  EXPECT_EQ(second.spec.submitter, first.spec.submitter) << "so that it is never two jobs";
  EXPECT_EQ(second.graph.size(), 1U);
  supervisor.on_message(SubmitReply{second.submission, JobId{4}, false, {}});
  engine.join();
}

TEST_F(SessionTest, AKnownGraphThatIsRefusedForATimeIsNamedAgain) {
  std::thread engine{[&] { EXPECT_EQ(session.submit_again(named(""), one_subtask())->job, JobId{4}); }};
  const auto first = std::get<SubmitAgain>(wire->wait_for(0));
  supervisor.on_message(too_fast(first.submission));
  const auto second = std::get<SubmitAgain>(wire->wait_for(1));
  supervisor.on_message(SubmitReply{second.submission, JobId{4}, false, {}});
  engine.join();
}

TEST_F(SessionTest, ASubmitThatTimeDoesNotHelpIsRefused) {
  std::thread engine{[&] { EXPECT_EQ(session.submit(named(""), one_subtask()).error(), kTooFast); }};
  SubmitReply refused = too_fast(std::get<SubmitChunk>(wire->wait_for(0)).submission);
  refused.retry_after = Duration{0};
  supervisor.on_message(refused);
  engine.join();
  EXPECT_EQ(wire->sent(), 1U);
}

TEST_F(SessionTest, AnInterruptEndsTheWaitOfARefusedSubmit) {
  std::thread engine{[&] { EXPECT_EQ(session.submit(named(""), one_subtask()).error().code, ErrorCode::Cancelled); }};
  SubmitReply refused = too_fast(std::get<SubmitChunk>(wire->wait_for(0)).submission);
  refused.retry_after = std::chrono::hours{1};
  supervisor.on_message(refused);
  session.interrupt();
  engine.join();
  EXPECT_EQ(wire->sent(), 1U);
}

TEST_F(SessionTest, AQuestionThatIsRefusedForATimeIsAskedAgain) {
  std::thread engine{[&] { EXPECT_EQ(*session.ask("jobs", {})->text(), "none"); }};
  const auto first = std::get<AdminRequest>(wire->wait_for(0));
  supervisor.on_message(AdminAnswer{first.request, {}, kTooFast, kSoon});
  EXPECT_EQ(wire->waits, std::vector<Duration>{kSoon});
  EXPECT_EQ(wire->sent(), 1U);
  wire->run_later();
  EXPECT_EQ(std::get<AdminRequest>(wire->wait_for(1)), first);
  supervisor.on_message(AdminAnswer{first.request, Value{"none"}, {}});
  engine.join();
}

TEST_F(SessionTest, AQuestionThatIsRefusedUntilItsTimeIsOverSaysWhy) {
  std::optional<Error> why;
  std::size_t asked = 0;
  // The refusal has to come in time, also on a host that is busy.
  Duration timeout = std::chrono::milliseconds{20};
  for (; timeout < std::chrono::seconds{20} && (!why || why->code == ErrorCode::TimedOut); timeout *= 2) {
    std::thread engine{[&] { why = session.ask("jobs", {}, timeout).error(); }};
    const auto request = std::get<AdminRequest>(wire->wait_for(asked++));
    supervisor.on_message(AdminAnswer{request.request, {}, kTooFast, std::chrono::hours{1}});
    engine.join();
  }
  EXPECT_EQ(*why, kTooFast);
  wire->run_later();
  EXPECT_EQ(wire->sent(), asked) << "nobody waits for it any more";
}

TEST_F(SessionTest, AnOrderThatWasRefusedForATimeIsGivenOnceToTheNextSupervisor) {
  std::thread engine{[&] { EXPECT_TRUE(session.ask("cancel", {"1"}).has_value()); }};
  const auto first = std::get<AdminRequest>(wire->wait_for(0));
  supervisor.on_message(AdminAnswer{first.request, {}, kTooFast, kSoon});
  supervisor.on_renewed(SupervisorLife::Next);
  EXPECT_EQ(std::get<AdminRequest>(wire->wait_for(1)), first);
  wire->run_later();
  EXPECT_EQ(wire->sent(), 2U);
  supervisor.on_message(AdminAnswer{first.request, Value{"done"}, {}});
  engine.join();
}

TEST_F(SessionTest, AnAttachmentThatIsRefusedForATimeIsMadeAgain) {
  std::thread engine{[&] { EXPECT_EQ(session.attach({JobId::none(), "job"}).value(), JobId{4}); }};
  const auto first = std::get<AttachJob>(wire->wait_for(0));
  supervisor.on_message(AttachReply{.request = first.request, .refusal = kTooFast, .retry_after = kSoon});
  wire->run_later();
  EXPECT_EQ(std::get<AttachJob>(wire->wait_for(1)), first);
  supervisor.on_message(AttachReply{first.request, JobId{4}, 1, {}});
  engine.join();
}

TEST_F(SessionTest, AFollowedJobIsFollowedAgainThoughThatIsRefusedForATime) {
  follow(1, 0);
  supervisor.on_renewed(SupervisorLife::Next);
  const auto first = std::get<AttachJob>(wire->wait_for(1));
  supervisor.on_message(AttachReply{.request = first.request, .refusal = kTooFast, .retry_after = kSoon});
  EXPECT_EQ(session.view(JobId{1}).state, JobState::Running);
  wire->run_later();
  EXPECT_EQ(std::get<AttachJob>(wire->wait_for(2)).job.id, JobId{1});
}

TEST_F(SessionTest, AJobThatWasLeftMeanwhileIsNotFollowedAgain) {
  follow(1, 0);
  supervisor.on_renewed(SupervisorLife::Next);
  const auto first = std::get<AttachJob>(wire->wait_for(1));
  supervisor.on_message(AttachReply{.request = first.request, .refusal = kTooFast, .retry_after = kSoon});
  session.detach(JobId{1});
  EXPECT_TRUE(std::holds_alternative<UnfollowJob>(wire->wait_for(2)));
  wire->run_later();
  EXPECT_EQ(wire->sent(), 3U);
}

}  // namespace
}  // namespace penstock::client
