#include "supervisor/core/limit_admission.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::supervisor {
namespace {

AdmissionRequest waits(std::uint64_t wanted, std::uint64_t step = 1000) {
  return {.limits = {0}, .wanted = {wanted, 0}, .step = {step, 1000}};
}
AdmissionRequest runs(std::uint64_t held, std::uint64_t wanted, std::uint64_t step = 1000) {
  return {.limits = {0}, .runs = true, .held = {held, 0}, .wanted = {wanted, 0}, .step = {step, 1000}};
}

// Spec: policy-flux 8, max_running_jobs.
TEST(LimitAdmission, OneMoreThanMayRunWaits) {
  const std::vector<Admission> admissions =
      admit_by_limits({{.running_jobs_max = 2}}, {waits(1000), runs(1000, 1000), waits(1000)});
  EXPECT_EQ(admissions[0].allowed[0], 1000U);
  EXPECT_EQ(admissions[1].allowed[0], 1000U) << "what runs goes on, whoever is before it";
  EXPECT_EQ(admissions[2].rule, LimitRule::RunningJobs);
  EXPECT_EQ(admissions[2].allowed[0], 0U);
  EXPECT_EQ(admissions[2].most, 2);
  EXPECT_EQ(admissions[2].taken, 2U);
}

// Spec: policy-flux 8, max_sched_jobs: of those that have not begun.
TEST(LimitAdmission, OneMoreThanMayWaitIsNotLookedAt) {
  const std::vector<Admission> admissions = admit_by_limits(
      {{.waiting_jobs_max = 1}}, {runs(1000, 1000), waits(1000), waits(1000), runs(1000, 2000), waits(0)});
  EXPECT_EQ(admissions[1].rule, LimitRule::None);
  EXPECT_EQ(admissions[1].allowed[0], 1000U);
  EXPECT_EQ(admissions[2].rule, LimitRule::WaitingJobs);
  EXPECT_EQ(admissions[2].allowed[0], 0U);
  EXPECT_EQ(admissions[2].most, 1);
  EXPECT_EQ(admissions[2].taken, 1U);
  EXPECT_EQ(admissions[3].allowed[0], 2000U) << "who runs does not wait to begin";
  EXPECT_EQ(admissions[4].rule, LimitRule::None) << "who wants nothing does not wait";
}

// One that borrows from another job of its user would else wait for it for ever.
TEST(LimitAdmission, AJobThatHasBegunKeepsItsTurnWhileItWantsAnything) {
  for (const std::uint64_t wanted : {0U, 1000U}) {
    const std::vector<Admission> admissions =
        admit_by_limits({{.running_jobs_max = 1}}, {waits(1000), runs(0, wanted)});
    EXPECT_EQ(admissions[0].rule, wanted > 0 ? LimitRule::RunningJobs : LimitRule::None);
  }
}

TEST(LimitAdmission, SlotsAreGivenInTurnAndByPortions) {
  const std::vector<Admission> admissions =
      admit_by_limits({{.slots_max = 5}}, {waits(6000, 2000), runs(1000, 3000, 1000), waits(1000)});
  EXPECT_EQ(admissions[0].allowed[0], 4000U) << "of the four that what runs leaves";
  EXPECT_EQ(admissions[0].rule, LimitRule::Slots);
  EXPECT_EQ(admissions[0].taken, 1000U);
  EXPECT_EQ(admissions[1].allowed[0], 1000U);
  EXPECT_EQ(admissions[2].allowed[0], 0U);
  EXPECT_EQ(admissions[2].rule, LimitRule::Slots);
  EXPECT_EQ(admissions[2].taken, 5000U);
}

TEST(LimitAdmission, AGangGetsAllOfItsSlotsOrNone) {
  const std::vector<Admission> admissions =
      admit_by_limits({{.slots_max = 5}}, {runs(2000, 2000), waits(4000, 4000), waits(2000)});
  EXPECT_EQ(admissions[1].allowed[0], 0U);
  EXPECT_EQ(admissions[1].rule, LimitRule::Slots);
  EXPECT_EQ(admissions[2].allowed[0], 0U);
}

// Found by an acceptance test: small jobs of its user passed it for ever.
TEST(LimitAdmission, WhatIsLeftIsKeptForTheFirstThatTakesMoreAtOnce) {
  const std::vector<Admission> admissions =
      admit_by_limits({{.slots_max = 2}}, {runs(1000, 1000), waits(2000, 2000), waits(1000)});
  EXPECT_EQ(admissions[1].allowed[0], 0U);
  EXPECT_EQ(admissions[1].taken, 1000U);
  EXPECT_GT(admissions[1].kept_for, admissions.size());
  EXPECT_EQ(admissions[2].allowed[0], 0U);
  EXPECT_EQ(admissions[2].kept_for, 1U);
}

TEST(LimitAdmission, NothingIsKeptForWhoHasSomeOrWouldNeverFit) {
  const std::vector<JobLimits> limits{{.slots_max = 3}};
  EXPECT_EQ(admit_by_limits(limits, {waits(4000, 2000), waits(1000)})[1].allowed[0], 1000U) << "the first has two";
  EXPECT_EQ(admit_by_limits(limits, {waits(4000, 4000), waits(1000)})[1].allowed[0], 1000U) << "no end would be enough";
}

// A reload had lowered the limit of its account: all later jobs of its user waited for it until it was cancelled.
TEST(LimitAdmission, NothingIsKeptForWhoWouldNeverFitUnderAnotherLimit) {
  AdmissionRequest large = waits(4000, 4000);
  for (const std::vector<std::uint32_t>& order : {std::vector<std::uint32_t>{0, 1}, {1, 0}}) {
    large.limits = order;
    const std::vector<Admission> admissions =
        admit_by_limits({{.slots_max = 6}, {.slots_max = 3}}, {runs(4000, 4000), large, waits(1000)});
    EXPECT_EQ(admissions[1].allowed[0], 0U);
    EXPECT_EQ(admissions[2].allowed[0], 1000U);
  }
}

// Each was used up by small jobs whenever the other one had enough.
TEST(LimitAdmission, WhatIsLeftOfAllLimitsThatHaveTooFewIsKept) {
  AdmissionRequest large = waits(4000, 4000);
  large.limits = {0, 1, 2};
  AdmissionRequest colleague = runs(3000, 3000);
  colleague.limits = {1, 2};
  AdmissionRequest small = waits(1000);
  small.limits = {1};
  AdmissionRequest other = waits(1000);
  other.limits = {2};
  const std::vector<Admission> admissions =
      admit_by_limits({{.slots_max = 6}, {.slots_max = 6}, {.slots_max = 8}},
                      {runs(4000, 4000), colleague, large, waits(1000), small, other});
  EXPECT_EQ(admissions[2].allowed[0], 0U);
  EXPECT_EQ(admissions[2].limit, 0U) << "two of its user, three of its account";
  EXPECT_EQ(admissions[3].kept_for, 2U);
  EXPECT_EQ(admissions[3].taken, 6000U);
  EXPECT_EQ(admissions[3].kept_milli, 2000U) << "of these";
  EXPECT_EQ(admissions[4].allowed[0], 0U);
  EXPECT_EQ(admissions[4].kept_for, 2U);
  EXPECT_EQ(admissions[4].kept_milli, 3000U);
  EXPECT_EQ(admissions[5].allowed[0], 1000U) << "five are enough for it";
}

TEST(LimitAdmission, ALowerLimitTakesSlotsBackButCutsNoGang) {
  EXPECT_EQ(admit_by_limits({{.slots_max = 2}}, {runs(5000, 5000)})[0].allowed[0], 2000U);
  AdmissionRequest gang = runs(5000, 5000, 5000);
  gang.gang = true;
  EXPECT_EQ(admit_by_limits({{.slots_max = 2}}, {gang})[0].allowed[0], 5000U);
  // A job that wants no more than one allocation unit is no gang.
  const std::vector<Admission> admissions =
      admit_by_limits({{.slots_max = 2}}, {runs(1000, 1000), runs(1000, 1000), runs(1000, 1000)});
  EXPECT_EQ(admissions[1].allowed[0], 1000U);
  EXPECT_EQ(admissions[2].allowed[0], 0U);
}

// Spec: policy-flux 7: exempt from limits of size, not of how many.
TEST(LimitAdmission, StandbyIsExemptFromLimitsOfSlotsOnly) {
  std::vector<AdmissionRequest> requests{waits(4000), waits(4000), waits(1000)};
  requests[0].exempt = true;
  const std::vector<Admission> admissions = admit_by_limits({{.running_jobs_max = 2, .slots_max = 3}}, requests);
  EXPECT_EQ(admissions[0].allowed[0], 4000U);
  EXPECT_EQ(admissions[1].allowed[0], 3000U) << "what is exempt takes nothing from the others";
  EXPECT_EQ(admissions[2].rule, LimitRule::RunningJobs);
}

TEST(LimitAdmission, WhatIsOnHoldGetsNothingAndIsInNobodysWay) {
  std::vector<AdmissionRequest> requests{waits(4000), waits(4000)};
  requests[0].on_hold = true;
  const std::vector<Admission> admissions = admit_by_limits({{.running_jobs_max = 1}}, requests);
  EXPECT_EQ(admissions[0].rule, LimitRule::OnHold);
  EXPECT_EQ(admissions[0].allowed[0], 0U);
  EXPECT_EQ(admissions[1].allowed[0], 4000U);
}

TEST(LimitAdmission, EachKindOfSlotsHasItsOwnLimit) {
  AdmissionRequest both = waits(2000);
  both.wanted[1] = 2000;
  const std::vector<Admission> admissions = admit_by_limits({{.slots_max = 2, .gpu_slots_max = 1}}, {both});
  EXPECT_EQ(admissions[0].allowed, (MilliByKind{2000, 1000}));
  EXPECT_EQ(admissions[0].rule, LimitRule::GpuSlots);
}

TEST(LimitAdmission, OfSeveralLimitsTheOneThatLeavesLeastDecides) {
  AdmissionRequest request = waits(9000);
  request.limits = {0, 1};
  const std::vector<Admission> admissions = admit_by_limits({{.slots_max = 7}, {.slots_max = 4}}, {request});
  EXPECT_EQ(admissions[0].allowed[0], 4000U);
  EXPECT_EQ(admissions[0].limit, 1U);
}

// Spec: policy-flux 8, max_sched_nodes and max_sched_cores.
TEST(LimitAdmission, AJobThatHasNotBegunIsCutToTheSlotsForWhichItMayWait) {
  const std::vector<Admission> admissions = admit_by_limits(
      {{.waiting_slots_max = 4}}, {runs(4000, 4000), waits(3000, 3000), waits(2000, 2000), waits(2000)});
  EXPECT_EQ(admissions[0].allowed[0], 4000U) << "a job that runs does not wait to begin";
  EXPECT_EQ(admissions[1].rule, LimitRule::None);
  EXPECT_EQ(admissions[2].rule, LimitRule::WaitingSlots);
  EXPECT_EQ(admissions[2].allowed[0], 0U);
  EXPECT_EQ(admissions[2].most, 4);
  EXPECT_EQ(admissions[2].taken, 3000U);
  EXPECT_EQ(admissions[3].allowed[0], 1000U) << "a job of single slots waits for as many as are left";
}

TEST(LimitAdmission, WaitingSlotsOfDevicesHaveALimitOfTheirOwn) {
  AdmissionRequest request = waits(0);
  request.wanted[1] = 2000;
  const std::vector<Admission> admissions = admit_by_limits({{.waiting_gpu_slots_max = 2}}, {request, request});
  EXPECT_EQ(admissions[0].rule, LimitRule::None);
  EXPECT_EQ(admissions[1].rule, LimitRule::WaitingGpuSlots);
}

// Spec: policy-flux 10.15: after every turn no limit is passed, but by what ran before it was lowered.
TEST(LimitAdmission, WhateverIsAskedNoLimitIsPassed) {
  std::uint64_t state = 7;
  const auto draw = [&state](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33U) % below;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<JobLimits> limits(1 + draw(3));
    for (JobLimits& each : limits) {
      if (draw(2) == 0) each.running_jobs_max = static_cast<std::int64_t>(1 + draw(3));
      if (draw(2) == 0) each.slots_max = static_cast<std::int64_t>(1 + draw(9));
      if (draw(4) == 0) each.waiting_slots_max = static_cast<std::int64_t>(draw(6));
    }
    std::vector<AdmissionRequest> requests(1 + draw(8));
    for (AdmissionRequest& each : requests) {
      for (std::uint32_t at = 0; at < limits.size(); ++at)
        if (draw(2) == 0) each.limits.push_back(at);
      each.on_hold = draw(8) == 0;
      each.exempt = draw(8) == 0;
      each.step[0] = 1000 * (1 + draw(3));
      each.wanted[0] = each.step[0] * draw(5);
    }
    const std::vector<Admission> admissions = admit_by_limits(limits, requests);
    for (std::uint32_t at = 0; at < limits.size(); ++at) {
      std::int64_t jobs = 0;
      std::uint64_t milli = 0;
      for (std::size_t i = 0; i < requests.size(); ++i) {
        if (std::find(requests[i].limits.begin(), requests[i].limits.end(), at) == requests[i].limits.end()) continue;
        jobs += admissions[i].allowed[0] > 0 ? 1 : 0;
        milli += requests[i].exempt ? 0 : admissions[i].allowed[0];
      }
      if (limits[at].running_jobs_max != kUnbounded) {
        ASSERT_LE(jobs, limits[at].running_jobs_max) << round;
      }
      if (limits[at].slots_max != kUnbounded) {
        ASSERT_LE(milli, static_cast<std::uint64_t>(limits[at].slots_max) * 1000) << round;
      }
      if (limits[at].waiting_slots_max != kUnbounded) {
        ASSERT_LE(milli, static_cast<std::uint64_t>(limits[at].waiting_slots_max) * 1000) << round << ": all wait";
      }
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      ASSERT_EQ(admissions[i].allowed[0] % requests[i].step[0], 0U);
      ASSERT_EQ(admissions[i].rule == LimitRule::None,
                admissions[i].allowed == requests[i].wanted && !requests[i].on_hold)
          << "who gets less is told why " << round;
    }
  }
}

}  // namespace
}  // namespace penstock::supervisor
