// SupervisorCore: checkpoints, copies on shared storage. A checkpoint outlives its writer, and is removed when no job
// needs it.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

// A worker that comes back after a restart first lists checkpoints and then its data: until then its data seem gone.
void SupervisorCore::receive_checkpoint(WorkerSlot slot, Job& job, const ReplicaReport& report) {
  const std::uint32_t subtask = report.producer.index.value();
  const bool claiming = workers_[slot].claiming;
  const bool made = job.data.in_use() && subtask < job.total() &&
                    (claiming ? job.hot[subtask].phase == SubtaskPhase::Succeeded : !job.data.gone(subtask));
  if (!made) {
    if (claiming) return;  // A claiming worker drops unneeded data itself.
    PENSTOCK_COVERAGE_MARK("a checkpoint came after its datum was dropped");
    return drop_copy(slot, job, report);
  }
  note_checkpoint(job, subtask, workers_[slot].incarnation);
  if (!gate_.durable()) return;
  if (job.state != JobState::Running) return record_end(job);  // Its outputs are kept, and so is this.
  job.new_checkpoints.push_back({report.producer.index, workers_[slot].incarnation});
  count_news(job);  // So that it is written with them.
}

void SupervisorCore::note_checkpoint(Job& job, std::uint32_t subtask, Incarnation writer) {
  forget_checkpoint(job, subtask);
  job.data.set_checkpoint(subtask, writer);
  ++checkpoints_of_[writer];
}

void SupervisorCore::forget_checkpoint(Job& job, std::uint32_t subtask) {
  const Incarnation* writer = job.data.checkpoint(subtask);
  if (writer == nullptr) return;
  if (const auto known = checkpoints_of_.find(*writer); --known->second == 0) {
    checkpoints_of_.erase(known);
    look_for_old_checkpoints_ = true;
  }
  job.data.forget_checkpoint(subtask);
}

/// All of the job, before its data is cleared.
void SupervisorCore::forget_checkpoints(Job& job) {
  job.new_checkpoints = {};
  for (const auto& [writer, count] : job.data.writers()) {
    const auto known = checkpoints_of_.find(writer);
    known->second -= count;
    if (known->second > 0) continue;
    checkpoints_of_.erase(known);
    look_for_old_checkpoints_ = true;
  }
}

/// For an output that is needed and that no worker holds.
void SupervisorCore::find_again(Job& job, std::uint32_t subtask) {
  if (!read_again(job, subtask)) recompute(job, subtask);
}

/// A checkpoint need not be made again: a worker takes it over now, or as soon as there is one. False if there is none,
/// or if no present worker can read it.
bool SupervisorCore::read_again(Job& job, std::uint32_t subtask) {
  if (job.data.checkpoint(subtask) == nullptr || job.cancelling) return false;
  if (stand_in(job, subtask)) return true;
  if (somebody_may_work()) return false;
  PENSTOCK_COVERAGE_MARK("a checkpoint waits for a worker");
  unread_.push_back({job.id, SubtaskIndex{subtask}});
  return true;
}

bool SupervisorCore::somebody_may_work() const {
  if (workers_.alive_bands() == 0) return false;
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (worker.alive && !worker.claiming && !worker.bands.empty() && !workers_[worker.bands.front()].draining)
      return true;
  }
  return false;
}

/// Before anything is given to a worker that has come.
void SupervisorCore::read_what_waits() {
  for (const SubtaskId& id : std::exchange(unread_, {})) {
    if (!jobs_.knows(id.job) || jobs_[id.job].state != JobState::Running) continue;
    Job& job = jobs_[id.job];
    const std::uint32_t subtask = id.index.value();
    if (job.held || job.cancelling || !data_is_gone(job, subtask)) continue;
    if (is_needed(job, subtask)) find_again(job, subtask);
  }
}

void SupervisorCore::note_lost_writer(Incarnation writer) {
  lost_writers_.push_back({writer, false});
  look_for_old_checkpoints_ = true;
  while (lost_writers_.size() > config_.lost_writers_max) {
    PENSTOCK_COVERAGE_MARK("checkpoints of a lost worker stay for ever");
    if (gate_.durable() && lost_writers_.front().written)
      gate_.write(record::WriterForgotten{lost_writers_.front().writer});
    lost_writers_.pop_front();
  }
}

// Another worker removes the files of a lost writer when no job needs any file of that incarnation.
void SupervisorCore::remove_old_checkpoints() {
  if (!std::exchange(look_for_old_checkpoints_, false) || lost_writers_.empty()) return;
  const WorkerSlot reader = any_reader();
  RemoveCheckpoints order;
  std::erase_if(lost_writers_, [&](const LostWriter& lost) {
    if (!reader.valid() || checkpoints_of_.contains(lost.writer)) return false;
    order.writers.push_back(lost.writer);
    // A crash before this is written asks once more, and there is nothing left then.
    if (gate_.durable() && lost.written) gate_.write(record::WriterForgotten{lost.writer});
    return true;
  });
  if (!order.writers.empty()) {
    PENSTOCK_COVERAGE_MARK("checkpoints of a lost worker are removed");
    mail_.tell(reader, std::move(order));
  }
  for (LostWriter& lost : lost_writers_)
    if (gate_.durable() && !std::exchange(lost.written, true)) gate_.write(record::WriterLost{lost.writer});
}

WorkerSlot SupervisorCore::any_reader() const {
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (worker.alive && worker.description.shared_storage && !worker.claiming && !worker.suspected)
      return WorkerSlot{i};
  }
  return WorkerSlot::none();
}

}  // namespace penstock::supervisor
