#include "worker/core/data/data_keeper.hpp"

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {
namespace {

FailureDetail lost_input(const DataKey& key) {
  FailureDetail failure;
  failure.failure = FailureClass::InputLost;
  failure.lost_producer = key.producer.index;
  return failure;
}

std::string other_bytes_text(const Datum& datum, Bytes bytes) {
  return ": " + std::to_string(bytes.value()) + " bytes came where " + std::to_string(datum.bytes.value()) +
         " were made";
}

}  // namespace

void DataKeeper::want(DatumIndex index, RecordIndex waiter) {
  Datum& datum = table_[index];
  if (!datum.waiters.empty() && datum.waiters.back() == waiter) return;  // The record reads the same datum twice.
  datum.waiters.push_back(waiter);
  ++subtasks_[waiter].fetches_pending;
  const bool waits_for_its_turn = datum.place == DatumPlace::Remote || datum.place == DatumPlace::Spilled;
  if (datum.place == DatumPlace::Remote) table_.move(index, DatumPlace::Waiting);
  if (waits_for_its_turn) fetch_turns_.push(FetchTurn{subtasks_[waiter].priority, subtasks_[waiter].sequence, index});
}

void DataKeeper::keep(DatumIndex index) {
  constexpr std::uint64_t kAfterAllThatSomebodyWaitsFor = std::uint64_t{1} << 63U;
  table_[index].keep = true;
  table_.move(index, DatumPlace::Waiting);
  fetch_turns_.push(FetchTurn{0, kAfterAllThatSomebodyWaitsFor + subtasks_.next_sequence(), index});
}

void DataKeeper::start_fetches() {
  blocked_ = Bytes{0};
  while (fetches_running_ < config_.fetches_max && !fetch_turns_.empty()) {
    const FetchTurn turn = fetch_turns_.pop();
    if (start_fetch(turn)) continue;
    fetch_turns_.push(turn);
    blocked_ = table_[turn.datum].bytes;
    return;
  }
}

// Starts a transfer from another worker or from disk. False if there is no room for it now; but one is always on its
// way, however full memory is: transfers that wait for each other's room would wait for ever.
bool DataKeeper::start_fetch(const FetchTurn& turn) {
  const DatumIndex index = turn.datum;
  const Datum& datum = table_[index];
  // Cancelled, or another turn of the same datum has started it.
  const bool fetch = datum.place == DatumPlace::Waiting && (datum.keep || !datum.waiters.empty());
  const bool restore = datum.place == DatumPlace::Spilled && !datum.waiters.empty();
  if (!fetch && !restore) return true;
  if (!room_.has_room(datum.bytes) && !table_.bytes_arriving().is_zero()) return false;
  if (restore) {
    table_.move(index, DatumPlace::Restoring);
    event_.out->add(worker_action::RestoreInput{datum.key});
    return true;
  }
  table_.move(index, DatumPlace::Fetching);
  ++fetches_running_;
  ++counters_.fetches;
  event_.out->add(worker_action::FetchInput{datum.key, datum.location, datum.bytes, turn.priority,
                                            jobs_.identity_of(datum.key.producer.job)});
  return true;
}

InputNews DataKeeper::fetched(const FetchEnd& fetch) {
  const DatumIndex index = table_.find(fetch.key);
  if (!index.valid() || table_[index].place != DatumPlace::Fetching) {
    // Cancelled meanwhile.
    if (fetch.succeeded) drop_from_store(fetch.key);
    return {};
  }
  --fetches_running_;
  const bool other = fetch.succeeded && is_other_datum(index, fetch.bytes);
  if (fetch.succeeded && !other) {
    table_.resize(index, fetch.bytes);
    table_[index].on_disk = false;
    reporter_.add_replica(ReplicaReport{fetch.key.producer, fetch.key.output});
    return {index, {}};
  }
  table_.move(index, DatumPlace::Remote);
  table_[index].keep = false;
  if (other) drop_from_store(fetch.key);
  FailureDetail failure = lost_input(fetch.key);
  if (!fetch.gone && !other) failure.failure = FailureClass::Transport;
  failure.message = "input " + to_string(fetch.key) + " could not be fetched from " + to_string(table_[index].location);
  if (other) failure.message += other_bytes_text(table_[index], fetch.bytes);
  return {index, std::move(failure)};
}

InputNews DataKeeper::restored(const worker_event::DatumRestored& event) {
  const DatumIndex index = table_.find(event.key);
  if (!index.valid() || table_[index].place != DatumPlace::Restoring) return {};
  const bool other = event.succeeded && is_other_datum(index, event.bytes);
  if (event.succeeded && !other) return {index, {}};
  table_.move(index, DatumPlace::Remote);
  table_[index].location = WorkerId::none();
  table_[index].on_disk = false;
  drop_from_store(event.key);
  FailureDetail failure = lost_input(event.key);
  failure.message = "input " + to_string(event.key) + " could not be restored from disk";
  if (other) failure.message += other_bytes_text(table_[index], event.bytes);
  return {index, std::move(failure)};
}

bool DataKeeper::made_here(DatumIndex index, Bytes bytes, bool checkpoint) {
  table_[index].loss_wanted = false;
  const Datum& datum = table_[index];
  if (datum.place == DatumPlace::Here || datum.place == DatumPlace::Restoring) return false;
  if (datum.place == DatumPlace::Spilled) {
    PENSTOCK_COVERAGE_MARK("an output was on disk when it was made again");
    // Memory keeps it only for pinned readers.
    if (datum.pins > 0) return true;
    event_.out->add(worker_action::ReleaseDatum{datum.key});
    return false;
  }
  if (datum.place == DatumPlace::Fetching) {
    PENSTOCK_COVERAGE_MARK("an input was made here while it was on its way");
    // The datum was made again here while a copy was on its way from a worker that may be gone.
    event_.out->add(worker_action::CancelFetch{datum.key});
    --fetches_running_;
  }
  table_.resize(index, bytes);
  table_[index].location = WorkerId::none();
  table_[index].on_disk = false;
  if (checkpoint) event_.out->add(worker_action::CheckpointDatum{datum.key});
  return true;
}

std::vector<RecordIndex> DataKeeper::arrived(DatumIndex index) {
  table_.move(index, DatumPlace::Here);
  table_[index].keep = false;
  return take_waiters(index);
}

// Hashes prove that the bytes are those that were sent; only the size tells whether the intended datum was sent.
bool DataKeeper::is_other_datum(DatumIndex index, Bytes bytes) const {
  return !table_[index].bytes.is_zero() && !bytes.is_zero() && bytes != table_[index].bytes;
}

void DataKeeper::stop_fetching(DatumIndex index) {
  Datum& datum = table_[index];
  datum.keep = false;
  if (datum.place != DatumPlace::Fetching && datum.place != DatumPlace::Waiting) return;
  if (datum.place == DatumPlace::Fetching) {
    event_.out->add(worker_action::CancelFetch{datum.key});
    --fetches_running_;
  }
  table_.move(index, DatumPlace::Remote);
}

void DataKeeper::unpin(DatumIndex index) {
  Datum& datum = table_[index];
  PENSTOCK_CHECK_MSG(datum.pins > 0, to_string(datum.key));
  if (--datum.pins > 0) return;
  if (datum.drop_wanted)
    drop(index);
  else if (datum.loss_wanted)
    lose(index);
}

void DataKeeper::drop_from_store(const DataKey& key) {
  const JobSlot job = jobs_.find(key.producer.job);
  const RecordIndex maker = job.valid() ? subtasks_.find(job, key.producer.index) : RecordIndex::none();
  if (maker.valid() && subtasks_[maker].state >= SubtaskState::Running) {
    PENSTOCK_COVERAGE_MARK("a datum was dropped while it was made again");
    subtasks_[maker].drops_outputs = true;
  } else {
    drop_uncounted(key);
  }
}

void DataKeeper::drop_uncounted(const DataKey& key) {
  const DatumIndex other = table_.find(key);
  const DatumPlace place = other.valid() ? table_[other].place : DatumPlace::Remote;
  if (place == DatumPlace::Here || place == DatumPlace::Restoring) {
    PENSTOCK_COVERAGE_MARK("data that do not count were here from elsewhere, too");
  } else if (place == DatumPlace::Spilled) {
    event_.out->add(worker_action::ReleaseDatum{key});
  } else {
    event_.out->add(worker_action::DropDatum{key});
  }
}

void DataKeeper::drop(DatumIndex index) {
  Datum& datum = table_[index];
  if (datum.pins > 0 || !datum.waiters.empty()) {
    datum.drop_wanted = true;
    return;
  }
  stop_fetching(index);
  const DataKey key = datum.key;
  const bool stored = datum.place >= DatumPlace::Here;
  jobs_[datum.job].settled.erase(key.producer.index);
  table_.erase(index, jobs_[datum.job].data);
  if (stored) drop_from_store(key);
}

void DataKeeper::lose(DatumIndex index) {
  Datum& datum = table_[index];
  // In use: present readers go on, and no further one was promised it.
  datum.loss_wanted = datum.pins > 0 || !datum.waiters.empty();
  if (datum.loss_wanted) return;
  stop_fetching(index);
  const bool stored = datum.place >= DatumPlace::Here;
  table_.move(index, DatumPlace::Remote);
  if (stored) drop_from_store(datum.key);
  datum.location = WorkerId::none();
  datum.on_disk = false;
}

void DataKeeper::drop_all_of(JobSlot slot) {
  for (DatumIndex index = jobs_[slot].data; index.valid();) {
    const DatumIndex next = table_[index].next_of_job;
    drop(index);
    index = next;
  }
}

void DataKeeper::validate() const {
  std::uint32_t fetching = 0;
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    if (!jobs_.is_open(JobSlot{slot})) continue;
    for (DatumIndex index = jobs_[JobSlot{slot}].data; index.valid(); index = table_[index].next_of_job) {
      const Datum& datum = table_[index];
      fetching += datum.place == DatumPlace::Fetching;
      const bool waits_in_vain = datum.place == DatumPlace::Remote || datum.place == DatumPlace::Here;
      PENSTOCK_CHECK_MSG(datum.waiters.empty() || !waits_in_vain, to_string(datum.key));
    }
  }
  PENSTOCK_CHECK(fetching == fetches_running_);
}

}  // namespace penstock::worker
