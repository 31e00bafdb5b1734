// WorkerCore: room for data in memory. Finished outputs wait for room, and data that are needed last go to disk.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {
namespace {

std::string bytes_text(Bytes bytes) { return std::to_string(bytes.value()) + " bytes"; }

}  // namespace

Bytes WorkerCore::percent_of(Bytes whole, std::uint32_t percent) {
  return Bytes{whole.value() / 100 * percent + whole.value() % 100 * percent / 100};
}

Bytes WorkerCore::output_bytes(const SubtaskRecord& record) {
  Bytes sum;
  for (const OutputReport& output : record.outputs) sum += Bytes{output.bytes};
  return sum;
}

// True if the store could never hold them: then the attempt has failed, with the numbers.
bool WorkerCore::refuse_outputs(RecordIndex index) {
  const SubtaskRecord& record = records_[index];
  const Bytes bytes = output_bytes(record);
  if (!too_large(bytes)) return false;
  PENSTOCK_COVERAGE_MARK("outputs were larger than the store");
  records_[index].drops_outputs = true;
  FailureDetail refused;
  refused.failure = FailureClass::Refused;
  refused.code = ErrorCode::LimitExceeded;
  refused.outputs_bytes = bytes.value();
  refused.message = "its outputs of " + bytes_text(bytes) + " can never fit into the store of this worker, which has " +
                    bytes_text(config_.store_bytes_max) + " (worker.store_bytes_max)";
  fail(index, refused);
  return true;
}

// Fault F42: back-pressure. Its slot is free, but while outputs wait hardly anything is started, so at most the outputs
// of the runs at that moment are in memory beyond the limit. The attempt no longer needs its inputs; they may go to
// disk.
void WorkerCore::wait_for_room(RecordIndex index) {
  PENSTOCK_COVERAGE_MARK("outputs waited for room");
  ++counters_.room_waits;
  stop_waiting_for_inputs(index);
  records_[index].waits_for_room = true;
  if (waiting_for_room_.empty()) {
    room_given_up_at_ = later(now_, config_.store_wait_max);
    mark_all_dirty();  // Each band looks for prepared subtasks that must unpin their inputs: `demote_for_room`.
  }
  waiting_for_room_.push_back(index);
  waiting_bytes_ += output_bytes(records_[index]);
}

// Idempotent.
void WorkerCore::stop_waiting_for_room(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  if (!record.waits_for_room) return;
  record.waits_for_room = false;
  waiting_bytes_ -= output_bytes(record);
  std::erase(waiting_for_room_, index);
  if (!waiting_for_room_.empty()) return;
  room_given_up_at_ = kNever;
  mark_all_dirty();
}

// In order, but a small output that fits passes a large one that does not: storing a reduction frees its inputs. A
// passed output fails in the end if nothing becomes free for it.
void WorkerCore::serve_room() {
  std::size_t looked_at = 0;
  for (std::size_t i = 0; i < waiting_for_room_.size() && looked_at < config_.scan_max; ++looked_at) {
    const RecordIndex index = waiting_for_room_[i];
    if (!has_room(output_bytes(records_[index]))) {
      ++i;
      continue;
    }
    if (i == 0) room_given_up_at_ = later(now_, config_.store_wait_max);
    stop_waiting_for_room(index);
    store_outputs(index);  // Storing may complete others, which may end up in the list.
    i = 0;
  }
}

// Mappings of other processes hold memory whatever happens to the datum here: writing it to disk would make no room,
// and a dropped datum still takes some. Such a process never sees changed bytes: sealed memory is not used again.
void WorkerCore::on(const worker_event::DataMapped& event) {
  mapped_.assign(event.here.begin(), event.here.end());
  mapped_beyond_ = event.beyond;
}

// Nothing runs and nothing leaves for the disk: unless something is started, which may read what can be dropped then,
// nothing would ever become free. A run that has lent its slot waits for what others make, or for its slot: it does not
// run.
bool WorkerCore::at_rest() const { return running_total_ == yielded_total_ && data_.bytes_leaving().is_zero(); }

void WorkerCore::give_up_room() {
  PENSTOCK_COVERAGE_MARK("outputs found no room for too long");
  const RecordIndex index = waiting_for_room_.front();
  const SubtaskRecord& record = records_[index];
  FailureDetail full;
  full.failure = FailureClass::Refused;
  full.code = ErrorCode::StorageFull;
  full.message = "the store is full: its outputs of " + bytes_text(output_bytes(record)) + " found no room beside " +
                 bytes_text(bytes_taken()) + " of " + bytes_text(config_.store_bytes_max) +
                 " (worker.store_bytes_max), which are in use or for which the disk has no room";
  if (!mapped_beyond_.is_zero())
    full.message +=
        "; " + bytes_text(mapped_beyond_) + " of them were dropped, but clients of this host still read them";
  records_[index].drops_outputs = true;
  room_given_up_at_ = later(now_, config_.store_wait_max);
  stop_waiting_for_room(index);
  fail(index, full);
}

// Spilling begins before memory is full, so that outputs hardly ever wait.
void WorkerCore::keep_room() {
  if (!bounded()) {
    spill_postponed_ = false;  // Postponed by a disk that refused data of a relief step: nothing waits for that.
    return;
  }
  const Bytes wanted = waiting_bytes_ + fetch_blocked_;
  const Bytes staying = bytes_taken() - data_.bytes_leaving();
  if (staying + wanted <= spill_from_) {
    spill_again_at_ = kNever;
    spill_postponed_ = false;
    return;
  }
  if (spill_again_at_ != kNever && now_ < spill_again_at_) {
    spill_postponed_ = true;
    return;
  }
  spill(staying + wanted - percent_of(config_.store_bytes_max, config_.spill_to_percent));
  spill_postponed_ = false;
  // All records and data are examined, so not at each event: this must cost no more than a few percent of a processor.
  const auto looked_at = static_cast<std::int64_t>(records_.live() + data_.size());
  spill_again_at_ = later(now_, std::max(std::chrono::microseconds{1000}, std::chrono::microseconds{looked_at}));
}

// First the data that no record here waits for, oldest first; then the data that are read last.
void WorkerCore::spill(Bytes excess) {
  mark_needs();
  victims_.clear();
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    if (!jobs_.is_open(JobSlot{slot})) continue;
    for (DatumIndex index = jobs_[JobSlot{slot}].data; index.valid(); index = data_[index].next_of_job) {
      const Datum& datum = data_[index];
      const bool may_leave = datum.place == DatumPlace::Here && datum.pins == 0 && datum.waiters.empty();
      if (may_leave && !datum.spilling && !needs_[index.value()].mapped && !datum.bytes.is_zero())
        victims_.push_back(index);
    }
  }
  std::sort(victims_.begin(), victims_.end(), [this](DatumIndex a, DatumIndex b) {
    const Need& need_a = needs_[a.value()];
    const Need& need_b = needs_[b.value()];
    if (need_a.needed != need_b.needed) return need_b.needed;
    if (need_a.needed && need_b.turn < need_a.turn) return true;
    if (need_a.needed && need_a.turn < need_b.turn) return false;
    return data_[a].made < data_[b].made;
  });
  for (const DatumIndex index : victims_) {
    if (excess <= Bytes{0}) return;
    excess -= data_[index].bytes;
    if (data_[index].on_disk) {
      PENSTOCK_COVERAGE_MARK("the disk had a datum already");
      data_.move(index, DatumPlace::Spilled);
      out_->add(worker_action::ReleaseDatum{data_[index].key});
      continue;
    }
    ++counters_.spills;
    data_.set_spilling(index, true);
    out_->add(worker_action::SpillDatum{data_[index].key});
  }
}

// Marks the data that unpinned records need, with the first of these records; and mapped data.
void WorkerCore::mark_needs() {
  needs_.assign(data_.used(), Need{});
  for (const DataKey& key : mapped_)
    if (const DatumIndex index = data_.find(key); index.valid()) needs_[index.value()].mapped = true;
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    if (!jobs_.is_open(JobSlot{slot})) continue;
    for (RecordIndex index = jobs_[JobSlot{slot}].records; index.valid(); index = records_[index].next_of_job) {
      const SubtaskRecord& record = records_[index];
      if (record.state != SubtaskState::Cached && record.state != SubtaskState::Queued &&
          record.state != SubtaskState::Quota)
        continue;
      for (const RunInput& input : record.inputs) {
        const DatumIndex datum = data_.find(key_of(record, input));
        if (!datum.valid()) continue;
        Need& need = needs_[datum.value()];
        const FetchTurn turn{record.priority, record.sequence, datum};
        if (need.needed && need.turn < turn) continue;
        need.needed = true;
        need.turn = turn;
      }
    }
  }
}

void WorkerCore::mark_all_dirty() {
  for (const auto& band : bands_) band->dirty = true;
}

}  // namespace penstock::worker
