#include "supervisor/core/waiting_jobs.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using Entry = WaitingJobs::Entry;
using std::chrono::seconds;

std::vector<std::uint32_t> drain(WaitingJobs& waiting) {
  std::vector<std::uint32_t> jobs;
  for (; !waiting.empty(); waiting.erase(0)) jobs.push_back(waiting[0].job.value());
  return jobs;
}

TEST(WaitingJobs, TheHighestPriorityThenWhoHoldsLeastThenTheEarliest) {
  WaitingJobs waiting;
  waiting.push({0, 5, JobId{1}, 0});
  waiting.push({0, 3, JobId{3}, 0});
  waiting.push({7, 9, JobId{4}, 0});
  waiting.push({0, 3, JobId{2}, 0});
  EXPECT_EQ(drain(waiting), (std::vector<std::uint32_t>{4, 2, 3, 1}));
}

TEST(WaitingJobs, EveryEntryHasItsTurnToBeCorrected) {
  WaitingJobs waiting;
  for (std::uint32_t i = 1; i <= 5; ++i) waiting.push({0, i, JobId{i}, 0});
  std::vector<std::size_t> seen;
  for (int i = 0; i < 5; ++i) seen.push_back(waiting.next_to_correct());
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(WaitingJobs, WhatWasOfferedInVainIsOfferedAgainOnceSomethingComes) {
  WaitingJobs waiting;
  waiting.push({0, 0, JobId{1}, 0});
  EXPECT_FALSE(waiting.all_offered(1));
  waiting.next_to_offer();
  EXPECT_TRUE(waiting.all_offered(1));
  waiting.push({0, 0, JobId{2}, 0});
  EXPECT_FALSE(waiting.all_offered(1));
}

TEST(WaitingJobsProperty, LeavesInOrderWhateverChanges) {
  EXPECT_TRUE(
      rc::check("the heap agrees with a sorted list", [](const std::vector<std::tuple<int, std::uint8_t>>& steps) {
        WaitingJobs waiting;
        std::vector<Entry> model;
        std::uint32_t next = 1;
        for (const auto& [kind, value] : steps) {
          const std::size_t at = model.empty() ? 0 : value % model.size();
          const auto same = [&](const Entry& entry) { return entry.job == waiting[at].job; };
          if (kind % 3 == 0 || model.empty()) {
            const Entry entry{value % 3, value % 5U, JobId{next++}, 0};
            waiting.push(entry);
            model.push_back(entry);
          } else if (kind % 3 == 1) {
            std::erase_if(model, same);
            waiting.erase(at);
          } else {
            std::find_if(model.begin(), model.end(), same)->held = value;
            waiting.set_held(at, value);
          }
          RC_ASSERT(waiting.size() == model.size());
        }
        std::sort(model.begin(), model.end(), [](const Entry& a, const Entry& b) { return a.goes_before(b); });
        std::vector<std::uint32_t> wanted;
        for (const Entry& entry : model) wanted.push_back(entry.job.value());
        RC_ASSERT(drain(waiting) == wanted);
      }));
}

/// A core without the harness's checks, which look at every job after every event.
class ManyJobs {
 public:
  explicit ManyJobs(SupervisorConfig config = {}) : core_{config, Rng{1}} {}

  void join(std::uint32_t number, std::uint32_t slots) {
    Register worker;
    worker.name = "worker-" + std::to_string(number);
    worker.bands.emplace_back().name = "numa-0";
    worker.bands.back().capacity.slots = MilliSlots{slots * 1000};
    worker.bands.back().capacity.cpu = MilliCpu{slots * 1000};
    worker.bands.back().capacity.memory = kGiB;
    handle(supervisor_event::WorkerJoined{WorkerId{number}, Incarnation{number + 100}, std::move(worker)});
  }
  JobId submit(Graph graph, std::int32_t priority = 0, ClientId client = ClientId{1}) {
    supervisor_event::GraphChecked checked{client, ++submissions_, {.priority = priority}, shape_of(graph), {}};
    handle(std::move(checked));
    return JobId{static_cast<std::uint32_t>(submissions_)};
  }
  /// The oldest assignment ends.
  void end_one() {
    ASSERT_FALSE(assigned_.empty());
    const auto [worker, job, attempt] = assigned_.front();
    assigned_.pop_front();
    ReportBatch batch;
    batch.number = ++reports_[worker];
    batch.jobs.push_back({job, {}, {}, {}, {}});
    batch.jobs.back().attempts.push_back(
        {attempt.subtask, 1000, attempt.attempt, 0, Outcome::Succeeded, ForwardResult::NotCached, BandIndex{0}});
    const FromWorker message{std::move(batch)};
    handle(supervisor_event::WorkerSaid{worker, message});
  }
  void handle(SupervisorEvent&& event) {
    Actions<SupervisorAction> actions;
    core_.handle(std::move(event), now_ += std::chrono::microseconds{10}, actions);
    for (const SupervisorAction& action : actions)
      if (const auto* order = std::get_if<supervisor_action::SendToWorker>(&action))
        if (const auto* batch = std::get_if<AssignBatch>(&order->message))
          for (const Assignment& each : batch->assignments)
            assigned_.push_back({order->worker, batch->job, {each.subtask, each.attempt}});
  }
  std::uint64_t looked_at() const { return core_.counters().jobs_looked_at; }
  std::size_t assigned() const { return assigned_.size(); }
  SupervisorCore& core() { return core_; }

 private:
  struct Assigned {
    WorkerId worker;
    JobId job;
    AttemptRef attempt;
  };
  SupervisorCore core_;
  Instant now_ = instant_at(seconds{1});
  std::deque<Assigned> assigned_;
  std::map<WorkerId, std::uint64_t> reports_;
  std::uint64_t submissions_ = 0;
};

Graph one_subtask() { return GraphBuilder{}.add().build(); }

Graph one_on(const std::string& worker) {
  GraphBuilder graph;
  graph.template_at(0).required = {worker, ""};
  return graph.add().build();
}

/// The entries that are looked at for each of so many jobs of one subtask, from the first end to the last.
std::uint64_t looks_for_each_job(std::uint32_t queued) {
  ManyJobs jobs{{.lookahead = seconds{0}}};
  jobs.join(1, 2);
  jobs.join(2, 2);
  for (std::uint32_t i = 0; i < queued; ++i) jobs.submit(one_subtask(), static_cast<std::int32_t>(i % 3));
  const std::uint64_t before = jobs.looked_at();
  for (std::uint32_t i = 0; i < queued; ++i) jobs.end_one();
  return (jobs.looked_at() - before) / queued;
}

// 1,500 queued jobs of one subtask took 42 s of processor: each was searched for in a list for each of them.
TEST(ManyJobs, TheEndOfARunLooksAtTheSameNumberOfJobsHoweverManyWait) {
  const std::uint64_t few = looks_for_each_job(300);
  EXPECT_LE(few, 40U);
  EXPECT_LE(looks_for_each_job(3000), few * 2);
}

TEST(ManyJobs, ASubmissionLooksAtTheSameNumberOfJobsHoweverManyWait) {
  ManyJobs jobs;
  jobs.join(1, 2);
  for (int i = 0; i < 3000; ++i) jobs.submit(one_subtask());
  const std::uint64_t before = jobs.looked_at();
  for (int i = 0; i < 100; ++i) jobs.submit(one_subtask());
  EXPECT_LE(jobs.looked_at() - before, 100U * 32);
}

// Jobs that it may not have stood before those that it may.
TEST(ManyJobs, AnIdleBandFindsWhatItMayHaveBehindThousandsOfJobsThatItMayNot) {
  ManyJobs jobs{{.steal_after = Duration{0}}};
  jobs.join(1, 1);
  for (int i = 0; i < 2000; ++i) jobs.submit(one_on("worker-1"));
  const JobId free = jobs.submit(one_subtask(), -1);
  const std::size_t sent = jobs.assigned();
  jobs.join(2, 1);
  for (int ticks = 0; ticks < 2000 && jobs.assigned() == sent; ++ticks) {
    const std::optional<Instant> due = jobs.core().next_deadline();
    ASSERT_TRUE(due.has_value());
    jobs.handle(supervisor_event::Tick{});
  }
  EXPECT_EQ(jobs.core().find_job(free)->tally.in_flight, 1U);
  jobs.core().validate();
}

TEST(ManyJobs, JobsThatFitNowhereAreNotLookedAt) {
  ManyJobs jobs;
  jobs.join(1, 2);
  GraphBuilder large;
  large.template_at(0).request.memory = kGiB * 2;
  const Graph graph = large.add().build();
  for (int i = 0; i < 1000; ++i)
    jobs.handle(supervisor_event::GraphChecked{ClientId{1}, 0, {.wait_for_resources = true}, shape_of(graph), {}});
  EXPECT_EQ(jobs.looked_at(), 0U);
  EXPECT_EQ(jobs.assigned(), 0U);
}

TEST(ManyJobs, TheHighestPriorityIsServedFirstAndThenTheEarliest) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  for (int i = 0; i < 30; ++i) {
    JobSpec spec;
    spec.priority = i == 20 ? 7 : 0;
    cluster.submit(GraphBuilder{}.add().build(), spec);
  }
  cluster.ignore();
  cluster.join();
  EXPECT_EQ(cluster.assigned(), (Lines{"21:0 to w1", "0 to w1", "2:0 to w1"}));
}

TEST(ManyJobs, AChangedPriorityCountsAmongThoseThatWait) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  for (int i = 0; i < 30; ++i) cluster.submit(GraphBuilder{}.add().build());
  cluster.ignore();
  ASSERT_TRUE(cluster.ask("priority", {"job-25", "3"}));
  ASSERT_TRUE(cluster.ask("priority", {"job-24", "2"}));
  ASSERT_TRUE(cluster.ask("priority", {"job-24", "-2"}));
  cluster.ignore();
  cluster.succeed(1, 0);
  EXPECT_EQ(cluster.assigned(), Lines{"25:0 to w1"});
  cluster.succeed(1, 0, {}, 2);
  EXPECT_EQ(cluster.assigned(), Lines{"4:0 to w1"});
}

// Such jobs counted as work that the band has before it, for ever.
TEST(ManyJobs, WhatWasCancelledIsNotKeptForAnyBand) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(20).build());
  cluster.submit(GraphBuilder{}.sources(20).build());
  cluster.ignore();
  ASSERT_TRUE(cluster.ask("cancel", {"job-2"}));
  cluster.ignore();
  EXPECT_EQ(cluster.core().workers()[BandSlot{0}].ready_here, 17U);
}

// 32,000 changes left 18,000 keys, which placement took for subtasks.
TEST(ManyJobs, AChangeOfASubtasksPriorityLeavesNothingBehind) {
  SupervisorHarness cluster{{.lookahead_subtasks_initial = 1}};
  cluster.join();
  cluster.submit(GraphBuilder{}.sources(20).build());
  cluster.ignore();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(cluster.ask("priority", {"job-1", std::to_string(i % 7 - 3), "--subtask=15"}));
    cluster.ignore();
    EXPECT_EQ(cluster.core().workers()[BandSlot{0}].ready_here, 17U);
  }
  EXPECT_EQ(cluster.job().place.locals.find(BandSlot{0})->ready_count(), 17U);
}

TEST(ManyJobs, AClientThatGoesLeavesItsOwnJobsOnly) {
  SupervisorHarness cluster;
  for (std::uint32_t i = 0; i < 20; ++i) cluster.submit(GraphBuilder{}.add().build(), {}, ClientId{i % 2 + 1});
  cluster.ignore();
  cluster.handle(supervisor_event::ClientGone{ClientId{1}});
  for (std::uint32_t i = 1; i <= 20; ++i)
    EXPECT_EQ(cluster.job(i).outbox.followers().size(), i % 2 == 1 ? 0U : 1U) << i;
}

}  // namespace
}  // namespace penstock::supervisor
