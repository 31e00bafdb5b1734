#include "supervisor/core/placement/band_queues.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/workers/band_indices.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

constexpr BandSlot kBand{0};
constexpr BandSlot kOther{1};

using Numbers = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
Numbers numbers_of(const Credit& credit) { return {credit.slots, credit.in_flight, credit.runnable, credit.runs}; }

/// Two workers with a band of two slots each, and a policy in force for jobs that have shares.
class BandQueuesTest : public ::testing::Test {
 protected:
  BandQueuesTest() {
    for (std::uint32_t i = 1; i <= 2; ++i) {
      Register description;
      description.name = "worker-" + std::to_string(i);
      description.bands.emplace_back().capacity.slots = MilliSlots{2000};
      workers.add(WorkerId{i}, Incarnation{i}, description);
    }
    policy.config.pools = {{.name = "all"}};
    event.now = Instant{std::chrono::seconds{7}};
  }
  Job& add_job(std::uint32_t number, std::int32_t priority = 0) {
    Job& job = jobs.add(JobId{number});
    job.graph.shape = shape.get();
    job.hot.resize(shape->size());
    job.spec.priority = priority;
    return job;
  }
  /// A job under the policy that holds nothing, and of which the last pass has seen nothing.
  Job& add_policed_job(std::uint32_t number) {
    Job& job = add_job(number);
    job.shares = std::make_unique<JobShares>();
    return job;
  }
  static void entitle(Job& job, MilliSlots slots) { job.shares->at(kBand).entitled = slots; }
  const WaitingJobs& waiting(BandSlot band = kBand) const { return workers[band].waiting; }
  /// Whether anything has asked for a pass of the policy since the last call.
  bool asked_for_pass() { return std::exchange(policy.due, kNever) != kNever; }
  void clean_bands() {
    bands.fill_dirty([](BandSlot) {});
  }

  std::unique_ptr<GraphShape> shape = shape_of(GraphBuilder{}.sources(4).build());
  EventContext event;
  WorkerTable workers;
  BandIndices bands{workers};
  JobTable jobs;
  Eligibility eligibility{workers};
  PolicyState policy;
  JobIndices indices;
  PolicyView view{jobs, workers, eligibility, policy, indices};
  PolicyTurns turns{event, policy, view};
  SupervisorCounters counters;
  BandQueues queues{jobs, workers, bands, counters, turns};
};

TEST_F(BandQueuesTest, AKeptSubtaskMakesOneEntryOfItsJobAndTheBandDirty) {
  Job& job = add_job(1);
  queues.keep_ready(job, kBand, 2);
  queues.keep_ready(job, kBand, 1);
  EXPECT_EQ(job.place.locals.at(kBand).best_ready(), job.order_key(1));
  EXPECT_EQ(workers[kBand].ready_here, 2U);
  EXPECT_TRUE(workers[kBand].dirty);
  EXPECT_FALSE(workers[kOther].dirty);
  EXPECT_EQ(waiting().size(), 1U);
  EXPECT_EQ(queues.first_waiting(kBand), &job);
  EXPECT_EQ(queues.first_waiting(kOther), nullptr);
  EXPECT_FALSE(asked_for_pass()) << "the job has no shares";
}

TEST_F(BandQueuesTest, TheHighestPriorityIsFirstAndAmongEqualsTheJobThatHoldsLeastNow) {
  Job& first = add_job(1);
  Job& second = add_job(2);
  Job& urgent = add_job(3, 5);
  first.tally.in_flight = 3;
  second.tally.in_flight = 1;
  for (Job* job : {&first, &second, &urgent}) queues.keep_ready(*job, kBand, 0);
  EXPECT_EQ(queues.first_waiting(kBand), &urgent);
  urgent.place.locals.at(kBand).clear();
  EXPECT_EQ(queues.first_waiting(kBand), &second);
  EXPECT_FALSE(urgent.place.locals.at(kBand).is_waiting()) << "its entry is removed";
  second.tally.in_flight = 4;
  EXPECT_EQ(queues.first_waiting(kBand), &first) << "the entry of the second job is brought up to date";
  EXPECT_EQ(waiting().size(), 2U);
}

TEST_F(BandQueuesTest, AnEntryOfAJobThatMaySendNothingIsRemoved) {
  const std::pair<const char*, std::function<void(Job&)>> cases[] = {
      {"nothing is kept", [](Job& job) { job.place.locals.at(kBand).clear(); }},
      {"the job is cancelled", [](Job& job) { job.status.cancelling = true; }},
      {"policy gives it nothing here", [](Job& job) { job.shares = std::make_unique<JobShares>(); }},
      {"the job is forgotten", [this](Job& job) { jobs.erase(job.id); }},
  };
  std::uint32_t number = 0;
  for (const auto& [name, change] : cases) {
    Job& job = add_job(++number);
    queues.keep_ready(job, kBand, 0);
    ASSERT_TRUE(queues.correct_waiting(kBand, 0)) << name;
    change(job);
    EXPECT_FALSE(queues.correct_waiting(kBand, 0)) << name;
    EXPECT_TRUE(waiting().empty()) << name;
    const bool is_marked = jobs.knows(JobId{number}) && jobs[JobId{number}].place.locals.at(kBand).is_waiting();
    EXPECT_FALSE(is_marked) << name;
  }
  EXPECT_EQ(counters.jobs_looked_at, 2 * std::size(cases));
}

TEST_F(BandQueuesTest, AJobEntersAnewWithItsPresentPriorityWhereABandIsPresent) {
  Job& job = add_job(1);
  Job& above = add_job(2, 1);
  for (const BandSlot band : {kBand, kOther}) queues.keep_ready(job, band, 0);
  queues.keep_ready(above, kBand, 0);
  workers.remove(workers[kOther].worker);
  clean_bands();
  job.spec.priority = 2;
  EXPECT_EQ(queues.first_waiting(kBand), &above);
  queues.enter_waiting_anew(job);
  EXPECT_EQ(queues.first_waiting(kBand), &job);
  EXPECT_TRUE(workers[kBand].dirty);
  EXPECT_TRUE(waiting(kOther).empty());
  EXPECT_FALSE(job.place.locals.at(kOther).is_waiting());
  ASSERT_EQ(waiting().size(), 3U);
  std::size_t outdated = 0;
  while (waiting()[outdated].job != job.id || waiting()[outdated].precedence != 0) ASSERT_LT(++outdated, 3U);
  EXPECT_FALSE(queues.correct_waiting(kBand, outdated));
  EXPECT_TRUE(job.place.locals.at(kBand).is_waiting()) << "the later entry stays";
  EXPECT_EQ(queues.first_waiting(kBand), &job);
}

TEST_F(BandQueuesTest, CreditIsTheWholeBandUnlessPolicyLimitsTheJob) {
  BandEntry& band = workers[kBand];
  band.in_flight = 6;
  band.runnable = 5;
  band.yielded = 1;
  const Numbers whole{2, 6, 5, 3};
  EXPECT_EQ(numbers_of(queues.credit_of(add_job(1), kBand)), whole);
  EXPECT_TRUE(queues.has_slots_for(jobs[JobId{1}], kBand));

  Job& job = add_policed_job(2);
  EXPECT_EQ(queues.credit_of(job, kBand).slots, 0U) << "no pass has looked at the job";
  EXPECT_FALSE(queues.has_slots_for(job, kBand));
  BandShare& share = job.shares->at(kBand);
  share = {.entitled = MilliSlots{1500}, .runs = 4, .in_flight = 8, .runnable = 3};
  EXPECT_EQ(numbers_of(queues.credit_of(job, kBand)), (Numbers{2, 8, 3, 5}));
  EXPECT_TRUE(queues.has_slots_for(job, kBand));
  share.runnable = 4;
  EXPECT_FALSE(queues.has_slots_for(job, kBand));
  share.entitled = MilliSlots::max();
  EXPECT_EQ(numbers_of(queues.credit_of(job, kBand)), whole);
  EXPECT_TRUE(queues.has_slots_for(job, kBand));
}

TEST_F(BandQueuesTest, APassIsAskedForOnlyByAJobOfWhichTheLastOneSawNothing) {
  Job& unseen = add_policed_job(1);
  queues.keep_ready(unseen, kBand, 0);
  EXPECT_EQ(policy.due, event.now + policy.config.settle);
  EXPECT_TRUE(asked_for_pass());

  Job& entitled = add_policed_job(2);
  entitle(entitled, MilliSlots{1000});
  queues.keep_ready(entitled, kBand, 0);
  EXPECT_FALSE(asked_for_pass());

  Job& seen = add_policed_job(3);
  seen.shares->kinds.edit(BandKind::Cpu).demand = 1000;
  queues.keep_ready(seen, kBand, 0);
  EXPECT_FALSE(asked_for_pass());
}

TEST_F(BandQueuesTest, AnEntitlementBringsAJobBackAndNamesItOnceAtTheBand) {
  Job& job = add_policed_job(1);
  queues.keep_ready(job, kBand, 0);
  EXPECT_EQ(queues.first_waiting(kBand), nullptr);
  queues.follow_entitlement(job, kBand);
  EXPECT_TRUE(waiting().empty()) << "the job has no slots yet";
  EXPECT_TRUE(workers[kBand].entitled.empty());
  clean_bands();
  entitle(job, MilliSlots{1000});
  queues.follow_entitlement(job, kBand);
  queues.follow_entitlement(job, kBand);
  EXPECT_EQ(queues.first_waiting(kBand), &job);
  EXPECT_EQ(waiting().size(), 1U);
  EXPECT_EQ(workers[kBand].entitled, std::vector<JobId>{job.id});
  EXPECT_TRUE(workers[kBand].dirty);
  Job& unlimited = add_policed_job(2);
  entitle(unlimited, MilliSlots::max());
  queues.follow_entitlement(unlimited, kBand);
  EXPECT_EQ(workers[kBand].entitled, std::vector<JobId>{job.id}) << "no limit is no part of the band";
}

}  // namespace
}  // namespace penstock::supervisor
