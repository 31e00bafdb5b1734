#include "supervisor/core/data/data_directory.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/directory_fixture.hpp"

namespace penstock::supervisor {
namespace {

using DataDirectoryTest = DirectoryFixture;

TEST_F(DataDirectoryTest, AnOutputIsNeededUntilItsLastReaderIsFinal) {
  succeed(0, 0, 100);
  EXPECT_TRUE(DataDirectory::is_needed(job(), 0));
  EXPECT_EQ(job().data.total_bytes(*shape, 0), 100);
  succeed(1, 0);
  EXPECT_TRUE(DataDirectory::is_needed(job(), 0)) << "subtask 2 has still to read it";
  EXPECT_TRUE(drops(0).empty());
  succeed(2, 0);
  EXPECT_FALSE(DataDirectory::is_needed(job(), 0));
  EXPECT_EQ(drops(0), (std::vector<Drop>{{0, false}})) << "there is no memory to retain it in";
  EXPECT_TRUE(job().data.gone(0));
  directory.validate();
}

TEST_F(DataDirectoryTest, ReadersThatWereFinalBeforeTheFirstBytesAreCountedOff) {
  job().hot[1].phase = SubtaskPhase::Cancelled;
  succeed(0, 0, 100);
  EXPECT_EQ(job().data.readers(0), 1U);
}

TEST_F(DataDirectoryTest, AClientIsToldWhereAWantedOutputIs) {
  job().hot[0].flags |= SubtaskFlag::kWanted;
  succeed(0, 1, 100);
  ASSERT_EQ(job().outputs.locations.size(), 1U);
  EXPECT_EQ(job().outputs.locations[0].data_address, "host-2:7");
  EXPECT_EQ(job().outputs.locations[0].bytes, 100);
  succeed(0, 0, 70);
  ASSERT_EQ(job().outputs.locations.size(), 1U) << "what was made before is replaced";
  EXPECT_EQ(job().outputs.locations[0].data_address, "host-1:7");
}

TEST_F(DataDirectoryTest, ALostOutputIsReturnedIfItIsNeeded) {
  succeed(0, 0, 100);
  EXPECT_EQ(lose(0), std::vector<std::uint32_t>{0});
  EXPECT_TRUE(DataDirectory::is_gone(job(), 0));
  EXPECT_EQ(drops(0), (std::vector<Drop>{{0, true}})) << "successors that wait there must find it lost";
}

TEST_F(DataDirectoryTest, AnEmptyOutputIsNeverGone) {
  succeed(0, 0, 0);
  EXPECT_FALSE(DataDirectory::is_gone(job(), 0));
  EXPECT_TRUE(lose(0).empty());
}

TEST_F(DataDirectoryTest, AReplicaTakesThePlaceOfALostOutput) {
  job().hot[0].flags |= SubtaskFlag::kWanted;
  succeed(0, 0, 100);
  EXPECT_FALSE(directory.receive(slot(1), job(), replica(0)));
  directory.validate();
  EXPECT_TRUE(lose(0).empty());
  EXPECT_EQ(job().hot[0].band, band(1));
  EXPECT_EQ(job().outputs.locations[0].data_address, "host-2:7");
  EXPECT_TRUE(drops(0).empty());
  EXPECT_TRUE(drops(1).empty());
}

TEST_F(DataDirectoryTest, ACopyThatComesAfterItsDatumWasDroppedIsDropped) {
  succeed(0, 0, 100);
  directory.drop(job(), 0);
  drops(0);
  PENSTOCK_EXPECT_COVERAGE_MARK("a copy came after its datum was dropped",
                                directory.receive(slot(1), job(), replica(0)));
  EXPECT_EQ(drops(1), (std::vector<Drop>{{0, true}})) << "its readers have not read it: there it is lost";
}

TEST_F(DataDirectoryTest, NothingIsDroppedWhereTheSubtaskRunsOnceMore) {
  succeed(0, 0, 100);
  directory.drop(job(), 0, true);
  drops(0);
  job().hot[0].phase = SubtaskPhase::Assigned;
  job().hot[0].band = band(1);
  EXPECT_TRUE(directory.makes_again(slot(1), job(), 0));
  EXPECT_FALSE(directory.makes_again(slot(0), job(), 0));
  directory.receive(slot(1), job(), replica(0));
  EXPECT_TRUE(drops(1).empty());
  directory.receive(slot(0), job(), replica(0));
  EXPECT_FALSE(drops(0).empty());
}

TEST_F(DataDirectoryTest, AfterARestartTheFirstHolderIsThePlaceAndOthersAreReplicas) {
  recovered(0, 100);
  ASSERT_TRUE(DataDirectory::is_gone(job(), 0));
  const ClaimedDatum datum{SubtaskIndex{0}, 0, 100};
  directory.claim(slot(1), job(), std::span{&datum, 1});
  EXPECT_FALSE(DataDirectory::is_gone(job(), 0));
  EXPECT_EQ(job().hot[0].band, band(1));
  directory.claim(slot(0), job(), std::span{&datum, 1});
  EXPECT_EQ(job().hot[0].band, band(1));
  ASSERT_NE(job().data.replicas(0), nullptr);
  EXPECT_EQ(job().data.replicas(0)->size(), 1U);
  directory.validate();
}

TEST_F(DataDirectoryTest, AnOutputThatComesIsAChangeForSubtasksOfOtherJobs) {
  const SubtaskId producer{kJob, SubtaskIndex{0}};
  awaited.wait(producer, {JobId{8}, SubtaskIndex{1}});
  awaited.settle([&](const SubtaskId& waiter) { awaited.wait(producer, waiter); });
  ASSERT_FALSE(awaited.any_changed());
  succeed(0, 0, 100);
  EXPECT_TRUE(awaited.any_changed());
}

}  // namespace
}  // namespace penstock::supervisor
