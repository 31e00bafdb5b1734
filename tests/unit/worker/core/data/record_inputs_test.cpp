#include "worker/core/data/record_inputs.hpp"

#include "tests/support/worker_parts.hpp"

namespace penstock::worker {
namespace {

TEST(RecordInputs, AnInputIsHereOnDiskOrElsewhere) {
  WorkerParts parts;
  const RecordIndex index = parts.add(0, {WorkerParts::input(7), WorkerParts::input(8)});
  const DatumIndex datum = parts.here(7, 10);
  EXPECT_EQ(parts.data.inputs.place(parts.record(index)), ForwardResult::InputRemote) << "nothing is known of 8";
  parts.context().settled.insert(SubtaskIndex{8});
  EXPECT_EQ(parts.data.inputs.place(parts.record(index)), ForwardResult::Hit) << "8 has made nothing";
  parts.data.table.move(datum, DatumPlace::Spilled);
  EXPECT_EQ(parts.data.inputs.place(parts.record(index)), ForwardResult::InputSpilled);
  EXPECT_EQ(parts.data.inputs.bytes(parts.record(index)), Bytes{10});
}

TEST(RecordInputs, AnInputThatIsNowhereIsNamed) {
  WorkerParts parts;
  const RecordIndex index = parts.add(0, {WorkerParts::input(7), WorkerParts::input(8)});
  const DatumIndex datum = parts.here(7, 10);
  EXPECT_EQ(parts.data.inputs.pin(parts.record(index)), WorkerParts::key(8));
  EXPECT_EQ(parts.data.table[datum].pins, 1U);
  parts.data.inputs.let_go(index, parts.record(index));
  EXPECT_EQ(parts.data.table[datum].pins, 0U);
}

TEST(RecordInputs, TheLastRecordThatLetsGoEndsTheTransfer) {
  WorkerParts parts;
  const DatumIndex datum = parts.remote(7, 10);
  std::vector<RecordIndex> readers;
  for (std::uint32_t i = 0; i < 2; ++i) {
    readers.push_back(parts.add(i, {WorkerParts::input(7)}));
    EXPECT_FALSE(parts.data.inputs.pin(parts.record(readers[i])).has_value());
    EXPECT_FALSE(parts.data.inputs.wait(readers[i], parts.record(readers[i])));
  }
  parts.data.keeper.start_fetches();
  parts.data.inputs.let_go(readers[0], parts.record(readers[0]));
  EXPECT_EQ(parts.take<worker_action::CancelFetch>().size(), 0U);
  parts.data.inputs.let_go(readers[1], parts.record(readers[1]));
  EXPECT_EQ(parts.take<worker_action::CancelFetch>().size(), 1U);
  EXPECT_EQ(parts.data.table[datum].place, DatumPlace::Remote);
}

TEST(RecordInputs, InputsOfAJobWithoutDataAreLeftOut) {
  WorkerParts parts;
  const RecordIndex index = parts.add(0, {WorkerParts::input(7)});
  parts.context().settled.insert(SubtaskIndex{7});
  parts.data.inputs.pin_present(parts.record(index));
  EXPECT_TRUE(parts.record(index).inputs.empty());
  EXPECT_EQ(parts.record(index).omitted_inputs, 1);
}

}  // namespace
}  // namespace penstock::worker
