// SupervisorCore: what would free a job that a limit or its own cap holds.
#include <gtest/gtest.h>

#include "tests/support/remedy_harness.hpp"

namespace penstock::supervisor {
namespace {

class LimitRemedies : public RemedyHarness {
 public:
  explicit LimitRemedies(JobLimits limits, std::vector<AccountConfig> accounts = {})
      : RemedyHarness{config(limits, std::move(accounts))} {
    cluster.join({.slots = 16});
  }

  JobId submit(JobPolicy policy, std::uint32_t subtasks, const char* owner = "ann") {
    return RemedyHarness::submit(std::move(policy), 1, subtasks, 0, owner);
  }

 private:
  static SupervisorConfig config(JobLimits limits, std::vector<AccountConfig> accounts) {
    SupervisorConfig config = policed("priority");
    config.policy.users = {{.name = "ann", .limits = limits}};
    config.policy.accounts = std::move(accounts);
    return config;
  }
};

TEST(LimitRemediesTest, TheEndOfAnyThatRunsFreesTheNext) {
  LimitRemedies it{{.running_jobs_max = 2}};
  const JobId a = it.submit({}, 1);
  const JobId b = it.submit({}, 1);
  const JobId next = it.submit({}, 1);
  const JobId last = it.submit({}, 1);
  EXPECT_EQ(it.freed_by(next), (Lines{"end " + to_string(a), "end " + to_string(b)}));
  EXPECT_EQ(it.freed_by(last), Lines{"end " + to_string(a) + ", " + to_string(b) + ": together"})
      << "one end frees the one before it";
  EXPECT_EQ(it.freed_by(a), Lines{});
}

// Found by an acceptance test: small jobs passed a large one of their user.
TEST(LimitRemediesTest, WhoWaitsBehindALargeJobIsFreedByItsStart) {
  LimitRemedies it{{.slots_max = 2}};
  const JobId runs = it.submit({}, 1);
  const JobId large = it.submit({.gang = 2}, 2);
  const JobId small = it.submit({}, 1);
  EXPECT_EQ(it.freed_by(large), Lines{"end " + to_string(runs)});
  EXPECT_EQ(it.freed_by(small), Lines{"start " + to_string(large)});
  EXPECT_EQ(*it.explain(small)["held_by"].text(),
            "slots_max of user 'ann' is 2, and others have 2 of them or come before it; of these 1 is kept for " +
                to_string(large) + ", which takes more at once");
}

// The large one waits for slots of its user, and what is left of its account is kept for it as well.
TEST(LimitRemediesTest, SoIsWhoWaitsBehindItUnderAnotherLimit) {
  LimitRemedies it{{.slots_max = 3}, {{.name = "lab", .limits = {.slots_max = 5}}}};
  it.submit({.account = "lab"}, 1);
  it.submit({.account = "lab"}, 2, "bob");
  const JobId large = it.submit({.account = "lab", .gang = 3}, 3);
  const JobId small = it.submit({.account = "lab"}, 1, "bob");
  EXPECT_EQ(it.freed_by(small), Lines{"start " + to_string(large)});
}

// Found by an explorer: the only turn was that of a job that waited for room, and nothing was told of it.
TEST(LimitRemediesTest, SoDoesTheEndOfOneThatHasItsTurnAndWaitsForRoom) {
  LimitRemedies it{{.running_jobs_max = 1}};
  JobSpec other;
  other.name = "others";
  other.owner = "bob";
  const std::string room = to_string(it.cluster.submit(GraphBuilder{}.sources(64).build(), other));
  it.cluster.settle(3);
  const JobId waits = it.submit({.gang = 4}, 4);
  const JobId next = it.submit({}, 1);
  const JobId last = it.submit({}, 1);
  EXPECT_EQ(it.freed_by(next), Lines{"end " + to_string(waits) + ", " + room + ": together"}) << "there is no room";
  EXPECT_EQ(it.freed_by(last), Lines{"end " + to_string(waits) + ", " + to_string(next) + ", " + room + ": together"});
}

TEST(LimitRemediesTest, OfSlotsThoseEndsThatLeaveEnough) {
  LimitRemedies it{{.slots_max = 6}};
  it.submit({.slots_max = 1}, 1);
  const JobId large = it.submit({}, 4);
  const JobId gang = it.submit({.gang = 4}, 4);
  EXPECT_EQ(it.freed_by(gang), Lines{"end " + to_string(large)});
  const JobId all = it.submit({.gang = 6}, 6);
  EXPECT_EQ(it.freed_by(all), Lines{"start " + to_string(gang)}) << "the ends of both let that one start";
}

// Spec: policy-flux 8, max_sched_jobs.
TEST(LimitRemediesTest, OfWaitingJobsTheStartOfOneBeforeIt) {
  LimitRemedies it{{.waiting_jobs_max = 1}};
  it.submit({}, 16);
  const JobId waits = it.submit({}, 1);
  const JobId crowded = it.submit({}, 1);
  EXPECT_EQ(it.explain(crowded)["held_by"], Value{"waiting_jobs_max of user 'ann' is 1, and 1 wait before it"});
  EXPECT_EQ(it.freed_by(crowded), Lines{"start " + to_string(waits)});
  const Result<Value> limits = it.cluster.ask("limits");
  ASSERT_TRUE(limits.has_value());
  EXPECT_EQ((*limits->list())[0]["waiting_jobs_max"], Value{std::int64_t{1}});
  EXPECT_EQ((*limits->list())[0]["waiting_jobs"], Value{std::int64_t{1}});
}

TEST(LimitRemediesTest, WhoHoldsAllOfItsOwnCapIsTold) {
  LimitRemedies it{{}};
  const JobId capped = it.submit({.slots_max = 2}, 5);
  EXPECT_EQ(it.explain(capped)["held_by"], Value{"slots_max: it holds 2 of the 2 that it may hold"});
  EXPECT_EQ(it.freed_by(capped), Lines{"cap " + to_string(capped) + ": set cap " + to_string(capped) + " 3"});
  const Result<Value> queue = it.cluster.ask("queue");
  EXPECT_EQ((*queue->list())[0]["held_by"], it.explain(capped)["held_by"]);
  const JobId small = it.submit({.slots_max = 2}, 2);
  EXPECT_TRUE(it.explain(small)["held_by"].is_null()) << "it has all that it wants";
}

}  // namespace
}  // namespace penstock::supervisor
