#include "worker/core/data/record_inputs.hpp"

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {

Bytes RecordInputs::bytes(const SubtaskRecord& record) const {
  Bytes sum;
  for (const RunInput& input : record.inputs)
    if (const DatumIndex datum = table_.find(subtasks_.key_of(record, input)); datum.valid())
      sum += table_[datum].bytes;
  return sum;
}

ForwardResult RecordInputs::place(const SubtaskRecord& record) const {
  bool spilled = false;
  const bool any_datum = jobs_[record.job].data.valid();
  const std::span<const RunInput> looked_at = reads_nothing(record) ? std::span<const RunInput>{} : record.inputs;
  for (const RunInput& input : looked_at) {
    const DatumIndex datum = any_datum ? table_.find(subtasks_.key_of(record, input)) : DatumIndex::none();
    if (datum.valid() ? table_[datum].place == DatumPlace::Here : is_empty(record, input)) continue;
    const DatumPlace place = datum.valid() ? table_[datum].place : DatumPlace::Remote;
    if (place != DatumPlace::Spilled && place != DatumPlace::Restoring) return ForwardResult::InputRemote;
    spilled = true;
  }
  if (spilled) PENSTOCK_COVERAGE_MARK("a forward found its input on disk");
  return spilled ? ForwardResult::InputSpilled : ForwardResult::Hit;
}

std::optional<DataKey> RecordInputs::pin(SubtaskRecord& record) {
  for (RunInput& input : record.inputs) {
    const DatumIndex datum = table_.find(subtasks_.key_of(record, input));
    const bool lost = datum.valid() && table_[datum].place == DatumPlace::Remote && !table_[datum].location.valid();
    input.empty = datum.valid() ? lost && input.empty : is_empty(record, input);
    if (input.empty) continue;
    if (!datum.valid() || lost) return subtasks_.key_of(record, input);
    record.pins.push_back(datum);
    ++table_[datum].pins;
  }
  return std::nullopt;
}

void RecordInputs::pin_present(SubtaskRecord& record) {
  if (!jobs_[record.job].data.valid())
    omit_inputs(record);
  else if (!record.inputs.empty())
    pin(record);
}

bool RecordInputs::wait(RecordIndex index, const SubtaskRecord& record) {
  for (const DatumIndex datum : record.pins)
    if (table_[datum].place != DatumPlace::Here) keeper_.want(datum, index);
  return record.fetches_pending == 0;
}

void RecordInputs::let_go(RecordIndex index, SubtaskRecord& record) {
  for (const DatumIndex datum_index : record.pins) {
    Datum& datum = table_[datum_index];
    if (record.fetches_pending > 0) {
      record.fetches_pending -= static_cast<std::uint32_t>(std::erase(datum.waiters, index));
      // Spec: worker 3, cancelling one waiting attempt leaves the others.
      if (datum.waiters.empty() && !datum.keep) {
        if (datum.place == DatumPlace::Fetching) PENSTOCK_COVERAGE_MARK("a transfer lost all who waited for it");
        keeper_.stop_fetching(datum_index);
      }
    }
    keeper_.unpin(datum_index);
  }
  record.pins.clear();
}

bool RecordInputs::is_empty(const SubtaskRecord& record, const RunInput& input) const {
  return input.empty || jobs_[record.job].settled.contains(input.producer);
}

// True if no datum of the record's job has ever been here. Then each input was empty when it was assigned, or its
// producer has settled since, and the look-ups can be left out: a datum that went would have been erased from
// `settled`. REQUIRES: the record's producers have finished.
bool RecordInputs::reads_nothing(const SubtaskRecord& record) const {
  const JobContext& job = jobs_[record.job];
  return !job.data.valid() && !job.settled.has_erased();
}

// All inputs of the record are empty: no look-up is needed again.
void RecordInputs::omit_inputs(SubtaskRecord& record) {
  const std::size_t omitted = record.omitted_inputs + record.inputs.size();
  if (omitted > UINT16_MAX) return;
  record.omitted_inputs = static_cast<std::uint16_t>(omitted);
  record.inputs.clear();
}

}  // namespace penstock::worker
