// SupervisorCore: external inputs, outputs of one job that another reads. A subtask with an external input runs where
// the datum is held, and the producer job is not released before the referencing job has ended.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

bool before(const OutputLocation& a, const OutputLocation& b) {
  return a.producer != b.producer ? a.producer < b.producer : a.output < b.output;
}

std::string name_of(const ExternalDatum& datum) {
  return "output " + std::to_string(datum.output) + " of subtask " + std::to_string(datum.producer.index.value()) +
         " of " + to_string(datum.producer.job);
}

/// The jobs from which a graph borrows, each once.
std::vector<JobId> producer_jobs_of(const GraphShape& shape) {
  std::vector<JobId> producer_jobs;
  for (const ExternalInput& input : shape.external_inputs()) producer_jobs.push_back(input.datum.producer.job);
  std::sort(producer_jobs.begin(), producer_jobs.end());
  producer_jobs.erase(std::unique(producer_jobs.begin(), producer_jobs.end()), producer_jobs.end());
  return producer_jobs;
}

}  // namespace

/// Whether an external input that is not available now can become so.
struct SupervisorCore::Availability {
  bool never = false;
  bool drains = false;  ///< Only workers hold it that take nothing new, by an order.
  std::string why;
};

/// Refuses a graph with an external input that no job keeps for it.
Result<void> SupervisorCore::check_external_inputs(const JobSpec& spec, const GraphShape& shape) {
  for (const ExternalInput& input : shape.external_inputs()) {
    const auto refuse = [&](ErrorCode code, const std::string& why) {
      return Error{code, "subtask '" + shape.name(input.subtask) + "'", "borrows " + name_of(input.datum) + ", " + why,
                   "keep that job, and want that output, for as long as it is borrowed"};
    };
    const auto& [producer, output, identity] = input.datum;
    if (!jobs_.knows(producer.job)) return refuse(ErrorCode::NotFound, "and there is no such job (any more)");
    const Job& producer_job = jobs_[producer.job];
    if (differ(identity, producer_job.identity)) return refuse(ErrorCode::NotFound, "which is another job now");
    if (!producer_job.spec.owner.empty() && producer_job.spec.owner != spec.owner)
      return refuse(ErrorCode::NotFound, "which is a job of another owner");
    const std::uint32_t subtask = producer.index.value();
    if (subtask >= producer_job.counts.total)
      return refuse(ErrorCode::UnknownKey, "which has only " + std::to_string(producer_job.counts.total));
    if (producer_job.state == JobState::Running) {
      const std::uint16_t count = DataDirectory::outputs_of(producer_job, subtask);
      if (output >= count) return refuse(ErrorCode::UnknownKey, "which makes only " + std::to_string(count));
      if ((producer_job.hot[subtask].flags & SubtaskFlag::kWanted) == 0)
        return refuse(ErrorCode::WrongState, "which is not kept");
    } else if (producer_job.release_when_unreferenced || find_output(input.datum) == nullptr) {
      return refuse(ErrorCode::InputLost, "of which nothing is kept: it was released, lost, or never made");
    }
  }
  return {};
}

/// The producer jobs of an accepted job stay until it has ended.
void SupervisorCore::add_references(const Job& job) {
  for (const JobId id : producer_jobs_of(*job.shape))
    if (jobs_.knows(id)) ++jobs_[id].references;
}

/// The job has ended, or never was. A producer job that was to be released meanwhile is released now.
void SupervisorCore::drop_references(const Job& job) {
  if (job.shape == nullptr || job.shape->external_inputs().empty()) return;
  awaited_.forget_waiters(job.id);
  std::erase_if(holders_drain_until_, [&](const auto& each) { return each.first.job == job.id; });
  for (const JobId id : producer_jobs_of(*job.shape)) {
    if (!jobs_.knows(id)) continue;
    Job& producer_job = jobs_[id];
    if (--producer_job.references > 0) continue;
    if (producer_job.release_when_unreferenced && producer_job.state != JobState::Running) {
      PENSTOCK_COVERAGE_MARK("a producer job was released after its last reference");
      release_job(producer_job);
    }
  }
}

/// Where an output of a job that has ended is kept for the client; null: nowhere.
const OutputLocation* SupervisorCore::find_output(const ExternalDatum& datum) {
  Job& producer_job = jobs_[datum.producer.job];
  // Outputs are sorted at the first search: most jobs have no references.
  if (!std::exchange(producer_job.outputs_sorted, true))
    std::sort(producer_job.outputs.begin(), producer_job.outputs.end(), before);
  OutputLocation wanted;
  wanted.producer = datum.producer.index;
  wanted.output = datum.output;
  const auto found = std::lower_bound(producer_job.outputs.begin(), producer_job.outputs.end(), wanted, before);
  return found == producer_job.outputs.end() || before(wanted, *found) ? nullptr : &*found;
}

/// Workers that hold the datum. Of an ended job only the address is known that its client was given: it survives
/// restarts.
std::vector<WorkerSlot> SupervisorCore::holders_of(const ExternalDatum& datum) {
  std::vector<WorkerSlot> holders;
  if (!jobs_.knows(datum.producer.job)) return holders;
  const Job& producer_job = jobs_[datum.producer.job];
  if (producer_job.state != JobState::Running) {
    const OutputLocation* at = find_output(datum);
    for (std::uint32_t i = 0; at != nullptr && i < workers_.worker_slots(); ++i)
      if (workers_[WorkerSlot{i}].alive && workers_[WorkerSlot{i}].description.data_address == at->data_address)
        holders.push_back(WorkerSlot{i});
    return holders;
  }
  const std::uint32_t subtask = datum.producer.index.value();
  const bool there = producer_job.hot[subtask].phase == SubtaskPhase::Succeeded && producer_job.data.in_use() &&
                     !producer_job.data.gone(subtask) &&
                     producer_job.data.bytes(*producer_job.shape, subtask, datum.output) > 0;
  if (!there) return holders;
  holders.push_back(workers_[producer_job.hot[subtask].band].worker);
  const std::vector<WorkerId>* replicas = producer_job.data.replicas(subtask);
  for (std::size_t i = 0; replicas != nullptr && i < replicas->size(); ++i)
    if (producer_job.data.is_copied_to(*producer_job.shape, subtask, (*replicas)[i]))
      if (const WorkerSlot slot = workers_.find((*replicas)[i]); slot.valid()) holders.push_back(slot);
  return holders;
}

bool SupervisorCore::may_read_external_on(const ExternalInput& input, BandSlot band) {
  const std::vector<WorkerSlot> holders = holders_of(input.datum);
  return std::find(holders.begin(), holders.end(), workers_[band].worker) != holders.end();
}

/// Of the bands beside the datum, the one with the shortest queue; none while there is none.
BandSlot SupervisorCore::band_of_external_input(Job& job, const ExternalInput& input) {
  BandSlot best;
  for (const WorkerSlot holder : holders_of(input.datum))
    for (const BandSlot band : workers_[holder].bands) {
      if (!may_run_on(job, input.subtask, band)) continue;
      if (!best.valid() || costs_.queue_ns(job, input.subtask, band) < costs_.queue_ns(job, input.subtask, best))
        best = band;
    }
  return best;
}

/// The subtask has no band now. The end of this event decides about it, when no state is half changed.
void SupervisorCore::await_external_input(const Job& job, const ExternalInput& input) {
  awaited_.wait(input.datum.producer, {job.id, SubtaskIndex{input.subtask}});
}

void SupervisorCore::resolve_external_input(const SubtaskId& waiter) {
  if (!jobs_.knows(waiter.job) || jobs_[waiter.job].state != JobState::Running) return;
  Job& job = jobs_[waiter.job];
  const std::uint32_t subtask = waiter.index.value();
  if (job.hot[subtask].phase != SubtaskPhase::Placeable || job.hot[subtask].band.valid()) return;
  const ExternalInput& input = *job.shape->external_input_of(subtask);
  const Availability availability = availability_of(job, input);
  if (!availability.never) {
    if (availability.drains)
      holders_drain_until_.try_emplace(waiter, later(event_.now, config_.required_band_wait));
    else
      holders_drain_until_.erase(waiter);
    return become_placeable(job, subtask);
  }
  PENSTOCK_COVERAGE_MARK("an external input is lost");
  fail_external_input(job, input, availability.why);
}

/// Whether a datum that is on no band that may work can still be borrowed.
SupervisorCore::Availability SupervisorCore::availability_of(Job& job, const ExternalInput& input) {
  const auto never = [](std::string why) { return Availability{true, false, std::move(why)}; };
  const auto& [producer, output, identity] = input.datum;
  if (!jobs_.knows(producer.job)) return never("that job is forgotten");
  const Job& producer_job = jobs_[producer.job];
  if (producer_job.state == JobState::Running) {
    const SubtaskHot& hot = producer_job.hot[producer.index.value()];
    if (hot.phase == SubtaskPhase::Failed) return never("it has failed");
    if (hot.phase == SubtaskPhase::Cancelled) return never("it was cancelled");
    const bool made = hot.phase == SubtaskPhase::Succeeded;
    if (made && producer_job.data.bytes(*producer_job.shape, producer.index.value(), output) == 0)
      return never("it is empty");
    if (made && DataDirectory::is_gone(producer_job, producer.index.value()) && producer_job.cancelling &&
        !producer_job.recovering)
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
  const Template& wanted = job.shape->template_of(input.subtask);
  const Reach reach = reaches_of(job.spec.policy).front();  // As in `open_pools`.
  for (const WorkerSlot holder : holders)
    for (const BandSlot band : workers_[holder].bands) {
      if (!eligibility_.is_eligible(wanted, workers_[band]) || !is_in(reach, band)) continue;
      fits = true;
      drains = drains && workers_[holder].draining;
    }
  if (!fits)
    return never("its worker is of another pool, has none of its labels, or is of a version without external inputs");
  return {false, drains, drains ? "its worker drains" : "its worker is silent, or has not reported its data yet"};
}

/// The first deadline of a subtask with draining holders.
Instant SupervisorCore::holders_given_up_at() const {
  Instant next = kNever;
  for (const auto& [waiter, until] : holders_drain_until_) next = std::min(next, until);
  return next;
}

/// A worker that drains takes nothing new, and may do so for ever.
void SupervisorCore::give_up_draining_holders() {
  std::vector<SubtaskId> due;
  for (const auto& [waiter, until] : holders_drain_until_)
    if (until <= event_.now) due.push_back(waiter);
  for (const SubtaskId& waiter : due) {
    holders_drain_until_.erase(waiter);
    if (!jobs_.knows(waiter.job) || jobs_[waiter.job].state != JobState::Running) continue;
    Job& job = jobs_[waiter.job];
    const SubtaskHot& hot = job.hot[waiter.index.value()];
    if (hot.phase != SubtaskPhase::Placeable || hot.band.valid()) continue;
    const ExternalInput& input = *job.shape->external_input_of(waiter.index.value());
    const Availability availability = availability_of(job, input);
    if (!availability.drains) continue;
    PENSTOCK_COVERAGE_MARK("a holder of an external input drains for long");
    awaited_.changed(input.datum.producer);
    fail_external_input(
        job, input,
        availability.why + " since " + std::to_string(config_.required_band_wait / std::chrono::seconds{1}) + " s");
  }
}

void SupervisorCore::fail_external_input(Job& job, const ExternalInput& input, const std::string& why) {
  FailureDetail detail;
  detail.failure = FailureClass::InputLost;
  detail.code = ErrorCode::InputLost;
  detail.message = "subtask '" + job.shape->name(input.subtask) + "' borrows " + name_of(input.datum) + ": " + why +
                   " (run that again, or keep replicas of it)";
  SubtaskHistory& history = job.histories.edit()[SubtaskIndex{input.subtask}];
  history.last = detail;
  history.lines.push_back(detail.message);
  job.hot[input.subtask].flags |= SubtaskFlag::kTroubled;
  fail_subtask(job, input.subtask, detail);
}

/// The reason why a subtask is cancelled that reads an external input which was lost before it was read: the success of
/// the subtask with the input was reported and stays so. Null: there is no such input.
const FailureDetail* SupervisorCore::lost_external_input_of(const Job& job, std::uint32_t subtask) const {
  if (job.shape->external_inputs().empty()) return nullptr;
  for (const std::uint32_t predecessor : job.shape->predecessors(subtask)) {
    const SubtaskHot& hot = job.hot[predecessor];
    const bool lost = hot.phase == SubtaskPhase::Failed && (hot.flags & SubtaskFlag::kVisible) != 0 &&
                      job.shape->external_input_of(predecessor) != nullptr;
    if (lost) return &job.histories->find(SubtaskIndex{predecessor})->last;
  }
  return nullptr;
}

/// The supposed holder denies that it has the datum: another process has its address, or a file is damaged.
void SupervisorCore::lose_external_datum(const ExternalInput& input, WorkerSlot slot) {
  const auto& [producer, output, identity] = input.datum;
  if (!jobs_.knows(producer.job)) return;
  PENSTOCK_COVERAGE_MARK("an external datum was not there");
  Job& producer_job = jobs_[producer.job];
  const std::uint32_t subtask = producer.index.value();
  if (producer_job.state != JobState::Running) {
    if (const OutputLocation* at = find_output(input.datum); at != nullptr)
      producer_job.outputs.erase(producer_job.outputs.begin() + (at - producer_job.outputs.data()));
    return;
  }
  if (producer_job.hot[subtask].phase != SubtaskPhase::Succeeded || !producer_job.data.in_use() ||
      producer_job.data.gone(subtask))
    return;
  if (workers_[producer_job.hot[subtask].band].worker != slot)
    return producer_job.data.remove_replica(subtask, workers_[slot].id);
  data_.drop(producer_job, subtask, true);
  data_.forget_checkpoint(producer_job, subtask);
  if (!producer_job.recovering) find_again(producer_job, subtask);
}

/// A change of the producer would find the subtask.
void SupervisorCore::check_waiting_external_inputs(const Job& job, std::uint32_t subtask) const {
  const ExternalInput* input = job.shape->external_input_of(subtask);
  if (input == nullptr || job.hot[subtask].band.valid()) return;
  const SubtaskId id{job.id, SubtaskIndex{subtask}};
  PENSTOCK_CHECK_MSG(awaited_.is_waiting(input->datum.producer, id), to_string(id));
}

std::string SupervisorCore::explain_external_input(Job& job, const ExternalInput& input) {
  return "waits to borrow " + name_of(input.datum) + ": " + availability_of(job, input).why;
}

}  // namespace penstock::supervisor
