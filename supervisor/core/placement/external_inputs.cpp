#include "supervisor/core/placement/external_inputs.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/data/awaited_outputs.hpp"
#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/readoption.hpp"

namespace penstock::supervisor {
namespace {

bool before(const OutputLocation& a, const OutputLocation& b) {
  return a.producer != b.producer ? a.producer < b.producer : a.output < b.output;
}

}  // namespace

std::string name_of(const ExternalDatum& datum) {
  return "output " + std::to_string(datum.output) + " of subtask " + std::to_string(datum.producer.index.value()) +
         " of " + to_string(datum.producer.job);
}

std::vector<JobId> producer_jobs_of(const GraphShape& shape) {
  std::vector<JobId> producer_jobs;
  for (const ExternalInput& input : shape.external_inputs()) producer_jobs.push_back(input.datum.producer.job);
  std::sort(producer_jobs.begin(), producer_jobs.end());
  producer_jobs.erase(std::unique(producer_jobs.begin(), producer_jobs.end()), producer_jobs.end());
  return producer_jobs;
}

Result<void> ExternalInputs::check_external_inputs(const JobSpec& spec, const GraphShape& shape) {
  for (const ExternalInput& input : shape.external_inputs()) {
    const auto refuse = [&](ErrorCode code, const std::string& why) {
      return Error{code, "subtask '" + shape.name(input.subtask) + "'", "borrows " + name_of(input.datum) + ", " + why,
                   "keep that job, and want that output, for as long as it is borrowed"};
    };
    const auto& [producer, output, identity] = input.datum;
    // A job of another owner does not exist for this one.
    const Job* const known = jobs_.find(producer.job);
    if (known == nullptr || (!known->spec.owner.empty() && known->spec.owner != spec.owner))
      return refuse(ErrorCode::NotFound, "and there is no such job (any more)");
    const Job& producer_job = *known;
    if (differ(identity, producer_job.identity)) return refuse(ErrorCode::NotFound, "which is another job now");
    const std::uint32_t subtask = producer.index.value();
    if (subtask >= producer_job.tally.counts.total)
      return refuse(ErrorCode::UnknownKey, "which has only " + std::to_string(producer_job.tally.counts.total));
    if (producer_job.status.state == JobState::Running) {
      const std::uint16_t count = DataDirectory::outputs_of(producer_job, subtask);
      if (output >= count) return refuse(ErrorCode::UnknownKey, "which makes only " + std::to_string(count));
      if ((producer_job.hot[subtask].flags & SubtaskFlag::kWanted) == 0)
        return refuse(ErrorCode::WrongState, "which is not kept");
    } else if (producer_job.outputs.release_when_unreferenced || producer_job.outputs.is_released(producer.index) ||
               find_output(input.datum) == nullptr) {
      return refuse(ErrorCode::InputLost, "of which nothing is kept: it was released, lost, or never made");
    }
  }
  return {};
}

void ExternalInputs::add_references(const Job& job) {
  for (const ExternalInput& input : job.graph.shape->external_inputs())
    if (Job* producer_job = jobs_.find(input.datum.producer.job))
      ++producer_job->outputs.borrowed.edit()[input.datum.producer.index].references;
}

const OutputLocation* ExternalInputs::find_output(const ExternalDatum& datum) {
  Job& producer_job = jobs_[datum.producer.job];
  // Outputs are sorted at the first search: most jobs have no references.
  if (!std::exchange(producer_job.outputs.sorted, true))
    std::sort(producer_job.outputs.locations.begin(), producer_job.outputs.locations.end(), before);
  OutputLocation wanted;
  wanted.producer = datum.producer.index;
  wanted.output = datum.output;
  const auto found =
      std::lower_bound(producer_job.outputs.locations.begin(), producer_job.outputs.locations.end(), wanted, before);
  return found == producer_job.outputs.locations.end() || before(wanted, *found) ? nullptr : &*found;
}

std::vector<WorkerSlot> ExternalInputs::holders_of(const ExternalDatum& datum) {
  std::vector<WorkerSlot> holders;
  if (!jobs_.knows(datum.producer.job)) return holders;
  const Job& producer_job = jobs_[datum.producer.job];
  if (producer_job.status.state != JobState::Running) {
    const OutputLocation* at = find_output(datum);
    for (std::uint32_t i = 0; at != nullptr && i < workers_.worker_slots(); ++i)
      if (workers_[WorkerSlot{i}].alive && workers_[WorkerSlot{i}].description.data_address == at->data_address)
        holders.push_back(WorkerSlot{i});
    return holders;
  }
  const std::uint32_t subtask = datum.producer.index.value();
  const bool there = producer_job.hot[subtask].phase == SubtaskPhase::Succeeded && producer_job.data.in_use() &&
                     !producer_job.data.gone(subtask) &&
                     producer_job.data.bytes(*producer_job.graph.shape, subtask, datum.output) > 0;
  if (!there) return holders;
  holders.push_back(workers_[producer_job.hot[subtask].band].worker);
  const std::vector<WorkerId>* replicas = producer_job.data.replicas(subtask);
  for (std::size_t i = 0; replicas != nullptr && i < replicas->size(); ++i)
    if (producer_job.data.is_copied_to(*producer_job.graph.shape, subtask, (*replicas)[i]))
      if (const WorkerSlot slot = workers_.find((*replicas)[i]); slot.valid()) holders.push_back(slot);
  return holders;
}

bool ExternalInputs::may_read_external_on(const ExternalInput& input, BandSlot band) {
  const std::vector<WorkerSlot> holders = holders_of(input.datum);
  return std::find(holders.begin(), holders.end(), workers_[band].worker) != holders.end();
}

void ExternalInputs::await_external_input(const Job& job, const ExternalInput& input) {
  awaited_.wait(input.datum.producer, {job.id, SubtaskIndex{input.subtask}});
}

Availability ExternalInputs::availability_of(Job& job, const ExternalInput& input) {
  const auto never = [](std::string why) { return Availability{true, false, std::move(why)}; };
  const auto& [producer, output, identity] = input.datum;
  if (!jobs_.knows(producer.job)) return never("that job is forgotten");
  const Job& producer_job = jobs_[producer.job];
  if (producer_job.status.state == JobState::Running) {
    const SubtaskHot& hot = producer_job.hot[producer.index.value()];
    if (hot.phase == SubtaskPhase::Failed) return never("it has failed");
    if (hot.phase == SubtaskPhase::Cancelled) return never("it was cancelled");
    const bool made = hot.phase == SubtaskPhase::Succeeded;
    if (made && producer_job.data.bytes(*producer_job.graph.shape, producer.index.value(), output) == 0)
      return never("it is empty");
    if (made && DataDirectory::is_gone(producer_job, producer.index.value()) && producer_job.status.cancelling &&
        !producer_job.status.recovering)
      return never("it is lost, and its job was cancelled");
    if (!made || DataDirectory::is_gone(producer_job, producer.index.value()))
      return {false, false, "it is not made yet, or again"};
  } else if (find_output(input.datum) == nullptr) {
    return never("nothing of it is kept: it was released, lost, or never made");
  }
  const std::vector<WorkerSlot> holders = holders_of(input.datum);
  if (holders.empty()) {
    if (readoption_.is_active()) return {false, false, "its worker is not back since the restart"};
    return never("the worker that held it is lost");
  }
  bool drains = true;
  bool fits = false;
  const Template& wanted = job.graph.shape->template_of(input.subtask);
  const Reach reach = view_.reaches_of(job.spec).front();  // As in `open_pools`.
  for (const WorkerSlot holder : holders)
    for (const BandSlot band : workers_[holder].bands) {
      if (!eligibility_.is_eligible(wanted, workers_[band]) || !view_.is_in(reach, band)) continue;
      fits = true;
      drains = drains && workers_[holder].draining;
    }
  if (!fits)
    return never("its worker is of another pool, has none of its labels, or is of a version without external inputs");
  return {false, drains, drains ? "its worker drains" : "its worker is silent, or has not reported its data yet"};
}

Instant ExternalInputs::holders_given_up_at() const {
  Instant next = kNever;
  for (const auto& [waiter, until] : holders_drain_until_) next = std::min(next, until);
  return next;
}

const FailureDetail* ExternalInputs::lost_external_input_of(const Job& job, std::uint32_t subtask) const {
  if (job.graph.shape->external_inputs().empty()) return nullptr;
  for (const std::uint32_t predecessor : job.graph.shape->predecessors(subtask)) {
    const SubtaskHot& hot = job.hot[predecessor];
    const bool lost = hot.phase == SubtaskPhase::Failed && (hot.flags & SubtaskFlag::kVisible) != 0 &&
                      job.graph.shape->external_input_of(predecessor) != nullptr;
    if (lost) return &job.extras.histories->find(SubtaskIndex{predecessor})->last;
  }
  return nullptr;
}

void ExternalInputs::check_waiting_external_inputs(const Job& job, std::uint32_t subtask) const {
  const ExternalInput* input = job.graph.shape->external_input_of(subtask);
  if (input == nullptr || job.hot[subtask].band.valid()) return;
  const SubtaskId id{job.id, SubtaskIndex{subtask}};
  PENSTOCK_CHECK_MSG(awaited_.is_waiting(input->datum.producer, id), to_string(id));
}

std::string ExternalInputs::explain_external_input(Job& job, const ExternalInput& input) {
  return "waits to borrow " + name_of(input.datum) + ": " + availability_of(job, input).why;
}

}  // namespace penstock::supervisor
