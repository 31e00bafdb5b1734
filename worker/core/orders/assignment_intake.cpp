#include "worker/core/orders/assignment_intake.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

void AssignmentIntake::take(const AssignBatch& batch) {
  if (const JobSlot other = tables_.jobs.find(batch.job);
      other.valid() && differ(batch.identity, tables_.jobs[other].identity))
    return reports_.reporter.give_back(batch);
  if (!check_batch(batch)) return;
  const bool known = tables_.jobs.find(batch.job).valid();
  const JobSlot slot = tables_.open_job(batch.job, batch.identity, event_);
  JobContext& job = tables_.jobs[slot];
  if (!known || job.priority != batch.job_priority) priorities_.set_of_job(slot, batch.job_priority);
  if (!batch.job_name.empty()) job.name = batch.job_name;
  if (!batch.owner.empty()) job.owner = batch.owner;
  if (!batch.secrets.empty()) job.secrets = batch.secrets;
  job.trace = batch.trace;
  define_templates(job, batch);
  reports_.reporter.expect_load();
  std::size_t input = 0;
  std::size_t payload = 0;
  for (const Assignment& assignment : batch.assignments) {
    accept(slot, assignment, std::span{batch.inputs}.subspan(input, assignment.input_count),
           std::string_view{batch.payloads}.substr(payload, assignment.payload_bytes));
    input += assignment.input_count;
    payload += assignment.payload_bytes;
  }
}

bool AssignmentIntake::check_batch(const AssignBatch& batch) {
  std::uint64_t inputs = 0;
  std::uint64_t payload_bytes = 0;
  std::size_t templates = 0;
  if (const JobSlot slot = tables_.jobs.find(batch.job); slot.valid()) templates = tables_.jobs[slot].templates.size();
  for (const TemplateDefinition& definition : batch.templates)
    templates = std::max<std::size_t>(templates, std::size_t{definition.index.value()} + 1);
  for (const Assignment& assignment : batch.assignments) {
    inputs += assignment.input_count;
    payload_bytes += assignment.payload_bytes;
    const bool valid = batch.job.valid() && assignment.subtask.valid() && assignment.attempt.valid() &&
                       bands_.knows(assignment.band) && assignment.template_index.value() < templates;
    if (valid) continue;
    event_.reject(to_string(SubtaskId{batch.job, assignment.subtask}),
                  "the assignment names an unknown band or template");
    return false;
  }
  if (inputs == batch.inputs.size() && payload_bytes == batch.payloads.size()) return true;
  event_.reject(to_string(batch.job), "the inputs or payloads do not match the assignments");
  return false;
}

void AssignmentIntake::define_templates(JobContext& job, const AssignBatch& batch) {
  for (const TemplateDefinition& definition : batch.templates) {
    if (job.templates.size() <= definition.index.value()) job.templates.resize(definition.index.value() + 1);
    std::unique_ptr<WorkerTemplate>& known = job.templates[definition.index.value()];
    Template content = definition.content;
    if (!job.owner.empty()) content.user = Seldom{job.owner};
    if (content.runner != RunnerKind::Native)
      for (const Secret& secret : job.secrets) content.environment.push_back(secret.name + "=" + secret.value);
    if (known != nullptr && known->content == content) continue;  // Sent again after a reconnect.
    // A restarted supervisor may number templates with more memory in another order.
    if (known != nullptr) job.replaced_templates.push_back(std::move(known));
    known = std::make_unique<WorkerTemplate>();
    known->content = std::move(content);
    known->execution = known->content.request;
    known->execution.memory = Bytes{0};
    known->shape = shape_of(*known);
    known->peak_program = program_of(known->content);
    known->runner_kind = runner_kind_of(known->content);
    if (known->content.overlap == Overlap::Never) overlap_.template_seen(job);
  }
}

std::uint16_t AssignmentIntake::shape_of(const WorkerTemplate& program) {
  const Template& content = program.content;
  if (content.runner == RunnerKind::Command || content.time_limit > Duration{0}) return 0;
  if (content.overlap == Overlap::Never) return 0;  // A lane does not know when the supervisor was last heard.
  return tables_.shapes.use(program.execution);
}

void AssignmentIntake::accept(JobSlot slot, const Assignment& assignment, std::span<const AssignedInput> inputs,
                              std::string_view payload) {
  ++tables_.counters.assigned;
  if (!is_new_attempt(slot, assignment)) return;
  const RecordIndex index = tables_.subtasks.add(slot, assignment, event_.now);
  reports_.drain.subtask_arrived();
  SubtaskRecord& record = tables_.subtasks[index];
  if (!payload.empty()) record.payload.assign(payload);  // Else it is empty, as of every fresh record.
  note_inputs(record, inputs);
  if (!has_room_for(record)) return runs_.ends.end(index, Outcome::Returned);
  bands_.of(record).warmer.want(record, tables_.jobs[slot].id);
  if (missing_.empty()) return runs_.flow.enqueue(index);
  if (tables_.successors.add(index, slot, missing_) > 0) return runs_.flow.cache(record);
  runs_.flow.forward_late(index);
}

void AssignmentIntake::note_inputs(SubtaskRecord& record, std::span<const AssignedInput> inputs) {
  JobContext& job = tables_.jobs[record.job];
  missing_.clear();
  for (const AssignedInput& input : inputs) {
    if (input.place == InputPlace::Missing) missing_.push_back(input.producer);
    if (input.output == EdgeKind::kOrderOnly) continue;  // Spec: worker 3, never fetched nor sized.
    RunInput& read = record.inputs.emplace_back();
    read.producer = input.producer;
    read.output = input.output;
    read.empty = input.place != InputPlace::Missing && input.bytes == 0;
    if (input.place == InputPlace::Missing || read.empty) continue;
    const DatumIndex datum = data_.table.ensure(DataKey{{job.id, input.producer}, input.output}, record.job, job.data);
    data_.table.note_remote(datum, input.place == InputPlace::Remote ? input.location : WorkerId::none(),
                            Bytes{input.bytes});
  }
}

// A full worker returns subtasks that only wait. Runnable ones are taken up to twice the limit: returning the producers
// of cached successors would stop all progress.
bool AssignmentIntake::has_room_for(const SubtaskRecord& record) {
  const std::size_t limit = missing_.empty() ? std::size_t{config_.subtasks_max} * 2 : config_.subtasks_max;
  if (tables_.subtasks.live() > limit && !bands_.of(record).execute.items().is_closed(record.job))
    cancels_.return_one_closed();
  if (reports_.drain.on() || overlap_.refuses(record)) return false;
  if (tables_.subtasks.live() <= limit) return true;
  PENSTOCK_COVERAGE_MARK("a full worker gave an assignment back");
  return false;
}

// Spec: worker 7, a known live attempt attaches, an older one is ignored.
bool AssignmentIntake::is_new_attempt(JobSlot slot, const Assignment& assignment) {
  const RecordIndex known = tables_.subtasks.find(slot, assignment.subtask);
  if (!known.valid()) return true;
  ++tables_.counters.stale;
  if (tables_.subtasks[known].attempt < assignment.attempt) {
    PENSTOCK_COVERAGE_MARK("a newer attempt met a live one");
    // Two attempts never live here at once; the newer one is returned and assigned elsewhere.
    SubtaskRecord returned;
    returned.job = slot;
    returned.subtask = assignment.subtask;
    returned.attempt = assignment.attempt;
    returned.band = assignment.band;
    reports_.reporter.report(returned, Outcome::Returned, nullptr);
  }
  return false;
}

}  // namespace penstock::worker
