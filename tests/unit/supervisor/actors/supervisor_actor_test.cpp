// The promise of the shell around the core: nothing that has been decided stays behind.
#include "supervisor/actors/supervisor_actor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "common/loop/actor_host.hpp"
#include "common/loop/mail.hpp"
#include "supervisor/core/graph_price.hpp"
#include "tests/support/turn_until.hpp"

namespace penstock::supervisor {
namespace {

/// A worker that notes what it is sent. With an argument: CAF 0.17 dereferences a null pointer when a function is
/// spawned without any.
WorkerHandle::behavior_type worker_behavior(WorkerHandle::pointer, std::vector<ToWorker>* heard) {
  return {
      [heard](const ToWorkerMail& mail) { heard->insert(heard->end(), mail.messages->begin(), mail.messages->end()); },
      [](const DismissWorkerMail&) {}};
}

class SupervisorActorTest : public testing::Test {
 protected:
  ~SupervisorActorTest() override {
    end_actor(worker_);
    end_actor(supervisor_);
  }

  void say(Incarnation life, FromWorker message) {
    auto messages = std::make_shared<std::vector<FromWorker>>();
    messages->push_back(std::move(message));
    caf::send_as(worker_, supervisor_, FromWorkerMail{life, std::move(messages)});
  }
  static Register description() {
    Register description;
    description.name = "left";
    description.host = "here";
    BandDescription band;
    band.name = "numa-0";
    band.capacity.slots = kOneSlot;
    band.capacity.memory = band.memory_hard_limit = kGiB;
    description.bands = {band};
    return description;
  }
  /// Everything that is under way, and what follows from it; timers that are not due yet stay alone.
  void settle() {
    while (loop_.turn()) {
    }
  }
  std::size_t welcomes() const {
    return static_cast<std::size_t>(std::count_if(heard_.begin(), heard_.end(), [](const ToWorker& message) {
      return std::holds_alternative<RegisterReply>(message);
    }));
  }

  /// Says that many reports before the supervisor has its turn; returns how far each answer goes.
  std::vector<std::uint64_t> answers_to(std::uint64_t reports) {
    heard_.clear();
    for (std::uint64_t i = 0; i < reports; ++i) {
      ReportBatch report;
      report.number = ++reported_;
      say(Incarnation{7}, std::move(report));
    }
    settle();
    std::vector<std::uint64_t> answers;
    for (const ToWorker& message : heard_)
      if (const auto* applied = std::get_if<ReportsApplied>(&message)) answers.push_back(applied->through);
    return answers;
  }

  std::uint64_t reported_ = 0;
  Loop loop_{Duration{0}};
  ActorHost actors_{loop_};
  std::vector<ToWorker> heard_;
  WorkerHandle worker_ = actors_.system().spawn(worker_behavior, &heard_);
  SupervisorHandle supervisor_ = spawn_supervisor(actors_.system(), loop_, {{}, Rng{1}, nullptr});
};

TEST_F(SupervisorActorTest, WhatWorkersSayIsAnswered) {
  say(Incarnation{7}, description());
  settle();
  EXPECT_EQ(welcomes(), 1U);
}

// A message behind it in the mailbox lets it wait, and may itself lead to nothing.
TEST_F(SupervisorActorTest, AnAnswerDoesNotWaitBehindNewsOfSomebodyWhoIsGone) {
  say(Incarnation{7}, description());
  caf::send_as(worker_, supervisor_, WorkerLostMail{Incarnation{8}, "nobody knows it"});
  settle();
  EXPECT_EQ(welcomes(), 1U);
}

// `supervisor.messages_together_max`: so many are one event for the core, and have one answer.
TEST_F(SupervisorActorTest, MessagesAreTakenTogetherUpToTheLimitAndNoFurther) {
  using Through = std::vector<std::uint64_t>;
  const std::uint64_t limit = SupervisorConfig{}.messages_together_max;
  say(Incarnation{7}, description());
  settle();
  EXPECT_EQ(answers_to(1), Through{1});
  EXPECT_EQ(answers_to(limit), Through{1 + limit});
  EXPECT_EQ(answers_to(limit + 1), (Through{1 + 2 * limit, 2 + 2 * limit}));
}

ClientHandle::behavior_type client_behavior(ClientHandle::pointer, std::vector<ToClient>* heard) {
  return {
      [heard](const ToClientMail& mail) { heard->insert(heard->end(), mail.messages->begin(), mail.messages->end()); }};
}

/// A supervisor with clients that submit graphs in several chunks, each on a thread of its own.
class SubmissionTest : public testing::Test {
 protected:
  ~SubmissionTest() override {
    end_actor(client_);
    end_actor(supervisor_);
  }
  void open(const GraphLimits& limits = {}, Bytes memory_max = Bytes{0}) {
    SupervisorConfig config;
    config.graph = limits;
    config.memory_max = memory_max;
    supervisor_ = spawn_supervisor(actors_.system(), loop_, {config, Rng{1}, nullptr});
    settle();
    actors_before_ = actors_.system().registry().running();
  }
  /// The first of several chunks.
  void begin_graph(Incarnation client, std::uint64_t submission) {
    SubmitChunk chunk;
    chunk.submission = submission;
    chunk.first = true;
    chunk.spec.name = "graph";
    chunk.graph.templates.resize(1);
    auto messages = std::make_shared<std::vector<FromClient>>();
    messages->emplace_back(std::move(chunk));
    caf::send_as(client_, supervisor_, FromClientMail{client, std::move(messages)});
    settle();
  }
  void submit_one_subtask() {
    SubmitChunk chunk;
    chunk.submission = 1;
    chunk.first = chunk.last = true;
    chunk.spec.name = "graph";
    chunk.graph.templates.resize(1);
    chunk.graph.templates[0].program = "noop";
    chunk.graph.template_of.assign(1, 0);
    chunk.graph.input_offsets.assign(2, 0);
    auto messages = std::make_shared<std::vector<FromClient>>();
    messages->emplace_back(std::move(chunk));
    caf::send_as(client_, supervisor_, FromClientMail{Incarnation{7}, std::move(messages)});
  }
  void settle() {
    while (loop_.turn()) {
    }
  }
  std::size_t graphs_under_way() { return actors_.system().registry().running() - actors_before_; }

  Loop loop_{Duration{0}};
  ActorHost actors_{loop_};
  std::vector<ToClient> heard_;
  ClientHandle client_ = actors_.system().spawn(client_behavior, &heard_);
  SupervisorHandle supervisor_;
  std::size_t actors_before_ = 0;
};

// Each client that was killed in the middle of a graph has left a thread and the payload that had come.
TEST_F(SubmissionTest, TheThreadOfAGraphEndsWithItsClient) {
  open();
  for (std::uint64_t i = 0; i < 10; ++i) begin_graph(Incarnation{7}, i);
  begin_graph(Incarnation{8}, 1);
  EXPECT_EQ(graphs_under_way(), 11U);
  caf::send_as(client_, supervisor_, ClientLostMail{Incarnation{7}});
  EXPECT_TRUE(turn_until(loop_, [&] { return graphs_under_way() == 1; })) << graphs_under_way();
  EXPECT_TRUE(heard_.empty());
}

TEST_F(SubmissionTest, ChunksOfALostClientAreMemoryAgainWhenTheThreadsOfItsGraphsHaveEnded) {
  GraphTotals first_chunk;
  first_chunk.templates = 1;
  open({}, Bytes{3 * static_cast<std::int64_t>(graph_price(first_chunk))});
  for (std::uint64_t i = 0; i < 3; ++i) begin_graph(Incarnation{7}, i);
  EXPECT_EQ(graphs_under_way(), 3U) << "the memory is full";
  caf::send_as(client_, supervisor_, ClientLostMail{Incarnation{7}});
  std::uint64_t tries = 0;
  EXPECT_TRUE(turn_until(loop_, [&] {
    begin_graph(Incarnation{8}, ++tries);
    return heard_.size() < tries;  // Each refusal is an answer.
  }));
}

TEST_F(SubmissionTest, WhoSubmitsTooManyAtOnceLocksNobodyElseOut) {
  GraphLimits limits;
  limits.submissions_max = 2;
  open(limits);
  for (std::uint64_t i = 0; i < 5; ++i) begin_graph(Incarnation{7}, i);
  EXPECT_EQ(graphs_under_way(), 2U);
  EXPECT_EQ(heard_.size(), 3U);
  begin_graph(Incarnation{8}, 1);
  EXPECT_EQ(graphs_under_way(), 3U);
}

TEST_F(SubmissionTest, AGraphThatIsNotGoneOnWithIsGivenUp) {
  GraphLimits limits;
  limits.submission_idle_max = std::chrono::milliseconds{10};
  open(limits);
  begin_graph(Incarnation{7}, 1);
  EXPECT_TRUE(turn_until(loop_, [&] { return !heard_.empty() && graphs_under_way() == 0; }));
  EXPECT_EQ(std::get<SubmitReply>(heard_.at(0)).refusal.code, ErrorCode::TimedOut);
}

// The host of actors waits for all of them.
TEST_F(SubmissionTest, ASupervisorThatEndsEndsTheThreadsOfItsGraphs) {
  open();
  begin_graph(Incarnation{7}, 1);
  end_actor(supervisor_);
  EXPECT_TRUE(turn_until(loop_, [&] { return actors_.system().registry().running() + 1 == actors_before_; }));
}

/// A disk with a driver that throws.
class BrokenDisk : public Storage {
 public:
  Result<std::optional<std::string>> get(std::string_view) override { return std::optional<std::string>{}; }
  Result<void> scan(std::string_view, const ScanVisit&) override { return {}; }
  Result<void> commit(const StorageBatch&, Sync) override {
    throw std::bad_alloc{};  // tidy: allow call: a library's exception
  }
  Result<void> close() override { return {}; }
};

TEST_F(SubmissionTest, ASupervisorWhoseJournalFailsSaysWhyAndEnds) {
  auto journal = std::make_shared<OpenJournal>();
  journal->storage = std::make_unique<BrokenDisk>();
  std::optional<Error> failure;
  supervisor_ = spawn_supervisor(actors_.system(), loop_,
                                 {{}, Rng{1}, journal, {}, [&](const Error& error) { failure = error; }});
  settle();
  EXPECT_FALSE(failure.has_value());
  actors_before_ = actors_.system().registry().running();
  submit_one_subtask();
  ASSERT_TRUE(turn_until(loop_, [&] { return failure.has_value(); }))
      << (heard_.empty() ? "nothing heard" : to_string(std::get<SubmitReply>(heard_[0]).refusal));
  EXPECT_EQ(failure->subject, "journal");
  EXPECT_NE(failure->message.find("bad_alloc"), std::string::npos) << failure->message;
  EXPECT_TRUE(turn_until(loop_, [&] { return actors_.system().registry().running() + 2 == actors_before_; }));
  EXPECT_TRUE(heard_.empty()) << "accepted, but not kept";
}

TEST(SupervisorMemory, IsAPartOfTheTightestBound) {
  EXPECT_EQ(default_memory_max({kGiB * 8, std::nullopt, std::nullopt}), kGiB * 6);
  EXPECT_EQ(default_memory_max({kGiB * 8, kGiB * 4, std::nullopt}), kGiB * 3);
  EXPECT_EQ(default_memory_max({kGiB * 8, kGiB * 4, kGiB * 2}), kGiB);
  EXPECT_GT(default_memory_max({kGiB * 8, std::nullopt, Bytes{0}}), Bytes{0}) << "0 would be no limit";
}

/// The answer of a supervisor that allows ten subtasks.
std::vector<SubmitReply> replies_to(std::vector<FromClient> said) {
  Loop loop{Duration{0}};
  ActorHost actors{loop};
  SupervisorConfig config;
  config.graph.subtasks_max = 10;
  std::vector<ToClient> heard;
  ClientHandle client = actors.system().spawn(client_behavior, &heard);
  SupervisorHandle supervisor = spawn_supervisor(actors.system(), loop, {config, Rng{1}, nullptr});
  auto messages = std::make_shared<std::vector<FromClient>>(std::move(said));
  caf::send_as(client, supervisor, FromClientMail{Incarnation{3}, std::move(messages)});
  while (loop.turn()) {
  }
  std::vector<SubmitReply> replies;
  for (const ToClient& message : heard)
    if (const auto* reply = std::get_if<SubmitReply>(&message)) replies.push_back(*reply);
  end_actor(client);
  end_actor(supervisor);
  return replies;
}

/// Sixteen subtasks in four chunks.
std::vector<FromClient> sixteen_subtasks() {
  std::vector<FromClient> messages;
  for (int i = 0; i < 4; ++i) {
    SubmitChunk chunk;
    chunk.submission = 5;
    chunk.first = i == 0;
    chunk.last = i == 3;
    if (i == 0) chunk.graph.templates.resize(1);
    chunk.graph.template_of.assign(4, 0);
    chunk.graph.input_offsets.assign(5, 0);
    messages.emplace_back(std::move(chunk));
  }
  return messages;
}

// Fault F20: the thread that checks a graph may be late by all of it; what comes is counted before it waits there.
TEST(SupervisorActor, AGraphThatIsTooLargeIsRefusedWithoutWaitingForWhoeverChecksIt) {
  const std::vector<SubmitReply> replies = replies_to(sixteen_subtasks());
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].submission, 5U);
  EXPECT_EQ(replies[0].refusal.code, ErrorCode::LimitExceeded);
  EXPECT_NE(replies[0].refusal.remedy.find("graph.subtasks_max"), std::string::npos) << replies[0].refusal.remedy;
  EXPECT_EQ(replies[0].refusal.message, "12 exceeds the limit of 10");
}

// Fault F20: no client has to send 50 million subtasks to hear that they are too many.
TEST(SupervisorActor, AGraphThatSaysHowLargeItIsIsRefusedByItsFirstChunk) {
  std::vector<FromClient> messages = sixteen_subtasks();
  std::get<SubmitChunk>(messages[0]).whole.subtasks = 16;
  messages.resize(1);
  const std::vector<SubmitReply> replies = replies_to(messages);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].refusal.code, ErrorCode::LimitExceeded);
  EXPECT_EQ(replies[0].refusal.message, "16 exceeds the limit of 10");
}

}  // namespace
}  // namespace penstock::supervisor
