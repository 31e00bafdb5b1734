#include "worker/core/band/queue_items.hpp"

#include <string>

namespace penstock::worker {

QueueNode& QueueItems::make_node(const QueueItem& item) {
  while (!nodes_.contains(item.record)) nodes_.push_back(QueueNode{});
  QueueNode& node = nodes_[item.record];
  PENSTOCK_CHECK_MSG(node.state == QueueState::Absent,
                     "record " + std::to_string(item.record.value()) + " is here already");
  node.item = item;
  node.resumed = false;
  node.group = kNowhere;
  node.bypassed = 0;
  node.lane = SlotIndex::none();
  return node;
}

void QueueItems::set_job_priority(JobSlot slot, std::int32_t job_priority) {
  job_at(slot).job_priority = job_priority;
  refresh(slot);
}

void QueueItems::set_entitlement(JobSlot slot, MilliSlots slots, std::int32_t fair_rank) {
  const auto limited = [](MilliSlots of) { return !of.is_zero() && of != MilliSlots::max(); };
  QueueJob& job = job_at(slot);
  closed_ += slots.is_zero();
  closed_ -= job.entitlement.is_zero();
  const bool any_before = limited_ > 0;
  limited_ += limited(slots);
  limited_ -= limited(job.entitlement);
  job.entitlement = slots;
  job.fair_rank = fair_rank;
  refresh(slot);
  if (any_before == (limited_ > 0)) return;
  // Counting of served slots begins or ends.
  clock_ = 0;
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    jobs_[i].served = 0;
    refresh(JobSlot{i});
  }
}

void QueueItems::refresh(JobSlot slot) {
  QueueJob& job = jobs_[slot.value()];
  const bool eligible = !job.items.empty() && job.may_hold_more();
  if (job.heap_position == kNowhere) {
    if (eligible) line_.push(key_of(slot));
  } else if (eligible) {
    line_.update(job.heap_position, key_of(slot));
  } else {
    line_.erase(job.heap_position);
  }
}

void QueueItems::insert(QueueNode& node) {
  node.state = QueueState::Waiting;
  ++waiting_;
  QueueJob& job = job_at(node.item.job);
  job.items.push(worker::key_of(node.item));
  // Only a new best item changes the place of its job.
  if (job.heap_position == kNowhere || node.heap_position == job.items.top_position()) refresh(node.item.job);
}

void QueueItems::take_out(QueueNode& node) {
  unlist(node);
  node.state = QueueState::Absent;
  refresh(node.item.job);
}

bool QueueItems::goes_before(const QueueNode& left, const QueueNode& right) const {
  const ItemKey left_key = worker::key_of(left.item);
  const ItemKey right_key = worker::key_of(right.item);
  if (left.item.job == right.item.job) return left_key < right_key;
  return job_of(left).key(left_key, left.item.job) < job_of(right).key(right_key, right.item.job);
}

// A slot of a job that is entitled to all of them counts as one, one of a job with half of them as two. A job without
// limit is entitled to all. A job that wanted less, or could not have it, saves nothing up.
void QueueItems::count_served(QueueJob& job, const QueueItem& item, MilliSlots whole) {
  constexpr std::uint64_t kWhole = std::uint64_t{1} << 20U;
  const std::int64_t entitled = std::max<std::int64_t>(std::min(job.entitlement, whole).value(), 1);
  job.served = std::max(job.served, clock_) +
               static_cast<std::uint64_t>(item.request->slots.value()) * kWhole / static_cast<std::uint64_t>(entitled);
}

void QueueItems::validate() const {
  std::size_t waiting = 0;
  std::vector<MilliSlots> held(jobs_.size());
  for (const QueueNode& node : nodes_) {
    waiting += node.state == QueueState::Waiting;
    if (node.state == QueueState::Waiting && node.group == kNowhere) {
      const ItemKey& key = job_of(node).items.at(node.heap_position);
      PENSTOCK_CHECK(key.record == node.item.record && key.priority == node.item.priority);
    }
    if (node.state == QueueState::Holding) held[node.item.job.value()] += node.item.request->slots;
  }
  PENSTOCK_CHECK(waiting == waiting_);
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    PENSTOCK_CHECK(held[j] == jobs_[j].held);
    const bool eligible = !jobs_[j].items.empty() && jobs_[j].may_hold_more();
    PENSTOCK_CHECK((jobs_[j].heap_position != kNowhere) == eligible);
    if (!eligible) continue;
    const JobKey& key = line_.at(jobs_[j].heap_position);
    const JobKey current = key_of(JobSlot{static_cast<std::uint32_t>(j)});
    PENSTOCK_CHECK(!(key < current) && !(current < key));
  }
}

}  // namespace penstock::worker
