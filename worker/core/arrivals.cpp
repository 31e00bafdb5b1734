// WorkerCore: messages of the supervisor.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {

void WorkerCore::receive(const AssignBatch& batch) {
  if (const JobSlot other = jobs_.find(batch.job); other.valid() && differ(batch.identity, jobs_[other].identity))
    return give_back(batch);
  if (!check_batch(batch)) return;
  const bool known = jobs_.find(batch.job).valid();
  const JobSlot slot = open_job(batch.job);
  JobContext& job = jobs_[slot];
  if (batch.identity.valid() && !job.identity.valid()) {
    job.identity = batch.identity;
    out_->add(worker_action::NameJob{job.id, job.identity});
  }
  if (!known || job.priority != batch.job_priority) set_job_priority(slot, batch.job_priority);
  if (!batch.job_name.empty()) job.name = batch.job_name;
  job.trace = batch.trace;
  define_templates(job, batch);
  if (load_report_at_ == kNever) load_report_at_ = later(now_, config_.load_report_every);
  std::size_t input = 0;
  std::size_t payload = 0;
  for (const Assignment& assignment : batch.assignments) {
    accept(slot, assignment, std::span{batch.inputs}.subspan(input, assignment.input_count),
           std::string_view{batch.payloads}.substr(payload, assignment.payload_bytes));
    input += assignment.input_count;
    payload += assignment.payload_bytes;
  }
}

JobIdentity WorkerCore::identity_of(JobId job) const {
  const JobSlot slot = jobs_.find(job);
  return slot.valid() ? jobs_[slot].identity : JobIdentity{};
}

/// Another job of that number is known here, and its data would be read as those of this one. Returned assignments go
/// to other workers, or come again when the other job is forgotten.
void WorkerCore::give_back(const AssignBatch& batch) {
  PENSTOCK_COVERAGE_MARK("a supervisor means another job of that number");
  ++counters_.stale;
  JobReports& section = reports_.section(batch.job, batch.identity);
  for (const Assignment& assignment : batch.assignments) {
    AttemptReport& report = section.attempts.emplace_back();
    report.subtask = assignment.subtask;
    report.attempt = assignment.attempt;
    report.band = assignment.band;
    report.outcome = Outcome::Returned;
    reports_.count_one();
  }
}

// Also for attempts that wait for memory, because grants follow the priority. Something that a job of lowered priority
// kept from others may now be theirs.
void WorkerCore::set_job_priority(JobSlot slot, std::int32_t job_priority) {
  jobs_[slot].priority = job_priority;
  for (const auto& band : bands_) {
    band->prepare.set_job_priority(slot, job_priority);
    band->execute.set_job_priority(slot, job_priority);
    // Most jobs get their priority before any of their subtasks is here.
    if (!jobs_[slot].records.valid()) continue;
    band->quota.set_job_priority([&](RecordIndex record) { return records_[record].job == slot; }, job_priority);
    band->dirty = true;
  }
}

JobSlot WorkerCore::open_job(JobId id) {
  const bool known = jobs_.find(id).valid();
  const JobSlot slot = jobs_.open(id);
  if (!known) successors_.open_job(slot);
  return slot;
}

// A batch that contradicts itself is refused whole and changes nothing.
bool WorkerCore::check_batch(const AssignBatch& batch) {
  std::uint64_t inputs = 0;
  std::uint64_t payload_bytes = 0;
  std::size_t templates = 0;
  if (const JobSlot slot = jobs_.find(batch.job); slot.valid()) templates = jobs_[slot].templates.size();
  for (const TemplateDefinition& definition : batch.templates)
    templates = std::max<std::size_t>(templates, std::size_t{definition.index.value()} + 1);
  for (const Assignment& assignment : batch.assignments) {
    inputs += assignment.input_count;
    payload_bytes += assignment.payload_bytes;
    const bool valid = batch.job.valid() && assignment.subtask.valid() && assignment.attempt.valid() &&
                       assignment.band.value() < bands_.size() && assignment.template_index.value() < templates;
    if (valid) continue;
    reject(ErrorCode::InvalidArgument, to_string(SubtaskId{batch.job, assignment.subtask}),
           "the assignment names an unknown band or template");
    return false;
  }
  if (inputs == batch.inputs.size() && payload_bytes == batch.payloads.size()) return true;
  reject(ErrorCode::InvalidArgument, to_string(batch.job), "the inputs or payloads do not match the assignments");
  return false;
}

void WorkerCore::define_templates(JobContext& job, const AssignBatch& batch) {
  for (const TemplateDefinition& definition : batch.templates) {
    if (job.templates.size() <= definition.index.value()) job.templates.resize(definition.index.value() + 1);
    std::unique_ptr<WorkerTemplate>& known = job.templates[definition.index.value()];
    if (known != nullptr && known->content == definition.content) continue;  // Sent again after a reconnect.
    // A restarted supervisor may number templates with more memory in another order.
    if (known != nullptr) job.replaced_templates.push_back(std::move(known));
    known = std::make_unique<WorkerTemplate>();
    known->content = definition.content;
    known->execution = definition.content.request;
    known->execution.memory = Bytes{0};
    known->shape = shape_of(*known);
    known->peak_program = program_of(known->content);
    known->runner_kind = runner_kind_of(known->content);
    if (known->content.overlap == Overlap::Never) job.has_never_overlapping = has_never_overlapping_ = true;
  }
}

std::uint16_t WorkerCore::shape_of(const WorkerTemplate& program) {
  const Template& content = program.content;
  if (content.runner == RunnerKind::Command || content.time_limit > Duration{0}) return 0;
  if (content.overlap == Overlap::Never) return 0;  // A lane does not know when the supervisor was last heard.
  return shapes_.use(program.execution);
}

void WorkerCore::accept(JobSlot slot, const Assignment& assignment, std::span<const AssignedInput> inputs,
                        std::string_view payload) {
  JobContext& job = jobs_[slot];
  ++counters_.assigned;
  if (!is_new_attempt(slot, assignment)) return;
  const RecordIndex index = make_record(slot, assignment);
  SubtaskRecord& record = records_[index];
  if (!payload.empty()) record.payload.assign(payload);  // Else it is empty, as of every fresh record.
  missing_.clear();
  for (const AssignedInput& input : inputs) {
    if (input.place == InputPlace::Missing) missing_.push_back(input.producer);
    if (input.output == EdgeKind::kOrderOnly) continue;  // Spec: worker 3, never fetched nor sized.
    RunInput& read = record.inputs.emplace_back();
    read.producer = input.producer;
    read.output = input.output;
    read.empty = input.place != InputPlace::Missing && input.bytes == 0;
    if (input.place == InputPlace::Missing || read.empty) continue;
    const DatumIndex datum = data_.ensure(DataKey{{job.id, input.producer}, input.output}, slot, job.data);
    if (data_[datum].place != DatumPlace::Remote) continue;
    data_[datum].location = input.place == InputPlace::Remote ? input.location : WorkerId::none();
    data_[datum].bytes = Bytes{input.bytes};
  }
  // A full worker returns subtasks that only wait. Runnable ones are taken up to twice the limit: returning the
  // producers of cached successors would stop all progress.
  const std::size_t limit = missing_.empty() ? std::size_t{config_.subtasks_max} * 2 : config_.subtasks_max;
  const bool too_late = cut_off_ && record.program->content.overlap == Overlap::Never;
  if (records_.live() > limit && !band_of(record).execute.is_closed(slot)) return_one_closed();
  if (draining_ || too_late || records_.live() > limit) {
    if (!draining_ && !too_late) PENSTOCK_COVERAGE_MARK("a full worker gave an assignment back");
    end_record(index, Outcome::Returned);
    return;
  }
  want_runner(record);
  if (!missing_.empty() && successors_.add(index, slot, missing_) > 0) {
    move(index, SubtaskState::Cached);
    ++band_of(record).cached;
    return;
  }
  if (missing_.empty()) {
    enqueue(index);
    return;
  }
  PENSTOCK_COVERAGE_MARK("producers had finished before their successor arrived");
  // Its producers finished here before it arrived: it is forwarded like any other successor.
  complete_.push_back(index);
  move(index, SubtaskState::Cached);
  ++band_of(record).cached;
  complete_successors();
}

// Subtasks of a job that may start nothing here must not fill the worker: the job that has to end before policy
// entitles theirs would find no room (seed 821017888 of the simulator). O(n) in the records of closed jobs.
void WorkerCore::return_one_closed() {
  if (std::none_of(bands_.begin(), bands_.end(), [](const auto& band) { return band->execute.any_closed(); })) return;
  const auto may_go = [this](const SubtaskRecord& record) {
    const Band& band = band_of(record);
    return band.execute.is_closed(record.job) && !waits_at_barrier(record.job, band) && is_unprepared(record);
  };
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    const bool any = jobs_.is_open(JobSlot{slot}) && std::any_of(bands_.begin(), bands_.end(), [&](const auto& band) {
      return band->execute.is_closed(JobSlot{slot});
    });
    if (!any) continue;
    for (RecordIndex index = jobs_[JobSlot{slot}].records; index.valid(); index = records_[index].next_of_job) {
      if (!may_go(records_[index])) continue;
      PENSTOCK_COVERAGE_MARK("a full worker gave back what its job may not start");
      return return_unprepared(index);
    }
  }
}

// Spec: worker 7, a known live attempt attaches, an older one is ignored.
bool WorkerCore::is_new_attempt(JobSlot slot, const Assignment& assignment) {
  const RecordIndex known = find_record(slot, assignment.subtask);
  if (!known.valid()) return true;
  ++counters_.stale;
  if (records_[known].attempt < assignment.attempt) {
    PENSTOCK_COVERAGE_MARK("a newer attempt met a live one");
    // Two attempts never live here at once; the newer one is returned and assigned elsewhere.
    SubtaskRecord returned;
    returned.job = slot;
    returned.subtask = assignment.subtask;
    returned.attempt = assignment.attempt;
    returned.band = assignment.band;
    report(returned, Outcome::Returned, nullptr);
  }
  return false;
}

RecordIndex WorkerCore::make_record(JobSlot slot, const Assignment& assignment) {
  JobContext& job = jobs_[slot];
  const RecordIndex index = records_.allocate();
  SubtaskRecord& record = records_[index];
  record.subtask = assignment.subtask;
  record.job = slot;
  record.attempt = assignment.attempt;
  record.band = assignment.band;
  record.program = job.templates[assignment.template_index.value()].get();
  record.priority = assignment.priority;
  record.sequence = next_sequence_++;
  record.omitted_inputs = assignment.omitted_inputs;
  record.arrived = now_;
  record.next_of_job = job.records;
  if (job.records.valid()) records_[job.records].previous_of_job = index;
  job.records = index;
  ++job.live;
  job.attempts.use(assignment.subtask.value()).record = index;
  told_empty_ = false;
  return index;
}

void WorkerCore::receive(const InputNoticeBatch& message) {
  const JobSlot slot = jobs_.find(message.job);
  if (!slot.valid()) return;
  JobContext& job = jobs_[slot];
  // All data first: a successor may need several outputs of one producer.
  for (const InputNotice& notice : message.notices) {
    if (notice.output == EdgeKind::kOrderOnly || notice.bytes <= 0) continue;
    const DatumIndex index = data_.ensure(DataKey{{message.job, notice.producer}, notice.output}, slot, job.data);
    if (data_[index].place != DatumPlace::Remote) continue;
    data_[index].location = notice.location;
    data_[index].bytes = Bytes{notice.bytes};
  }
  for (const InputNotice& notice : message.notices) {
    job.settled.insert(notice.producer);
    successors_.noticed(slot, notice.producer, complete_);
  }
  complete_successors();
}

void WorkerCore::receive(const CancelBatch& message) {
  const JobSlot slot = jobs_.find(message.job);
  if (!slot.valid()) return;
  if (message.whole_job) {
    for (RecordIndex index = jobs_[slot].records; index.valid();) {
      const RecordIndex next = records_[index].next_of_job;
      cancel(index, message.kill_after);
      index = next;
    }
    if (jobs_.is_open(slot)) leave_barriers(slot);
    return;
  }
  for (const AttemptRef& attempt : message.attempts) {
    const RecordIndex index = find_record(slot, attempt.subtask);
    if (!index.valid() || records_[index].attempt != attempt.attempt) continue;
    if (message.preempt) {
      preempt(index, message.kill_after);
      continue;
    }
    cancel(index, message.kill_after);
    if (!message.alone) cancel_successors_of(slot, attempt.subtask, message.kill_after);
  }
}

void WorkerCore::receive(const PriorityBatch& message) {
  const JobSlot slot = jobs_.find(message.job);
  if (!slot.valid()) return;
  if (message.change_job) set_job_priority(slot, message.job_priority);
  for (const PriorityChange& change : message.changes) {
    const RecordIndex index = find_record(slot, change.subtask);
    if (!index.valid() || records_[index].state == SubtaskState::Yielded) continue;
    SubtaskRecord& record = records_[index];
    record.priority = change.priority;
    band_of(record).prepare.update_priority(index, change.priority);
    band_of(record).execute.update_priority(index, change.priority);
    band_of(record).quota.update_priority(index, change.priority);
    band_of(record).dirty = true;
  }
}

void WorkerCore::receive(const EntitlementBatch& message) {
  if (message.version <= entitlement_version_) return;
  entitlement_version_ = message.version;
  for (const Entitlement& entitlement : message.entitlements) {
    if (!entitlement.job.valid() || entitlement.band.value() >= bands_.size()) continue;
    // The entitlement comes before the job's first assignment, which must find the latch closed. Without a limit
    // nothing has to be remembered.
    JobSlot slot = jobs_.find(entitlement.job);
    if (!slot.valid() && entitlement.slots != MilliSlots::max()) slot = open_job(entitlement.job);
    if (!slot.valid()) continue;
    if (entitlement.barrier != 0 && !entitlement.slots.is_zero()) {
      join_barrier(slot, entitlement);
    } else {
      entitle(slot, entitlement);
    }
  }
}

void WorkerCore::entitle(JobSlot slot, const Entitlement& entitlement) {
  Band& band = *bands_[entitlement.band.value()];
  // The permits are latched too: otherwise a job at its entitlement would hold all of them, prepared in vain.
  // A permit is a slot, also for a subtask with a part of one.
  const MilliSlots permits = entitlement.slots == MilliSlots::max()
                                 ? entitlement.slots
                                 : kOneSlot * ((entitlement.slots.value() + 999) / 1000);
  band.prepare.set_entitlement(slot, permits, entitlement.fair_rank);
  band.execute.set_entitlement(slot, entitlement.slots, entitlement.fair_rank);
  if (!barriers_.empty()) leave_barrier(slot, band, !entitlement.slots.is_zero());
  band.dirty = true;
}

void WorkerCore::receive(const StealRequest& message) {
  const JobSlot slot = jobs_.find(message.job);
  if (!slot.valid()) return;
  for (const AttemptRef& attempt : message.attempts) {
    const RecordIndex index = find_record(slot, attempt.subtask);
    if (index.valid() && records_[index].attempt == attempt.attempt) return_unprepared(index);
  }
}

void WorkerCore::receive(const DropBatch& message) {
  const JobSlot slot = jobs_.find(message.job);
  if (!slot.valid()) return;
  if (load_report_at_ == kNever) load_report_at_ = later(now_, config_.load_report_every);  // There is more room now.
  for (const DataRef& ref : message.data) {
    // The supervisor has applied the report of the producer, though it may not say so before the disk has it. If the
    // producer has to run again, its successors must wait for that.
    successors_.forget(slot, ref.producer);
    const DatumIndex datum = data_.find(DataKey{{message.job, ref.producer}, ref.output});
    if (!datum.valid()) {
      jobs_[slot].settled.erase(ref.producer);
      continue;
    }
    if (message.lost)
      lose_datum(datum);
    else
      drop_datum(datum);
  }
}

void WorkerCore::receive(const ForgetJob& message) {
  const JobSlot slot = jobs_.find(message.job);
  if (!slot.valid()) return;
  jobs_[slot].forgotten = true;
  leave_barriers(slot);
  for (RecordIndex index = jobs_[slot].records; index.valid();) {
    const RecordIndex next = records_[index].next_of_job;
    cancel(index, Duration{0});
    index = next;
  }
  if (jobs_.is_open(slot)) close_job_if_done(slot);
}

// A datum that is here already, or on its way for a subtask, is reported like any other copy.
void WorkerCore::receive(const KeepBatch& message) {
  if (!message.job.valid()) return reject(ErrorCode::InvalidArgument, "a copy to keep", "is of no job");
  const JobSlot slot = open_job(message.job);
  for (const KeepDatum& wanted : message.data) {
    const DataKey key{{message.job, wanted.producer}, wanted.output};
    if (!wanted.producer.valid() || wanted.bytes <= 0) continue;
    const DatumIndex index = data_.ensure(key, slot, jobs_[slot].data);
    Datum& datum = data_[index];
    if (datum.place != DatumPlace::Remote) continue;
    datum.location = wanted.location;
    datum.bytes = Bytes{wanted.bytes};
    if (!wanted.location.valid()) {
      data_.move(index, DatumPlace::Spilled);
      datum.on_disk = true;
      out_->add(worker_action::AdoptCheckpoint{key, wanted.writer});
      continue;
    }
    datum.keep = true;
    data_.move(index, DatumPlace::Waiting);
    constexpr std::uint64_t kAfterAllThatSomebodyWaitsFor = std::uint64_t{1} << 63U;
    fetch_turns_.push(FetchTurn{0, kAfterAllThatSomebodyWaitsFor + next_sequence_++, index});
  }
}

void WorkerCore::receive(const RemoveCheckpoints& message) {
  out_->add(worker_action::SweepCheckpoints{message.writers});
}

void WorkerCore::receive(const ReportsApplied& message) {
  applied_.clear();
  reports_.applied(message.through, applied_);
  JobId job;
  JobSlot slot;
  for (const FinishedAttempt& finished : applied_) {
    if (finished.job != job) slot = jobs_.find(job = finished.job);
    if (slot.valid()) successors_.applied(slot, finished.attempt);
  }
}

void WorkerCore::receive(const Drain& message) {
  draining_ = message.enabled;
  told_empty_ = false;
  if (!draining_) {
    report_drain_state();
    return;
  }
  for (std::uint32_t slot = 0; slot < jobs_.slots(); ++slot) {
    if (!jobs_.is_open(JobSlot{slot})) continue;
    for (RecordIndex index = jobs_[JobSlot{slot}].records; index.valid();) {
      const RecordIndex next = records_[index].next_of_job;
      return_unprepared(index);
      index = next;
    }
  }
  report_drain_state();
}

}  // namespace penstock::worker
