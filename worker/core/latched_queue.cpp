#include "worker/core/latched_queue.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"

namespace penstock::worker {

bool LatchedQueue::JobKey::operator<(const JobKey& other) const {
  if (job_priority != other.job_priority) return job_priority > other.job_priority;
  if (priority != other.priority) return priority > other.priority;
  if (fair_rank != other.fair_rank) return fair_rank < other.fair_rank;
  if (served != other.served) return served < other.served;
  if (sequence != other.sequence) return sequence < other.sequence;
  return job < other.job;
}

LatchedQueue::LatchedQueue(ResourceVector capacity, const Limits& limits)
    : limits_(limits), capacity_(capacity), available_(std::move(capacity)), order_(TrackJob{&jobs_}) {}

void LatchedQueue::put(const QueueItem& item) {
  while (!nodes_.contains(item.record)) nodes_.push_back(Node{});
  Node& node = nodes_[item.record];
  PENSTOCK_CHECK_MSG(node.state == State::Absent, "record " + std::to_string(item.record.value()) + " is here already");
  node.item = item;
  node.state = State::Absent;
  node.resumed = false;
  node.group = kNowhere;
  node.bypassed = 0;
  node.lane = SlotIndex::none();
  insert_waiting(node);
}

RecordIndex LatchedQueue::first_waiting() const {
  return order_.empty() ? RecordIndex::none() : jobs_[order_.top().job.value()].items.top().record;
}

void LatchedQueue::take(std::vector<Taken>& taken, std::size_t max) {
  PENSTOCK_CHECK(offered_left_ == 0);  // Runs on offer come before all waiting items.
  const std::size_t before = taken.size();
  if (any_reservation()) serve_reservations(taken, max);
  while (taken.size() - before < max && available_.slots > MilliSlots{0}) {
    if (parked_may_fit_) return_parked();
    const RecordIndex chosen = choose();
    if (chosen.valid())
      grant(nodes_[chosen], taken);
    else if (!parked_may_fit_ && !return_parked())  // Items that came back and may not start leave room for others.
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
  while (!order_.empty() && passed_.size() < limits_.scan_max) {
    Job& job = jobs_[(only.valid() ? only : order_.top().job).value()];
    if (job.items.empty()) break;
    Node& best = nodes_[job.items.top().record];
    if (lacks_beside_slots(*best.item.request, available_) || is_kept_from(best)) {
      parked_may_fit_ = parked_may_fit_ || any_parked();  // The resources that it was about to get may be for others.
      park(best);
      continue;
    }
    if (fits(best.item)) {
      chosen = best.item.record;
      break;
    }
    const bool reserves = best.bypassed >= limits_.bypass_max;
    if (reserves && !only.valid() && exceeds_entitlement(best.item)) {
      set_aside_.push_back(best.item.job);
      order_.erase(job.heap_position);
      continue;
    }
    if (reserves) {
      PENSTOCK_COVERAGE_MARK("a large item reserves");
      break;
    }
    take_out(best);
    passed_.push_back(best.item.record);
  }
  for (const JobSlot job : set_aside_) refresh_job(job);
  for (const RecordIndex record : passed_) {
    Node& node = nodes_[record];
    if (chosen.valid()) ++node.bypassed;
    insert_waiting(node);
  }
  return chosen;
}

bool LatchedQueue::fits(const QueueItem& item) const {
  if (exceeds_entitlement(item)) return false;
  if (!fits_execution(*item.request, available_)) return false;
  if (!nodes_[item.record].resumed && !has_lane()) return false;
  return item.bytes <= available_.memory || holding_ == 0 || item.bytes.is_zero();
}

void LatchedQueue::grant(Node& node, std::vector<Taken>& taken) {
  Job& job = jobs_[node.item.job.value()];
  job.items.erase(node.heap_position);
  --waiting_;
  node.state = State::Holding;
  ++holding_;
  take_away(*node.item.request, available_);
  available_.memory -= node.item.bytes;
  job.held += node.item.request->slots;
  if (limited_ > 0) {
    clock_ = std::max(clock_, job.served);
    count_served(job, node.item);
  }
  refresh_job(node.item.job);
  if (any_parked()) count_bypassed(node);
  if (node.resumed)
    --yielded_;
  else
    node.lane = allot_lane(node.item.record);
  taken.push_back(Taken{node.item.record, node.lane, std::exchange(node.resumed, false)});
}

void LatchedQueue::take_back(Node& node) {
  give_back(*node.item.request, available_);
  available_.memory += node.item.bytes;
  Job& job = jobs_[node.item.job.value()];
  job.held -= node.item.request->slots;
  --holding_;
  parked_may_fit_ = any_parked();
  // Holding less makes a job eligible again; an eligible one keeps its place, which does not depend on holdings.
  if (job.heap_position == kNowhere) refresh_job(node.item.job);
}

// Whichever runs end and whichever on offer follow them: a job cannot run more than there are lanes, nor more than its
// present runs and those on offer.
bool LatchedQueue::may_be_offered(const Job& job, std::size_t lanes, MilliSlots slots) const {
  if (slots * static_cast<std::int64_t>(lanes) <= job.entitlement) return true;
  return job.held + slots * (static_cast<std::int64_t>(job.offered) + 1) <= job.entitlement;
}

// A job that holds all that it may is in line again when one of its runs ends, which is when runs on offer are taken.
void LatchedQueue::line_up_for_offers(std::span<const RecordIndex> running, MilliSlots slots) {
  lined_up_.clear();
  for (const RecordIndex record : running) {
    const JobSlot slot = nodes_[record].item.job;
    Job& job = jobs_[slot.value()];
    if (job.heap_position != kNowhere || job.items.empty()) continue;
    if (slots * static_cast<std::int64_t>(running.size()) > job.entitlement) continue;
    order_.push(key_of(slot));
    lined_up_.push_back(slot);
  }
}

void LatchedQueue::put_on_offer(Job& job, RecordIndex next, std::uint64_t turn_began,
                                std::vector<RecordIndex>& offered) {
  Node& node = nodes_[next];
  job.items.erase(node.heap_position);
  --waiting_;
  node.state = State::Offered;
  ++offered_left_;
  ++job.offered;
  if (limited_ > 0) {
    served_before_.push_back({job.served, turn_began});
    count_served(job, node.item);
  }
  offered_.push_back(next);
  offered.push_back(next);
}

// A slot of a job that is entitled to all of them counts as one, one of a job with half of them as two. A job without
// limit is entitled to all. A job that wanted less, or could not have it, saves nothing up.
void LatchedQueue::count_served(Job& job, const QueueItem& item) {
  constexpr std::uint64_t kWhole = std::uint64_t{1} << 20U;
  const std::int64_t entitled = std::max<std::int64_t>(std::min(job.entitlement, capacity_.slots).value(), 1);
  job.served = std::max(job.served, clock_) +
               static_cast<std::uint64_t>(item.request->slots.value()) * kWhole / static_cast<std::uint64_t>(entitled);
}

SlotIndex LatchedQueue::hand_over(RecordIndex ended, RecordIndex next) {
  Node& before = nodes_[ended];
  Node& after = nodes_[next];
  PENSTOCK_CHECK(before.state == State::Holding && after.state == State::Offered);
  PENSTOCK_CHECK(before.item.bytes == after.item.bytes);
  PENSTOCK_CHECK(before.item.request == after.item.request || *before.item.request == *after.item.request);
  // The total of held resources is unchanged: only the holder changes.
  after.state = State::Holding;
  after.lane = before.lane;
  lane_holders_[after.lane] = next;
  before.state = State::Absent;
  before.lane = SlotIndex::none();
  --offered_left_;
  Job& job = jobs_[after.item.job.value()];
  --job.offered;
  if (before.item.job == after.item.job) return after.lane;
  PENSTOCK_CHECK(!within_jobs_);
  jobs_[before.item.job.value()].held -= before.item.request->slots;
  job.held += after.item.request->slots;
  refresh_job(before.item.job);
  refresh_job(after.item.job);
  return after.lane;
}

void LatchedQueue::withdraw_offers() {
  if (offered_left_ == 0 && served_before_.empty()) return;
  offered_left_ = 0;
  // From the last to the first: each is then smaller than all waiting items, which costs least (see `Heap::push`).
  for (std::size_t i = offered_.size(); i-- > 0;) {
    if (!is_offered(offered_[i])) {
      if (limited_ > 0) clock_ = std::max(clock_, served_before_[i].turn);
      continue;
    }
    Node& node = nodes_[offered_[i]];
    Job& job = jobs_[node.item.job.value()];
    --job.offered;
    insert_waiting(node);
    if (limited_ == 0) continue;
    // The item need not be the job's best: items that ends have completed since then wait already.
    job.served = served_before_[i].item;
    refresh_job(node.item.job);
  }
  served_before_.clear();
}

bool LatchedQueue::release(RecordIndex record) { return holds(record) && remove(record); }

bool LatchedQueue::remove(RecordIndex record) {
  const State state = state_of(record);
  if (state == State::Absent) return false;
  PENSTOCK_CHECK(state != State::Offered);  // A lane may be taking it over now.
  Node& node = nodes_[record];
  if (is_yielded(node)) --yielded_;
  node.resumed = false;
  if (state == State::Waiting) erase_waiting(node);
  if (state == State::Holding) take_back(node);
  if (node.lane.valid()) {
    lane_holders_[node.lane] = RecordIndex::none();
    free_lanes_.push_back(node.lane);
  }
  node.state = State::Absent;
  node.lane = SlotIndex::none();
  return true;
}

void LatchedQueue::update_priority(RecordIndex record, std::uint64_t priority) {
  if (state_of(record) != State::Waiting) return;
  Node& node = nodes_[record];
  node.item.priority = priority;
  parked_may_fit_ = any_parked();
  if (node.group != kNowhere)
    return parked_[node.group].items.update(node.heap_position, ItemKey{priority, node.item.sequence, record});
  Job& job = jobs_[node.item.job.value()];
  job.items.update(node.heap_position, ItemKey{priority, node.item.sequence, record});
  refresh_job(node.item.job);
}

void LatchedQueue::set_job_priority(JobSlot job, std::int32_t job_priority) {
  job_at(job).job_priority = job_priority;
  parked_may_fit_ = any_parked();
  refresh_job(job);
}

void LatchedQueue::set_entitlement(JobSlot job, MilliSlots slots, std::int32_t fair_rank) {
  // A job leaves after its last run has ended, also while others are on offer.
  PENSTOCK_CHECK(offered_left_ == 0 || (slots == MilliSlots::max() && job_at(job).offered == 0));
  const auto limited = [](MilliSlots of) { return !of.is_zero() && of != MilliSlots::max(); };
  if (slots.is_zero() && any_parked()) return_parked_of(job);  // A reservation that opens looks among the job's items.
  closed_ += slots.is_zero();
  closed_ -= job_at(job).entitlement.is_zero();
  const bool any_before = limited_ > 0;
  limited_ += limited(slots);
  limited_ -= limited(job_at(job).entitlement);
  job_at(job).entitlement = slots;
  job_at(job).fair_rank = fair_rank;
  parked_may_fit_ = any_parked();
  refresh_job(job);
  if (any_before == (limited_ > 0)) return;
  // Counting of served slots begins or ends.
  clock_ = 0;
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) {
    jobs_[i].served = 0;
    refresh_job(JobSlot{i});
  }
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
  parked_may_fit_ = any_parked();
}

std::vector<SlotIndex> LatchedQueue::restart_free_slots() {
  std::vector<SlotIndex> lanes = std::exchange(free_lanes_, {});
  restarting_lanes_.insert(restarting_lanes_.end(), lanes.begin(), lanes.end());
  return lanes;
}

void LatchedQueue::lane_restarted(SlotIndex lane) {
  const auto found = std::find(restarting_lanes_.begin(), restarting_lanes_.end(), lane);
  if (found == restarting_lanes_.end()) return;
  restarting_lanes_.erase(found);
  free_lanes_.push_back(lane);
}

// A lane that was never used becomes an idle one, so that `restart_free_slots` finds it.
std::vector<SlotIndex> LatchedQueue::next_lanes(std::size_t count) {
  while (free_lanes_.size() < count && restarting_lanes_.empty() && lane_holders_.size() < limits_.lanes_max + yielded_)
    free_lanes_.insert(free_lanes_.begin(), lane_holders_.push_back(RecordIndex::none()));
  const std::size_t found = std::min(count, free_lanes_.size());
  return {free_lanes_.rbegin(), free_lanes_.rbegin() + static_cast<std::ptrdiff_t>(found)};
}

bool LatchedQueue::yield_slot(RecordIndex record) {
  if (!holds(record) || yielded_ >= limits_.yields_max) return false;
  Node& node = nodes_[record];
  take_back(node);
  node.state = State::Yielded;
  ++yielded_;
  return true;
}

bool LatchedQueue::resume_slot(RecordIndex record, std::uint64_t priority) {
  if (state_of(record) != State::Yielded) return false;
  Node& node = nodes_[record];
  node.resumed = true;
  node.item.priority = priority;
  insert_waiting(node);
  return true;
}

LatchedQueue::Job& LatchedQueue::job_at(JobSlot job) {
  while (jobs_.size() <= job.value()) jobs_.emplace_back(&nodes_);
  return jobs_[job.value()];
}

void LatchedQueue::insert_waiting(Node& node) {
  node.state = State::Waiting;
  ++waiting_;
  Job& job = job_at(node.item.job);
  job.items.push(ItemKey{node.item.priority, node.item.sequence, node.item.record});
  // Only a new best item changes the place of its job.
  if (job.heap_position == kNowhere || node.heap_position == job.items.top_position()) refresh_job(node.item.job);
}

void LatchedQueue::erase_waiting(Node& node) {
  if (node.group != kNowhere) {
    leave_parking(node);
    --waiting_;
    node.state = State::Absent;
    return;
  }
  parked_may_fit_ = any_parked();  // Its reservation is for others now.
  take_out(node);
}

/// REQUIRES: the item is not parked.
void LatchedQueue::take_out(Node& node) {
  jobs_[node.item.job.value()].items.erase(node.heap_position);
  --waiting_;
  node.state = State::Absent;
  refresh_job(node.item.job);
}

// Updates the job's place in `order_` after any change of the job.
void LatchedQueue::refresh_job(JobSlot slot) {
  Job& job = jobs_[slot.value()];
  const bool eligible = !job.items.empty() && may_hold_more(job);
  if (job.heap_position == kNowhere) {
    if (eligible) order_.push(key_of(slot));
  } else if (eligible) {
    order_.update(job.heap_position, key_of(slot));
  } else {
    order_.erase(job.heap_position);
  }
}

LatchedQueue::JobKey LatchedQueue::key_of(JobSlot slot) const {
  const Job& job = jobs_[slot.value()];
  const ItemKey& best = job.items.top();
  return JobKey{job.job_priority, static_cast<std::uint32_t>(best.priority >> 32U),
                job.fair_rank,    job.served,
                best.sequence,    slot};
}

// While runners restart, an attempt waits for one of them instead of getting a lane beyond those of the slots. Lanes of
// records that have yielded do not count: what these wait for would find no lane otherwise.
bool LatchedQueue::has_lane() const {
  return holding_ < limits_.lanes_max && (!free_lanes_.empty() || restarting_lanes_.empty());
}

SlotIndex LatchedQueue::allot_lane(RecordIndex record) {
  SlotIndex lane;
  if (!free_lanes_.empty()) {
    lane = free_lanes_.back();  // The most recently used lane: its caches are warm.
    free_lanes_.pop_back();
  } else {
    lane = lane_holders_.push_back(RecordIndex::none());
  }
  lane_holders_[lane] = record;
  return lane;
}

MilliSlots LatchedQueue::held_by(JobSlot job) const {
  return job.value() < jobs_.size() ? jobs_[job.value()].held : MilliSlots{0};
}

std::size_t LatchedQueue::position_of(RecordIndex record) const {
  if (state_of(record) != State::Waiting) return 0;
  const Node& node = nodes_[record];
  const auto rank = [&](JobSlot slot, const ItemKey& key) {
    const Job& job = jobs_[slot.value()];
    return JobKey{job.job_priority, static_cast<std::uint32_t>(key.priority >> 32U),
                  job.fair_rank,    job.served,
                  key.sequence,     slot};
  };
  const ItemKey own{node.item.priority, node.item.sequence, record};
  std::size_t before = 0;
  for (std::uint32_t j = 0; j < jobs_.size(); ++j)
    jobs_[j].items.for_each([&](const ItemKey& other) {
      before += JobSlot{j} == node.item.job ? other < own : rank(JobSlot{j}, other) < rank(node.item.job, own);
    });
  for_each_parked([&](RecordIndex other) { before += goes_before(nodes_[other], node); });
  return before;
}

std::string LatchedQueue::obstacle(RecordIndex record) const {
  if (!waits(record)) return {};
  const QueueItem& item = nodes_[record].item;
  const Job& job = jobs_[item.job.value()];
  for (const Reservation& each : reservations_)
    if (each.job == item.job)
      return "barrier: of " + std::to_string(each.wanted.slots.value()) + " milli-slots of its gang here " +
             std::to_string((each.held.slots + job.held).value()) + " are reserved";
  if (job.held + item.request->slots > job.entitlement)
    return "entitlement: the job holds " + std::to_string(job.held.value()) + " of " +
           std::to_string(job.entitlement.value()) + " milli-slots";
  if (!fits_execution(*item.request, available_)) {
    ResourceVector wanted = *item.request;
    wanted.memory = Bytes{0};
    return first_excess(wanted, available_);
  }
  if (!nodes_[record].resumed && !has_lane()) return "runners: all are busy or restarting";
  if (!fits(item))
    return "bytes " + std::to_string(item.bytes.value()) + " > " + std::to_string(available_.memory.value());
  return {};
}

void LatchedQueue::list_waiting(std::vector<RecordIndex>& records) const {
  for (const Job& job : jobs_) job.items.for_each([&](const ItemKey& key) { records.push_back(key.record); });
  for_each_parked([&](RecordIndex record) { records.push_back(record); });
}

void LatchedQueue::validate() const {
  std::size_t waiting = 0;
  std::size_t offered = 0;
  std::size_t holding = 0;
  std::size_t yielded = 0;
  ResourceVector available = capacity_;
  std::vector<MilliSlots> held(jobs_.size());
  for (const Node& node : nodes_) {
    waiting += node.state == State::Waiting;
    offered += node.state == State::Offered;
    yielded += is_yielded(node);
    PENSTOCK_CHECK(!is_yielded(node) || lane_holders_[node.lane] == node.item.record);
    if (node.state == State::Waiting && node.group != kNowhere) {
      PENSTOCK_CHECK(parked_.at(node.group).items.at(node.heap_position).record == node.item.record);
    } else if (node.state == State::Waiting) {
      const ItemKey& key = jobs_[node.item.job.value()].items.at(node.heap_position);
      PENSTOCK_CHECK(key.record == node.item.record && key.priority == node.item.priority);
    }
    if (node.state != State::Holding) continue;
    ++holding;
    take_away(*node.item.request, available);
    available.memory -= node.item.bytes;
    held[node.item.job.value()] += node.item.request->slots;
    PENSTOCK_CHECK(lane_holders_[node.lane] == node.item.record);
  }
  for (const Reservation& each : reservations_) take_away(each.held, available);
  PENSTOCK_CHECK(waiting == waiting_ && offered == offered_left_ && holding == holding_);
  PENSTOCK_CHECK(yielded == yielded_ && lane_holders_.size() <= limits_.lanes_max + limits_.yields_max);
  PENSTOCK_CHECK(available == available_);
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    PENSTOCK_CHECK(held[j] == jobs_[j].held);
    const bool eligible = !jobs_[j].items.empty() && may_hold_more(jobs_[j]);
    PENSTOCK_CHECK((jobs_[j].heap_position != kNowhere) == eligible);
    if (!eligible) continue;
    const JobKey& key = order_.at(jobs_[j].heap_position);
    const JobKey current = key_of(JobSlot{static_cast<std::uint32_t>(j)});
    PENSTOCK_CHECK(!(key < current) && !(current < key));
  }
}

}  // namespace penstock::worker
