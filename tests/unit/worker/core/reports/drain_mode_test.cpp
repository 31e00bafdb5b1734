#include "worker/core/reports/drain_mode.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

using worker_action::SendDrainState;

TEST(DrainMode, TheLastSubtaskThatLeavesIsToldOnce) {
  WorkerParts parts;
  DrainMode& drain = parts.reports.drain;
  const RecordIndex index = parts.add(0);
  drain.subtask_left();
  EXPECT_EQ(parts.take<SendDrainState>().size(), 0U) << "it does not drain";
  drain.set(true);
  drain.tell();
  EXPECT_FALSE(parts.take<SendDrainState>().back().state.empty);
  parts.tables.subtasks.free(index);
  drain.subtask_left();
  EXPECT_TRUE(parts.take<SendDrainState>().back().state.empty);
  drain.subtask_left();
  EXPECT_EQ(parts.take<SendDrainState>().size(), 0U);
  drain.tell_again();
  EXPECT_EQ(parts.take<SendDrainState>().size(), 1U);
}

}  // namespace
}  // namespace penstock::worker
