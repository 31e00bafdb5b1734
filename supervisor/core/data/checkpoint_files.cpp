// DataDirectory: checkpoints on shared storage. Files outlive their writers, and go when nobody needs them.
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/data/data_directory.hpp"

namespace penstock::supervisor {

void DataDirectory::note_checkpoint(Job& job, std::uint32_t subtask, Incarnation writer) {
  forget_checkpoint(job, subtask);
  job.data.set_checkpoint(subtask, writer);
  ++checkpoints_[writer];
}

void DataDirectory::forget_checkpoint(Job& job, std::uint32_t subtask) {
  const Incarnation* writer = job.data.checkpoint(subtask);
  if (writer == nullptr) return;
  if (const auto known = checkpoints_.find(*writer); --known->second == 0) {
    checkpoints_.erase(known);
    look_for_old_files_ = true;
  }
  job.data.forget_checkpoint(subtask);
}

void DataDirectory::forget_checkpoints(Job& job) {
  progress_.forget_checkpoints(job);
  for (const auto& [writer, count] : job.data.writers()) {
    const auto known = checkpoints_.find(writer);
    known->second -= count;
    if (known->second > 0) continue;
    checkpoints_.erase(known);
    look_for_old_files_ = true;
  }
}

void DataDirectory::writer_lost(Incarnation writer) {
  lost_writers_.push_back({writer, false});
  look_for_old_files_ = true;
  while (lost_writers_.size() > config_.lost_writers_max) {
    PENSTOCK_COVERAGE_MARK("checkpoints of a lost worker stay for ever");
    if (gate_.durable() && lost_writers_.front().written)
      gate_.write(record::WriterForgotten{lost_writers_.front().writer});
    lost_writers_.pop_front();
  }
}

void DataDirectory::recover_lost_writer(Incarnation writer) {
  lost_writers_.push_back({writer, true});
  look_for_old_files_ = true;
}

void DataDirectory::writer_returned(Incarnation writer) {
  std::erase_if(lost_writers_, [&](const LostWriter& lost) { return lost.writer == writer; });
}

// A lost writer removes nothing any more: another worker does, when no job needs any file of that incarnation.
void DataDirectory::remove_old_files() {
  if (!std::exchange(look_for_old_files_, false) || lost_writers_.empty()) return;
  const WorkerSlot reader = any_reader();
  RemoveCheckpoints order;
  std::erase_if(lost_writers_, [&](const LostWriter& lost) {
    if (!reader.valid() || checkpoints_.contains(lost.writer)) return false;
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

WorkerSlot DataDirectory::any_reader() const {
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (worker.alive && worker.description.shared_storage && !worker.claiming && !worker.suspected)
      return WorkerSlot{i};
  }
  return WorkerSlot::none();
}

}  // namespace penstock::supervisor
