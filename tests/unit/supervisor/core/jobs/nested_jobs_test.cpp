#include "supervisor/core/jobs/nested_jobs.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

const SubtaskId kParent{JobId{1}, SubtaskIndex{2}};
const SubtaskId kOther{JobId{1}, SubtaskIndex{3}};

std::vector<std::uint32_t> children_of(const NestedJobs& nested, const SubtaskId& parent) {
  std::vector<std::uint32_t> jobs;
  for (const NestedJobs::Child& child : nested.of(parent)) jobs.push_back(child.job.value());
  return jobs;
}

using Jobs = std::vector<std::uint32_t>;

TEST(NestedJobs, KnowsTheChildrenOfEachSubtask) {
  NestedJobs nested;
  nested.add(kParent, {JobId{7}, Attempt{1}});
  nested.add(kParent, {JobId{8}, Attempt{2}});
  nested.add(kOther, {JobId{9}, Attempt{1}});
  EXPECT_EQ(children_of(nested, kParent), (Jobs{7, 8}));
  EXPECT_EQ(nested.of(kParent)[1].attempt, Attempt{2});
  nested.remove(kParent, JobId{7});
  nested.remove(kParent, JobId{9});
  EXPECT_EQ(children_of(nested, kParent), Jobs{8});
  EXPECT_EQ(children_of(nested, kOther), Jobs{9});
  nested.remove(kParent, JobId{8});
  nested.remove(kParent, JobId{8});
  EXPECT_EQ(children_of(nested, kParent), Jobs{});
}

TEST(NestedJobs, TellsOnceWhatHasMoved) {
  NestedJobs nested;
  EXPECT_FALSE(nested.any_moved());
  nested.note_moved(kParent);
  EXPECT_TRUE(nested.any_moved());
  EXPECT_EQ(nested.take_moved(), std::vector<SubtaskId>{kParent});
  EXPECT_FALSE(nested.any_moved());
  EXPECT_EQ(nested.take_moved(), std::vector<SubtaskId>{});
}

TEST(NestedJobs, TellsAllParentsOfAJob) {
  NestedJobs nested;
  const SubtaskId before{JobId{0}, SubtaskIndex{9}};
  const SubtaskId behind{JobId{2}, SubtaskIndex{0}};
  for (const SubtaskId& parent : {behind, kOther, kParent, before}) nested.add(parent, {JobId{7}, Attempt{1}});
  nested.note_all_moved(JobId{1});
  EXPECT_EQ(nested.take_moved(), (std::vector<SubtaskId>{kParent, kOther}));
}

TEST(NestedJobs, TellsOnceWhatIsSpent) {
  NestedJobs nested;
  nested.note_spent(JobId{3});
  EXPECT_EQ(nested.take_spent(), std::vector<JobId>{JobId{3}});
  EXPECT_EQ(nested.take_spent(), std::vector<JobId>{});
}

}  // namespace
}  // namespace penstock::supervisor
