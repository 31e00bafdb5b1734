#include "worker/core/band/memory_quota.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {

MemoryQuota::MemoryQuota(Bytes capacity, Bytes hard_limit, const Limits& limits)
    : capacity_(capacity), hard_limit_(std::max(capacity, hard_limit)), limits_(limits), waiting_(Track{&nodes_}) {}

QuotaAnswer MemoryQuota::request(const QuotaRequest& request) {
  if (request.bytes > hard_limit_) return QuotaAnswer::Refused;
  Node& node = node_at(request.record);
  const Key key = key_of(request);
  node.wanted = request.bytes;
  if (node.waiting) {
    note_waiting(node);
    waiting_.update(node.heap_position, key);
    return QuotaAnswer::Waits;
  }
  const bool shrinks = node.holding && request.bytes <= node.granted;
  // A request never passes waiting ones here: `take_granted` decides about all of them together.
  if (shrinks || (!paused_ && waiting_.empty() && fits(node, request.bytes))) {
    grant(node, request.bytes);
    return QuotaAnswer::Granted;
  }
  node.waiting = true;
  node.overtaken = 0;
  node.waits_since = ++turn_;
  note_waiting(node);
  waiting_.push(key);
  return QuotaAnswer::Waits;
}

// Spec: worker 6, a forwarded successor may overtake waiters only if its priority is higher, and not without bound.
bool MemoryQuota::try_request(const QuotaRequest& request) {
  if (paused_ || request.bytes > hard_limit_) return false;
  Node& node = node_at(request.record);
  if (!fits(node, request.bytes)) return false;
  if (!waiting_.empty()) {
    const Key key = key_of(request);
    const Key& first = waiting_.top();
    const bool higher =
        key.job_priority != first.job_priority ? key.job_priority > first.job_priority : key.priority > first.priority;
    if (!higher || forward_bypasses_ >= limits_.forward_bypass_max) return false;
    PENSTOCK_COVERAGE_MARK("a forwarded successor passed those who wait for memory");
    ++forward_bypasses_;
  }
  grant(node, request.bytes);
  return true;
}

void MemoryQuota::shrink(RecordIndex record, Bytes bytes) {
  Node& node = node_at(record);
  if (!node.holding || bytes >= node.granted) return;
  used_ -= node.granted - bytes;
  node.granted = bytes;
}

// The run uses the memory already, so neither a pause nor waiting requests matter.
void MemoryQuota::grow(RecordIndex record, Bytes bytes) {
  Node& node = node_at(record);
  if (!node.holding || node.waiting || bytes <= node.granted) return;
  const Bytes room = holders_ == 1 ? hard_limit_ : capacity_ - (used_ - node.granted);
  grant(node, std::max(node.granted, std::min(bytes, room)));
}

void MemoryQuota::release(RecordIndex record) {
  if (!nodes_.contains(record)) return;
  Node& node = nodes_[record];
  if (node.waiting) waiting_.erase(node.heap_position);
  if (node.holding) {
    used_ -= node.granted;
    --holders_;
    std::erase_if(overtakers_, [&](const Overtaker& each) { return each.record == record; });
  }
  node = Node{};
}

bool MemoryQuota::is_behind_head(const QuotaRequest& request) const {
  return !waiting_.empty() && waiting_.top() < key_of(request);
}

void MemoryQuota::update_priority(RecordIndex record, std::uint64_t priority) {
  if (!waits(record)) return;
  const Node& node = nodes_[record];
  Key key = waiting_.at(node.heap_position);
  key.priority = priority;
  waiting_.update(node.heap_position, key);
}

void MemoryQuota::take_granted(std::vector<RecordIndex>& granted) {
  while (!paused_ && !waiting_.empty()) {
    const RecordIndex chosen = choose();
    if (!chosen.valid()) return;
    Node& node = nodes_[chosen];
    waiting_.erase(node.heap_position);
    node.waiting = false;
    grant(node, node.wanted);
    forward_bypasses_ = 0;
    granted.push_back(chosen);
  }
}

RecordIndex MemoryQuota::choose() {
  const RecordIndex head = waiting_.top().record;
  const Node& node = nodes_[head];
  if (fits(node, node.wanted)) return head;
  // Aging: a request that was overtaken often enough is not overtaken again.
  return node.overtaken < limits_.overtake_max ? choose_overtaker() : RecordIndex::none();
}

// Grants of requests that have overtaken `head` while it waited: it cannot count on that memory.
Bytes MemoryQuota::held_by_overtakers(const Node& head) const {
  Bytes sum;
  for (const Overtaker& each : overtakers_)
    if (each.turn > head.waits_since) sum += nodes_[each.record].granted;
  return sum;
}

// Looks behind the head for a request that fits now and that, even if it and all earlier overtakers run for ever,
// leaves room for the head.
RecordIndex MemoryQuota::choose_overtaker() {
  // True in most calls under load, so it must be cheap.
  if (capacity_ - used_ < least_missing_) return RecordIndex::none();
  passed_.clear();
  RecordIndex chosen;
  const Node& head = nodes_[waiting_.top().record];
  const Bytes reserved = head.wanted + held_by_overtakers(head);
  while (waiting_.size() > 1 && passed_.size() < limits_.scan_max) {
    passed_.push_back(waiting_.pop());
    const Node& candidate = nodes_[waiting_.top().record];
    if (fits(candidate, candidate.wanted) && candidate.wanted + reserved <= capacity_) {
      chosen = waiting_.top().record;
      std::erase_if(overtakers_, [&](const Overtaker& each) { return each.record == chosen; });
      overtakers_.push_back({chosen, ++turn_});
      break;
    }
  }
  for (const Key& key : passed_) {
    waiting_.push(key);
    if (chosen.valid()) ++nodes_[key.record].overtaken;
  }
  return chosen;
}

bool MemoryQuota::fits(const Node& node, Bytes wanted) const {
  const Bytes others = used_ - node.granted;
  if (wanted <= capacity_) return others + wanted <= capacity_;
  return others.is_zero() && holders_ == (node.holding ? 1U : 0U);  // Exclusive mode.
}

void MemoryQuota::grant(Node& node, Bytes bytes) {
  used_ += bytes - node.granted;
  node.granted = bytes;
  if (!node.holding) ++holders_;
  node.holding = true;
  if (bytes > capacity_) ++exclusive_count_;
}

void MemoryQuota::note_waiting(const Node& node) {
  const Bytes missing = node.wanted - node.granted;
  least_missing_ = waiting_.empty() ? missing : std::min(least_missing_, missing);
}

MemoryQuota::Node& MemoryQuota::node_at(RecordIndex record) {
  while (!nodes_.contains(record)) nodes_.push_back(Node{});
  return nodes_[record];
}

void MemoryQuota::validate() const {
  Bytes used;
  std::size_t holders = 0;
  std::size_t waiting = 0;
  for (const Node& node : nodes_) {
    used += node.granted;
    holders += node.holding;
    waiting += node.waiting;
    PENSTOCK_CHECK(node.holding || node.granted.is_zero());
    PENSTOCK_CHECK(node.granted <= hard_limit_);
  }
  PENSTOCK_CHECK(used == used_ && holders == holders_ && waiting == waiting_.size());
  PENSTOCK_CHECK_MSG(used_ <= capacity_ || holders_ == 1, std::to_string(used_.value()) + " bytes granted");
}

}  // namespace penstock::worker
