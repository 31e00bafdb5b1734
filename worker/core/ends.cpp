// WorkerCore: the ends of attempts, and their reports.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/checkpoint_key.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {

namespace {

// Mean over the latest runs, in nanoseconds; the newest counts for an eighth.
std::uint32_t later_mean(std::uint32_t mean, const RunEnd& run) {
  const std::uint64_t newest =
      run.run_ns > 0 ? run.run_ns
                     : std::min<std::uint64_t>(std::uint64_t{run.run_us} * 1000, WorkerTemplate::kUnknown - 1);
  if (mean == WorkerTemplate::kUnknown) return static_cast<std::uint32_t>(newest);
  return static_cast<std::uint32_t>((std::uint64_t{mean} * 7 + newest) / 8);
}

}  // namespace

void WorkerCore::run_ended(const RunEnd& run) {
  if (run.record.value() >= records_.used()) return;
  SubtaskRecord& record = records_[run.record];
  const bool runs = record.state == SubtaskState::Running || record.state == SubtaskState::Yielded;
  if (!runs || record.attempt != run.attempt) {
    PENSTOCK_CHECK(!run.next.valid());  // Only a running attempt hands its slot over.
    ++counters_.stale;
    if (!run.stored && !run.outputs.empty()) out_->add(worker_action::DiscardOutputs{run.record, run.attempt});
    return;
  }
  Band& band = band_of(record);
  record.run_us = run.run_us;
  record.outputs.assign(run.outputs.begin(), run.outputs.end());
  record.outputs_stored = run.stored;
  record.program->typical_ns = later_mean(record.program->typical_ns, run);
  if (record.holds_quota) note_peak(*record.program, run);
  if (jobs_[record.job].trace) trace_run(record, std::min(run.ended, now_));
  // Spec: worker 5, the slot is free when computing ends, whatever happens to the outputs.
  if (run.next.valid()) {
    take_over(run);
  } else {
    if (record.state == SubtaskState::Yielded) --yielded_total_;
    band.execute.remove(run.record);
    band.running[record.running_position] = band.running.back();
    records_[band.running.back()].running_position = record.running_position;
    band.running.pop_back();
    --running_total_;
    band.dirty = true;
  }
  band.may_offer = true;
  band.progress_at = std::min(run.ended, now_);
  move(run.record, SubtaskState::Storing);
  if (!run.succeeded || record.stopping != StopReason::None) {
    FailureDetail failure;
    if (run.failure != nullptr) failure = *run.failure;
    if (record.stopping == StopReason::TimedOut) {
      failure.failure = FailureClass::Timeout;
      failure.message = "ran longer than its time limit of " +
                        std::to_string(record.program->content.time_limit.count() / 1'000'000) + " ms";
    }
    if (record.stopping == StopReason::CutOff) {
      failure = {};
      failure.failure = FailureClass::WorkerLost;
      failure.message = "killed, as its worker was cut off from the supervisor (overlap = \"never\")";
    }
    record.drops_outputs |= !record.outputs.empty();
    if (record.stopping == StopReason::Cancelled)
      end_record(run.record, Outcome::Cancelled);
    else if (record.stopping == StopReason::Preempted)
      end_record(run.record, Outcome::Returned);
    else
      fail(run.record, failure);
    return;
  }
  if (record.outputs.empty() || !bounded()) return store_outputs(run.record);
  if (refuse_outputs(run.record)) return;
  if (waiting_for_room_.empty() && has_room(output_bytes(record))) return store_outputs(run.record);
  wait_for_room(run.record);
}

void WorkerCore::store_outputs(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  if (record.outputs_stored || record.outputs.empty()) return succeed(index);
  Band& band = band_of(record);
  if (band.store_permits_free == 0) {
    band.waiting_to_store.push_back(index);
    return;
  }
  --band.store_permits_free;
  record.holds_store_permit = true;
  out_->add(worker_action::StoreOutputs{index, id_of(record), record.attempt});
}

void WorkerCore::trace_run(const SubtaskRecord& record, Instant ended) {
  const auto us = [](Instant at) { return static_cast<std::uint64_t>(at.time_since_epoch().count()) / 1000; };
  reports_.section(jobs_[record.job].id, jobs_[record.job].identity)
      .traces.push_back({record.subtask, record.attempt, record.band, record.lane, us(record.arrived), us(record.ready),
                         us(record.started), us(ended)});
}

void WorkerCore::finish_storing(RecordIndex index, const FailureDetail* failure) {
  SubtaskRecord& record = records_[index];
  if (record.stopping == StopReason::Cancelled) {
    record.drops_outputs |= !record.outputs.empty();
    end_record(index, Outcome::Cancelled);
  } else if (failure != nullptr) {
    fail(index, *failure);
  } else {
    succeed(index);
  }
}

void WorkerCore::succeed(RecordIndex index) {
  const SubtaskRecord& record = records_[index];
  const SubtaskId id = id_of(record);
  const Attempt attempt = record.attempt;
  const JobSlot slot = record.job;
  for (const OutputReport& output : record.outputs) {
    const DatumIndex datum = data_.ensure(DataKey{id, output.output}, slot, jobs_[slot].data);
    const DatumPlace place = data_[datum].place;
    if (place == DatumPlace::Here || place == DatumPlace::Restoring) continue;
    if (place == DatumPlace::Spilled) {
      PENSTOCK_COVERAGE_MARK("an output was on disk when it was made again");
      // Memory keeps it only for pinned readers.
      if (data_[datum].pins > 0)
        input_arrived(datum);
      else
        out_->add(worker_action::ReleaseDatum{data_[datum].key});
      continue;
    }
    if (place == DatumPlace::Fetching) {
      PENSTOCK_COVERAGE_MARK("an input was made here while it was on its way");
      // The datum was made again here while a copy was on its way from a worker that may be gone.
      out_->add(worker_action::CancelFetch{data_[datum].key});
      --fetches_running_;
    }
    data_.resize(datum, Bytes{output.bytes});
    data_[datum].location = WorkerId::none();
    data_[datum].on_disk = false;
    input_arrived(datum);
    if (record.program->content.checkpoint) out_->add(worker_action::CheckpointDatum{data_[datum].key});
  }
  end_record(index, Outcome::Succeeded);
  if (!jobs_.is_open(slot)) return;
  jobs_[slot].settled.insert(id.index);
  // After the report: no successor may be reported before its producer.
  successors_.finished_here(slot, {id.index, attempt}, complete_);
  complete_successors();
}

void WorkerCore::fail(RecordIndex index, const FailureDetail& failure) { end_record(index, Outcome::Failed, &failure); }

void WorkerCore::end_record(RecordIndex index, Outcome outcome, const FailureDetail* failure) {
  if (runners_wanted_) needs_no_runner(records_[index]);
  if (const SubtaskRecord& record = records_[index]; !record.outputs_stored && !record.outputs.empty()) {
    PENSTOCK_COVERAGE_MARK("outputs were discarded before they were stored");
    out_->add(worker_action::DiscardOutputs{index, record.attempt});
  }
  if (const SubtaskRecord& record = records_[index]; record.drops_outputs) {
    const std::uint16_t count = std::max<std::uint16_t>(record.program->content.output_count, 1);
    for (std::uint16_t output = 0; output < count; ++output) drop_uncounted(DataKey{id_of(record), output});
  }
  report(records_[index], outcome, failure);
  give_back_all(index);
  free_record(index);
}

// Gives back all that the record holds; the only place that does.
void WorkerCore::give_back_all(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  Band& band = band_of(record);
  switch (record.state) {
    case SubtaskState::Cached:
      successors_.remove(index);
      --band.cached;
      break;
    // Items that wait for its reservation may fit now.
    case SubtaskState::Queued: band.dirty |= band.prepare.remove(index); break;
    case SubtaskState::Ready: band.dirty |= band.execute.remove(index); break;
    default: break;
  }
  if (record.holds_permit) {
    band.prepare.release(index);
    record.holds_permit = false;
    band.dirty = true;
  }
  if (record.holds_quota) {
    band.quota.release(index);
    record.holds_quota = false;
    band.dirty = true;
  }
  stop_waiting_for_inputs(index);
  if (record.holds_store_permit) {
    record.holds_store_permit = false;
    ++band.store_permits_free;
    if (!band.waiting_to_store.empty()) {
      const RecordIndex next = band.waiting_to_store.front();
      band.waiting_to_store.pop_front();
      --band.store_permits_free;
      records_[next].holds_store_permit = true;
      out_->add(worker_action::StoreOutputs{next, id_of(records_[next]), records_[next].attempt});
    }
  }
}

void WorkerCore::stop_waiting_for_inputs(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  for (const DatumIndex datum_index : record.pins) {
    Datum& datum = data_[datum_index];
    if (record.fetches_pending > 0) {
      record.fetches_pending -= static_cast<std::uint32_t>(std::erase(datum.waiters, index));
      // Spec: worker 3, cancelling one waiting attempt leaves the others.
      if (datum.waiters.empty() && !datum.keep) {
        if (datum.place == DatumPlace::Fetching) PENSTOCK_COVERAGE_MARK("a transfer lost all who waited for it");
        stop_fetching(datum_index);
      }
    }
    unpin(datum_index);
  }
  record.pins.clear();
}

void WorkerCore::free_record(RecordIndex index) {
  SubtaskRecord& record = records_[index];
  JobContext& job = jobs_[record.job];
  const JobSlot slot = record.job;
  if (record.previous_of_job.valid())
    records_[record.previous_of_job].next_of_job = record.next_of_job;
  else
    job.records = record.next_of_job;
  if (record.next_of_job.valid()) records_[record.next_of_job].previous_of_job = record.previous_of_job;
  job.attempts.free(record.subtask.value());
  --job.live;
  records_.free(index);
  if (job.forgotten) close_job_if_done(slot);
  if (draining_ && records_.live() == 0) report_drain_state();
}

void WorkerCore::report(const SubtaskRecord& record, Outcome outcome, const FailureDetail* failure) {
  JobReports& section = reports_.section(jobs_[record.job].id, jobs_[record.job].identity);
  AttemptReport& entry = section.attempts.emplace_back();
  entry.subtask = record.subtask;
  entry.attempt = record.attempt;
  entry.band = record.band;
  entry.outcome = outcome;
  entry.run_us = record.run_us;
  entry.forward = record.forward;
  if (outcome == Outcome::Succeeded) {
    entry.output_count = static_cast<std::uint16_t>(record.outputs.size());
    section.outputs.insert(section.outputs.end(), record.outputs.begin(), record.outputs.end());
    ++counters_.succeeded;
  } else if (outcome == Outcome::Failed) {
    section.failures.push_back(failure == nullptr ? FailureDetail{} : *failure);
    ++counters_.failed;
  } else if (outcome == Outcome::Cancelled) {
    ++counters_.cancelled;
  } else if (outcome == Outcome::Returned) {
    ++counters_.returned;
  }
  reports_.count_one();
}

void WorkerCore::flush_reports() {
  if (reports_.due(now_, idle())) out_->add(worker_action::SendReport{reports_.take(now_)});
}

void WorkerCore::report_started() {
  for (const auto& band : bands_)
    for (const RecordIndex index : band->running) {
      SubtaskRecord& record = records_[index];
      if (record.told_started) continue;
      if (now_ - record.started < config_.started_after) {
        want_check_at(later(record.started, config_.started_after));
        continue;
      }
      record.told_started = true;
      const std::int64_t so_far_us = (now_ - record.started) / std::chrono::microseconds{1};
      record.run_us = static_cast<std::uint32_t>(std::clamp<std::int64_t>(so_far_us, 0, UINT32_MAX));
      report(record, Outcome::Started, nullptr);
    }
}

void WorkerCore::close_job_if_done(JobSlot slot) {
  JobContext& job = jobs_[slot];
  if (!job.forgotten || job.live > 0) return;
  for (DatumIndex index = job.data; index.valid();) {
    const DatumIndex next = data_[index].next_of_job;
    drop_datum(index);
    index = next;
  }
  successors_.close_job(slot);
  leave_barriers(slot);
  for (const auto& band : bands_) {
    band->prepare.set_job_priority(slot, 0);
    band->execute.set_job_priority(slot, 0);
    band->prepare.set_entitlement(slot, MilliSlots::max(), 0);
    band->execute.set_entitlement(slot, MilliSlots::max(), 0);
    band->execute.drop_reservation(slot);  // Also an opened one on which nothing has begun: the slot is reused.
    // Without the last limited job the order of others changes. Runs on offer are first taken or withdrawn.
    if (band->execute.offered() == 0) band->dirty = true;
  }
  std::string_view saved_as;
  for (const auto* templates : {&job.templates, &job.replaced_templates})
    for (const std::unique_ptr<WorkerTemplate>& known : *templates) {
      if (known == nullptr) continue;
      shapes_.release(known->shape);
      if (saved_as.empty()) saved_as = checkpoint_key_of(known->content, job.id);
    }
  // A preempted attempt that was then cancelled or failed for good has left its saved state.
  if (!saved_as.empty()) out_->add(worker_action::SweepAttempts{std::string{saved_as}});
  if (job.identity.valid()) out_->add(worker_action::NameJob{job.id, {}});
  jobs_.close(slot);
}

// No attempt needs the datum here any more.
void WorkerCore::stop_fetching(DatumIndex index) {
  Datum& datum = data_[index];
  datum.keep = false;
  if (datum.place != DatumPlace::Fetching && datum.place != DatumPlace::Waiting) return;
  if (datum.place == DatumPlace::Fetching) {
    out_->add(worker_action::CancelFetch{datum.key});
    --fetches_running_;
  }
  data_.move(index, DatumPlace::Remote);
}

// Drops a datum from the store that is not needed: a dropped one, the outputs of a run that does not count, or a late
// arrival from another worker. While an attempt that makes the same datum is under way, the store may have the new one
// already: then the end of the attempt decides.
void WorkerCore::drop_from_store(const DataKey& key) {
  const JobSlot job = jobs_.find(key.producer.job);
  const RecordIndex maker = job.valid() ? find_record(job, key.producer.index) : RecordIndex::none();
  if (maker.valid() && records_[maker].state >= SubtaskState::Running) {
    PENSTOCK_COVERAGE_MARK("a datum was dropped while it was made again");
    records_[maker].drops_outputs = true;
  } else {
    drop_uncounted(key);
  }
}

// The same datum may be here from elsewhere, for a reader: the store has it once, and it stays.
void WorkerCore::drop_uncounted(const DataKey& key) {
  const DatumIndex other = data_.find(key);
  const DatumPlace place = other.valid() ? data_[other].place : DatumPlace::Remote;
  if (place == DatumPlace::Here || place == DatumPlace::Restoring) {
    PENSTOCK_COVERAGE_MARK("data that do not count were here from elsewhere, too");
  } else if (place == DatumPlace::Spilled) {
    out_->add(worker_action::ReleaseDatum{key});
  } else {
    out_->add(worker_action::DropDatum{key});
  }
}

void WorkerCore::drop_datum(DatumIndex index) {
  Datum& datum = data_[index];
  if (datum.pins > 0 || !datum.waiters.empty()) {
    datum.drop_wanted = true;
    return;
  }
  stop_fetching(index);
  const DataKey key = datum.key;
  const bool stored = datum.place >= DatumPlace::Here;
  jobs_[datum.job].settled.erase(key.producer.index);
  data_.erase(index, jobs_[datum.job].data);
  if (stored) drop_from_store(key);
}

// The copy goes, but the datum stays known: a waiting reader must fail, not run without it.
void WorkerCore::lose_datum(DatumIndex index) {
  Datum& datum = data_[index];
  if (datum.pins > 0 || !datum.waiters.empty())
    return;  // In use: present readers go on, and no further one was promised it.
  stop_fetching(index);
  const bool stored = datum.place >= DatumPlace::Here;
  data_.move(index, DatumPlace::Remote);
  if (stored) drop_from_store(datum.key);
  datum.location = WorkerId::none();
  datum.on_disk = false;
}

}  // namespace penstock::worker
