#include "worker/core/worker_core.hpp"

namespace penstock::worker {

// Each start of a subtask takes one: at 264 bytes a stencil ran 17% slower.
static_assert(sizeof(WorkerAction) <= 96, "put what is large and rare behind a `Seldom`");

WorkerCore::WorkerCore(const WorkerConfig& config, const std::vector<BandDescription>& bands)
    : config_(config),
      spill_from_(percent_of(config.store_bytes_max, config.spill_from_percent)),
      peaks_(config.quota_templates_max),
      reports_(config.report_batch_max, config.report_after) {
  for (const BandDescription& description : bands) {
    const BandIndex index{static_cast<std::uint16_t>(bands_.size())};
    bands_.push_back(std::make_unique<Band>(index, description, config_));
  }
}

void WorkerCore::handle(const WorkerEvent& event, Instant now, Actions<WorkerAction>& actions) {
  now_ = now;
  out_ = &actions;
  const bool cut_off = now >= cut_off_at_ && !cut_off_;
  if (cut_off && !std::holds_alternative<worker_event::SupervisorHeard>(event)) end_what_never_overlaps();
  std::visit([this](const auto& concrete) { on(concrete); }, event);
  if (!waiting_for_room_.empty()) serve_room();
  // After a run or a write to disk has ended, items that may start now can be in any band.
  if (!waiting_for_room_.empty() && !at_rest_ && at_rest()) mark_all_dirty();
  pump_all();
  if (!barriers_.empty()) answer_barriers();
  start_fetches();
  keep_room();
  if (runners_wanted_) warm_runners();
  at_rest_ = at_rest();
  flush_reports();
  out_ = nullptr;
}

std::optional<Instant> WorkerCore::next_deadline() const {
  Instant next = std::min({check_at_, reports_.deadline(), load_report_at_, offers_end_at_});
  next = std::min({next, room_given_up_at_, spill_postponed_ ? spill_again_at_ : kNever});
  if (has_never_overlapping_ && !cut_off_) next = std::min(next, cut_off_at_);
  for (const BarrierHere& barrier : barriers_)
    if (!barrier.over)
      next = std::min(next, now_ < barrier.patient_until && !barrier.told ? barrier.patient_until : barrier.until);
  for (const auto& band : bands_)
    if (band->held_back) next = std::min(next, later(band->progress_at, config_.report_after));
  return next == kNever ? std::nullopt : std::optional{next};
}

void WorkerCore::on(const worker_event::MessageArrived& event) {
  std::visit([this](const auto& message) { receive(message); }, event.message);
}

void WorkerCore::on(const worker_event::RunsEnded& event) {
  if (event.offers_withdrawn)
    for (const auto& band : bands_) band->may_offer = false;
  for (std::size_t i = 0; i < event.runs.size(); ++i) {
    look_ahead(event.runs.subspan(i));
    run_ended(event.runs[i]);
  }
  if (event.offers_withdrawn) withdraw_offers();
  if (load_report_at_ == kNever && !event.runs.empty()) load_report_at_ = later(now_, config_.load_report_every);
}

// Records and edges were last touched thousands of subtasks ago, most by another processor: what runs that are told
// next will touch is asked for while this one is dealt with, step by step.
void WorkerCore::look_ahead(std::span<const RunEnd> runs) const {
  constexpr std::size_t kToCell = 9;
  constexpr std::size_t kToEdge = 6;
  constexpr std::size_t kToSuccessor = 3;
  const auto running = [&](std::size_t ahead) -> const SubtaskRecord* {
    if (ahead >= runs.size() || runs[ahead].record.value() >= records_.used()) return nullptr;
    const SubtaskRecord& record = records_[runs[ahead].record];
    return record.job.valid() && jobs_.is_open(record.job) ? &record : nullptr;
  };
  if (const SubtaskRecord* record = running(kToCell)) successors_.prefetch_cell(record->job, record->subtask);
  if (const SubtaskRecord* record = running(kToEdge)) successors_.prefetch_edge(record->job, record->subtask);
  const SubtaskRecord* record = running(kToSuccessor);
  if (record == nullptr) return;
  const RecordIndex successor = successors_.first_waiting(record->job, record->subtask);
  if (!successor.valid()) return;
  records_.prefetch(successor);
  bands_[record->band.value()]->execute.prefetch(successor);
}

void WorkerCore::on(const worker_event::OutputsStored& event) {
  if (event.record.value() >= records_.used()) return;
  SubtaskRecord& record = records_[event.record];
  if (record.state != SubtaskState::Storing || record.attempt != event.attempt) {
    ++counters_.stale;
    return;
  }
  record.outputs_stored = true;  // Or could not be stored: the shell has dropped them.
  finish_storing(event.record, event.failure);
}

void WorkerCore::on(const worker_event::LanesRestarted& event) {
  if (event.band.value() >= bands_.size()) return;
  Band& band = *bands_[event.band.value()];
  for (const SlotIndex lane : event.lanes) band.execute.lane_restarted(lane);
  band.dirty = true;
}

void WorkerCore::on(const worker_event::MemoryMeasured& event) {
  if (event.band.value() >= bands_.size()) return;
  Band& band = *bands_[event.band.value()];
  if (event.by == RunnerKind::Command) {
    band.commands_use = event.used;
  } else {
    band.runners_use = event.used;
    band.idle_use = event.idle;
  }
  relieve(band);
}

void WorkerCore::on(const worker_event::Tick&) {
  for (const auto& band : bands_) band->dirty = band->dirty || band->held_back;
  if (now_ >= room_given_up_at_) give_up_room();
  if (now_ >= check_at_) {
    check_at_ = kNever;
    report_started();
    for (const auto& band : bands_) {
      // A stop may end nothing here: ends arrive as events, so the list does not change under the loop.
      for (const RecordIndex index : band->running) {
        if (now_ >= records_[index].stop_at) advance_stop(index);
        want_check_at(records_[index].stop_at);
      }
    }
  }
  if (now_ >= load_report_at_) {
    load_report_at_ = kNever;
    std::vector<BandLoad> loads;
    WorkerCounters counters = counters_;
    for (const auto& band : bands_) {
      loads.push_back(load_of(*band));
      counters.exclusive += band->quota.exclusive_count();
    }
    reports_.set_loads(std::move(loads), counters);
  }
}

const Datum* WorkerCore::find_datum(const DataKey& key) const {
  const DatumIndex index = data_.find(key);
  return index.valid() ? &data_[index] : nullptr;
}

std::string WorkerCore::first_datum() const {
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot)
    if (jobs_.is_open(JobSlot{slot}) && jobs_[JobSlot{slot}].data.valid())
      return to_string(data_[jobs_[JobSlot{slot}].data].key);
  return data_.size() == 0 ? "" : "a datum of a closed job";
}

BandLoad WorkerCore::load_of(const Band& band) const {
  BandLoad load;
  load.band = band.index;
  load.cached = band.cached;
  load.queued = static_cast<std::uint32_t>(band.prepare.waiting());
  load.preparing =
      static_cast<std::uint32_t>(band.prepare.holding() - std::min(band.prepare.holding(), band.execute.waiting()));
  load.ready = static_cast<std::uint32_t>(band.execute.waiting());
  load.running = static_cast<std::uint32_t>(band.execute.holding());
  load.quota_used = band.quota.used();
  load.store_used = data_.bytes_here() + mapped_beyond_;
  load.yielded = static_cast<std::uint32_t>(band.execute.yielded());
  return load;
}

bool WorkerCore::idle() const { return running_total_ == yielded_total_; }

DataKey WorkerCore::key_of(const SubtaskRecord& record, const RunInput& input) const {
  return DataKey{{jobs_[record.job].id, input.producer}, input.output};
}

RecordIndex WorkerCore::find_record(JobSlot job, SubtaskIndex subtask) const {
  const JobContext::Cell* cell = jobs_[job].attempts.find(subtask.value());
  return cell == nullptr ? RecordIndex::none() : cell->record;
}

void WorkerCore::reject(ErrorCode code, std::string subject, std::string message) {
  out_->add(worker_action::Reject{Seldom{Error{code, std::move(subject), std::move(message), {}}}});
}

// Each wait for a datum belongs to a transfer that is under way or has its turn.
void WorkerCore::validate_transfers() const {
  std::uint32_t fetching = 0;
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    if (!jobs_.is_open(JobSlot{slot})) continue;
    for (DatumIndex index = jobs_[JobSlot{slot}].data; index.valid(); index = data_[index].next_of_job) {
      const Datum& datum = data_[index];
      fetching += datum.place == DatumPlace::Fetching;
      const bool waits_in_vain = datum.place == DatumPlace::Remote || datum.place == DatumPlace::Here;
      PENSTOCK_CHECK_MSG(datum.waiters.empty() || !waits_in_vain, to_string(datum.key));
    }
  }
  PENSTOCK_CHECK(fetching == fetches_running_);
}

void WorkerCore::validate() const {
  const auto records_text = [this](RecordIndex index) {
    const SubtaskRecord& record = records_[index];
    return to_string(SubtaskId{jobs_[record.job].id, record.subtask}) + " may start";
  };
  for (const auto& band : bands_) {
    band->prepare.validate();
    band->execute.validate();
    band->quota.validate();
    // Work conservation: no slot and no permit is free beside one that may use it.
    PENSTOCK_CHECK_MSG(band->dirty || !band->prepare.left_idle().valid(), records_text(band->prepare.left_idle()));
    const bool starts = !band->dirty && !band->held_back && waiting_for_room_.empty();
    PENSTOCK_CHECK_MSG(!starts || !band->execute.left_idle().valid(), records_text(band->execute.left_idle()));
  }
  successors_.validate();
  validate_transfers();
  PENSTOCK_CHECK(waiting_for_room_.empty() == (room_given_up_at_ == kNever));
  Bytes waiting_bytes;
  for (const RecordIndex index : waiting_for_room_) {
    PENSTOCK_CHECK(records_[index].state == SubtaskState::Storing && records_[index].waits_for_room);
    waiting_bytes += output_bytes(records_[index]);
  }
  PENSTOCK_CHECK(waiting_bytes == waiting_bytes_);
  std::size_t live = 0;
  std::size_t cached = 0;
  std::size_t running = 0;
  std::size_t yielded = 0;
  for (std::uint32_t i = 0; i < records_.used(); ++i) {
    const SubtaskRecord& record = records_[RecordIndex{i}];
    const RecordIndex index{i};
    if (record.state == SubtaskState::Free) continue;
    ++live;
    const Band& band = *bands_[record.band.value()];
    const bool waits_in_execute = record.state == SubtaskState::Ready;
    const bool runs = record.state == SubtaskState::Running || record.state == SubtaskState::Yielded;
    cached += record.state == SubtaskState::Cached;
    PENSTOCK_CHECK(!record.waits_for_room || record.state == SubtaskState::Storing);
    running += runs;
    yielded += record.state == SubtaskState::Yielded;
    PENSTOCK_CHECK((record.state == SubtaskState::Yielded) == band.execute.has_yielded(index));
    PENSTOCK_CHECK(find_record(record.job, record.subtask) == index);
    PENSTOCK_CHECK((successors_.missing(index) > 0) == (record.state == SubtaskState::Cached));
    PENSTOCK_CHECK(band.prepare.waits(index) == (record.state == SubtaskState::Queued));
    PENSTOCK_CHECK(band.prepare.holds(index) == record.holds_permit);
    PENSTOCK_CHECK(!waits_in_execute || band.execute.waits(index));
    PENSTOCK_CHECK((record.state == SubtaskState::Running) == band.execute.holds(index));
    PENSTOCK_CHECK(record.holds_quota || band.quota.granted_to(index).is_zero());
    PENSTOCK_CHECK(band.quota.waits(index) == (record.state == SubtaskState::Quota));
    PENSTOCK_CHECK(!band.quota.waits(index) || band.quota.priority_of(index) == record.priority);
    PENSTOCK_CHECK(!runs || band.running[record.running_position] == index);
  }
  for (const BarrierHere& barrier : barriers_) {
    PENSTOCK_CHECK(jobs_.is_open(barrier.job) && jobs_[barrier.job].gang);
    PENSTOCK_CHECK(bands_[barrier.band.value()]->execute.is_closed(barrier.job));
  }
  std::size_t jobs_live = 0;
  std::size_t bands_cached = 0;
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot)
    if (jobs_.is_open(JobSlot{slot})) jobs_live += jobs_[JobSlot{slot}].live;
  for (const auto& band : bands_) bands_cached += band->cached;
  PENSTOCK_CHECK(live == records_.live() && live == jobs_live);
  PENSTOCK_CHECK(cached == bands_cached && cached == successors_.cached());
  PENSTOCK_CHECK(running == running_total_ && yielded == yielded_total_);
}

}  // namespace penstock::worker
