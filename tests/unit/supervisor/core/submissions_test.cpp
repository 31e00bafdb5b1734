// The most that may be submitted at once, and what has to go when it is too much.
#include "supervisor/core/submissions.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/graph_price.hpp"
#include "supervisor/core/job.hpp"
#include "tests/support/coverage_marks.hpp"
#include "tests/support/graph_builder.hpp"

namespace penstock::supervisor {
namespace {

constexpr Incarnation kOne{1};
constexpr Incarnation kOther{2};
constexpr Instant kNow = instant_at(std::chrono::seconds{100});

/// A first chunk that announces so many subtasks and has none of them.
SubmitChunk announces(std::uint64_t subtasks) {
  SubmitChunk chunk;
  chunk.first = true;
  chunk.spec.name = "job";
  chunk.whole.subtasks = subtasks;
  return chunk;
}

SubmitChunk brings(std::uint32_t subtasks, bool last = false) {
  SubmitChunk chunk;
  chunk.graph = GraphBuilder{}.sources(subtasks).build();
  chunk.last = last;
  return chunk;
}

std::uint64_t price_of(std::uint64_t subtasks) {
  GraphTotals totals;
  totals.subtasks = subtasks;
  return graph_price(totals);
}

Bytes bytes(std::uint64_t number) { return Bytes{static_cast<std::int64_t>(number)}; }

TEST(Submissions, TheLimitOfGraphsUnderWayIsOneOfEachClient) {
  GraphLimits limits;
  limits.submissions_max = 2;
  Submissions submissions{limits, Bytes{0}};
  EXPECT_TRUE(submissions.take({kOne, 1}, announces(1), 0, kNow, "ada").empty());
  EXPECT_TRUE(submissions.take({kOne, 2}, announces(1), 0, kNow, "ada").empty());
  const auto refused = submissions.take({kOne, 3}, announces(1), 0, kNow, "ada");
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].key, (SubmissionKey{kOne, 3}));
  EXPECT_NE(refused[0].why.remedy.find("graph.submissions_max"), std::string::npos);
  EXPECT_TRUE(submissions.take({kOther, 1}, announces(1), 0, kNow, "ada").empty()) << "another client has its own";
  submissions.end({kOne, 1});
  EXPECT_TRUE(submissions.take({kOne, 3}, announces(1), 0, kNow, "ada").empty());
}

TEST(Submissions, TheRestOfARefusedGraphIsNotHeard) {
  Submissions submissions{{}, Bytes{1}};
  EXPECT_EQ(submissions.take({kOne, 1}, announces(1), 0, kNow, "ada").size(), 1U);
  EXPECT_TRUE(submissions.take({kOne, 1}, brings(1), 0, kNow, "ada").empty());
  EXPECT_FALSE(submissions.contains({kOne, 1}));
}

TEST(Submissions, AGraphThatDoesNotFitIsRefusedByItsFirstChunkWithBothNumbers) {
  Submissions submissions{{}, bytes(price_of(1000))};
  EXPECT_TRUE(submissions.take({kOne, 1}, announces(1000), 0, kNow, "ada").empty()) << "at the limit";
  submissions.end({kOne, 1});
  std::vector<RefusedSubmission> refused;
  PENSTOCK_EXPECT_COVERAGE_MARK("a graph is too dear for the memory that is left",
                                refused = submissions.take({kOne, 2}, announces(1001), 0, kNow, "ada"));
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].why.code, ErrorCode::LimitExceeded);
  EXPECT_NE(refused[0].why.message.find("129KiB"), std::string::npos) << to_string(refused[0].why);
  EXPECT_NE(refused[0].why.remedy.find("supervisor.memory_max"), std::string::npos);
}

TEST(Submissions, WhatJobsTakeIsNotThere) {
  const std::uint64_t price = price_of(1000);
  Submissions submissions{{}, bytes(2 * price)};
  EXPECT_TRUE(submissions.take({kOne, 1}, announces(1000), price, kNow, "ada").empty());
  submissions.end({kOne, 1});
  EXPECT_EQ(submissions.take({kOne, 2}, announces(1000), price + 1, kNow, "ada").size(), 1U);
}

// A graph that does not say how large it is is known by what has come.
TEST(Submissions, AGraphIsRefusedAsSoonAsWhatHasComeIsTooMuch) {
  Submissions submissions{{}, bytes(price_of(1000) + 2048)};  // The template.
  EXPECT_TRUE(submissions.take({kOne, 1}, announces(0), 0, kNow, "ada").empty());
  EXPECT_TRUE(submissions.take({kOne, 1}, brings(999), 0, kNow, "ada").empty());
  EXPECT_EQ(submissions.take({kOne, 1}, brings(100), 0, kNow, "ada").size(), 1U);
}

TEST(Submissions, TheDearestOfAllGoesFirst) {
  Submissions submissions{{}, bytes(price_of(5000))};
  EXPECT_TRUE(submissions.take({kOne, 1}, announces(3000), 0, kNow, "ada").empty());
  EXPECT_TRUE(submissions.take({kOther, 1}, announces(1000), 0, kNow, "ada").empty());
  const auto refused = submissions.take({kOther, 2}, announces(2000), 0, kNow, "ada");
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].key, (SubmissionKey{kOne, 1}));
  EXPECT_TRUE(submissions.contains({kOther, 2}));
}

TEST(Submissions, OfOneClientTheDearestGoesWhenItsShareIsUsed) {
  GraphLimits limits;
  limits.submissions_bytes_max = bytes(price_of(5000));
  Submissions submissions{limits, Bytes{0}};
  EXPECT_TRUE(submissions.take({kOne, 1}, announces(3000), 0, kNow, "ada").empty());
  EXPECT_TRUE(submissions.take({kOther, 1}, announces(4000), 0, kNow, "ada").empty());
  std::vector<RefusedSubmission> refused;
  PENSTOCK_EXPECT_COVERAGE_MARK("the graphs of one client are too dear together",
                                refused = submissions.take({kOne, 2}, announces(3000), 0, kNow, "ada"));
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].key, (SubmissionKey{kOne, 2})) << "of two that cost the same the later one";
  EXPECT_NE(refused[0].why.remedy.find("graph.submissions_bytes_max"), std::string::npos);
}

TEST(Submissions, TheLimitOfAUserIsOneOfAllItsClientsAndTimeUndoesIt) {
  UserLimits users;
  users.submissions_max = 2;
  Submissions submissions{{}, Bytes{0}, users};
  EXPECT_TRUE(submissions.take({kOne, 1}, announces(1), 0, kNow, "ada").empty());
  EXPECT_TRUE(submissions.take({kOther, 1}, announces(1), 0, kNow, "ada").empty()) << "at the limit";
  std::vector<RefusedSubmission> refused;
  PENSTOCK_EXPECT_COVERAGE_MARK("a user submits too many graphs at once",
                                refused = submissions.take({kOther, 2}, announces(1), 0, kNow, "ada"));
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].why.code, ErrorCode::LimitExceeded);
  EXPECT_EQ(refused[0].why.subject, "user 'ada'");
  EXPECT_EQ(refused[0].why.message, "submits 2 graphs at once already, which is `users.submissions_max`");
  EXPECT_GT(refused[0].retry_after, Duration{0});
  EXPECT_TRUE(submissions.take({kOther, 3}, announces(1), 0, kNow, "bob").empty()) << "another user";
  submissions.end({kOne, 1});
  EXPECT_TRUE(submissions.take({kOther, 4}, announces(1), 0, kNow, "ada").empty());
  submissions.end_all_of(kOther);
  for (std::uint64_t i = 10; i < 12; ++i)
    EXPECT_TRUE(submissions.take({kOne, i}, announces(1), 0, kNow, "ada").empty()) << "all counts are back";
}

TEST(Submissions, TheUserOfAGraphOfARunIsTheOwnerOfTheRunsJob) {
  Job parent{JobId{1}};
  parent.identity = {1, 1};
  parent.spec.owner = "ada";
  JobSpec spec;
  spec.owner = "the worker";
  EXPECT_EQ(user_of(spec, nullptr), "the worker");
  spec.parent = Seldom{ParentRun{{JobId{1}, SubtaskIndex{0}}, Attempt{1}, {1, 1}}};
  EXPECT_EQ(user_of(spec, &parent), "ada");
  EXPECT_EQ(user_of(spec, nullptr), "the worker") << "it is gone";
  spec.parent.edit().identity = {1, 2};
  EXPECT_EQ(user_of(spec, &parent), "the worker") << "numbers can be guessed";
}

TEST(Submissions, OfOneUserTheDearestGoesWhenItsShareIsUsed) {
  UserLimits users;
  users.submissions_bytes_max = bytes(price_of(3000) + price_of(2000));
  Submissions submissions{{}, Bytes{0}, users};
  EXPECT_TRUE(submissions.take({kOne, 1}, announces(3000), 0, kNow, "ada").empty());
  EXPECT_TRUE(submissions.take({kOther, 1}, announces(4000), 0, kNow, "bob").empty());
  EXPECT_TRUE(submissions.take({kOther, 2}, announces(2000), 0, kNow, "ada").empty()) << "at the limit";
  std::vector<RefusedSubmission> refused;
  PENSTOCK_EXPECT_COVERAGE_MARK("the graphs of one user are too dear together",
                                refused = submissions.take({kOther, 3}, announces(1), 0, kNow, "ada"));
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].key, (SubmissionKey{kOne, 1})) << "of the user, and not the dearest of all";
  EXPECT_NE(refused[0].why.message.find("user 'ada'"), std::string::npos) << refused[0].why.message;
  EXPECT_NE(refused[0].why.remedy.find("users.submissions_bytes_max"), std::string::npos);
  EXPECT_EQ(refused[0].retry_after, Duration{0}) << "it would be sent in vain again and again";
  EXPECT_TRUE(submissions.contains({kOther, 3}));
}

TEST(Submissions, WhatAClientSendsGoesWithIt) {
  Submissions submissions{{}, bytes(price_of(1000))};
  EXPECT_TRUE(submissions.take({kOne, 1}, announces(400), 0, kNow, "ada").empty());
  EXPECT_TRUE(submissions.take({kOne, 2}, announces(400), 0, kNow, "ada").empty());
  const std::vector<LeftSubmission> left = submissions.end_all_of(kOne);
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].key, (SubmissionKey{kOne, 1}));
  EXPECT_EQ(left[1].key, (SubmissionKey{kOne, 2}));
  for (const LeftSubmission& graph : left) submissions.freed(graph.arrived_bytes);
  EXPECT_TRUE(submissions.end_all_of(kOne).empty());
  EXPECT_TRUE(submissions.take({kOther, 1}, announces(1000), 0, kNow, "ada").empty());
}

// The check's thread runs behind all others: chunks of refused graphs must not add up while it waits for a processor.
TEST(Submissions, ANewGraphBeginsBesideChunksThatAreNotFreedYetOnlyWhereThereIsMemory) {
  GraphLimits limits;
  limits.subtasks_max = 1000;
  Submissions submissions{limits, bytes(2 * price_of(1000))};
  EXPECT_TRUE(submissions.take({kOne, 1}, announces(0), 0, kNow, "ada").empty());
  EXPECT_TRUE(submissions.take({kOne, 1}, brings(900), 0, kNow, "ada").empty());
  const auto refused = submissions.take({kOne, 1}, brings(101), 0, kNow, "ada");
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_GE(refused[0].arrived_bytes, price_of(900));

  EXPECT_TRUE(submissions.take({kOther, 1}, announces(100), 0, kNow, "ada").empty());
  const auto beside = submissions.take({kOther, 2}, announces(1000), 0, kNow, "ada");
  ASSERT_EQ(beside.size(), 1U);
  EXPECT_EQ(beside[0].arrived_bytes, 0U);
  EXPECT_NE(beside[0].why.remedy.find("later"), std::string::npos);

  submissions.freed(refused[0].arrived_bytes);
  EXPECT_TRUE(submissions.take({kOther, 2}, announces(1000), 0, kNow, "ada").empty());
}

TEST(Submissions, AGraphOfWhichNothingMoreComesIsGivenUp) {
  GraphLimits limits;
  Submissions submissions{limits, Bytes{0}};
  static_cast<void>(submissions.take({kOne, 1}, announces(0), 0, kNow, "ada"));
  static_cast<void>(submissions.take({kOne, 2}, announces(0), 0, kNow, "ada"));
  static_cast<void>(submissions.take({kOne, 3}, announces(0), 0, kNow, "ada"));
  const Instant soon = kNow + std::chrono::seconds{1};
  static_cast<void>(submissions.take({kOne, 2}, brings(1), 0, soon, "ada"));
  // The graph is being checked, for as long as it takes.
  static_cast<void>(submissions.take({kOne, 3}, brings(1, true), 0, soon, "ada"));
  const Instant due = kNow + limits.submission_idle_max;
  EXPECT_EQ(submissions.next_deadline(), due);
  EXPECT_TRUE(submissions.take_idle(due - Duration{1}).empty());
  const auto idle = submissions.take_idle(due);
  ASSERT_EQ(idle.size(), 1U);
  EXPECT_EQ(idle[0].key, (SubmissionKey{kOne, 1}));
  EXPECT_EQ(idle[0].why.code, ErrorCode::TimedOut);
  EXPECT_EQ(submissions.next_deadline(), soon + limits.submission_idle_max);
  EXPECT_EQ(submissions.take_idle(soon + limits.submission_idle_max).size(), 1U);
  EXPECT_EQ(submissions.next_deadline(), std::nullopt);
}

}  // namespace
}  // namespace penstock::supervisor
