#include "supervisor/core/workers/worker_mail.hpp"

#include <utility>

namespace penstock::supervisor {

void WorkerMail::tell(WorkerSlot worker, ToWorker message) {
  if (workers_[worker].alive) of(worker).push_back(std::move(message));
}

std::vector<ToWorker>& WorkerMail::of(WorkerSlot slot) {
  WorkerEntry& worker = workers_[slot];
  if (worker.outbox == WorkerEntry::kNoOutbox) {
    worker.outbox = static_cast<std::uint32_t>(used_++);
    if (used_ > boxes_.size()) boxes_.emplace_back();
    boxes_[worker.outbox].worker = slot;
  }
  return boxes_[worker.outbox].messages;
}

DropBatch& WorkerMail::last_drops(WorkerSlot worker, JobId job, bool lost) {
  std::vector<ToWorker>& messages = of(worker);
  if (!messages.empty())
    if (auto* last = std::get_if<DropBatch>(&messages.back());
        last != nullptr && last->job == job && last->lost == lost)
      return *last;
  return std::get<DropBatch>(messages.emplace_back(DropBatch{job, lost, {}}));
}

CancelBatch& WorkerMail::last_cancels(WorkerSlot worker, JobId job, bool alone) {
  std::vector<ToWorker>& messages = of(worker);
  if (!messages.empty())
    if (auto* last = std::get_if<CancelBatch>(&messages.back());
        last != nullptr && last->job == job && last->alone == alone && !last->preempt)
      return *last;
  return std::get<CancelBatch>(messages.emplace_back(CancelBatch{job, false, {}, kDefaultGrace, alone}));
}

KeepBatch& WorkerMail::last_keeps(WorkerSlot worker, JobId job, const JobIdentity& identity, std::size_t size_max) {
  std::vector<ToWorker>& messages = of(worker);
  if (!messages.empty())
    if (auto* last = std::get_if<KeepBatch>(&messages.back());
        last != nullptr && last->job == job && last->data.size() < size_max)
      return *last;
  return std::get<KeepBatch>(messages.emplace_back(KeepBatch{job, {}, identity}));
}

void WorkerMail::introduce(WorkerSlot slot, WorkerId peer) {
  WorkerEntry& worker = workers_[slot];
  if (peer == worker.id || !worker.peers_known.insert(peer, true)) return;
  const WorkerSlot holder = workers_.find(peer);
  if (!holder.valid()) return;
  worker.new_peers.push_back({peer, workers_[holder].description.data_address});
  worker.has_new_peers = true;
  of(slot);
}

void WorkerMail::flush() {
  for (std::size_t i = 0; i < used_; ++i) flush(boxes_[i]);
  used_ = 0;
}

void WorkerMail::flush(Box& box) {
  WorkerEntry& worker = workers_[box.worker];
  worker.outbox = WorkerEntry::kNoOutbox;
  if (worker.alive && worker.has_new_peers)
    event_.out->add(supervisor_action::SendToWorker{worker.id, PeerAddressBatch{std::exchange(worker.new_peers, {})}});
  worker.has_new_peers = false;
  for (ToWorker& message : box.messages)
    if (worker.alive) event_.out->add(supervisor_action::SendToWorker{worker.id, std::move(message)});
  box.messages.clear();
  // The assignments before this were written with these reports applied; later ones will be, too.
  if (!worker.alive || worker.reports_received <= worker.reports_applied_sent) return;
  if (gate_.durable()) {
    if (!std::exchange(worker.owed_applied, true)) unacknowledged_.push_back(box.worker);
    return;
  }
  worker.reports_applied_sent = worker.reports_received;
  event_.out->add(supervisor_action::SendToWorker{worker.id, ReportsApplied{worker.reports_received}});
}

void WorkerMail::acknowledge_reports() {
  for (const WorkerSlot slot : unacknowledged_) {
    WorkerEntry& worker = workers_[slot];
    if (!std::exchange(worker.owed_applied, false) || !worker.alive) continue;
    worker.reports_applied_sent = worker.reports_received;
    gate_.defer(supervisor_action::SendToWorker{worker.id, ReportsApplied{worker.reports_received}});
  }
  unacknowledged_.clear();
}

}  // namespace penstock::supervisor
