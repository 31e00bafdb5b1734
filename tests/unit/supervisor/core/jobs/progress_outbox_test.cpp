#include "supervisor/core/jobs/progress_outbox.hpp"

#include <gtest/gtest.h>

#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::milliseconds;

constexpr ClientId kClient{1};
constexpr ClientId kOther{2};
constexpr JobId kJob{1};

/// An outbox over one running job of ten subtasks.
class ProgressOutboxTest : public ::testing::TestWithParam<Durability> {
 protected:
  ProgressOutboxTest() {
    event.out = &out;
    event.now = Instant{std::chrono::seconds{1}};
    config.progress_every = milliseconds{2};
    config.progress_batch_max = 3;
    Job& job = this->job();
    job.id = kJob;
    job.graph.shape = shape.get();
    job.hot.resize(shape->size());
    job.tally.counts.total = job.tally.open = job.total();
    progress.submitted(job, kClient);
  }

  Job& job() { return jobs.knows(kJob) ? jobs[kJob] : jobs.add(kJob); }
  void succeed(std::uint32_t subtask) {
    job().hot[subtask].phase = SubtaskPhase::Succeeded;
    progress.succeeded(job(), subtask);
  }
  void end_of_event() {
    progress.send_due();
    progress.validate();
    gate.commit(true);
  }
  void later(Duration passed) {
    event.now = penstock::later(event.now, passed);
    end_of_event();
  }
  /// The progress that the client was told since the last `take`.
  std::vector<JobProgress> told(ClientId client = kClient) {
    std::vector<JobProgress> found;
    for (const SupervisorAction& action : out)
      if (const auto* word = std::get_if<supervisor_action::SendToClient>(&action); word && word->client == client)
        if (const auto* news = std::get_if<JobProgress>(&word->message)) found.push_back(*news);
    return found;
  }
  std::vector<JobProgress> take(ClientId client = kClient) {
    std::vector<JobProgress> found = told(client);
    out.clear();
    return found;
  }
  /// Records of progress that were ordered to be written.
  std::vector<record::SubtasksEnded> records() {
    std::vector<record::SubtasksEnded> found;
    for (const SupervisorAction& action : out)
      if (const auto* persist = std::get_if<supervisor_action::Persist>(&action))
        for (const Record& each : persist->records)
          if (const auto* ended = std::get_if<record::SubtasksEnded>(&each)) found.push_back(*ended);
    return found;
  }

  SupervisorConfig config;
  std::unique_ptr<GraphShape> shape = shape_of(GraphBuilder{}.sources(10).build());
  Actions<SupervisorAction> out;
  EventContext event;
  CommitGate gate{GetParam(), event};
  JobTable jobs;
  ProgressOutbox progress{config, jobs, gate, event};
};

using WithoutJournal = ProgressOutboxTest;
using WithJournal = ProgressOutboxTest;
INSTANTIATE_TEST_SUITE_P(Memory, WithoutJournal, ::testing::Values(Durability::None));
INSTANTIATE_TEST_SUITE_P(Disk, WithJournal, ::testing::Values(Durability::Journal));

TEST_P(WithoutJournal, TheFirstChangeLeavesAtOnceAndTheNextOnesTogether) {
  succeed(0);
  EXPECT_LE(progress.due(), event.now);
  end_of_event();
  EXPECT_EQ(take().size(), 1U);
  EXPECT_TRUE(progress.empty());
  EXPECT_EQ(progress.due(), kNever);
  succeed(1);
  succeed(2);
  end_of_event();
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(progress.due(), penstock::later(event.now, milliseconds{2}));
  later(milliseconds{2});
  const std::vector<JobProgress> news = take();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].succeeded, (std::vector<SubtaskRange>{{SubtaskIndex{1}, SubtaskIndex{2}}}));
  EXPECT_EQ(news[0].counts.succeeded, 3U);
}

TEST_P(WithoutJournal, AFullBatchLeavesAtOnce) {
  succeed(0);
  end_of_event();
  take();
  for (const std::uint32_t subtask : {1U, 2U, 3U}) succeed(subtask);
  end_of_event();
  EXPECT_EQ(take().size(), 1U);
}

TEST_P(WithoutJournal, AClientThatFollowsLaterIsToldEverythingOnce) {
  succeed(0);
  end_of_event();
  succeed(1);
  take();
  progress.follow(job(), kOther);
  EXPECT_EQ(told(kClient).size(), 1U) << "what was not sent goes to those that follow already";
  const std::vector<JobProgress> news = take(kOther);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].succeeded, (std::vector<SubtaskRange>{{SubtaskIndex{0}, SubtaskIndex{1}}}));
  end_of_event();
  EXPECT_TRUE(take(kOther).empty());
}

TEST_P(WithoutJournal, ASuccessThatWasToldStands) {
  succeed(0);
  end_of_event();
  take();
  job().hot[0].phase = SubtaskPhase::Cancelled;
  progress.cancelled(job(), 0);
  progress.failed(job(), {SubtaskIndex{0}, "0", {}, {}});
  later(milliseconds{5});
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(job().tally.counts.cancelled, 0U);
  EXPECT_EQ(job().tally.counts.failed, 0U);
  EXPECT_EQ(job().outbox.failures().size(), 1U) << "its job has failed all the same";
  EXPECT_TRUE(everything_so_far(job()).failures.empty());
}

TEST_P(WithoutJournal, FailuresAreRememberedUpToTheLimit) {
  config.finished_jobs_max = 2;
  for (std::uint32_t i = 0; i < 3; ++i) progress.failed(job(), {SubtaskIndex{i}, std::to_string(i), {}, {}});
  EXPECT_EQ(job().outbox.failures().size(), 2U);
  end_of_event();
  const std::vector<JobProgress> news = take();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].failures.size(), 3U) << "followers are told all of them";
}

TEST_P(WithoutJournal, OnlyTheLastFollowerThatLeavesIsTheLast) {
  progress.follow(job(), kOther);
  EXPECT_EQ(progress.followed_by(kOther), std::vector<JobId>{kJob});
  EXPECT_FALSE(progress.unfollow(job(), kClient));
  EXPECT_FALSE(progress.unfollow(job(), kClient)) << "it did not follow any more";
  EXPECT_TRUE(progress.unfollow(job(), kOther));
  EXPECT_TRUE(progress.followed_by(kOther).empty());
  progress.validate();
}

TEST_P(WithoutJournal, AnOutputAloneLeavesWithTheNextChange) {
  progress.add_output(job(), OutputLocation{SubtaskIndex{4}, 0, 30, "host:1"});
  later(milliseconds{5});
  EXPECT_TRUE(take().empty());
  progress.count(job());
  end_of_event();
  const std::vector<JobProgress> news = take();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].outputs.size(), 1U);
}

TEST_P(WithoutJournal, TheEndIsKeptForClientsThatAttachLater) {
  for (std::uint32_t i = 0; i < 10; ++i) succeed(i);
  job().outputs.locations = {OutputLocation{SubtaskIndex{4}, 0, 30, "host:1"}};
  job().status.state = JobState::Succeeded;
  progress.end(job());
  EXPECT_EQ(take().back().state, JobState::Succeeded);
  job().hot = {};
  progress.follow(job(), kOther);
  const std::vector<JobProgress> news = take(kOther);
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].succeeded, (std::vector<SubtaskRange>{{SubtaskIndex{0}, SubtaskIndex{9}}}));
  EXPECT_EQ(news[0].outputs.size(), 1U);
}

TEST_P(WithoutJournal, AJobThatIsErasedIsFollowedByNobody) {
  succeed(0);
  progress.forget(job());
  jobs.erase(kJob);
  end_of_event();
  EXPECT_TRUE(take().empty());
  EXPECT_TRUE(progress.empty());
  EXPECT_TRUE(progress.followed_by(kClient).empty());
}


TEST_P(WithJournal, FollowersAreToldWhenTheRecordIsOnTheDisk) {
  succeed(0);
  progress.write_output(job(), {SubtaskIndex{0}, 0, 30});
  end_of_event();
  EXPECT_TRUE(told().empty());
  const std::vector<record::SubtasksEnded> written = records();
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].succeeded, (std::vector<SubtaskRange>{{SubtaskIndex{0}, SubtaskIndex{0}}}));
  EXPECT_EQ(written[0].made.size(), 1U);
  gate.persisted(1);
  EXPECT_EQ(take().size(), 1U);
}

TEST_P(WithJournal, OneBatchIsUnderWayAtATime) {
  succeed(0);
  end_of_event();
  out.clear();
  for (std::uint32_t subtask = 1; subtask < 8; ++subtask) succeed(subtask);
  later(std::chrono::seconds{1});
  EXPECT_TRUE(records().empty());
  EXPECT_EQ(progress.due(), kNever) << "the disk decides when the next batch leaves";
  gate.persisted(1);
  out.clear();
  end_of_event();
  const std::vector<record::SubtasksEnded> written = records();
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0].succeeded, (std::vector<SubtaskRange>{{SubtaskIndex{1}, SubtaskIndex{7}}}));
}

TEST_P(WithJournal, WithAJournalFourBatchesAreGatheredIntoOne) {
  succeed(0);
  end_of_event();
  gate.persisted(1);
  out.clear();
  succeed(1);
  later(milliseconds{7});
  EXPECT_TRUE(records().empty());
  later(milliseconds{1});
  EXPECT_EQ(records().size(), 1U);
}

TEST_P(WithJournal, ACheckpointThatIsGoneAgainIsNotWritten) {
  job().data.open(*shape);
  job().data.set_checkpoint(3, Incarnation{5});
  progress.write_checkpoint(job(), {SubtaskIndex{3}, Incarnation{5}});
  progress.write_checkpoint(job(), {SubtaskIndex{4}, Incarnation{5}});
  end_of_event();
  const std::vector<record::SubtasksEnded> written = records();
  ASSERT_EQ(written.size(), 1U);
  ASSERT_EQ(written[0].checkpoints.size(), 1U);
  EXPECT_EQ(written[0].checkpoints[0].producer, SubtaskIndex{3});
}

TEST_P(WithJournal, TheRecordOfTheEndIsTheLastOne) {
  succeed(0);
  job().status.state = JobState::Failed;
  progress.end(job());
  end_of_event();
  EXPECT_TRUE(records().empty()) << "the core writes `JobEnded`, which has everything";
}

}  // namespace
}  // namespace penstock::supervisor
