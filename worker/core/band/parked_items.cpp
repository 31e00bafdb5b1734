#include "worker/core/band/parked_items.hpp"

#include <algorithm>
#include <utility>

#include "common/base/coverage_mark.hpp"

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

bool ParkedItems::lacks_any(const ResourceVector& request, const ResourceVector& available) {
  return any_requested(request, available, [](std::int64_t wanted, std::int64_t there) { return wanted > there; });
}

bool ParkedItems::is_kept_by_keeper(const QueueNode& node) const {
  if (keeper_ == node.item.record || items_.goes_before(node, items_[keeper_])) return false;
  return any_requested(*node.item.request, kept_, [](std::int64_t, std::int64_t kept) { return kept > 0; });
}

void ParkedItems::park(QueueNode& node) {
  may_fit_ = may_fit_ || any();  // The resources that it was about to get may be for others.
  items_.unlist(node);
  items_.count_parked();
  std::uint32_t group = 0;
  std::uint32_t unused = kNowhere;
  for (; group < groups_.size(); ++group) {
    if (groups_[group].empty()) {
      unused = group;
      continue;
    }
    const QueueItem& like = items_[groups_[group].top().record].item;
    if (like.job == node.item.job && *like.request == *node.item.request) break;
  }
  if (group == groups_.size() && unused != kNowhere) group = unused;
  if (group == groups_.size()) groups_.push_back(items_.make_heap());
  node.group = group;
  groups_[group].push(key_of(node.item));
  ++count_;
  items_.refresh(node.item.job);
}

void ParkedItems::leave(QueueNode& node) {
  groups_[std::exchange(node.group, kNowhere)].erase(node.heap_position);
  --count_;
  look_again();  // Resources that it kept, or was about to get, are for others now.
  if (keeper_ == node.item.record) keeper_ = RecordIndex::none();
}

void ParkedItems::return_one(QueueNode& node) {
  leave(node);
  items_.count_unparked();
  items_.insert(node);
}

bool ParkedItems::return_fitting() {
  if (!any()) return may_fit_ = false;
  const std::size_t before = count_;
  const RecordIndex kept_before = keeper_;
  choose_keeper();
  ResourceVector left = available_;
  for (RecordIndex next = best(left); next.valid(); next = best(left)) {
    QueueNode& node = items_[next];
    if (fits_execution(*node.item.request, left)) take_away(*node.item.request, left);
    return_one(node);
  }
  may_fit_ = false;
  // With another keeper other items are parked, and no longer stop the search.
  return count_ < before || keeper_ != kept_before;
}

void ParkedItems::return_all_of(JobSlot job) {
  std::vector<RecordIndex> records;
  for_each([&](RecordIndex record) {
    if (items_[record].item.job == job) records.push_back(record);
  });
  for (const RecordIndex record : records) return_one(items_[record]);
}

void ParkedItems::choose_keeper() {
  keeper_ = RecordIndex::none();
  for (const ItemHeap& group : groups_) {
    if (group.empty()) continue;
    const RecordIndex record = group.top().record;
    const QueueNode& node = items_[record];
    if (node.bypassed < bypass_max_ || exceeds_entitlement(node)) continue;
    if (!lacks_beside_slots(*node.item.request, available_)) continue;
    if (!keeper_.valid() || items_.goes_before(node, items_[keeper_])) keeper_ = record;
  }
  if (!keeper_.valid()) return;
  PENSTOCK_COVERAGE_MARK("an item keeps what it lacks from those behind it");
  kept_ = lacking(*items_[keeper_].item.request, available_);
}

RecordIndex ParkedItems::best(const ResourceVector& left) const {
  RecordIndex best;
  for (const ItemHeap& group : groups_) {
    if (group.empty()) continue;
    const RecordIndex record = group.top().record;
    const QueueNode& node = items_[record];
    if (exceeds_entitlement(node) || lacks_beside_slots(*node.item.request, left) || is_kept_from(node)) continue;
    if (!best.valid() || items_.goes_before(node, items_[best])) best = record;
  }
  return best;
}

void ParkedItems::count_bypassed(const QueueNode& granted) {
  for (const ItemHeap& group : groups_) {
    if (group.empty()) continue;
    QueueNode& node = items_[group.top().record];
    const ResourceVector lacks = lacking(*node.item.request, available_);
    const bool shares =
        any_requested(*granted.item.request, lacks, [](std::int64_t, std::int64_t of) { return of > 0; });
    if (!shares || !items_.goes_before(node, granted)) continue;
    if (++node.bypassed == bypass_max_) may_fit_ = true;
  }
}

void ParkedItems::validate() const {
  std::size_t parked = 0;
  for (const QueueNode& node : items_.nodes()) {
    if (node.state != QueueState::Waiting || node.group == kNowhere) continue;
    ++parked;
    PENSTOCK_CHECK(groups_.at(node.group).at(node.heap_position).record == node.item.record);
  }
  PENSTOCK_CHECK(parked == count_);
}

}  // namespace penstock::worker
