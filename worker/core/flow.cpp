// WorkerCore: the way of a subtask from its arrival to its slot.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {
namespace {

std::string other_bytes_text(const Datum& datum, Bytes bytes) {
  return std::to_string(bytes.value()) + " bytes came where " + std::to_string(datum.bytes.value()) + " were made";
}

}  // namespace

void WorkerCore::move(RecordIndex index, SubtaskState to) {
  SubtaskRecord& record = records_[index];
  PENSTOCK_CHECK_MSG(is_legal_move(record.state, to), to_string(id_of(record), record.attempt) + ": " +
                                                          std::string{to_string(record.state)} + " to " +
                                                          std::string{to_string(to)});
  record.state = to;
}

void WorkerCore::enqueue(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  Band& band = band_of(record);
  if (nothing_to_prepare(record)) {
    make_ready(index);
    return;
  }
  move(index, SubtaskState::Queued);
  band.prepare.put(QueueItem{index, record.job, record.priority, record.sequence, &band.permit, input_bytes(record)});
  band.dirty = true;
}

// A permit is useless for a subtask without inputs to bring and without memory to wait for. While grants are stopped it
// waits with the others.
bool WorkerCore::nothing_to_prepare(const SubtaskRecord& record) const {
  return record.inputs.empty() && record.program->content.request.memory.is_zero() &&
         !bands_[record.band.value()]->quota.paused();
}

// Known bytes of the inputs that preparing would pin.
Bytes WorkerCore::input_bytes(const SubtaskRecord& record) const {
  Bytes sum;
  for (const RunInput& input : record.inputs)
    if (const DatumIndex datum = data_.find(key_of(record, input)); datum.valid()) sum += data_[datum].bytes;
  return sum;
}

void WorkerCore::pump_all() {
  for (bool again = true; again;) {
    again = false;
    for (const auto& band : bands_) {
      if (!band->dirty) continue;
      pump(*band);
      again = true;
    }
  }
}

// Moves all items on this band as far as latches and quota allow.
void WorkerCore::pump(Band& band) {
  do {
    band.dirty = false;
    band.preparing = true;
    taken_.clear();
    band.prepare.take(taken_);
    for (const Taken& taken : taken_) begin_prepare(taken.record);
    if (band.quota.waiting() > 0) {
      granted_.clear();
      band.quota.take_granted(granted_);
      for (const RecordIndex index : granted_) bring_inputs(index);
    }
    band.preparing = false;
    taken_.clear();
    const bool may_start = waiting_for_room_.empty() || at_rest();
    band.held_back = false;
    if (may_start) band.execute.take(taken_, starts_allowed(band));
    for (const Taken& taken : taken_) start(taken.record, taken);
    // Members of the gang may have waited for the permits of those that start now.
    band.dirty = band.dirty || (!taken_.empty() && band.execute.any_reservation_opens());
    if (band.running.empty()) band.held_back = false;  // The worker did not hold items back.
    // Otherwise memory is not the reason why nothing starts.
    if (!band.dirty && may_start) demote_if_stuck(band);
    if (!band.dirty) demote_for_room(band);
    if (!band.dirty && !barriers_.empty()) demote_for_gangs(band);
  } while (band.dirty);
}

// Spec: worker 3, sizes are known by now; then quota, then fetch, then the execution queue.
void WorkerCore::begin_prepare(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  Band& band = band_of(record);
  record.holds_permit = true;
  if (record.program->content.request.memory.is_zero() && !band.quota.paused()) {
    bring_inputs(index);
    return;
  }
  switch (band.quota.request(quota_request(record, index))) {
    case QuotaAnswer::Granted:
      record.holds_quota = true;
      bring_inputs(index);
      return;
    case QuotaAnswer::Waits:
      record.holds_quota = true;
      move(index, SubtaskState::Quota);
      return;
    case QuotaAnswer::Refused: break;
  }
  FailureDetail refused;
  refused.failure = FailureClass::Refused;
  refused.code = ErrorCode::RequestTooLarge;
  refused.message = "memory request of " + std::to_string(record.program->content.request.memory.value()) +
                    " bytes exceeds the hard limit of " + std::to_string(band.quota.hard_limit().value()) +
                    " bytes of band " + band.description.name;
  fail(index, refused);
}

QuotaRequest WorkerCore::quota_request(const SubtaskRecord& record, RecordIndex index) const {
  return {index, memory_to_grant(*record.program), jobs_[record.job].priority, record.priority, record.sequence};
}

// Spec: worker 4, the grant shrinks to the memory in use. The request of a template is also the limit at which its runs
// are ended, so users ask for plenty; the observed use of its runs is a better estimate for the next one.
Bytes WorkerCore::memory_to_grant(const WorkerTemplate& program) const {
  const Bytes requested = program.content.request.memory;
  if (config_.quota_peaks_min == 0) return requested;
  const MemoryPeak peak = peaks_.look_up(program.peak_program);
  if (peak.runs < config_.quota_peaks_min) return requested;
  const Bytes margin = percent_of(peak.bytes, config_.quota_margin_percent);
  if (peak.bytes >= requested - margin) return requested;
  PENSTOCK_COVERAGE_MARK("a grant was what runs were seen to use");
  return std::max(peak.bytes + margin, Bytes{1});
}

void WorkerCore::note_peak(const WorkerTemplate& program, const RunEnd& run) {
  Bytes peak = run.peak;
  if (run.failure != nullptr) peak = std::max(peak, Bytes{run.failure->peak_memory_bytes});
  if (peak <= Bytes{0}) return;
  // Whatever a runner reports, a run is never granted more than its request.
  peaks_.ended(program.peak_program, std::min(peak, program.content.request.memory));
}

// A run that was granted the observed memory of others, and uses more, holds as much as it uses from now on, as far as
// there is room; and the next run gets as much at once.
void WorkerCore::on(const worker_event::RunsMeasured& event) {
  for (const RunMemory& run : event.runs) {
    if (run.record.value() >= records_.used()) continue;
    const SubtaskRecord& record = records_[run.record];
    const bool runs = record.state == SubtaskState::Running || record.state == SubtaskState::Yielded;
    if (!runs || record.attempt != run.attempt || !record.holds_quota) continue;
    const Bytes used = std::min(run.used, record.program->content.request.memory);
    peaks_.so_far(record.program->peak_program, used);
    if (used <= band_of(record).quota.granted_to(run.record)) continue;
    PENSTOCK_COVERAGE_MARK("a grant grew with what its run used");
    ++counters_.grown;
    band_of(record).quota.grow(run.record, used);
  }
}

void WorkerCore::bring_inputs(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  if (record.inputs.empty()) {
    make_ready(index);
    return;
  }
  move(index, SubtaskState::Preparing);
  if (const std::optional<DataKey> lost = pin_inputs(index); lost.has_value()) {
    FailureDetail failure;
    failure.failure = FailureClass::InputLost;
    failure.lost_producer = lost->producer.index;
    failure.message = "input " + to_string(*lost) + " is not on this worker any more";
    fail(index, failure);
    return;
  }
  for (const DatumIndex datum : record.pins)
    if (data_[datum].place != DatumPlace::Here) want(datum, index);
  if (records_[index].fetches_pending == 0) make_ready(index);
}

// Absence is never emptiness: an input that the data table does not have is empty if its assignment says so, or if all
// outputs of its producer are known here.
bool WorkerCore::is_empty(const SubtaskRecord& record, const RunInput& input) const {
  return input.empty || jobs_[record.job].settled.contains(input.producer);
}

// True if no datum of the record's job has ever been here. Then each input was empty when it was assigned, or its
// producer has settled since, and the look-ups can be left out: a datum that went would have been erased from
// `settled`. REQUIRES: the record's producers have finished.
bool WorkerCore::reads_nothing(const SubtaskRecord& record) const {
  const JobContext& job = jobs_[record.job];
  return !job.data.valid() && !job.settled.has_erased();
}

// Returns the first input that is neither empty nor known to be anywhere.
std::optional<DataKey> WorkerCore::pin_inputs(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  for (RunInput& input : record.inputs) {
    const DatumIndex datum = data_.find(key_of(record, input));
    const bool lost = datum.valid() && data_[datum].place == DatumPlace::Remote && !data_[datum].location.valid();
    input.empty = datum.valid() ? lost && input.empty : is_empty(record, input);
    if (input.empty) continue;
    if (!datum.valid() || lost) return key_of(record, input);
    record.pins.push_back(datum);
    ++data_[datum].pins;
  }
  return std::nullopt;
}

// All inputs of the record are empty: no look-up is needed again.
void WorkerCore::omit_inputs(SubtaskRecord& record) {
  const std::size_t omitted = record.omitted_inputs + record.inputs.size();
  if (omitted > UINT16_MAX) return;
  record.omitted_inputs = static_cast<std::uint16_t>(omitted);
  record.inputs.clear();
}

void WorkerCore::unpin(DatumIndex index) {
  Datum& datum = data_[index];
  PENSTOCK_CHECK_MSG(datum.pins > 0, to_string(datum.key));
  if (--datum.pins == 0 && datum.drop_wanted) drop_datum(index);
}

// The record waits until the datum is in memory. Spec: worker 3, all waiting records share one transfer.
void WorkerCore::want(DatumIndex index, RecordIndex waiter) {
  Datum& datum = data_[index];
  if (!datum.waiters.empty() && datum.waiters.back() == waiter) return;  // The record reads the same datum twice.
  datum.waiters.push_back(waiter);
  ++records_[waiter].fetches_pending;
  const bool waits_for_its_turn = datum.place == DatumPlace::Remote || datum.place == DatumPlace::Spilled;
  if (datum.place == DatumPlace::Remote) data_.move(index, DatumPlace::Waiting);
  if (waits_for_its_turn) fetch_turns_.push(FetchTurn{records_[waiter].priority, records_[waiter].sequence, index});
}

void WorkerCore::start_fetches() {
  fetch_blocked_ = Bytes{0};
  while (fetches_running_ < config_.fetches_max && !fetch_turns_.empty()) {
    const FetchTurn turn = fetch_turns_.pop();
    if (start_fetch(turn)) continue;
    fetch_turns_.push(turn);
    fetch_blocked_ = data_[turn.datum].bytes;
    return;
  }
}

// Starts a transfer from another worker or from disk. False if there is no room for it now; but one is always on its
// way, however full memory is: transfers that wait for each other's room would wait for ever.
bool WorkerCore::start_fetch(const FetchTurn& turn) {
  const DatumIndex index = turn.datum;
  const Datum& datum = data_[index];
  // Cancelled, or another turn of the same datum has started it.
  const bool fetch = datum.place == DatumPlace::Waiting && (datum.keep || !datum.waiters.empty());
  const bool restore = datum.place == DatumPlace::Spilled && !datum.waiters.empty();
  if (!fetch && !restore) return true;
  if (!has_room(datum.bytes) && !data_.bytes_arriving().is_zero()) return false;
  if (restore) {
    data_.move(index, DatumPlace::Restoring);
    out_->add(worker_action::RestoreInput{datum.key});
    return true;
  }
  data_.move(index, DatumPlace::Fetching);
  ++fetches_running_;
  ++counters_.fetches;
  out_->add(worker_action::FetchInput{datum.key, datum.location, datum.bytes, turn.priority,
                                      identity_of(datum.key.producer.job)});
  return true;
}

void WorkerCore::on(const worker_event::FetchesEnded& event) {
  if (load_report_at_ == kNever) load_report_at_ = later(now_, config_.load_report_every);
  for (const FetchEnd& fetch : event.fetches) {
    const DatumIndex index = data_.find(fetch.key);
    if (!index.valid() || data_[index].place != DatumPlace::Fetching) {
      // Cancelled meanwhile.
      if (fetch.succeeded) drop_from_store(fetch.key);
      continue;
    }
    --fetches_running_;
    const bool other = fetch.succeeded && is_other_datum(index, fetch.bytes);
    if (fetch.succeeded && !other) {
      data_.resize(index, fetch.bytes);
      data_[index].on_disk = false;
      reports_.add_replica(ReplicaReport{fetch.key.producer, fetch.key.output});
      input_arrived(index);
      continue;
    }
    data_.move(index, DatumPlace::Remote);
    data_[index].keep = false;
    if (other) drop_from_store(fetch.key);
    const bool lost = fetch.gone || other;
    FailureDetail failure;
    failure.failure = lost ? FailureClass::InputLost : FailureClass::Transport;
    failure.lost_producer = fetch.key.producer.index;
    failure.message =
        "input " + to_string(fetch.key) + " could not be fetched from " + to_string(data_[index].location);
    if (other) failure.message += ": " + other_bytes_text(data_[index], fetch.bytes);
    inputs_failed(index, failure);
  }
}

// Hashes prove that the bytes are those that were sent; only the size tells whether the intended datum was sent.
bool WorkerCore::is_other_datum(DatumIndex index, Bytes bytes) const {
  return !data_[index].bytes.is_zero() && !bytes.is_zero() && bytes != data_[index].bytes;
}

void WorkerCore::on(const worker_event::DatumSpilled& event) {
  const DatumIndex index = data_.find(event.key);
  if (!index.valid() || data_[index].place != DatumPlace::Here) return;
  data_.set_spilling(index, false);
  mark_all_dirty();
  if (!event.succeeded) {
    PENSTOCK_COVERAGE_MARK("the disk would not take a datum");
    spill_again_at_ = later(now_, config_.relieve_every);
    spill_postponed_ = true;
    return;
  }
  data_[index].on_disk = true;
  if (data_[index].pins > 0 || !data_[index].waiters.empty()) {
    PENSTOCK_COVERAGE_MARK("a datum was pinned while it was spilled");
    return;  // The disk has it, so its memory can be freed at once when it is dropped.
  }
  data_.move(index, DatumPlace::Spilled);
  out_->add(worker_action::ReleaseDatum{event.key});
  if (!waiting_for_room_.empty()) room_given_up_at_ = later(now_, config_.store_wait_max);
}

void WorkerCore::on(const worker_event::DatumCheckpointed& event) {
  // A missing copy changes nothing here; the shell has reported the fault.
  if (event.succeeded && data_.find(event.key).valid())
    reports_.add_replica(ReplicaReport{event.key.producer, event.key.output, true});
}

void WorkerCore::on(const worker_event::DatumRestored& event) {
  const DatumIndex index = data_.find(event.key);
  if (!index.valid() || data_[index].place != DatumPlace::Restoring) return;
  const bool other = event.succeeded && is_other_datum(index, event.bytes);
  if (event.succeeded && !other) {
    input_arrived(index);
    return;
  }
  data_.move(index, DatumPlace::Remote);
  data_[index].location = WorkerId::none();
  data_[index].on_disk = false;
  drop_from_store(event.key);
  FailureDetail failure;
  failure.failure = FailureClass::InputLost;
  failure.lost_producer = event.key.producer.index;
  failure.message = "input " + to_string(event.key) + " could not be restored from disk";
  if (other) failure.message += ": " + other_bytes_text(data_[index], event.bytes);
  inputs_failed(index, failure);
}

void WorkerCore::input_arrived(DatumIndex index) {
  data_.move(index, DatumPlace::Here);
  data_[index].keep = false;
  const std::vector<RecordIndex> waiters = std::exchange(data_[index].waiters, {});
  for (const RecordIndex waiter : waiters)
    if (--records_[waiter].fetches_pending == 0) make_ready(waiter);
}

void WorkerCore::inputs_failed(DatumIndex index, const FailureDetail& failure) {
  const std::vector<RecordIndex> waiters = std::exchange(data_[index].waiters, {});
  for (const RecordIndex waiter : waiters) {
    --records_[waiter].fetches_pending;
    fail(waiter, failure);
  }
}

void WorkerCore::make_ready(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  Band& band = band_of(record);
  move(index, SubtaskState::Ready);
  record.ready = now_;
  band.execute.put(
      QueueItem{index, record.job, record.priority, record.sequence, &record.program->execution, Bytes{0}});
  if (!band.preparing) band.dirty = true;  // Otherwise its turn comes next anyway.
}

void WorkerCore::start(RecordIndex index, const Taken& taken) {
  SubtaskRecord& record = records_[index];
  Band& band = band_of(record);
  move(index, SubtaskState::Running);
  if (record.holds_permit) {
    band.prepare.release(index);
    record.holds_permit = false;
    band.dirty = true;
  }
  if (runners_wanted_ && !taken.resumed) needs_no_runner(record);
  if (!taken.resumed) {
    record.lane = taken.lane;
    record.started = band.progress_at = now_;
    record.running_position = static_cast<std::uint32_t>(band.running.size());
    band.running.push_back(index);
    ++running_total_;
    ++counters_.started;
    if (record.program->content.time_limit > Duration{0})
      record.stop_at = later(now_, record.program->content.time_limit);
    want_check_at(std::min(record.stop_at, later(now_, config_.started_after)));
  }
  if (taken.resumed) {
    --yielded_total_;
    tell_yields();
  }
  order_start(index).resumed = taken.resumed;
}

worker_action::StartSubtask& WorkerCore::order_start(RecordIndex index) {
  const SubtaskRecord& record = records_[index];
  auto& action = out_->add<worker_action::StartSubtask>();
  action.record = index;
  action.id = id_of(record);
  action.attempt = record.attempt;
  action.band = record.band;
  action.lane = record.lane;
  action.program = &record.program->content;
  action.payload = record.payload;
  action.inputs = record.inputs;
  action.omitted_inputs = record.omitted_inputs;
  action.identity = jobs_[record.job].identity;
  return action;
}

// Spec: worker 4. Nothing runs, the first in line cannot get its memory, and prepared subtasks hold it: the lowest of
// them goes back to the prepare queue. At any time a holder of memory or a permit that others wait for goes back if its
// job's entitlement here is zero: it would never run and never let go.
//
// This ends: a subtask that lets go stands behind the first in line from then on, and overtaking is bounded.
void WorkerCore::demote_if_stuck(Band& band) {
  const RecordIndex head = band.quota.head();
  const bool closed = band.execute.any_closed();
  if (band.execute.waiting() == 0 || band.quota.paused()) return;
  if (!head.valid() && !(closed && band.prepare.first_waiting().valid())) return;
  if (band.execute.holding() > 0 && !closed) return;
  // Nothing runs because all lanes restart, not for lack of memory; a demoted subtask would get it again, without an
  // end.
  if (band.execute.holding() == 0 && band.execute.next_lanes(1).empty()) return;
  const RecordIndex lowest = band.execute.lowest_waiting([&](RecordIndex candidate) {
    const SubtaskRecord& record = records_[candidate];
    if (record.state != SubtaskState::Ready) return false;
    if (closed && band.execute.is_closed(record.job))
      return (record.holds_quota || record.holds_permit) && !waits_at_barrier(record.job, band);
    return head.valid() && band.execute.holding() == 0 && record.holds_quota &&
           band.quota.is_behind_head(quota_request(record, candidate));
  });
  if (!lowest.valid()) return;
  PENSTOCK_COVERAGE_MARK("a prepared subtask gave its memory back");
  demote(lowest);
}

void WorkerCore::demote(RecordIndex index) {
  ++counters_.demoted;
  give_back_all(index);
  // A subtask that got a permit while grants were stopped, and needs none now, waits where it was, without it.
  if (nothing_to_prepare(records_[index])) move(index, SubtaskState::Queued);
  enqueue(index);
}

// Spec: worker 4. A prepared subtask pins its inputs in memory. While its job's entitlement here is zero it does not
// run, so the pins would keep room from finished outputs until these fail. The subtask goes back to the prepare queue,
// where the entitlement is zero as well, so it pins nothing again before its job may run.
void WorkerCore::demote_for_room(Band& band) {
  if (waiting_for_room_.empty() || !band.execute.any_closed()) return;
  const RecordIndex lowest = band.execute.lowest_waiting([&](RecordIndex candidate) {
    const SubtaskRecord& record = records_[candidate];
    return record.state == SubtaskState::Ready && !record.pins.empty() && band.execute.is_closed(record.job) &&
           !waits_at_barrier(record.job, band);
  });
  if (!lowest.valid()) return;
  PENSTOCK_COVERAGE_MARK("a prepared subtask gave its inputs back");
  demote(lowest);
}

void WorkerCore::complete_successors() {
  // Indexed, because `complete_` is a member, although forwarding completes nothing more.
  for (std::size_t i = 0; i < complete_.size(); ++i) forward(complete_[i]);
  complete_.clear();
}

// Spec: worker 6. All producers of a cached successor have finished: start it without asking if all it needs is here.
void WorkerCore::forward(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  --band_of(record).cached;
  record.forward = try_forward(index);
  if (record.forward == ForwardResult::Hit) {
    ++counters_.forward_hits;
    make_ready(index);
  } else {
    ++counters_.forward_misses[static_cast<std::size_t>(record.forward)];
    enqueue(index);
  }
}

// Tries first, then commits: only a `Hit` has changed anything.
ForwardResult WorkerCore::try_forward(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  bool spilled = false;
  const bool any_datum = jobs_[record.job].data.valid();
  const std::span<const RunInput> looked_at = reads_nothing(record) ? std::span<const RunInput>{} : record.inputs;
  for (const RunInput& input : looked_at) {
    const DatumIndex datum = any_datum ? data_.find(key_of(record, input)) : DatumIndex::none();
    if (datum.valid() ? data_[datum].place == DatumPlace::Here : is_empty(record, input)) continue;
    const DatumPlace place = datum.valid() ? data_[datum].place : DatumPlace::Remote;
    if (place != DatumPlace::Spilled && place != DatumPlace::Restoring) return ForwardResult::InputRemote;
    spilled = true;
  }
  if (spilled) {
    PENSTOCK_COVERAGE_MARK("a forward found its input on disk");
    return ForwardResult::InputSpilled;
  }
  MemoryQuota& quota = band_of(record).quota;
  if (!record.program->content.request.memory.is_zero()) {
    if (!quota.try_request(quota_request(record, index))) {
      PENSTOCK_COVERAGE_MARK("a forward found no memory");
      return ForwardResult::Quota;
    }
    record.holds_quota = true;
  } else if (quota.paused()) {
    return ForwardResult::Quota;
  }
  if (!any_datum)
    omit_inputs(record);
  else if (!record.inputs.empty())
    pin_inputs(index);
  return ForwardResult::Hit;
}

}  // namespace penstock::worker
