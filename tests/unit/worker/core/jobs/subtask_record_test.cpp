#include "worker/core/jobs/subtask_record.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

constexpr SubtaskState kStates[] = {SubtaskState::Free,    SubtaskState::Cached,    SubtaskState::Queued,
                                    SubtaskState::Quota,   SubtaskState::Preparing, SubtaskState::Ready,
                                    SubtaskState::Running, SubtaskState::Yielded,   SubtaskState::Storing};

TEST(SubtaskRecord, EveryStateMayEndAndOnlyRunsAreStored) {
  for (const SubtaskState state : kStates) {
    EXPECT_EQ(is_legal_move(state, SubtaskState::Free), state != SubtaskState::Free) << to_string(state);
    const bool runs = state == SubtaskState::Running || state == SubtaskState::Yielded;
    EXPECT_EQ(is_legal_move(state, SubtaskState::Storing), runs) << to_string(state);
  }
}

TEST(SubtaskRecord, ASlotComesOnlyAfterTheExecutionQueue) {
  for (const SubtaskState state : kStates)
    EXPECT_EQ(is_legal_move(state, SubtaskState::Running),
              state == SubtaskState::Ready || state == SubtaskState::Yielded)
        << to_string(state);
}

TEST(SubtaskRecord, ARecordThatHoldsNothingIsUnprepared) {
  SubtaskRecord record;
  record.state = SubtaskState::Queued;
  EXPECT_TRUE(is_unprepared(record));
  record.state = SubtaskState::Ready;
  EXPECT_TRUE(is_unprepared(record));
  record.pins.push_back(DatumIndex{0});
  EXPECT_FALSE(is_unprepared(record));
  record.pins.clear();
  record.holds_quota = true;
  EXPECT_FALSE(is_unprepared(record));
  record.state = SubtaskState::Running;
  EXPECT_FALSE(is_unprepared(record));
  EXPECT_TRUE(is_run(record));
}

TEST(SubtaskRecord, AResetKeepsBuffersOnly) {
  SubtaskRecord record;
  record.state = SubtaskState::Storing;
  record.killed = true;
  record.outputs = {{0, 10}, {1, 5}};
  record.payload = "some bytes that are not kept in place";
  EXPECT_EQ(output_bytes(record), Bytes{15});
  const std::size_t capacity = record.payload.capacity();
  record.reset();
  EXPECT_EQ(record.state, SubtaskState::Free);
  EXPECT_FALSE(record.killed);
  EXPECT_TRUE(record.outputs.empty() && record.payload.empty());
  EXPECT_EQ(record.payload.capacity(), capacity);
}

// The bytes of a scattered object stayed in a record that was used again.
TEST(SubtaskRecord, AResetGivesTheMemoryOfALargePayloadBack) {
  SubtaskRecord record;
  record.payload.assign(1U << 20U, 'x');
  record.reset();
  EXPECT_LT(record.payload.capacity(), 8192U);
}

}  // namespace
}  // namespace penstock::worker
