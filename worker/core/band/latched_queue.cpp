#include "worker/core/band/latched_queue.hpp"

#include <algorithm>
#include <utility>

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {

LatchedQueue::LatchedQueue(ResourceVector capacity, const Limits& limits, const std::vector<DeviceDescription>& devices)
    : limits_(limits),
      capacity_(capacity),
      available_(std::move(capacity)),
      parked_(items_, available_, lanes_.devices, limits.bypass_max),
      reservations_(items_, available_, parked_),
      offers_(items_),
      lanes_(devices) {}

void LatchedQueue::take(std::vector<Taken>& taken, std::size_t max) {
  PENSTOCK_CHECK(offers_.left() == 0);  // Runs on offer come before all waiting items.
  const std::size_t before = taken.size();
  if (reservations_.any()) serve_reservations(taken, max);
  while (taken.size() - before < max && available_.slots > MilliSlots{0}) {
    if (parked_.may_fit()) parked_.return_fitting();
    const RecordIndex chosen = choose();
    if (chosen.valid())
      grant(items_[chosen], taken);
    else if (!parked_.may_fit() && !parked_.return_fitting())  // Items that came back and may not start leave room.
      return;
  }
}

// Spec: worker 2. Finds the best item that fits, setting aside those before it that do not; each of them has then been
// bypassed once more. An item that was bypassed too often reserves: no item behind it gets slots, or, if the
// entitlement is short, no item behind it in its job. Items that lack something beside slots are parked.
RecordIndex LatchedQueue::choose(JobSlot only) {
  passed_.clear();
  set_aside_.clear();
  RecordIndex chosen;
  while (!items_.line().empty() && passed_.size() < limits_.scan_max) {
    QueueJob& job = items_.job(only.valid() ? only : items_.line().top().job);
    if (job.items.empty()) break;
    QueueNode& best = items_[job.items.top().record];
    if (parked_.must_park(best)) {
      parked_.park(best);
      continue;
    }
    if (fits(best.item)) {
      chosen = best.item.record;
      break;
    }
    const bool reserves = best.bypassed >= limits_.bypass_max;
    if (reserves && !only.valid() && items_.exceeds_entitlement(best.item)) {
      set_aside_.push_back(best.item.job);
      items_.line().erase(job.heap_position);
      continue;
    }
    if (reserves) {
      PENSTOCK_COVERAGE_MARK("a large item reserves");
      break;
    }
    items_.take_out(best);
    passed_.push_back(best.item.record);
  }
  for (const JobSlot job : set_aside_) items_.refresh(job);
  for (const RecordIndex record : passed_) {
    QueueNode& node = items_[record];
    if (chosen.valid()) ++node.bypassed;
    items_.insert(node);
  }
  return chosen;
}

bool LatchedQueue::fits(const QueueItem& item) const {
  if (items_.exceeds_entitlement(item)) return false;
  if (!fits_execution(*item.request, available_)) return false;
  const QueueNode& node = items_[item.record];
  if (!node.resumed && !has_lane()) return false;
  if (!lanes_.devices.fit(item.job, *item.request, node.resumed ? node.lane : SlotIndex::none())) return false;
  return item.bytes <= available_.memory || holding_ == 0 || item.bytes.is_zero();
}

void LatchedQueue::grant(QueueNode& node, std::vector<Taken>& taken) {
  QueueJob& job = items_.job_of(node);
  items_.unlist(node);
  node.state = QueueState::Holding;
  ++holding_;
  take_away(*node.item.request, available_);
  available_.memory -= node.item.bytes;
  job.held += node.item.request->slots;
  if (items_.any_limited()) {
    items_.move_clock(job.served);
    items_.count_served(job, node.item, capacity_.slots);
  }
  items_.refresh(node.item.job);
  if (parked_.any()) parked_.count_bypassed(node);
  if (node.resumed)
    --yielded_;
  else
    node.lane = lanes_.take(node.item.record);
  lanes_.devices.take(node.item.job, node.lane, *node.item.request, node.resumed);
  taken.push_back(Taken{node.item.record, node.lane, std::exchange(node.resumed, false)});
}

void LatchedQueue::take_back(QueueNode& node) {
  give_back(*node.item.request, available_);
  available_.memory += node.item.bytes;
  lanes_.devices.give_back(node.item.job, node.lane, *node.item.request);
  QueueJob& job = items_.job_of(node);
  job.held -= node.item.request->slots;
  --holding_;
  parked_.look_again();
  // Holding less makes a job eligible again; an eligible one keeps its place, which does not depend on holdings.
  if (job.heap_position == kNowhere) items_.refresh(node.item.job);
}

// The job begins at once on its reservation, before all waiting items. Slots that it could start on but was not allowed
// to use for the moment stay reserved. So does the rest after its first starts, until a further `take` starts no more:
// by then its members have the permits of those that started.
void LatchedQueue::serve_reservations(std::vector<Taken>& taken, std::size_t max) {
  const std::size_t before = taken.size();
  reservations_.fill_all();
  for (Reservation& each : reservations_.list()) {
    if (!each.opens) continue;
    PENSTOCK_COVERAGE_MARK("a job begins on what was reserved for it");
    reservations_.empty(each);
    const std::size_t first = taken.size();
    each.served = true;
    for (RecordIndex next = choose(each.job); next.valid(); next = choose(each.job)) {
      if (taken.size() - before >= max) {
        PENSTOCK_COVERAGE_MARK("a job begins on a part of what was reserved for it");
        reservations_.fill(each);
        each.served = false;
        break;
      }
      grant(items_[next], taken);
    }
    if (!each.served) continue;
    if (each.stays) {
      reservations_.fill(each);
      each.served = false;
    } else if (taken.size() != first && reservations_.missing_of(each) != ResourceVector{}) {
      PENSTOCK_COVERAGE_MARK("a job that has begun keeps the rest until it is asked again");
      reservations_.fill(each);
      each.served = each.held.slots.is_zero();
    }
  }
  reservations_.end_served();
}

SlotIndex LatchedQueue::hand_over(RecordIndex ended, RecordIndex next) {
  QueueNode& before = items_[ended];
  QueueNode& after = items_[next];
  PENSTOCK_CHECK(before.state == QueueState::Holding && after.state == QueueState::Offered);
  PENSTOCK_CHECK(before.item.bytes == after.item.bytes);
  PENSTOCK_CHECK(before.item.request == after.item.request || *before.item.request == *after.item.request);
  // The total of held resources is unchanged: only the holder changes.
  after.state = QueueState::Holding;
  after.lane = before.lane;
  lanes_.hand_over(after.lane, next);
  before.state = QueueState::Absent;
  before.lane = SlotIndex::none();
  offers_.taken();
  QueueJob& job = items_.job_of(after);
  --job.offered;
  if (before.item.job == after.item.job) return after.lane;
  PENSTOCK_CHECK(!offers_.within_jobs());
  lanes_.devices.hand_over(before.item.job, after.item.job, after.lane, *after.item.request);
  items_.job_of(before).held -= before.item.request->slots;
  job.held += after.item.request->slots;
  items_.refresh(before.item.job);
  items_.refresh(after.item.job);
  return after.lane;
}

bool LatchedQueue::remove(RecordIndex record) {
  const QueueState state = items_.state_of(record);
  if (state == QueueState::Absent) return false;
  PENSTOCK_CHECK(state != QueueState::Offered);  // A lane may be taking it over now.
  QueueNode& node = items_[record];
  if (worker::has_yielded(node)) --yielded_;
  node.resumed = false;
  if (state == QueueState::Holding) take_back(node);
  if (state == QueueState::Waiting && node.group != kNowhere) {
    parked_.remove(node);
  } else if (state == QueueState::Waiting) {
    parked_.look_again();  // Its reservation is for others now.
    items_.take_out(node);
  }
  if (node.lane.valid()) lanes_.give_back(node.lane);
  node.state = QueueState::Absent;
  node.lane = SlotIndex::none();
  return true;
}

void LatchedQueue::update_priority(RecordIndex record, std::uint64_t priority) {
  if (items_.state_of(record) != QueueState::Waiting) return;
  QueueNode& node = items_[record];
  node.item.priority = priority;
  parked_.look_again();
  if (node.group != kNowhere) return parked_.update_priority(node);
  items_.job_of(node).items.update(node.heap_position, key_of(node.item));
  items_.refresh(node.item.job);
}

void LatchedQueue::set_job_priority(JobSlot job, std::int32_t job_priority) {
  parked_.look_again();
  items_.set_job_priority(job, job_priority);
}

void LatchedQueue::set_entitlement(JobSlot job, MilliSlots slots, std::int32_t fair_rank,
                                   const std::vector<std::uint16_t>& on_devices) {
  // A job leaves after its last run has ended, also while others are on offer.
  PENSTOCK_CHECK(offers_.left() == 0 || (slots == MilliSlots::max() && items_.job_at(job).offered == 0));
  // A reservation that opens looks among the job's items.
  if (slots.is_zero() && parked_.any()) parked_.return_all_of(job);
  items_.set_entitlement(job, slots, fair_rank);
  lanes_.devices.keep_to(job, on_devices);
  parked_.look_again();
}

void LatchedQueue::resize(const ResourceVector& capacity) {
  const ResourceVector old = std::exchange(capacity_, capacity);
  // Held amounts stay; only the difference of the capacities changes the available amount.
  ResourceVector available = capacity;
  take_away(old, available);
  available.memory -= old.memory;
  give_back(available_, available);
  available.memory += available_.memory;
  available_ = std::move(available);
  parked_.look_again();
}

bool LatchedQueue::yield_slot(RecordIndex record) {
  if (!holds(record) || yielded_ >= limits_.yields_max) return false;
  QueueNode& node = items_[record];
  take_back(node);
  node.state = QueueState::Yielded;
  ++yielded_;
  return true;
}

bool LatchedQueue::resume_slot(RecordIndex record, std::uint64_t priority) {
  if (items_.state_of(record) != QueueState::Yielded) return false;
  QueueNode& node = items_[record];
  node.resumed = true;
  node.item.priority = priority;
  items_.insert(node);
  return true;
}

bool LatchedQueue::resume_best(std::vector<Taken>& taken) {
  if (holding_ > 0 || yielded_ == 0 || reservations_.any()) return false;
  QueueNode* best = nullptr;
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    const RecordIndex record = lanes_.holder(SlotIndex{static_cast<std::uint16_t>(lane)});
    if (!record.valid()) continue;
    QueueNode& node = items_[record];
    const bool wants = node.state == QueueState::Waiting && node.resumed && node.group == kNowhere;
    if (!wants || !fits_execution(*node.item.request, available_)) continue;
    if (best == nullptr || node.item.priority > best->item.priority) best = &node;
  }
  if (best == nullptr) return false;
  grant(*best, taken);
  return true;
}

void LatchedQueue::validate() const {
  items_.validate();
  parked_.validate();
  std::size_t offered = 0;
  std::size_t holding = 0;
  std::size_t yielded = 0;
  std::vector<DeviceUse> uses;
  ResourceVector available = capacity_;
  for (const QueueNode& node : items_.nodes()) {
    const bool off_slot = worker::has_yielded(node);
    offered += node.state == QueueState::Offered;
    yielded += off_slot;
    PENSTOCK_CHECK(!off_slot || lanes_.holder(node.lane) == node.item.record);
    if (node.state != QueueState::Holding) continue;
    ++holding;
    uses.push_back({node.item.job, node.lane, node.item.request});
    take_away(*node.item.request, available);
    available.memory -= node.item.bytes;
    PENSTOCK_CHECK(lanes_.holder(node.lane) == node.item.record);
  }
  for (const Reservation& each : reservations_.list()) take_away(each.held, available);
  PENSTOCK_CHECK(offered == offers_.left() && holding == holding_);
  PENSTOCK_CHECK(yielded == yielded_ && lanes_.size() <= limits_.lanes_max + limits_.yields_max);
  PENSTOCK_CHECK(available == available_);
  PENSTOCK_CHECK(lanes_.devices.agree(uses));
}

}  // namespace penstock::worker
