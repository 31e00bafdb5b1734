#include "supervisor/core/placement/assignment_writer.hpp"
#include "common/protocol/checkpoint_key.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "supervisor/core/policy/entitlement_mail.hpp"
#include "supervisor/core/transfer_retry.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/worker_mail.hpp"

namespace penstock::supervisor {
namespace {

/// Room in a new batch: most are small, and the others grow by doubling.
constexpr std::size_t kReserved = 8;

}  // namespace

void AssignmentWriter::write_assignment(Job& job, std::uint32_t subtask, BandSlot slot) {
  const SubtaskHot& hot = job.hot[subtask];
  const BandEntry& band = workers_[slot];
  const std::uint32_t template_index = job.template_index_of(subtask);
  AssignBatch& batch = open_batch(job, band.worker);
  define_template(job, template_index, band.worker, batch);
  Assignment& assignment = batch.assignments.emplace_back();
  assignment.subtask = SubtaskIndex{subtask};
  assignment.template_index = TemplateIndex{template_index};
  assignment.priority = job.worker_priority(subtask);
  assignment.attempt = Attempt{hot.attempt};
  assignment.band = band.id.band;
  assignment.cached = hot.missing > 0;
  const std::size_t inputs_before = batch.inputs.size();
  assignment.omitted_inputs = write_inputs(job, subtask, band.worker, batch);
  assignment.input_count = static_cast<std::uint32_t>(batch.inputs.size() - inputs_before);
  for (std::size_t i = inputs_before; i < batch.inputs.size(); ++i)
    if (batch.inputs[i].place == InputPlace::Remote) mail_.introduce(band.worker, batch.inputs[i].location);
  const std::string_view payload = job.graph.shape->payload(subtask);
  assignment.payload_bytes = static_cast<std::uint32_t>(payload.size());
  batch.payloads += payload;
}

std::uint16_t AssignmentWriter::write_inputs(const Job& job, std::uint32_t subtask, WorkerSlot worker,
                                             AssignBatch& batch) const {
  const auto predecessors = job.graph.shape->predecessors(subtask);
  if (predecessors.empty()) return 0;
  const std::uint32_t first_edge = job.graph.shape->first_edge(subtask);
  const std::size_t before = batch.inputs.size();
  const bool troubled = (job.hot[subtask].flags & SubtaskFlag::kTroubled) != 0;
  std::size_t data_inputs = 0;
  bool any_data = false;
  for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
    const std::uint16_t output = job.graph.shape->edge_output(first_edge + k);
    const SubtaskHot& producer = job.hot[predecessors[k]];
    const bool order_only = output == EdgeKind::kOrderOnly;
    const bool finished = producer.phase == SubtaskPhase::Succeeded;
    if (order_only && finished) continue;
    // Written in place, like everything that is made for every subtask: copying a value that was just written in
    // smaller parts would wait for these to reach the cache.
    AssignedInput& input = batch.inputs.emplace_back();
    input.producer = SubtaskIndex{predecessors[k]};
    input.output = output;
    if (finished) place_input(job, input, producer, worker);
    if (troubled && input.place == InputPlace::Remote && input.bytes > 0)
      input.location = copy_to_try(job, workers_, subtask, predecessors[k]);
    data_inputs += !order_only;
    any_data = any_data || (!order_only && (!finished || input.bytes > 0));
  }
  if (any_data || data_inputs == 0 || data_inputs > UINT16_MAX) return 0;
  const auto first = batch.inputs.begin() + static_cast<std::ptrdiff_t>(before);
  batch.inputs.erase(std::remove_if(first, batch.inputs.end(),
                                    [](const AssignedInput& input) { return input.output != EdgeKind::kOrderOnly; }),
                     batch.inputs.end());
  return static_cast<std::uint16_t>(data_inputs);
}

void AssignmentWriter::place_input(const Job& job, AssignedInput& input, const SubtaskHot& producer,
                                   WorkerSlot worker) const {
  input.place = InputPlace::Here;
  if (!job.data.in_use()) return;
  const std::uint32_t subtask = input.producer.value();
  input.bytes = job.data.bytes(*job.graph.shape, subtask, input.output);
  if (input.bytes == 0) return;
  const bool here =
      workers_[producer.band].worker == worker || job.data.is_copied_to(*job.graph.shape, subtask, workers_[worker].id);
  input.place = here ? InputPlace::Here : InputPlace::Remote;
  input.location = here ? workers_[worker].id : workers_[producer.band].id.worker;
}

AssignBatch& AssignmentWriter::open_batch(Job& job, WorkerSlot slot) {
  if (job.audience.known_of.size() <= slot.value()) job.audience.known_of.resize(workers_.worker_slots());
  const bool first = (job.audience.known_of[slot.value()] & JobAudience::kHeardOf) == 0;
  if (first && job.shares != nullptr) entitlement_mail_.send_entitlements(job, slot);
  std::vector<ToWorker>& outbox = mail_.of(slot);
  if (!outbox.empty()) {
    auto* batch = std::get_if<AssignBatch>(&outbox.back());
    const bool fits = batch != nullptr && batch->job == job.id &&
                      batch->assignments.size() < config_.assign_batch_max &&
                      batch->inputs.size() < std::size_t{config_.assign_batch_max} * 8 &&
                      batch->payloads.size() < config_.graph.subtask_payload_bytes_max;
    if (fits) return *batch;
  }
  AssignBatch& batch = std::get<AssignBatch>(outbox.emplace_back(std::in_place_type<AssignBatch>));
  batch.job = job.id;
  batch.identity = job.identity;
  batch.job_priority = job.spec.priority;
  batch.trace = job.spec.trace;
  batch.assignments.reserve(kReserved);
  if (first) {
    batch.job_name = job.spec.name;
    batch.owner = job.spec.owner;
    batch.secrets = *job.spec.secrets;
    job.audience.workers.push_back(workers_[slot].id);
    job.audience.known_of[slot.value()] |= JobAudience::kHeardOf;
  }
  return batch;
}

void AssignmentWriter::define_template(Job& job, std::uint32_t template_index, WorkerSlot worker, AssignBatch& batch) {
  if (template_index < JobAudience::kTemplatesInWord) {
    std::uint64_t& known = job.audience.known_of[worker.value()];
    const std::uint64_t bit = std::uint64_t{1} << template_index;
    if ((known & bit) != 0) return;
    known |= bit;
  } else {
    std::vector<bool>& known = job.audience.templates_known.edit()[workers_[worker].id];
    known.resize(job.graph.templates.size() + job.graph.larger_templates->size());
    if (known[template_index]) return;
    known[template_index] = true;
  }
  batch.templates.push_back(TemplateDefinition{TemplateIndex{template_index}, job.template_at(template_index)});
  // A name for the job that no other supervisor's job has: the saved state of a preempted attempt is found by it, and
  // removed at last. A user's name could be that of another job.
  Template& sent = batch.templates.back().content;
  std::erase_if(sent.environment, is_checkpoint_key);
  if (job.shares != nullptr && sent.runner == RunnerKind::Command)
    sent.environment.push_back(std::string{kCheckpointKey} + "=" + to_string(job.id) + "." +
                               std::to_string(clock_.unix_ms(job.status.submitted)));
}

}  // namespace penstock::supervisor
