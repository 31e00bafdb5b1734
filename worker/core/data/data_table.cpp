#include "worker/core/data/data_table.hpp"

namespace penstock::worker {

void Datum::reset() {
  std::vector<RecordIndex> kept = std::move(waiters);
  kept.clear();
  *this = Datum{};
  waiters = std::move(kept);
}

DatumIndex DataTable::find(const DataKey& key) const {
  const DatumIndex* found = index_.find(key);
  return found == nullptr ? DatumIndex::none() : *found;
}

DatumIndex DataTable::ensure(const DataKey& key, JobSlot job, DatumIndex& head) {
  if (const DatumIndex known = find(key); known.valid()) return known;
  const DatumIndex index = data_.allocate();
  Datum& datum = data_[index];
  datum.key = key;
  datum.job = job;
  datum.made = ++made_;
  datum.next_of_job = head;
  if (head.valid()) data_[head].previous_of_job = index;
  head = index;
  index_[key] = index;
  return index;
}

void DataTable::erase(DatumIndex index, DatumIndex& head) {
  Datum& datum = data_[index];
  PENSTOCK_CHECK_MSG(datum.pins == 0 && datum.waiters.empty(), to_string(datum.key));
  count(datum, Count::Out);
  if (datum.previous_of_job.valid())
    data_[datum.previous_of_job].next_of_job = datum.next_of_job;
  else
    head = datum.next_of_job;
  if (datum.next_of_job.valid()) data_[datum.next_of_job].previous_of_job = datum.previous_of_job;
  index_.erase(datum.key);
  data_.free(index);
}

void DataTable::move(DatumIndex index, DatumPlace place) {
  Datum& datum = data_[index];
  count(datum, Count::Out);
  datum.place = place;
  if (place != DatumPlace::Here) datum.spilling = false;
  count(datum, Count::In);
}

void DataTable::resize(DatumIndex index, Bytes bytes) {
  count(data_[index], Count::Out);
  data_[index].bytes = bytes;
  count(data_[index], Count::In);
}

bool DataTable::note_remote(DatumIndex index, WorkerId location, Bytes bytes) {
  if (data_[index].place != DatumPlace::Remote) return false;
  data_[index].location = location;
  data_[index].bytes = bytes;
  return true;
}

void DataTable::set_spilling(DatumIndex index, bool spilling) {
  count(data_[index], Count::Out);
  data_[index].spilling = spilling;
  count(data_[index], Count::In);
}

void DataTable::count(const Datum& datum, Count count) {
  const Bytes bytes = count == Count::In ? datum.bytes : Bytes{0} - datum.bytes;
  if (datum.place == DatumPlace::Here) bytes_here_ += bytes;
  if (datum.place == DatumPlace::Here && datum.spilling) bytes_leaving_ += bytes;
  if (datum.place == DatumPlace::Fetching || datum.place == DatumPlace::Restoring) bytes_arriving_ += bytes;
}

}  // namespace penstock::worker
