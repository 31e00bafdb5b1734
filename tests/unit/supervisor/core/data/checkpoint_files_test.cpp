#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/directory_fixture.hpp"

namespace penstock::supervisor {
namespace {

/// Worker 1 has written a checkpoint of subtask 0.
class CheckpointFilesTest : public DirectoryFixture {
 protected:
  CheckpointFilesTest() {
    succeed(0, 0, 100);
    directory.receive(slot(0), job(), checkpoint(0));
    directory.remove_old_files();
  }
  void lose_writer() {
    lose(0);
    directory.writer_lost(Incarnation{1});
    workers.remove(slot(0));
    take<DropBatch>(1);
  }
  /// The writers of all files that any worker was told to remove at the end of the event.
  std::vector<Incarnation> removed() {
    directory.remove_old_files();
    std::vector<Incarnation> writers;
    for (const std::uint32_t worker : {0U, 1U}) {
      if (!slot(worker).valid()) continue;
      for (const RemoveCheckpoints& order : take<RemoveCheckpoints>(worker))
        writers.insert(writers.end(), order.writers.begin(), order.writers.end());
    }
    return writers;
  }
};

TEST_F(CheckpointFilesTest, ACheckpointTakesThePlaceOfALostOutput) {
  PENSTOCK_EXPECT_COVERAGE_MARK("a checkpoint took the place of a lost output", EXPECT_TRUE(lose(0).empty()));
  EXPECT_EQ(job().hot[0].band, band(1));
  EXPECT_FALSE(DataDirectory::is_gone(job(), 0));
  const std::vector<KeepBatch> orders = take<KeepBatch>(1);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].data[0].writer, Incarnation{1});
  directory.validate();
}

TEST_F(CheckpointFilesTest, FilesOfALostWriterStayWhileAJobNeedsOneOfThem) {
  lose_writer();
  EXPECT_TRUE(removed().empty());
  directory.forget_checkpoint(job(), 0);
  EXPECT_EQ(removed(), std::vector<Incarnation>{Incarnation{1}});
  directory.workers_changed();
  EXPECT_TRUE(removed().empty()) << "once is enough";
  directory.validate();
}

TEST_F(CheckpointFilesTest, FilesOfALostWriterStayUntilAWorkerCanRemoveThem) {
  lose_writer();
  workers[slot(1)].suspected = true;
  directory.forget_checkpoints(job());
  job().data.clear();
  EXPECT_TRUE(removed().empty());
  workers[slot(1)].suspected = false;
  EXPECT_TRUE(removed().empty()) << "nothing says that a worker has changed";
  directory.workers_changed();
  EXPECT_EQ(removed(), std::vector<Incarnation>{Incarnation{1}});
}

TEST_F(CheckpointFilesTest, AWriterThatReturnsKeepsItsFiles) {
  directory.recover_lost_writer(Incarnation{1});
  directory.forget_checkpoint(job(), 0);
  directory.writer_returned(Incarnation{1});
  EXPECT_TRUE(removed().empty());
}

TEST_F(CheckpointFilesTest, OfTooManyLostWritersTheFirstIsForgotten) {
  config.lost_writers_max = 1;
  directory.writer_lost(Incarnation{7});
  directory.writer_lost(Incarnation{8});
  EXPECT_EQ(removed(), std::vector<Incarnation>{Incarnation{8}});
}

TEST_F(CheckpointFilesTest, TheCheckpointOfAnEndedJobIsWrittenWithItsEnd) {
  job().status.state = JobState::Succeeded;
  EXPECT_TRUE(directory.receive(slot(0), job(), checkpoint(0)));
}

}  // namespace
}  // namespace penstock::supervisor
