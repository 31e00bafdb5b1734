// The shell of a worker's core, in a world of its own: commands that only say how they have ended.
#include "worker/actors/worker_host.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>

namespace penstock::worker {
namespace {

using std::chrono::seconds;

/// Until 0 is reached: the run that reaches it ends when it is negative.
std::atomic<int> runs_left{0};
std::atomic<int> rounds{0};

/// The last of a round's runs lasts until the round is over, however late its thread looks.
int run_each(penstock_call*) {
  const int round = rounds;
  if (runs_left.fetch_sub(1) != 1) return 0;
  runs_left.notify_one();
  while (rounds == round) {
  }
  return 0;
}

class WorkerHostTest : public ::testing::Test {
 protected:
  ~WorkerHostTest() override {
    host_.reset();  // Its threads use the members below.
  }

  void open(std::uint32_t slots, const WorkerConfig& config) {
    BandDescription band;
    band.name = "numa-0";
    band.capacity.slots = kOneSlot * slots;
    band.capacity.memory = kGiB;
    band.memory_hard_limit = kGiB * 2;
    WorkerPorts ports;
    ports.life = Incarnation{1};
    ports.send = [this](std::vector<FromWorker>&& messages) {
      for (FromWorker& message : messages)
        if (const auto* batch = std::get_if<ReportBatch>(&message)) note(*batch);
    };
    ports.start_command = [this](CommandStart&& start) {
      const std::lock_guard lock{mutex_};
      started_.push_back(std::move(start.run));
      news_.notify_all();
    };
    ports.stop_command = [](BandIndex, std::uint64_t, bool) {};
    ports.fetch = [](const worker_action::FetchInput&) {};
    ports.cancel_fetch = [](const DataKey&) {};
    ports.arm = [](Instant) {};
    ports.post = [this](std::function<void()> work) {
      const std::lock_guard lock{mutex_};
      posted_.push_back(std::move(work));
      news_.notify_all();
    };
    ports.complain = [](const Error& error) { ADD_FAILURE() << to_string(error); };
    ports.storage_failed = ports.complain;
    host_ = std::make_unique<WorkerHost>(config, std::vector{band}, std::vector<std::vector<int>>{}, operators_, store_,
                                         std::move(ports));
  }

  void assign_commands(std::uint32_t count, JobId job = JobId{1}) {
    AssignBatch batch;
    batch.job = job;
    Template program;
    program.runner = RunnerKind::Command;
    program.program = "true";
    program.request.slots = kOneSlot;
    batch.templates.push_back({TemplateIndex{0}, program});
    for (std::uint32_t i = 0; i < count; ++i) {
      Assignment assignment;
      assignment.subtask = SubtaskIndex{i};
      assignment.template_index = TemplateIndex{0};
      assignment.attempt = Attempt{1};
      assignment.band = BandIndex{0};
      batch.assignments.push_back(assignment);
    }
    receive(std::move(batch));
  }

  /// Runs of the operator `each`, of which the last waits for `gate_`.
  void assign_runs(JobId job, std::uint32_t count) {
    AssignBatch batch;
    batch.job = job;
    Template program;
    program.runner = RunnerKind::Native;
    program.program = "each";
    program.request.slots = kOneSlot;
    batch.templates.push_back({TemplateIndex{0}, program});
    for (std::uint32_t i = 0; i < count; ++i) {
      Assignment assignment;
      assignment.subtask = SubtaskIndex{i};
      assignment.template_index = TemplateIndex{0};
      assignment.attempt = Attempt{1};
      assignment.band = BandIndex{0};
      batch.assignments.push_back(assignment);
    }
    runs_left = static_cast<int>(count);
    receive(std::move(batch));
  }

  void receive(ToWorker message) {
    host_->receive(std::make_shared<const std::vector<ToWorker>>(1, std::move(message)));
  }

  /// A started command ends with so many bytes that the store does not have.
  void end(std::size_t position, std::size_t bytes) {
    CommandEnd end;
    end.ticket = started_.at(position).ticket;
    end.attempt = started_.at(position).attempt;
    if (bytes > 0) end.outputs.push_back({0, static_cast<std::int64_t>(bytes)});
    end.unstored = std::string(bytes, 'x');
    host_->run_ended(std::move(end));
  }

  /// Two commands have run side by side, and end with 100 and 200 bytes that wait for so many permits.
  void end_two_commands(std::uint32_t permits) {
    WorkerConfig config;
    config.store_permits = permits;
    open(2, config);
    assign_commands(2);
    ASSERT_EQ(started_.size(), 2U);
    end(0, 100);
    end(1, 200);
  }

  /// At most twenty seconds.
  bool wait_for_posted(std::size_t count) {
    std::unique_lock lock{mutex_};
    return news_.wait_for(lock, seconds{20}, [&] { return posted_.size() >= count; });
  }
  /// The same, for work that was posted or a command that a lane has started.
  bool wait_for_posted_or_started() {
    std::unique_lock lock{mutex_};
    return news_.wait_for(lock, seconds{20}, [&] { return !posted_.empty() || !started_.empty(); });
  }
  bool any_started() {
    const std::lock_guard lock{mutex_};
    return !started_.empty();
  }
  void do_posted() {
    std::deque<std::function<void()>> posted;
    {
      const std::lock_guard lock{mutex_};
      posted.swap(posted_);
    }
    for (const auto& work : posted) work();
  }

  void note(const ReportBatch& batch) {
    for (const JobReports& job : batch.jobs)
      for (const AttemptReport& attempt : job.attempts) outcomes_[attempt.subtask.value()] = attempt.outcome;
  }
  std::size_t stored(std::uint32_t subtask) const {
    const BlobPtr blob = store_.find({{JobId{1}, SubtaskIndex{subtask}}, 0});
    return blob == nullptr ? 0 : blob->bytes().size();
  }

  ObjectStore store_;
  OperatorRegistry operators_;
  std::vector<CommandRun> started_;  ///< Guarded by `mutex_` while lanes run.
  std::map<std::uint32_t, Outcome> outcomes_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> posted_;  ///< Guarded by `mutex_`.
  std::unique_ptr<WorkerHost> host_;
};

// A lane on short runs carries news in by itself; it does not come while a long run follows.
TEST_F(WorkerHostTest, NewsThatWereLeftToALaneAreCarriedInThoughItsRunIsLong) {
  const penstock_operator each{"each", run_each};
  ASSERT_TRUE(operators_.add({PENSTOCK_OPERATOR_ABI, 1, &each}, "test"));
  open(2, {});
  bool left = false;
  for (std::uint32_t job = 2; job < 200 && !left; ++job) {
    assign_runs(JobId{job}, 100);
    for (int seen = runs_left; seen > 0; seen = runs_left) runs_left.wait(seen);
    started_.clear();
    assign_commands(1, JobId{1000 + job});
    left = !any_started();
    while (!any_started() && wait_for_posted_or_started()) do_posted();
    ASSERT_TRUE(any_started());
    end(0, 0);
    ++rounds;
  }
  EXPECT_TRUE(left);
}

// Spec: worker 5, storing outputs has its own bounded permit.
TEST_F(WorkerHostTest, NoMoreOutputsAreWrittenAtOnceThanThereAreStorePermits) {
  end_two_commands(1);
  ASSERT_TRUE(wait_for_posted(1));
  EXPECT_EQ(stored(0), 100U);
  EXPECT_EQ(stored(1), 0U);
  do_posted();
  ASSERT_TRUE(wait_for_posted(1));
  EXPECT_EQ(stored(1), 200U);
  do_posted();
  EXPECT_EQ(outcomes_, (std::map<std::uint32_t, Outcome>{{0, Outcome::Succeeded}, {1, Outcome::Succeeded}}));
}

TEST_F(WorkerHostTest, AsManyAreWrittenAsThereAreStorePermits) {
  end_two_commands(2);
  ASSERT_TRUE(wait_for_posted(2));
  EXPECT_EQ(stored(0), 100U);
  EXPECT_EQ(stored(1), 200U);
}

// Spec: worker 5, an execution slot is released when computing ends, so both overlap.
TEST_F(WorkerHostTest, TheSlotRunsTheNextWhileOutputsAreWritten) {
  open(1, {});
  assign_commands(2);
  ASSERT_EQ(started_.size(), 1U);
  end(0, 100);
  EXPECT_EQ(started_.size(), 2U);
  EXPECT_FALSE(outcomes_.contains(0) && outcomes_[0] == Outcome::Succeeded);
  ASSERT_TRUE(wait_for_posted(1));
  do_posted();
  end(1, 0);
  EXPECT_EQ(outcomes_[0], Outcome::Succeeded);
}

TEST_F(WorkerHostTest, OutputsOfWhatWasCancelledMeanwhileAreNotWritten) {
  end_two_commands(1);
  CancelBatch cancel;
  cancel.job = JobId{1};
  cancel.attempts.push_back({SubtaskIndex{1}, Attempt{1}});
  receive(cancel);
  ASSERT_TRUE(wait_for_posted(1));
  do_posted();
  EXPECT_EQ(stored(0), 100U);
  EXPECT_EQ(stored(1), 0U);
  EXPECT_EQ(outcomes_, (std::map<std::uint32_t, Outcome>{{0, Outcome::Succeeded}, {1, Outcome::Cancelled}}));
}

}  // namespace
}  // namespace penstock::worker
