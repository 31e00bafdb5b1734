#include "worker/core/explainer.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

struct Explained : ::testing::Test {
  std::string reason(std::uint32_t subtask) {
    return explain_subtask({JobId{1}, SubtaskIndex{subtask}}, parts.tables, parts.bands, parts.runs.grants).reason;
  }
  WorkerParts parts;
};

TEST_F(Explained, EachStageNamesTheLatchThatHoldsIt) {
  parts.program.request.memory = Bytes{400};
  parts.run(0);
  parts.run(1);
  parts.run(2);
  parts.run(3);
  EXPECT_EQ(reason(0), "runs in slot 0 of numa-0");
  EXPECT_EQ(reason(1), "in the execution queue of numa-0, 0 before it, held by milli-slots 1000 > 0");
  EXPECT_EQ(reason(2), "waits for 400 bytes of memory; 800 of 1000 are granted on numa-0");
}

TEST_F(Explained, AnUnknownSubtaskIsSaidToBe) {
  EXPECT_FALSE(explain_subtask({JobId{9}, SubtaskIndex{0}}, parts.tables, parts.bands, parts.runs.grants).known);
  EXPECT_FALSE(explain_subtask({JobId{1}, SubtaskIndex{0}}, parts.tables, parts.bands, parts.runs.grants).known);
}

TEST_F(Explained, OutputsWaitForAPermit) {
  const RecordIndex index = parts.run(0);
  parts.tables.subtasks.move(parts.record(index), SubtaskState::Storing);
  EXPECT_EQ(reason(0), "waits for a permit to store its outputs");
  parts.record(index).holds_store_permit = true;
  EXPECT_EQ(reason(0), "stores its outputs");
}

}  // namespace
}  // namespace penstock::worker
