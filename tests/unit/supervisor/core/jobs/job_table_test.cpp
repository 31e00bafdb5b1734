#include "supervisor/core/jobs/job_table.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

Job& add(JobTable& table, std::uint32_t number, const std::string& name) {
  Job& job = table.add(JobId{number});
  job.spec.name = name;
  table.add_name(job);
  return job;
}

TEST(JobTable, BeginsEmptyWithNumberOne) {
  JobTable table;
  EXPECT_EQ(table.next(), JobId{1});
  for (const std::uint32_t number : {0U, 1U, 7U}) {
    EXPECT_FALSE(table.knows(JobId{number}));
    EXPECT_EQ(table.find(JobId{number}), nullptr);
  }
  EXPECT_FALSE(table.knows(JobId::none()));
}

TEST(JobTable, AJobIsFoundByNumberAndByName) {
  JobTable table;
  Job& job = add(table, 1, "daily");
  EXPECT_EQ(job.id, JobId{1});
  EXPECT_EQ(table.next(), JobId{2});
  EXPECT_EQ(&table[JobId{1}], &job);
  EXPECT_EQ(table.find(JobSelector{JobId{1}, ""}), &job);
  EXPECT_EQ(table.find(JobSelector{JobId::none(), "daily"}), &job);
  EXPECT_EQ(table.find(JobSelector{JobId{2}, "daily"}), nullptr) << "the number goes before the name";
  EXPECT_EQ(table.find(JobSelector{JobId::none(), "weekly"}), nullptr);
}

TEST(JobTable, ANumberIsNeverGivenOutAgain) {
  JobTable table;
  table.remove_name(add(table, 1, "daily"));
  table.erase(JobId{1});
  EXPECT_FALSE(table.knows(JobId{1}));
  EXPECT_EQ(table.next(), JobId{2});
  Job& later = add(table, 5, "daily");
  EXPECT_EQ(table.next(), JobId{6});
  EXPECT_EQ(table.find(JobSelector{JobId::none(), "daily"}), &later);
  table.skip_to(JobId{9});
  table.skip_to(JobId{3});
  EXPECT_EQ(table.next(), JobId{9});
  EXPECT_EQ(table.all().size(), 9U);
}

TEST(JobTable, AGroupSeesWhatIsSharedWithIt) {
  JobSpec spec;
  spec.owner = "ada";
  spec.share = Seldom{std::string{"vision"}};
  EXPECT_TRUE((Viewer{"bob", Viewer::Sees::Own, {"speech", "vision"}}.sees(spec)));
  EXPECT_FALSE((Viewer{"bob", Viewer::Sees::Own, {"speech"}}.sees(spec)));
  EXPECT_FALSE((Viewer{"vision", Viewer::Sees::Own}.sees(spec))) << "a user of that name";
  EXPECT_FALSE((Viewer{"w", Viewer::Sees::Nested, {"vision"}}.sees(spec))) << "a run";
  spec.share.take();
  EXPECT_FALSE((Viewer{"bob", Viewer::Sees::Own, {""}}.sees(spec)));
}

TEST(JobTable, AJobThatItsViewerDoesNotSeeIsNotFound) {
  JobTable table;
  Job& hers = add(table, 1, "daily");
  hers.spec.owner = "ada";
  const Viewer ada{"ada", Viewer::Sees::Own};
  const Viewer bob{"bob", Viewer::Sees::Own};
  EXPECT_EQ(table.find(JobSelector{JobId{1}, "", ada}), &hers);
  EXPECT_EQ(table.find(JobSelector{JobId{1}, "", bob}), nullptr);
  EXPECT_EQ(table.find(JobSelector{JobId::none(), "daily", bob}), nullptr);
  EXPECT_EQ(table.find(JobSelector{JobId{1}, "", {"root", Viewer::Sees::All}}), &hers);
  Job& his = add(table, 2, "daily");
  his.spec.owner = "bob";
  EXPECT_EQ(table.find(JobSelector{JobId::none(), "daily", ada}), &hers) << "each has a job of that name";
  EXPECT_EQ(table.find(JobSelector{JobId::none(), "daily", bob}), &his);
  EXPECT_EQ(table.find(JobSelector{JobId::none(), "daily", {"ada", Viewer::Sees::All}}), &hers)
      << "the viewer's own goes first";
  EXPECT_EQ(table.find(JobSelector{JobId::none(), "daily", {"root", Viewer::Sees::All}}), &his) << "then the latest";
}

TEST(JobTable, ARunOfAWorkerSeesTheJobsOfRunsAlone) {
  JobTable table;
  add(table, 1, "of a user");
  Job& nested = add(table, 2, "of a run");
  nested.spec.parent.edit().id = {JobId{1}, SubtaskIndex{0}};
  const Viewer worker{"w", Viewer::Sees::Nested};
  EXPECT_EQ(table.find(JobSelector{JobId{1}, "", worker}), nullptr);
  EXPECT_EQ(table.find(JobSelector{JobId{2}, "", worker}), &nested);
}

TEST(JobTable, ANameThatWasRemovedIsNotFound) {
  JobTable table;
  Job& job = add(table, 1, "daily");
  table.remove_name(job);
  EXPECT_EQ(table.find(JobSelector{JobId::none(), "daily"}), nullptr);
  EXPECT_TRUE(table.knows(JobId{1}));
}

}  // namespace
}  // namespace penstock::supervisor
