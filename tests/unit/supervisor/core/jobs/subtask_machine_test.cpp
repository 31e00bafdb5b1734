#include "supervisor/core/jobs/subtask_machine.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>

#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using P = SubtaskPhase;

/// A machine over one worker with two bands, and a job of one graph.
struct Machine {
  explicit Machine(const Graph& graph, bool with_policy = false) : shape(shape_of(graph)) {
    Register description;
    description.name = "worker-1";
    description.bands.resize(2);
    workers.add(WorkerId{1}, Incarnation{1}, description);
    job.id = JobId{1};
    job.graph.shape = shape.get();
    job.hot.resize(shape->size());
    if (with_policy) job.shares = std::make_unique<JobShares>();
    SubtaskMachine::open(job);
    event.now = Instant{std::chrono::milliseconds{7}};
  }

  void assign(std::uint32_t subtask, std::uint32_t band) {
    const bool elsewhere = job.hot[subtask].phase == P::Assigned;
    machine.assign(job, subtask, BandSlot{band}, ++attempt);
    if (elsewhere) return;
    machine.count_assigned(job, subtask, [this](std::uint32_t next) { machine.transition(job, next, P::Placeable); });
  }
  void run(std::uint32_t subtask, std::uint32_t band = 0) {
    if (job.hot[subtask].phase == P::Waiting) machine.transition(job, subtask, P::Placeable);
    assign(subtask, band);
  }
  void succeed(std::uint32_t subtask) {
    machine.transition(job, subtask, P::Succeeded);
    machine.count_succeeded(job, subtask, [](std::uint32_t) {});
  }
  const SubtaskHot& hot(std::uint32_t subtask) const { return job.hot[subtask]; }

  /// The counters equal a count of all subtasks.
  void check() {
    std::uint32_t open = 0;
    std::uint32_t in_flight = 0;
    std::array<std::uint32_t, 2> held{};
    std::array<std::uint32_t, 2> runnable{};
    for (std::uint32_t i = 0; i < job.total(); ++i) {
      if (is_final(hot(i).phase)) continue;
      ++open;
      std::uint32_t missing = 0;
      std::uint32_t unplaced = 0;
      for (const std::uint32_t before : shape->predecessors(i)) {
        missing += hot(before).phase != P::Succeeded;
        unplaced += hot(before).phase != P::Succeeded && hot(before).phase != P::Assigned;
      }
      EXPECT_EQ(hot(i).missing, missing) << i;
      EXPECT_EQ(hot(i).unplaced, unplaced) << i;
      EXPECT_TRUE(hot(i).phase != P::Placeable || unplaced == 0) << i;
      if (hot(i).phase != P::Assigned) continue;
      ++in_flight;
      ++held[hot(i).band.value()];
      runnable[hot(i).band.value()] += missing == 0;
    }
    EXPECT_EQ(job.tally.open, open);
    EXPECT_EQ(job.tally.in_flight, in_flight);
    for (std::uint32_t band = 0; band < 2; ++band) {
      EXPECT_EQ(workers[BandSlot{band}].in_flight, held[band]);
      EXPECT_EQ(workers[BandSlot{band}].runnable, runnable[band]);
      if (job.shares == nullptr) continue;
      EXPECT_EQ(job.shares->of(BandSlot{band}).in_flight, held[band]);
      EXPECT_EQ(job.shares->of(BandSlot{band}).runnable, runnable[band]);
    }
  }

  std::unique_ptr<GraphShape> shape;
  Job job;
  EventContext event;
  WorkerTable workers;
  BandIndices bands{workers};
  NestedJobs nested;
  SubtaskMachine machine{workers, bands, nested, event};
  std::uint64_t attempt = 0;
};

TEST(SubtaskMachine, ANewJobWaits) {
  Machine of{GraphBuilder{}.chain(3).build()};
  EXPECT_EQ(of.job.tally.open, 3U);
  EXPECT_EQ(of.job.tally.counts.total, 3U);
  EXPECT_EQ(of.hot(0).unplaced, 0U);
  EXPECT_EQ(of.hot(1).unplaced, 1U);
  of.check();
}

TEST(SubtaskMachine, ASuccessorIsPlaceableWhenAllItsPredecessorsAreAssigned) {
  Machine of{GraphBuilder{}.sources(2).add({0, 1}).build()};
  of.run(0);
  EXPECT_EQ(of.hot(2).phase, P::Waiting);
  of.run(1);
  EXPECT_EQ(of.hot(2).phase, P::Placeable);
  of.assign(2, 1);
  EXPECT_EQ(of.workers[BandSlot{1}].runnable, 0U) << "its inputs are not made";
  of.succeed(0);
  of.succeed(1);
  EXPECT_EQ(of.workers[BandSlot{1}].runnable, 1U);
  of.check();
}

TEST(SubtaskMachine, AnAttemptBeginsWithoutTheFlagsOfTheOneBeforeIt) {
  Machine of{GraphBuilder{}.add().build()};
  of.job.hot[0].flags = SubtaskFlag::kStarted | SubtaskFlag::kWanted;
  of.run(0, 1);
  EXPECT_EQ(of.hot(0).flags, SubtaskFlag::kWanted);
  EXPECT_EQ(of.hot(0).band, BandSlot{1});
  EXPECT_EQ(of.hot(0).attempt, 1U);
  EXPECT_EQ(of.workers[BandSlot{1}].progress_at, of.event.now);
}

TEST(SubtaskMachine, ASubtaskThatLeavesItsBandMakesItsSuccessorsWait) {
  Machine of{GraphBuilder{}.chain(3).build()};
  of.run(0);
  of.assign(1, 0);
  EXPECT_EQ(of.hot(2).phase, P::Placeable);
  of.machine.transition(of.job, 0, P::Waiting);
  of.machine.transition(of.job, 1, P::Waiting);
  EXPECT_EQ(of.hot(2).phase, P::Waiting);
  EXPECT_TRUE(of.workers[BandSlot{0}].dirty) << "the band has room again";
  of.check();
}

TEST(SubtaskMachine, AnOutputThatIsLostMakesReadersWaitAgain) {
  Machine of{GraphBuilder{}.chain(2).build()};
  of.run(0);
  of.succeed(0);
  of.assign(1, 1);
  EXPECT_EQ(of.workers[BandSlot{1}].runnable, 1U);
  of.machine.transition(of.job, 0, P::Waiting);
  EXPECT_EQ(of.job.tally.open, 2U);
  EXPECT_EQ(of.workers[BandSlot{1}].runnable, 0U);
  of.check();
}

TEST(SubtaskMachine, ASuccessThatIsClaimedElsewhereTakesTheSubtaskThere) {
  Machine of{GraphBuilder{}.chain(2).build()};
  of.run(0, 0);
  of.assign(0, 1);
  EXPECT_EQ(of.hot(1).unplaced, 0U) << "its successor was counted once";
  EXPECT_EQ(of.job.tally.in_flight, 1U);
  of.check();
}

TEST(SubtaskMachine, WhatHasFailedNeverMovesAgain) {
  for (const P from : {P::Failed, P::Cancelled})
    for (std::uint8_t to = 0; to <= static_cast<std::uint8_t>(P::Cancelled); ++to)
      EXPECT_FALSE(is_legal_move(from, static_cast<P>(to)));
  EXPECT_TRUE(is_legal_move(P::Succeeded, P::Waiting));
  EXPECT_FALSE(is_legal_move(P::Succeeded, P::Assigned));
  EXPECT_FALSE(is_legal_move(P::Assigned, P::Placeable));
}

TEST(SubtaskMachineDeathTest, AnIllegalMoveNamesTheSubtaskAndBothPhases) {
  Machine of{GraphBuilder{}.add().build()};
  of.machine.transition(of.job, 0, P::Cancelled);
  EXPECT_DEATH(of.machine.transition(of.job, 0, P::Waiting), "1:0: cancelled to waiting");
}

/// One legal move of a subtask, as a core makes it; `choice` picks among several.
void step(Machine& of, std::uint32_t subtask, std::uint8_t choice) {
  switch (of.hot(subtask).phase) {
    case P::Waiting:
      if (of.hot(subtask).unplaced == 0) of.machine.transition(of.job, subtask, P::Placeable);
      return;
    case P::Placeable:
      if (choice % 4 == 0) return of.machine.transition(of.job, subtask, P::Backoff);
      return of.assign(subtask, choice % 2);
    case P::Backoff: return of.machine.transition(of.job, subtask, P::Waiting);
    case P::Assigned:
      if (choice % 16 == 0) return of.machine.transition(of.job, subtask, P::Cancelled);
      if (choice % 8 == 1) return of.assign(subtask, (choice / 8) % 2);
      if (of.hot(subtask).missing > 0 || choice % 4 == 2) return of.machine.transition(of.job, subtask, P::Waiting);
      return of.succeed(subtask);
    case P::Succeeded:
      if (choice % 4 == 0) of.machine.transition(of.job, subtask, P::Waiting);
      return;
    default: return;
  }
}

TEST(SubtaskMachine, CountersAreWhatALookAtAllSubtasksFinds) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<std::uint8_t, std::uint8_t>>& moves, bool with_policy) {
    // Two sources, three that read both, a chain behind them and a last one that reads all.
    Machine of{GraphBuilder{}.sources(2).add({0, 1}).add({0, 1}).add({1}).chain(2).add({2, 3, 6}).build(), with_policy};
    for (const auto& [subtask, choice] : moves) {
      step(of, subtask % of.job.total(), choice);
      of.check();
      RC_ASSERT(!::testing::Test::HasFailure());
    }
  }));
}

}  // namespace
}  // namespace penstock::supervisor
