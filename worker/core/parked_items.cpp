// LatchedQueue: items that lack something other than slots wait apart, so that any number of them does not delay items
// that do not want the same. Almost always there are none.
#include <algorithm>
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "worker/core/latched_queue.hpp"

namespace penstock::worker {
namespace {

/// Calls `visit(requested, there)` for all requested resources except slots and memory, until it returns true.
template <class Visit>
bool any_requested(const ResourceVector& request, const ResourceVector& there, Visit visit) {
  if (request.cpu > MilliCpu{} && visit(request.cpu.value(), there.cpu.value())) return true;
  if (request.gpu > MilliGpu{} && visit(request.gpu.value(), there.gpu.value())) return true;
  if (request.device_memory > Bytes{} && visit(request.device_memory.value(), there.device_memory.value())) return true;
  return std::any_of(request.named.begin(), request.named.end(), [&](const NamedAmount& each) {
    return each.amount > 0 && visit(each.amount, amount_of(there.named, each.name));
  });
}

/// The missing part of the request, without slots.
ResourceVector lacking(const ResourceVector& request, const ResourceVector& there) {
  ResourceVector lacks;
  if (request.cpu > there.cpu) lacks.cpu = request.cpu;
  if (request.gpu > there.gpu) lacks.gpu = request.gpu;
  if (request.device_memory > there.device_memory) lacks.device_memory = request.device_memory;
  for (const NamedAmount& each : request.named)
    if (each.amount > amount_of(there.named, each.name)) lacks.named.push_back(each);
  return lacks;
}

}  // namespace

/// The order in which items would leave if they were not parked.
bool LatchedQueue::goes_before(const Node& left, const Node& right) const {
  const auto item_key = [](const Node& node) {
    return ItemKey{node.item.priority, node.item.sequence, node.item.record};
  };
  if (left.item.job == right.item.job) return item_key(left) < item_key(right);
  const auto job_key = [this](const Node& node) {
    const Job& job = jobs_[node.item.job.value()];
    return JobKey{job.job_priority, static_cast<std::uint32_t>(node.item.priority >> 32U), job.fair_rank, job.served,
                  node.item.sequence, node.item.job};
  };
  return job_key(left) < job_key(right);
}

bool LatchedQueue::lacks_beside_slots(const ResourceVector& request, const ResourceVector& available) const {
  if (request.named.empty() && request.cpu <= available.cpu && request.gpu <= available.gpu &&
      request.device_memory <= available.device_memory)
    return false;
  return any_requested(request, available, [](std::int64_t wanted, std::int64_t there) { return wanted > there; });
}

/// Whether the item wants resources that are kept for one before it.
bool LatchedQueue::is_kept_from(const Node& node) const {
  if (!keeper_.valid() || keeper_ == node.item.record || goes_before(node, nodes_[keeper_])) return false;
  return any_requested(*node.item.request, kept_, [](std::int64_t, std::int64_t kept) { return kept > 0; });
}

bool LatchedQueue::exceeds_entitlement(const QueueItem& item) const {
  const Job& job = jobs_[item.job.value()];
  return job.held + item.request->slots > job.entitlement;
}

void LatchedQueue::park(Node& node) {
  const JobSlot job = node.item.job;
  jobs_[job.value()].items.erase(node.heap_position);
  std::uint32_t group = 0;
  std::uint32_t unused = kNowhere;
  for (; group < parked_.size(); ++group) {
    if (parked_[group].items.empty()) {
      unused = group;
      continue;
    }
    const QueueItem& like = nodes_[parked_[group].items.top().record].item;
    if (like.job == job && *like.request == *node.item.request) break;
  }
  if (group == parked_.size() && unused != kNowhere) group = unused;
  if (group == parked_.size()) parked_.emplace_back(&nodes_);
  node.group = group;
  parked_[group].items.push(ItemKey{node.item.priority, node.item.sequence, node.item.record});
  ++parked_items_;
  refresh_job(job);
}

void LatchedQueue::leave_parking(Node& node) {
  parked_[std::exchange(node.group, kNowhere)].items.erase(node.heap_position);
  --parked_items_;
  parked_may_fit_ = any_parked();  // Resources that it kept, or was about to get, are for others now.
  if (keeper_ == node.item.record) keeper_ = RecordIndex::none();
}

// Returns the best items first, as far as the resources suffice; and each that lacks only slots, to line up for them.
bool LatchedQueue::return_parked() {
  if (!any_parked()) return parked_may_fit_ = false;
  const std::size_t before = parked_items_;
  const RecordIndex kept_before = keeper_;
  choose_keeper();
  ResourceVector left = available_;
  for (RecordIndex next = best_parked(left); next.valid(); next = best_parked(left)) {
    Node& node = nodes_[next];
    if (fits_execution(*node.item.request, left)) take_away(*node.item.request, left);
    leave_parking(node);
    --waiting_;
    insert_waiting(node);
  }
  parked_may_fit_ = false;
  // With another keeper other items are parked, and no longer stop the search.
  return parked_items_ < before || keeper_ != kept_before;
}

void LatchedQueue::return_parked_of(JobSlot job) {
  std::vector<RecordIndex> records;
  for_each_parked([&](RecordIndex record) {
    if (nodes_[record].item.job == job) records.push_back(record);
  });
  for (const RecordIndex record : records) {
    leave_parking(nodes_[record]);
    --waiting_;
    insert_waiting(nodes_[record]);
  }
}

void LatchedQueue::choose_keeper() {
  keeper_ = RecordIndex::none();
  for (const ParkedGroup& group : parked_) {
    if (group.items.empty()) continue;
    const RecordIndex record = group.items.top().record;
    const Node& node = nodes_[record];
    if (node.bypassed < limits_.bypass_max || exceeds_entitlement(node.item)) continue;
    if (!lacks_beside_slots(*node.item.request, available_)) continue;
    if (!keeper_.valid() || goes_before(node, nodes_[keeper_])) keeper_ = record;
  }
  if (!keeper_.valid()) return;
  PENSTOCK_COVERAGE_MARK("an item keeps what it lacks from those behind it");
  kept_ = lacking(*nodes_[keeper_].item.request, available_);
}

RecordIndex LatchedQueue::best_parked(const ResourceVector& left) const {
  RecordIndex best;
  for (const ParkedGroup& group : parked_) {
    if (group.items.empty()) continue;
    const RecordIndex record = group.items.top().record;
    const Node& node = nodes_[record];
    if (exceeds_entitlement(node.item) || lacks_beside_slots(*node.item.request, left) || is_kept_from(node)) continue;
    if (!best.valid() || goes_before(node, nodes_[best])) best = record;
  }
  return best;
}

RecordIndex LatchedQueue::left_idle() const {
  if (available_.slots <= MilliSlots{} || offered_left_ > 0 || any_reservation()) return RecordIndex::none();
  RecordIndex idle;
  std::size_t passed = 0;
  for (const Node& node : nodes_) {
    if (node.state != State::Waiting) continue;
    if (node.group != kNowhere && parked_[node.group].items.top().record != node.item.record) continue;  // As the best.
    const bool lacks = lacks_beside_slots(*node.item.request, available_) || is_kept_from(node);
    if (!lacks && fits(node.item)) {
      idle = node.item.record;
      continue;
    }
    // This item reserves, or hides the ones behind it.
    if (node.group == kNowhere && !lacks && may_hold_more(jobs_[node.item.job.value()]) &&
        (node.bypassed >= limits_.bypass_max || ++passed >= limits_.scan_max))
      return RecordIndex::none();
  }
  return idle;
}

// Counts a bypass for each parked item before the granted one that lacks a granted resource.
void LatchedQueue::count_bypassed(const Node& granted) {
  for (const ParkedGroup& group : parked_) {
    if (group.items.empty()) continue;
    Node& node = nodes_[group.items.top().record];
    const ResourceVector lacks = lacking(*node.item.request, available_);
    const bool shares =
        any_requested(*granted.item.request, lacks, [](std::int64_t, std::int64_t of) { return of > 0; });
    if (!shares || !goes_before(node, granted)) continue;
    if (++node.bypassed == limits_.bypass_max) parked_may_fit_ = true;
  }
}

}  // namespace penstock::worker
