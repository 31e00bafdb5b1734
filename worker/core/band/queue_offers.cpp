#include "worker/core/band/queue_offers.hpp"

namespace penstock::worker {

// A job that holds all that it may is in line again when one of its runs ends, which is when runs on offer are taken.
void QueueOffers::line_up(std::span<const RecordIndex> running, MilliSlots slots) {
  lined_up_.clear();
  for (const RecordIndex record : running) {
    const JobSlot slot = items_[record].item.job;
    QueueJob& job = items_.job(slot);
    if (job.heap_position != kNowhere || job.items.empty()) continue;
    if (slots * static_cast<std::int64_t>(running.size()) > job.entitlement) continue;
    items_.line().push(items_.key_of(slot));
    lined_up_.push_back(slot);
  }
}

void QueueOffers::put(QueueJob& job, RecordIndex next, std::uint64_t turn_began, MilliSlots whole,
                      std::vector<RecordIndex>& offered) {
  QueueNode& node = items_[next];
  items_.unlist(node);
  node.state = QueueState::Offered;
  ++left_;
  ++job.offered;
  if (items_.any_limited()) {
    served_before_.push_back({job.served, turn_began});
    items_.count_served(job, node.item, whole);
  }
  offered_.push_back(next);
  offered.push_back(next);
}

void QueueOffers::withdraw() {
  if (left_ == 0 && served_before_.empty()) return;
  left_ = 0;
  // From the last to the first: each is then smaller than all waiting items, which costs least (see `Heap::push`).
  for (std::size_t i = offered_.size(); i-- > 0;) {
    if (items_.state_of(offered_[i]) != QueueState::Offered) {
      if (items_.any_limited()) items_.move_clock(served_before_[i].turn);
      continue;
    }
    QueueNode& node = items_[offered_[i]];
    QueueJob& job = items_.job_of(node);
    --job.offered;
    items_.insert(node);
    if (!items_.any_limited()) continue;
    // The item need not be the job's best: items that ends have completed since then wait already.
    job.served = served_before_[i].item;
    items_.refresh(node.item.job);
  }
  served_before_.clear();
}

}  // namespace penstock::worker
