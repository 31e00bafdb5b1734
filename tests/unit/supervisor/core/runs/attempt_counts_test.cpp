#include "supervisor/core/runs/attempt_counts.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::seconds;

constexpr std::size_t kSlots = static_cast<std::size_t>(Used::CpuSlots);
constexpr std::uint64_t kAttempt = 7;

/// Two workers of one band each; both subtasks of a job are assigned to the second, with one slot and two slots.
class AttemptCountsTest : public ::testing::Test {
 protected:
  AttemptCountsTest() {
    for (std::uint32_t i = 1; i <= 2; ++i) {
      Register description;
      description.name = "worker-" + std::to_string(i);
      description.bands.resize(1);
      workers.add(WorkerId{i}, Incarnation{i}, description);
    }
    GraphBuilder graph;
    graph.template_at(1).request.slots = kOneSlot * 2;
    shape = shape_of(graph.add({}, 0).add({}, 1).build());
    job.id = JobId{1};
    job.graph.shape = shape.get();
    job.hot.resize(shape->size());
    for (SubtaskHot& hot : job.hot) hot = {0, 0, kAttempt, band, SubtaskPhase::Assigned, 0};
    job.shares = std::make_unique<JobShares>();
    event.now = Instant{seconds{100}};
  }
  std::uint32_t started() const { return job.shares->of(band).started; }
  std::uint64_t rate() const { return job.shares->use->started_rate[kSlots]; }
  /// Seconds of slots that the job has used until now.
  double used() { return seconds_of(usage.accrue(job).used)[kSlots]; }
  bool is_current(const AttemptReport& report, WorkerSlot worker) const {
    return counts.is_current(job, report, worker);
  }
  static AttemptReport report_of(std::uint32_t subtask, std::uint64_t attempt) {
    AttemptReport report;
    report.subtask = SubtaskIndex{subtask};
    report.attempt = Attempt{attempt};
    return report;
  }

  EventContext event;
  WorkerTable workers;
  WallClock clock;
  CommitGate gate{Durability::None, event};
  JobTable jobs;
  Eligibility eligibility{workers};
  PolicyState policy;
  JobIndices indices;
  PolicyView view{jobs, workers, eligibility, policy, indices};
  PolicyTurns turns{event, policy, view};
  UsageAccounts usage{event, clock, gate, jobs, policy, indices, view, turns};
  AttemptCounts counts{workers, usage};
  const BandSlot band{1};
  std::unique_ptr<GraphShape> shape;
  Job job;
};

TEST_F(AttemptCountsTest, AnAttemptThatRunsIsCountedOnceOnItsBand) {
  counts.note_started(job, 0);
  counts.note_started(job, 0);
  EXPECT_EQ(job.hot[0].flags, SubtaskFlag::kStarted);
  EXPECT_EQ(started(), 1U);
  EXPECT_EQ(job.shares->of(BandSlot{0}).started, 0U);
  EXPECT_EQ(rate(), 1000U);
  counts.note_started(job, 1);
  EXPECT_EQ(started(), 2U);
  EXPECT_EQ(rate(), 3000U);
}

TEST_F(AttemptCountsTest, TheDevicesOfAnAttemptAreKnownWhileItRuns) {
  counts.note_started(job, 0);
  AttemptCounts::note_devices(job, 0, 0, event.now);
  EXPECT_FALSE(job.extras.devices.any());
  AttemptCounts::note_devices(job, 0, 0b110, event.now);
  ASSERT_NE(job.extras.devices->find(SubtaskIndex{0}), nullptr);
  EXPECT_EQ(job.extras.devices->find(SubtaskIndex{0})->devices, 0b110U);
  counts.note_stopped(job, 0);
  EXPECT_EQ(job.extras.devices->find(SubtaskIndex{0}), nullptr);
}

TEST_F(AttemptCountsTest, UseIsChargedFromTheStartOfAnAttemptToItsEnd) {
  counts.note_started(job, 0);
  event.now += seconds{3};
  counts.note_started(job, 1);
  event.now += seconds{2};
  counts.note_stopped(job, 0);
  EXPECT_EQ(started(), 1U);
  EXPECT_DOUBLE_EQ(used(), 3 + 2 * (1 + 2));
  event.now += seconds{10};
  EXPECT_DOUBLE_EQ(used(), 9 + 10 * 2) << "the ended attempt is charged no more";
  counts.note_stopped(job, 1);
  event.now += seconds{10};
  EXPECT_DOUBLE_EQ(used(), 29);
  EXPECT_EQ(started(), 0U);
}

TEST_F(AttemptCountsTest, AnAttemptThatHasNotStartedIsNotStopped) {
  counts.note_started(job, 0);
  counts.note_stopped(job, 1);
  EXPECT_EQ(started(), 1U);
  EXPECT_EQ(rate(), 1000U);
}

TEST_F(AttemptCountsTest, WithoutAPolicyOnlyTheStartIsNoted) {
  job.shares.reset();
  counts.note_started(job, 0);
  EXPECT_EQ(job.hot[0].flags, SubtaskFlag::kStarted);
  counts.note_stopped(job, 0);
  EXPECT_EQ(job.hot[0].flags, SubtaskFlag::kStarted) << "the next attempt clears the flag";
}

TEST_F(AttemptCountsTest, OnlyTheAssignedAttemptOfItsOwnWorkerIsCurrent) {
  const WorkerSlot holder = workers[band].worker;
  EXPECT_TRUE(is_current(report_of(1, kAttempt), holder));
  EXPECT_FALSE(is_current(report_of(1, kAttempt - 1), holder));
  EXPECT_FALSE(is_current(report_of(1, kAttempt + 1), holder));
  EXPECT_FALSE(is_current(report_of(1, kAttempt), WorkerSlot{0})) << "another worker reports it";
  EXPECT_FALSE(is_current(report_of(2, kAttempt), holder)) << "the job has two subtasks";
  for (const SubtaskPhase phase : {SubtaskPhase::Waiting, SubtaskPhase::Backoff, SubtaskPhase::Succeeded}) {
    job.hot[1].phase = phase;
    EXPECT_FALSE(is_current(report_of(1, kAttempt), holder)) << static_cast<int>(phase);
  }
}

}  // namespace
}  // namespace penstock::supervisor
