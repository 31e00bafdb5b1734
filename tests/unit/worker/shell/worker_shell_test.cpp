// The shell in a world that writes down what it is told.
#include "worker/shell/worker_shell.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "worker/shell/outbox.hpp"

namespace penstock::worker {
namespace {

using std::chrono::milliseconds;

class NotedWorld {
 public:
  using Outputs = std::string;

  void carry_out(const worker_action::StartSubtask& action) {
    story.push_back((action.offered ? "offer " : "start ") + std::to_string(action.id.index.value()));
    starts.push_back(action);
  }
  template <class Action>
  void carry_out(const Action&) {
    story.emplace_back("other");
  }
  void store(const worker_action::StoreOutputs& order, std::string outputs) {
    story.push_back("store " + outputs);
    stores.push_back(order);
  }
  void say(FromWorker message) { outbox.add(std::move(message)); }
  void introduce_again() { outbox.introduce_again(); }
  std::string log_of(JobId job) const { return job == JobId{1} ? "written" : ""; }
  void end_round() {
    story.emplace_back("end");
    sent = outbox.take();
  }
  void arm(Instant at) { armed.push_back(at); }

  std::vector<std::string> story;
  std::vector<worker_action::StartSubtask> starts;
  std::vector<worker_action::StoreOutputs> stores;
  std::vector<Instant> armed;
  std::vector<FromWorker> sent;
  Outbox outbox{Register{}};
};

/// As a lane tells it.
struct LaneEnd {
  std::uint64_t ticket = 0;
  Attempt attempt;
  bool succeeded = true;
  std::uint32_t run_us = 1;
  std::uint32_t run_ns = 1000;
  std::int64_t peak_bytes = 0;
  Instant ended{};
  std::uint64_t next_ticket = ~std::uint64_t{0};
  std::vector<OutputReport> outputs;
  std::unique_ptr<FailureDetail> failure;
  std::string unstored;
};

class WorkerShellTest : public ::testing::Test {
 protected:
  static BandDescription band() {
    BandDescription band;
    band.name = "numa-0";
    band.capacity.slots = kOneSlot;
    band.capacity.memory = kGiB;
    band.memory_hard_limit = kGiB;
    return band;
  }

  void assign(std::uint32_t first, std::uint32_t count) {
    AssignBatch batch;
    batch.job = JobId{1};
    Template program;
    program.program = "op";
    program.request.slots = kOneSlot;
    batch.templates.push_back({TemplateIndex{0}, program});
    for (std::uint32_t i = first; i < first + count; ++i) {
      Assignment assignment;
      assignment.subtask = SubtaskIndex{i};
      assignment.template_index = TemplateIndex{0};
      assignment.attempt = Attempt{1};
      assignment.band = BandIndex{0};
      batch.assignments.push_back(assignment);
    }
    shell_.receive(ToWorker{std::move(batch)});
  }

  template <class News>
  void round(std::vector<LaneEnd> ends, News&& news) {
    shell_.begin_round(now_, ends);
    news();
    shell_.offer();
    shell_.end_round();
    shell_.arm();
  }
  void round_of(ToWorker message) {
    round({}, [&] { shell_.receive(message); });
  }

  LaneEnd end_of(std::size_t start) const {
    LaneEnd end;
    end.ticket = ticket_of(world_.starts.at(start).record, world_.starts.at(start).attempt);
    end.attempt = world_.starts.at(start).attempt;
    return end;
  }
  std::vector<LaneEnd> ends(std::size_t start) const {
    std::vector<LaneEnd> all;
    all.push_back(end_of(start));
    return all;
  }
  std::vector<std::string> take_story() { return std::exchange(world_.story, {}); }

  Instant now_ = instant_at(std::chrono::seconds{1000});
  NotedWorld world_;
  WorkerShell<NotedWorld> shell_{WorkerConfig{}, {band()}, world_};
};

TEST_F(WorkerShellTest, ActionsOfAnEventAreCarriedOutBeforeTheNextIsHandled) {
  round({}, [&] {
    assign(0, 1);
    EXPECT_TRUE(world_.starts.empty());
    shell_.handle(worker_event::SupervisorHeard{now_});
    EXPECT_EQ(world_.starts.size(), 1U);
  });
}

TEST_F(WorkerShellTest, ARoundEndsWithOffersAndThenSendsWhatWasSaid) {
  round({}, [&] { assign(0, 3); });
  take_story();
  round(ends(0), [] {});  // From now on the worker knows how long runs last.
  EXPECT_EQ(take_story(), (std::vector<std::string>{"start 1", "offer 2", "end"}));
}

TEST_F(WorkerShellTest, TheRunThatALaneHasTakenOverIsNotStartedAgain) {
  round({}, [&] { assign(0, 3); });
  round(ends(0), [] {});
  take_story();
  std::vector<LaneEnd> taken = ends(1);
  taken[0].next_ticket = end_of(2).ticket;
  round(std::move(taken), [] {});
  EXPECT_EQ(take_story(), std::vector<std::string>{"end"});
  round(ends(2), [] {});
  EXPECT_EQ(shell_.core().live_records(), 0U);
}

TEST_F(WorkerShellTest, OffersThatNoLaneHasTakenAreWithdrawnInTheNextRound) {
  round({}, [&] { assign(0, 3); });
  round(ends(0), [] {});
  take_story();
  CancelBatch cancel;
  cancel.job = JobId{1};
  cancel.attempts.push_back({SubtaskIndex{2}, Attempt{1}});
  round_of(cancel);
  EXPECT_EQ(take_story(), std::vector<std::string>{"end"});
  round(ends(1), [] {});
  EXPECT_EQ(shell_.core().live_records(), 0U);
}

TEST_F(WorkerShellTest, OutputsWaitInTheShellUntilTheCoreHasThemStored) {
  round({}, [&] { assign(0, 1); });
  std::vector<LaneEnd> ended = ends(0);
  ended[0].outputs.push_back({0, 5});
  ended[0].unstored = "bytes";
  take_story();
  round(std::move(ended), [] {});
  EXPECT_EQ(take_story(), (std::vector<std::string>{"store bytes", "end"}));
  EXPECT_TRUE(shell_.unstored().empty());
  ASSERT_EQ(world_.stores.size(), 1U);
}

TEST_F(WorkerShellTest, OutputsThatTheCoreDiscardsAreForgotten) {
  round({}, [&] { assign(0, 1); });
  CancelBatch cancel;
  cancel.job = JobId{1};
  cancel.attempts.push_back({SubtaskIndex{0}, Attempt{1}});
  round_of(cancel);
  std::vector<LaneEnd> ended = ends(0);
  ended[0].outputs.push_back({0, 5});
  ended[0].unstored = "bytes";
  round(std::move(ended), [] {});
  EXPECT_TRUE(shell_.unstored().empty());
  EXPECT_TRUE(world_.stores.empty());
}

TEST_F(WorkerShellTest, TheEndOfARunWithoutALaneIsNewsLikeAnyOther) {
  round({}, [&] { assign(0, 1); });
  LaneEnd end = end_of(0);
  round({}, [&] { shell_.run_ended(end); });
  EXPECT_EQ(shell_.core().live_records(), 0U);
}

TEST_F(WorkerShellTest, LogsAreAnsweredWithoutTheCore) {
  round_of(LogQuestion{5, JobId{1}});
  ASSERT_EQ(world_.sent.size(), 1U);
  EXPECT_EQ(std::get<LogAnswer>(world_.sent[0]), (LogAnswer{5, "written"}));
  round_of(ExplainQuestion{6, {JobId{2}, SubtaskIndex::none()}});
  ASSERT_EQ(world_.sent.size(), 1U);
  EXPECT_EQ(std::get<ExplainAnswer>(world_.sent[0]), (ExplainAnswer{6, false, {}, {}}));
  round_of(ExplainQuestion{7, {JobId{2}, SubtaskIndex{0}}});
  ASSERT_EQ(world_.sent.size(), 1U);
  EXPECT_EQ(std::get<ExplainAnswer>(world_.sent[0]).question, 7U);
}

TEST_F(WorkerShellTest, TheTimerIsSetOnlyForAnEarlierTick) {
  round({}, [&] { assign(0, 1); });
  const std::size_t armed = world_.armed.size();
  ASSERT_GT(armed, 0U);
  shell_.arm();
  EXPECT_EQ(world_.armed.size(), armed);
  now_ += std::chrono::hours{1};
  round({}, [&] {
    shell_.tick();
    assign(1, 1);
  });
  EXPECT_GT(world_.armed.size(), armed);
}

TEST_F(WorkerShellTest, AReturnedSupervisorHearsTheIntroductionFirst) {
  round({}, [&] {
    shell_.receive(ToWorker{LogQuestion{5, JobId{1}}});
    shell_.handle(worker_event::SupervisorReturned{});
  });
  ASSERT_GE(world_.sent.size(), 2U);
  EXPECT_TRUE(std::get<Register>(world_.sent[0]).reclaims);
  EXPECT_TRUE(std::holds_alternative<WorkerClaim>(world_.sent.back()));
}

}  // namespace
}  // namespace penstock::worker
