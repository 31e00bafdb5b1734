#include "supervisor/core/lifecycle/job_names.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

constexpr GraphHash kMonday{0x1111, 0xaaaa'aaaa'0000'0000};
constexpr GraphHash kTuesday{0x2222, 0xbbbb'bbbb'0000'0000};
constexpr std::int64_t kNowMs = 1'796'029'951'000;  // 2026-11-30 09:12:31

class JobNamesTest : public ::testing::Test {
 protected:
  Job& add(const std::string& name, const GraphHash& content, JobState state, std::uint64_t submitter = 0) {
    Job& job = jobs.add(jobs.next());
    job.spec.name = name;
    job.spec.owner = "ada";
    job.spec.content = content;
    job.spec.submitter = submitter;
    job.status.state = state;
    job.status.submitted = now - std::chrono::hours{25};
    job.status.ended = state == JobState::Running ? kNever : now - std::chrono::hours{24};
    jobs.add_name(job);
    return job;
  }
  static JobSpec spec(const std::string& name, const GraphHash& content, NameUse use = NameUse::Same) {
    JobSpec made;
    made.name = name;
    made.owner = "ada";
    made.content = content;
    made.name_use = use;
    return made;
  }
  Result<Job*> settle(JobSpec& wanted, std::uint32_t runs_max = 2) {
    return JobNames{jobs, clock, now, runs_max}.settle(wanted);
  }
  /// The number of the job that is meant, 0 for a new one, or the code of the refusal.
  std::string settled(JobSpec wanted) {
    const Result<Job*> known = settle(wanted);
    if (!known) return std::string{to_string(known.error().code)};
    return *known == nullptr ? "new " + wanted.name : to_string((*known)->id);
  }

  JobTable jobs;
  const Instant now = instant_at(std::chrono::hours{1000});
  const WallClock clock{now, kNowMs};
};

TEST_F(JobNamesTest, TheSameWorkUnderOneNameIsOneJobHoweverItEnded) {
  EXPECT_EQ(settled(spec("nightly", kMonday)), "new nightly");
  add("nightly", kMonday, JobState::Running);
  EXPECT_EQ(settled(spec("nightly", kMonday)), "job-1");
  jobs[JobId{1}].status.state = JobState::Failed;
  EXPECT_EQ(settled(spec("nightly", kMonday)), "job-1");
  EXPECT_EQ(settled(spec("", kMonday)), "new ") << "a nameless job is always new";
}

TEST_F(JobNamesTest, OtherWorkUnderTheNameIsRefusedWithBothHashesAndDates) {
  add("nightly", kMonday, JobState::Failed);
  add("nightly-2", kMonday, JobState::Running);
  JobSpec wanted = spec("nightly", kTuesday);
  const Result<Job*> refused = settle(wanted);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::NameTaken);
  EXPECT_EQ(refused.error().message,
            "is job-1, which does something else: its content is aaaaaaaa (submitted 2026-11-29T08:12:31Z, failed "
            "2026-11-29T09:12:31Z), that of this submission bbbbbbbb (2026-11-30T09:12:31Z)");
  EXPECT_EQ(
      refused.error().remedy,
      "`--replace` cancels job-1 and runs this, `--new` runs this as 'nightly-3', `penstock rerun job-1` runs the "
      "former content again");
}

TEST_F(JobNamesTest, AJobOfAnOlderVersionDoesTheSameAsAny) {
  add("nightly", GraphHash{}, JobState::Succeeded);
  EXPECT_EQ(settled(spec("nightly", kTuesday)), "job-1");
  EXPECT_EQ(settled(spec("nightly", kTuesday, NameUse::Rerun)), "new nightly");
}

TEST_F(JobNamesTest, ARepeatedSubmissionIsItsOwnJobWhateverItWishes) {
  add("nightly", kMonday, JobState::Failed);
  add("nightly-2", kTuesday, JobState::Running, 8);
  JobSpec repeated = spec("nightly", kTuesday, NameUse::Number);
  EXPECT_EQ(settled(repeated), "new nightly-3");
  repeated.submitter = 8;
  EXPECT_EQ(settled(repeated), "job-2");
  add("nightly", kTuesday, JobState::Running, 9);
  JobSpec replaced = spec("nightly", kTuesday, NameUse::Replace);
  EXPECT_EQ(settled(replaced), "WrongState") << "it runs";
  replaced.submitter = 9;
  EXPECT_EQ(settled(replaced), "job-3");
}

TEST_F(JobNamesTest, OnlyAnEndedJobIsReplacedOrRunAgain) {
  for (const NameUse use : {NameUse::Replace, NameUse::Rerun, NameUse::Number})
    EXPECT_EQ(settled(spec("nightly", kMonday, use)), "new nightly") << "no job has the name";
  Job& job = add("nightly", kMonday, JobState::Running);
  EXPECT_EQ(settled(spec("nightly", kTuesday, NameUse::Replace)), "WrongState");
  EXPECT_EQ(settled(spec("nightly", kMonday, NameUse::Rerun)), "WrongState");
  job.status.state = JobState::Cancelled;
  EXPECT_EQ(settled(spec("nightly", kTuesday, NameUse::Replace)), "new nightly");
  EXPECT_EQ(settled(spec("nightly", kMonday, NameUse::Rerun)), "new nightly");
  EXPECT_EQ(settled(spec("nightly", kTuesday, NameUse::Rerun)), "NameTaken");
}

TEST_F(JobNamesTest, AnotherUsersNameIsNoneOfOurs) {
  add("nightly", kMonday, JobState::Running).spec.owner = "bob";
  EXPECT_EQ(settled(spec("nightly", kTuesday)), "new nightly");
}

TEST_F(JobNamesTest, ARunRemembersThoseBeforeIt) {
  Job& first = add("nightly", kMonday, JobState::Failed);
  JobSpec wanted = spec("nightly", kMonday, NameUse::Rerun);
  ASSERT_TRUE(settle(wanted).has_value());
  ASSERT_TRUE(wanted.runs.any());
  EXPECT_EQ(wanted.runs->number, 2U);
  const std::int64_t day = std::int64_t{24} * 3'600'000;
  EXPECT_EQ(wanted.runs->earlier,
            (std::vector<EarlierRun>{{first.id, JobState::Failed, kNowMs - day - 3'600'000, kNowMs - day}}));
}

TEST_F(JobNamesTest, NoMoreRunsAreRememberedThanTheLimit) {
  for (const std::uint32_t runs_max : {0U, 1U, 2U}) {
    Job& last = add("run " + std::to_string(runs_max), kMonday, JobState::Failed);
    last.spec.runs.edit().number = 5;
    last.spec.runs.edit().earlier = {{JobId{90}, JobState::Failed, 1, 2}};
    JobSpec wanted = spec(last.spec.name, kMonday, NameUse::Rerun);
    ASSERT_TRUE(settle(wanted, runs_max).has_value());
    EXPECT_EQ(wanted.runs->number, 6U);
    ASSERT_EQ(wanted.runs->earlier.size(), runs_max);
    if (runs_max == 0) continue;
    EXPECT_EQ(wanted.runs->earlier.back().job, last.id) << "the oldest go first";
  }
}

TEST_F(JobNamesTest, OfSeveralRunsTheNewestHasTheName) {
  add("nightly", kMonday, JobState::Failed);
  add("nightly", kMonday, JobState::Succeeded);
  EXPECT_EQ(settled(spec("nightly", kMonday)), "job-2");
}

}  // namespace
}  // namespace penstock::supervisor
