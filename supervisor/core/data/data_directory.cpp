#include "supervisor/core/data/data_directory.hpp"

#include <algorithm>
#include <set>

#include "common/base/check.hpp"
#include "common/base/coverage_mark.hpp"

namespace penstock::supervisor {
namespace {

/// Of a job that had ended before the restart or before its holder came back, only the address is known that its client
/// was given.
void drop_where_told(const WorkerTable& workers, WorkerMail& mail, const Job& job, const OutputLocation& output) {
  for (std::uint32_t i = 0; i < workers.worker_slots(); ++i)
    if (const WorkerEntry& worker = workers[WorkerSlot{i}];
        worker.alive && worker.description.data_address == output.data_address)
      mail.last_drops(WorkerSlot{i}, job.id, false).data.push_back({output.producer, output.output});
}

}  // namespace

std::uint16_t DataDirectory::outputs_of(const Job& job, std::uint32_t subtask) {
  return std::max<std::uint16_t>(job.graph.shape->template_of(subtask).output_count, 1);
}

bool DataDirectory::is_held(const Job& job, std::uint32_t subtask) {
  return (job.hot[subtask].flags & SubtaskFlag::kWanted) != 0 || job.outputs.borrowed->contains(SubtaskIndex{subtask});
}

bool DataDirectory::is_needed(const Job& job, std::uint32_t subtask) {
  return job.data.readers(subtask) > 0 || is_held(job, subtask);
}

bool DataDirectory::is_gone(const Job& job, std::uint32_t subtask) {
  return job.hot[subtask].phase == SubtaskPhase::Succeeded && job.data.in_use() && job.data.gone(subtask) &&
         job.data.total_bytes(*job.graph.shape, subtask) > 0;
}

bool DataDirectory::may_be_read(const Job& job, std::uint32_t subtask) {
  if (subtask >= job.total()) return false;
  if (job.data.in_use()) return is_needed(job, subtask);
  return !job.graph.shape->successors(subtask).empty();  // Readers are counted from the first datum on.
}

bool DataDirectory::makes_again(WorkerSlot slot, const Job& job, std::uint32_t subtask) const {
  const SubtaskHot& hot = job.hot[subtask];
  return hot.phase == SubtaskPhase::Assigned && workers_[hot.band].worker == slot;
}

/// The job makes its first bytes: readers that are final by now are counted off.
void DataDirectory::begin(Job& job, std::uint32_t subtask) {
  job.data.open(*job.graph.shape);
  for (std::uint32_t i = 0; i < job.total(); ++i)
    if (is_final(job.hot[i].phase) && i != subtask) release_inputs(job, i);
}

void DataDirectory::keep(Job& job, std::uint32_t subtask, std::span<const OutputReport> outputs) {
  if (!job.data.in_use()) begin(job, subtask);
  const std::uint16_t count = outputs_of(job, subtask);
  for (const OutputReport& output : outputs)
    if (output.output < count && output.bytes > 0) {
      job.data.set_bytes(*job.graph.shape, subtask, output.output, output.bytes);
      progress_.write_output(job, {SubtaskIndex{subtask}, output.output, output.bytes});
    }
  job.data.set_gone(subtask, false);
  job.data.forget_replicas(subtask);
  forget_checkpoint(job, subtask);  // Of what was made before.
  note_held(workers_[job.hot[subtask].band].worker, job, subtask);
  if (!is_held(job, subtask)) return;
  std::erase_if(job.outputs.locations, [&](const OutputLocation& known) { return known.producer.value() == subtask; });
  const std::string& address = workers_.worker_of(job.hot[subtask].band).description.data_address;
  for (const OutputReport& output : outputs) {
    if (output.output >= count || output.bytes <= 0) continue;
    job.outputs.locations.push_back(OutputLocation{SubtaskIndex{subtask}, output.output, output.bytes, address});
    progress_.add_output(job, job.outputs.locations.back());
  }
}

void DataDirectory::release_inputs(Job& job, std::uint32_t subtask) {
  if (!job.data.in_use()) return;
  const auto predecessors = job.graph.shape->predecessors(subtask);
  for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
    const std::uint32_t producer = predecessors[k];
    if (job.graph.shape->edge_output(job.graph.shape->first_edge(subtask) + k) == EdgeKind::kOrderOnly) continue;
    if (job.data.readers(producer) > 0) --job.data.readers(producer);
    if (is_retained(job, producer)) retain(job, producer);
  }
}

/// Copies beside the primary one.
void DataDirectory::drop_replicas(Job& job, std::uint32_t subtask, bool lost) {
  const std::vector<WorkerId>* replicas = job.data.replicas(subtask);
  if (replicas == nullptr) return;
  const BandSlot band = job.hot[subtask].band;
  for (const WorkerId replica : *replicas) {
    const WorkerSlot slot = workers_.find(replica);
    if (!slot.valid() || (band.valid() && slot == workers_[band].worker)) continue;
    for (std::uint16_t output = 0; output < outputs_of(job, subtask); ++output)
      if (job.data.bytes(*job.graph.shape, subtask, output) > 0)
        mail_.last_drops(slot, job.id, lost).data.push_back({SubtaskIndex{subtask}, output});
  }
  job.data.forget_replicas(subtask);
}

void DataDirectory::drop(Job& job, std::uint32_t subtask, bool lost) {
  drop_replicas(job, subtask, lost);
  for (std::uint16_t output = 0; output < outputs_of(job, subtask); ++output)
    if (job.data.bytes(*job.graph.shape, subtask, output) > 0)
      mail_.last_drops(workers_[job.hot[subtask].band].worker, job.id, lost)
          .data.push_back({SubtaskIndex{subtask}, output});
  job.data.set_gone(subtask, true);
  if (!lost) forget_checkpoint(job, subtask);
}

void DataDirectory::let_go(Job& job, std::span<const std::uint32_t> subtasks) {
  const bool has_shape = !job.hot.empty();
  // A holder that was lost may be back after the end of the job; a subtask that was to run again is cancelled by then.
  const auto is_told_only = [&](std::uint32_t subtask) {
    const bool has_ended = job.status.state != JobState::Running;
    return !has_shape || is_gone(job, subtask) || (has_ended && job.hot[subtask].phase != SubtaskPhase::Succeeded);
  };
  std::erase_if(job.outputs.locations, [&](const OutputLocation& output) {
    if (!std::binary_search(subtasks.begin(), subtasks.end(), output.producer.value())) return false;
    if (is_told_only(output.producer.value())) drop_where_told(workers_, mail_, job, output);
    return true;
  });
  for (const std::uint32_t subtask : subtasks) {
    if (!has_shape)
      forget_checkpoint(job, subtask);
    else if (!is_retained(job, subtask))
      continue;  // Subtasks of the job read them, or they are nowhere.
    else if (job.status.state == JobState::Running)
      retain(job, subtask);
    else if (job.data.total_bytes(*job.graph.shape, subtask) > 0)
      drop(job, subtask);
  }
}

void DataDirectory::drop_unkept(WorkerSlot slot, const Job& job, std::span<const ClaimedDatum> outputs) {
  std::set<std::pair<SubtaskIndex, std::uint16_t>> kept;
  const std::string& address = workers_[slot].description.data_address;
  for (const OutputLocation& output : job.outputs.locations)
    // A holder that comes back after the end of the job counts as gone there, and the client was sent to it.
    if (output.data_address == address || (!job.hot.empty() && holds(slot, {job.id, output.producer.value()})))
      kept.emplace(output.producer, output.output);
  for (const ClaimedDatum& datum : outputs)
    if (!kept.contains({datum.producer, datum.output}))
      mail_.last_drops(slot, job.id, false).data.push_back({datum.producer, datum.output});
}

bool DataDirectory::receive(WorkerSlot slot, Job& job, const ReplicaReport& report) {
  if (report.checkpoint) return receive_checkpoint(slot, job, report);
  const std::uint32_t subtask = report.producer.index.value();
  const bool known = job.data.in_use() && subtask < job.total() && !job.data.gone(subtask);
  const bool claiming = workers_[slot].claiming;
  if (known && (claiming || !is_retained(job, subtask))) {
    job.data.add_replica(subtask, workers_[slot].id);
    note_held(slot, job, subtask);
  } else if (!claiming) {
    PENSTOCK_COVERAGE_MARK("a copy came after its datum was dropped");
    drop_copy(slot, job, report);
  }
  return false;
}

// A worker that comes back after a restart says first which data are safe and then what it holds: until then they seem
// gone.
bool DataDirectory::receive_checkpoint(WorkerSlot slot, Job& job, const ReplicaReport& report) {
  const std::uint32_t subtask = report.producer.index.value();
  const bool claiming = workers_[slot].claiming;
  const bool made = job.data.in_use() && subtask < job.total() &&
                    (claiming ? job.hot[subtask].phase == SubtaskPhase::Succeeded : !job.data.gone(subtask));
  if (!made) {
    if (claiming) return false;  // A copy that nobody needs is dropped when the worker has said that it holds it.
    PENSTOCK_COVERAGE_MARK("a checkpoint came after its datum was dropped");
    drop_copy(slot, job, report);
    return false;
  }
  note_checkpoint(job, subtask, workers_[slot].incarnation);
  if (!gate_.durable()) return false;
  if (job.status.state != JobState::Running) return true;  // Its outputs are kept, and so is this.
  progress_.write_checkpoint(job, {report.producer.index, workers_[slot].incarnation});
  return false;
}

/// Of a datum that was dropped, or lost, meanwhile.
void DataDirectory::drop_copy(WorkerSlot slot, const Job& job, const ReplicaReport& copy) {
  const std::uint32_t subtask = copy.producer.index.value();
  if (subtask < job.total() && makes_again(slot, job, subtask)) return;
  mail_.tell(slot, DropBatch{job.id, may_be_read(job, subtask), {DataRef{copy.producer.index, copy.output}}});
}

void DataDirectory::claim(WorkerSlot slot, Job& job, std::span<const ClaimedDatum> outputs) {
  const std::uint32_t subtask = outputs.front().producer.value();
  if (subtask >= job.total()) return;
  // Data that are of no use otherwise go at the end of the job: records that wait there may read them.
  const auto leave = [&] {
    for (const ClaimedDatum& datum : outputs)
      job.extras.leftovers.edit().push_back({workers_[slot].id, datum.producer, datum.output});
  };
  if (job.hot[subtask].phase != SubtaskPhase::Succeeded || !job.data.in_use()) return leave();
  SubtaskHot& hot = job.hot[subtask];
  const std::uint16_t count = outputs_of(job, subtask);
  std::uint32_t missing = 0;
  for (std::uint16_t output = 0; output < count; ++output)
    missing += job.data.bytes(*job.graph.shape, subtask, output) > 0;
  const bool needed = is_needed(job, subtask);
  for (const ClaimedDatum& datum : outputs) {
    if (datum.output >= count) continue;
    if (!needed) mail_.last_drops(slot, job.id, false).data.push_back({datum.producer, datum.output});
    missing -= job.data.bytes(*job.graph.shape, subtask, datum.output) > 0;
  }
  if (!needed) return;
  if (!job.data.gone(subtask)) {
    if (workers_[hot.band].worker == slot) return;
    job.data.add_replica(subtask, workers_[slot].id);
    note_held(slot, job, subtask);
    return;
  }
  if (missing > 0) return leave();  // A copy of only some of them saves nothing.
  hot.band = workers_[slot].bands.front();
  job.data.set_gone(subtask, false);
  job.data.forget_replicas(subtask);
  note_held(slot, job, subtask);
  tell_place(job, subtask);
}

std::vector<std::uint32_t> DataDirectory::lose(Job& job, std::span<const HeldOutput> held, WorkerSlot slot) {
  std::vector<std::uint32_t> needed;
  if (!job.data.in_use() || job.graph.shape == nullptr) return needed;
  for (const auto& [id, i] : held) {
    const SubtaskHot& hot = job.hot[i];
    job.data.remove_replica(i, workers_[slot].id);
    const bool here = hot.phase == SubtaskPhase::Succeeded && !job.data.gone(i) && hot.band.valid() &&
                      workers_[hot.band].worker == slot && job.data.total_bytes(*job.graph.shape, i) > 0;
    if (!here) {
      if (hot.phase == SubtaskPhase::Succeeded) replicate(job, i);
      continue;
    }
    if (promote_replica(job, i)) continue;
    if (is_needed(job, i) && promote_checkpoint(job, i)) continue;
    drop(job, i, true);
    if (!is_needed(job, i)) {
      PENSTOCK_COVERAGE_MARK("retained outputs were lost");
      forget_checkpoint(job, i);
    } else if (!job.status.cancelling) {
      needed.push_back(i);
    }
  }
  return needed;
}

void DataDirectory::note_held(WorkerSlot slot, const Job& job, std::uint32_t subtask) {
  WorkerEntry& worker = workers_[slot];
  if (worker.held.size() >= worker.sweep_held_at) {
    std::erase_if(worker.held, [&](const HeldOutput& held) { return !holds(slot, held); });
    worker.sweep_held_at = std::max<std::size_t>(64, worker.held.size() * 2);
  }
  worker.held.push_back({job.id, subtask});
  awaited_.changed({job.id, SubtaskIndex{subtask}});
}

bool DataDirectory::holds(WorkerSlot slot, const HeldOutput& held) const {
  if (!jobs_.knows(held.job)) return false;
  const Job& job = jobs_[held.job];
  if (!job.data.in_use() || job.graph.shape == nullptr || held.subtask >= job.total() || job.data.gone(held.subtask))
    return false;
  const SubtaskHot& hot = job.hot[held.subtask];
  if (hot.phase == SubtaskPhase::Succeeded && hot.band.valid() && workers_[hot.band].worker == slot) return true;
  const std::vector<WorkerId>* replicas = job.data.replicas(held.subtask);
  return replicas != nullptr && std::find(replicas->begin(), replicas->end(), workers_[slot].id) != replicas->end();
}

void DataDirectory::tell_place(Job& job, std::uint32_t subtask) {
  if (!is_held(job, subtask)) return;
  const std::string& address = workers_.worker_of(job.hot[subtask].band).description.data_address;
  for (OutputLocation& output : job.outputs.locations) {
    if (output.producer.value() != subtask) continue;
    output.data_address = address;
    progress_.add_output(job, output);
    progress_.count(job);
  }
}

void DataDirectory::validate() const {
  std::map<Incarnation, std::uint64_t> checkpoints;
  for (const auto& job : jobs_.all()) {
    if (job == nullptr) continue;
    for (const auto& [writer, count] : job->data.writers()) checkpoints[writer] += count;
    if (job->graph.shape != nullptr && job->status.state == JobState::Running && job->data.in_use())
      validate_held(*job);
  }
  PENSTOCK_CHECK(checkpoints == checkpoints_);
}

void DataDirectory::validate_held(const Job& job) const {
  const auto is_noted = [&](WorkerSlot slot, std::uint32_t subtask) {
    const std::vector<HeldOutput>& held = workers_[slot].held;
    return std::find(held.begin(), held.end(), HeldOutput{job.id, subtask}) != held.end();
  };
  for (std::uint32_t i = 0; i < job.total(); ++i) {
    const SubtaskHot& hot = job.hot[i];
    const SubtaskId id{job.id, SubtaskIndex{i}};
    const bool held = hot.phase == SubtaskPhase::Succeeded && !job.data.gone(i) && hot.band.valid() &&
                      job.data.total_bytes(*job.graph.shape, i) > 0 && workers_[hot.band].alive;
    PENSTOCK_CHECK_MSG(!held || is_noted(workers_[hot.band].worker, i), to_string(id));
    if (const std::vector<WorkerId>* replicas = job.data.replicas(i))
      for (const WorkerId replica : *replicas)
        if (const WorkerSlot slot = workers_.find(replica); slot.valid())
          PENSTOCK_CHECK_MSG(is_noted(slot, i), to_string(id));
  }
}

}  // namespace penstock::supervisor
