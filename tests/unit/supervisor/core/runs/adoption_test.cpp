#include "supervisor/core/runs/adoption.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/data/awaited_outputs.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/jobs/retry_timers.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/placement/placement_costs.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/runs/attempt_counts.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/workers/band_indices.hpp"
#include "supervisor/core/workers/readoption.hpp"
#include "supervisor/core/workers/worker_mail.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using P = SubtaskPhase;

constexpr WorkerSlot kFirst{0};
constexpr WorkerSlot kSecond{1};

ClaimedAttempt claim_of(std::uint32_t subtask, Attempt attempt, std::uint16_t band = 0) {
  return {SubtaskIndex{subtask}, attempt, BandIndex{band}, ClaimedStage::Running};
}
AttemptReport report_of(std::uint32_t subtask, Attempt attempt, Outcome outcome) {
  AttemptReport report;
  report.subtask = SubtaskIndex{subtask};
  report.attempt = attempt;
  report.band = BandIndex{0};
  report.outcome = outcome;
  return report;
}

/// The parts from the table of workers up to the placer, which places successors of adopted subtasks.
struct LowerParts {
  SupervisorConfig config;
  Actions<SupervisorAction> out;
  EventContext event{Instant{std::chrono::seconds{100}}, &out};
  CommitGate gate{Durability::None, event};
  WallClock clock;
  WorkerTable workers;
  WorkerMail mail{workers, gate, event};
  BandIndices bands{workers};
  Readoption readoption{config, gate, event};
  Eligibility eligibility{workers};
  PlacementCosts costs{config, workers};
  NestedJobs nested;
  SubtaskMachine machine{workers, bands, nested, event};
  SupervisorCounters counters;
  JobTable jobs;
  JobIndices indices;
  RetryTimers timers{Rng{1}};
  WorkSearch search;
  AwaitedOutputs awaited;
  std::map<SubtaskId, Instant> holders_drain_until;
  PolicyState policy;
  PolicyView view{jobs, workers, eligibility, policy, indices};
  PolicyTurns turns{event, policy, view};
  UsageAccounts usage{event, clock, gate, jobs, policy, indices, view, turns};
  AttemptCounts attempts{workers, usage};
  BandQueues queues{jobs, workers, bands, counters, turns};
  ExternalInputs external{jobs, workers, awaited, readoption, eligibility, holders_drain_until, view};
  Placer placer{config, event,   workers, bands,  machine, readoption, eligibility,
                costs,  indices, timers,  search, view,    queues,     external};
};

/// Two workers of one band each, and a job of a command with a successor that reads its output.
class AdoptionTest : public ::testing::Test, protected LowerParts {
 protected:
  AdoptionTest() {
    for (std::uint32_t i = 1; i <= 2; ++i) {
      Register description;
      description.name = "worker-" + std::to_string(i);
      description.bands.emplace_back().capacity.slots = kOneSlot;
      workers.add(WorkerId{i}, Incarnation{i}, description);
    }
    begin(Overlap::Allow);
  }
  void begin(Overlap overlap) {
    GraphBuilder builder;
    builder.template_at(0).runner = RunnerKind::Command;
    builder.template_at(0).overlap = overlap;
    shape = shape_of(builder.chain(2).build());
    graph.eligible = std::vector<EligibleBands>(1);
    job.graph.shape = shape.get();
    job.graph.shared = &graph;
    job.graph.templates.resize(1);
    job.hot.resize(shape->size());
    SubtaskMachine::open(job);
  }
  bool adopts(WorkerSlot worker, const ClaimedAttempt& claim, Proof proof = Proof::None) {
    return adoption.adopt(worker, job, claim, proof);
  }
  BandSlot band(WorkerSlot worker) const { return workers[worker].bands.front(); }
  /// Attempts that a worker was told to end, `subtask#attempt` each; every message must be about these alone.
  Lines fenced(WorkerSlot worker) {
    Lines lines;
    for (const ToWorker& message : mail.of(worker)) {
      const CancelBatch& batch = std::get<CancelBatch>(message);
      EXPECT_EQ(batch.job, job.id);
      EXPECT_TRUE(batch.alone && !batch.whole_job && batch.kill_after == Duration{0});
      for (const AttemptRef& each : batch.attempts)
        lines.push_back(std::to_string(each.subtask.value()) + "#" + std::to_string(each.attempt.value()));
    }
    mail.flush();
    return lines;
  }

  Adoption adoption{config, event, workers, mail, machine, counters, placer, attempts};
  Job& job = jobs.add(JobId{1});
  SharedGraph graph;
  std::unique_ptr<GraphShape> shape;
};

TEST_F(AdoptionTest, AClaimedAttemptIsAssignedUnderItsNumberAndItsSuccessorIsPlaced) {
  EXPECT_TRUE(adopts(kSecond, claim_of(0, Attempt{7})));
  const SubtaskHot& hot = job.hot[0];
  EXPECT_EQ(hot.phase, P::Assigned);
  EXPECT_EQ(hot.band, band(kSecond));
  EXPECT_EQ(hot.attempt, 7U);
  EXPECT_EQ(hot.flags, SubtaskFlag::kAdopted);
  ASSERT_EQ(workers[hot.band].assigned.size(), 1U);
  const AssignedRef& entry = workers[hot.band].assigned.front();
  EXPECT_EQ(std::tie(entry.job, entry.subtask, entry.attempt), std::make_tuple(job.id, 0U, std::uint64_t{7}));
  EXPECT_EQ(job.hot[1].phase, P::Placeable);
  EXPECT_EQ(job.place.locals.at(band(kSecond)).ahead_count(), 1U) << "where its input will be";
}

TEST_F(AdoptionTest, AClaimThatNamesNothingIsRefused) {
  EXPECT_FALSE(adopts(kFirst, claim_of(2, Attempt{7}), Proof::Success)) << "the job has two subtasks";
  EXPECT_FALSE(adopts(kFirst, claim_of(0, Attempt{}), Proof::Success));
  EXPECT_FALSE(adopts(kFirst, claim_of(0, Attempt{7}, 1), Proof::Success)) << "the worker has one band";
  machine.transition(job, 0, P::Cancelled);
  EXPECT_FALSE(adopts(kFirst, claim_of(0, Attempt{7}), Proof::Success)) << "the subtask has ended";
  EXPECT_EQ(job.tally.in_flight, 0U);
}

TEST_F(AdoptionTest, TheFirstClaimOfASubtaskWinsOverOthersThatRun) {
  EXPECT_TRUE(adopts(kFirst, claim_of(0, Attempt{7})));
  EXPECT_FALSE(adopts(kSecond, claim_of(0, Attempt{8})));
  EXPECT_EQ(job.hot[0].band, band(kFirst));
  EXPECT_EQ(job.hot[0].attempt, 7U);
  EXPECT_EQ(fenced(kFirst), Lines{});
}

TEST_F(AdoptionTest, ASuccessWinsAndTheAttemptThatRunsElsewhereIsFenced) {
  job.shares = std::make_unique<JobShares>();
  policy.pool_of_band.resize(workers.band_slots());
  ASSERT_TRUE(adopts(kFirst, claim_of(0, Attempt{7})));
  attempts.note_started(job, 0);
  EXPECT_TRUE(adopts(kSecond, claim_of(0, Attempt{5}), Proof::Success));
  EXPECT_EQ(fenced(kFirst), Lines{"0#7"});
  EXPECT_EQ(fenced(kSecond), Lines{});
  EXPECT_EQ(job.shares->of(band(kFirst)).started, 0U) << "its use is charged no more";
  EXPECT_EQ(job.hot[0].band, band(kSecond));
  EXPECT_EQ(job.hot[0].attempt, 5U);
  EXPECT_EQ(job.hot[0].flags, SubtaskFlag::kAdopted | SubtaskFlag::kOutrun);
  ASSERT_NE(job.extras.outrun->find(SubtaskIndex{0}), nullptr);
  EXPECT_EQ(*job.extras.outrun->find(SubtaskIndex{0}), 7U) << "no later attempt gets that number again";
  EXPECT_EQ(job.tally.in_flight, 1U);
  EXPECT_EQ(job.hot[1].unplaced, 0U) << "the successor counts it once";
}

TEST_F(AdoptionTest, AnAttemptUpToOneThatHasFailedIsAdoptedOnlyIfItHasSucceeded) {
  job.hot[0].flags |= SubtaskFlag::kTroubled;
  job.extras.histories.edit()[SubtaskIndex{0}].last_attempt = 5;
  EXPECT_FALSE(adopts(kFirst, claim_of(0, Attempt{4})));
  EXPECT_FALSE(adopts(kFirst, claim_of(0, Attempt{5})));
  EXPECT_TRUE(adopts(kFirst, claim_of(0, Attempt{6})));
  machine.transition(job, 0, P::Waiting);
  EXPECT_TRUE(adopts(kSecond, claim_of(0, Attempt{5}), Proof::Success));
}

TEST_F(AdoptionTest, AFencedAttemptHoldsItsSubtaskWhereRunsMustNotOverlap) {
  adoption.fence(kFirst, job, 0, 9);
  EXPECT_EQ(job.extras.histories->find(SubtaskIndex{0}), nullptr) << "two runs of it may overlap";
  begin(Overlap::Never);
  adoption.fence(kFirst, job, 0, 10);
  adoption.fence(kFirst, job, 2, 11);
  EXPECT_EQ(fenced(kFirst), (Lines{"0#9", "0#10"})) << "the job has two subtasks";
  const SubtaskHistory* history = job.extras.histories->find(SubtaskIndex{0});
  ASSERT_NE(history, nullptr);
  EXPECT_EQ(history->overlap_until, event.now + config.worker_lost_after + config.overlap_margin);
  EXPECT_EQ(overlap_ends(job, 0, Instant{}), history->overlap_until);
}

TEST_F(AdoptionTest, TheEndOfAnUnknownAttemptIsAdoptedAndCountedOnce) {
  adoption.claim_end(kFirst, job, report_of(0, Attempt{7}, Outcome::Started));
  EXPECT_EQ(job.hot[0].phase, P::Waiting) << "a start is no end";
  for (int times = 0; times < 2; ++times) adoption.claim_end(kFirst, job, report_of(0, Attempt{7}, Outcome::Returned));
  EXPECT_EQ(job.hot[0].attempt, 7U);
  EXPECT_EQ(counters.adopted, 1U);
  adoption.claim_end(kSecond, job, report_of(0, Attempt{8}, Outcome::Failed));
  EXPECT_EQ(job.hot[0].attempt, 7U) << "only a success takes it from a worker";
  adoption.claim_end(kSecond, job, report_of(0, Attempt{8}, Outcome::Succeeded));
  EXPECT_EQ(job.hot[0].attempt, 8U);
  EXPECT_EQ(counters.adopted, 2U);
}

}  // namespace
}  // namespace penstock::supervisor
