#include "worker/core/data/spiller.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/percent_of.hpp"

namespace penstock::worker {

Spiller::Spiller(const WorkerConfig& config, EventContext& event, JobTable& jobs, SubtaskTable& subtasks,
                 WorkerCounters& counters, Bands& bands, DataTable& table, MemoryRoom& room)
    : config_(config),
      spill_from_(percent_of(config.store_bytes_max, config.spill_from_percent)),
      event_(event),
      jobs_(jobs),
      subtasks_(subtasks),
      counters_(counters),
      bands_(bands),
      table_(table),
      room_(room) {}

void Spiller::keep_room(Bytes blocked) {
  if (!room_.bounded()) {
    postponed_ = false;  // Postponed by a disk that refused data of a relief step: nothing waits for that.
    return;
  }
  const Bytes wanted = room_.waiting_bytes() + blocked;
  const Bytes staying = room_.bytes_taken() - table_.bytes_leaving();
  if (staying + wanted <= spill_from_) {
    again_at_ = kNever;
    postponed_ = false;
    return;
  }
  if (again_at_ != kNever && event_.now < again_at_) {
    postponed_ = true;
    return;
  }
  spill(staying + wanted - percent_of(config_.store_bytes_max, config_.spill_to_percent));
  postponed_ = false;
  // All records and data are examined, so not at each event: this must cost no more than a few percent of a processor.
  const auto looked_at = static_cast<std::int64_t>(subtasks_.live() + table_.size());
  again_at_ = later(event_.now, std::max(std::chrono::microseconds{1000}, std::chrono::microseconds{looked_at}));
}

void Spiller::spill(Bytes excess) {
  mark_needs();
  victims_.clear();
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    if (!jobs_.is_open(JobSlot{slot})) continue;
    for (DatumIndex index = jobs_[JobSlot{slot}].data; index.valid(); index = table_[index].next_of_job) {
      const Datum& datum = table_[index];
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
    return table_[a].made < table_[b].made;
  });
  for (const DatumIndex index : victims_) {
    if (excess <= Bytes{0}) return;
    excess -= table_[index].bytes;
    if (table_[index].on_disk) {
      PENSTOCK_COVERAGE_MARK("the disk had a datum already");
      table_.move(index, DatumPlace::Spilled);
      event_.out->add(worker_action::ReleaseDatum{table_[index].key});
      continue;
    }
    ++counters_.spills;
    table_.set_spilling(index, true);
    event_.out->add(worker_action::SpillDatum{table_[index].key});
  }
}

// Marks the data that unpinned records need, with the first of these records; and mapped data.
void Spiller::mark_needs() {
  needs_.assign(table_.used(), Need{});
  for (const DataKey& key : room_.mapped())
    if (const DatumIndex index = table_.find(key); index.valid()) needs_[index.value()].mapped = true;
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    if (!jobs_.is_open(JobSlot{slot})) continue;
    for (RecordIndex index = jobs_[JobSlot{slot}].records; index.valid(); index = subtasks_[index].next_of_job) {
      const SubtaskRecord& record = subtasks_[index];
      if (record.state != SubtaskState::Cached && record.state != SubtaskState::Queued &&
          record.state != SubtaskState::Quota)
        continue;
      for (const RunInput& input : record.inputs) {
        const DatumIndex datum = table_.find(subtasks_.key_of(record, input));
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

void Spiller::spilled(const worker_event::DatumSpilled& event) {
  const DatumIndex index = table_.find(event.key);
  if (!index.valid() || table_[index].place != DatumPlace::Here) return;
  table_.set_spilling(index, false);
  bands_.mark_all_dirty();
  if (!event.succeeded) {
    PENSTOCK_COVERAGE_MARK("the disk would not take a datum");
    again_at_ = later(event_.now, config_.relieve_every);
    postponed_ = true;
    return;
  }
  table_[index].on_disk = true;
  if (table_[index].pins > 0 || !table_[index].waiters.empty()) {
    PENSTOCK_COVERAGE_MARK("a datum was pinned while it was spilled");
    return;  // The disk has it, so its memory can be freed at once when it is dropped.
  }
  table_.move(index, DatumPlace::Spilled);
  event_.out->add(worker_action::ReleaseDatum{event.key});
  room_.note_progress();
}

}  // namespace penstock::worker
