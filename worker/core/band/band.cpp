#include "worker/core/band/band.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/entitlement.hpp"
#include "worker/core/band/queue_search.hpp"

namespace penstock::worker {
namespace {

/// A permit is a slot, also for a subtask with a part of one.
MilliSlots permits_for(MilliSlots slots) {
  return slots == MilliSlots::max() ? slots : kOneSlot * ((slots.value() + 999) / 1000);
}

ResourceVector one_permit() {
  ResourceVector permit;
  permit.slots = kOneSlot;
  return permit;
}

ResourceVector prepare_capacity(const BandDescription& description, const WorkerConfig& config) {
  ResourceVector capacity;
  capacity.slots = permits_for(description.capacity.slots) + kOneSlot * config.prepare_permits_extra;
  capacity.memory = config.prepare_bytes_max;
  return capacity;
}

/// A lane's number has 16 bits.
std::uint32_t lanes_max(const BandDescription& description, const WorkerConfig& config) {
  const std::int64_t numbers = 65000 - std::int64_t{config.yields_max};
  const std::int64_t slots = std::max<std::int64_t>(1, (description.capacity.slots.value() + 999) / 1000);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(slots * config.lanes_per_slot_max, numbers));
}

/// The requested amounts, limited to those of the band. The members themselves hold memory.
ResourceVector wanted_of(const Entitlement& entitlement, const ResourceVector& capacity) {
  ResourceVector wanted;
  wanted.slots = std::clamp(entitlement.slots, MilliSlots{}, capacity.slots);
  wanted.cpu = std::min(entitlement.cpu, capacity.cpu);
  wanted.gpu = std::min(entitlement.gpu, capacity.gpu);
  wanted.device_memory = std::min(entitlement.device_memory, capacity.device_memory);
  for (const NamedAmount& each : entitlement.named)
    if (const std::int64_t amount = std::min(each.amount, amount_of(capacity.named, each.name)); amount > 0)
      wanted.named.push_back({each.name, amount});
  return wanted;
}

}  // namespace

Band::Band(BandIndex band_index, const BandDescription& band_description, const WorkerConfig& config)
    : index(band_index),
      description(band_description),
      permit(one_permit()),
      prepare(prepare_capacity(description, config), {config.bypass_max, config.scan_max, 65000}),
      execute(description.capacity,
              {config.bypass_max, config.scan_max, lanes_max(description, config), config.yields_max},
              description.devices),
      quota(description.capacity.memory, description.memory_hard_limit,
            {config.bypass_max, config.scan_max, config.forward_bypass_max}),
      store_permits(config.store_permits),
      warmer(config.runner_kinds_max) {}

void Band::update_priority(RecordIndex place, std::uint64_t priority) {
  prepare.update_priority(place, priority);
  execute.update_priority(place, priority);
  quota.update_priority(place, priority);
  dirty = true;
}

void Band::set_entitlement(JobSlot slot, MilliSlots slots, std::int32_t fair_rank,
                           const std::vector<std::uint16_t>& on_devices) {
  prepare.set_entitlement(slot, permits_for(slots), fair_rank);
  execute.set_entitlement(slot, slots, fair_rank, on_devices);
}

void Band::forget_job(JobSlot slot) {
  prepare.set_job_priority(slot, 0);
  execute.set_job_priority(slot, 0);
  lift_entitlement(slot);
  execute.reservations().drop(slot);  // Also an opened one on which nothing has begun: the slot is reused.
  // Without the last limited job the order of others changes. Runs on offer are first taken or withdrawn.
  if (execute.offers().left() == 0) dirty = true;
}

// Items that wait for a reservation of the record may fit now.
void Band::give_back(RecordIndex place, SubtaskRecord& record) {
  if (record.state == SubtaskState::Queued) dirty |= prepare.remove(place);
  if (record.state == SubtaskState::Ready) dirty |= execute.remove(place);
  release_permit(place, record);
  if (record.holds_quota) {
    quota.release(place);
    record.holds_quota = false;
    dirty = true;
  }
}

void Band::join_barrier(JobSlot slot, const Entitlement& entitlement, Instant now, Duration margin) {
  const ResourceVector wanted = wanted_of(entitlement, execute.capacity());
  const auto found =
      std::find_if(barriers.begin(), barriers.end(), [&](const BarrierHere& each) { return each.job == slot; });
  if (found != barriers.end() && found->number == entitlement.barrier && found->slots == wanted.slots) {
    PENSTOCK_COVERAGE_MARK("what a gang has reserved was asked for again");
    found->told = false;  // Its time limit stays that of the first request.
    return;
  }
  const BarrierHere fresh{slot,
                          entitlement.barrier,
                          wanted.slots,
                          later(later(now, entitlement.barrier_max), margin),
                          later(now, entitlement.patience),
                          false,
                          false};
  if (found == barriers.end())
    barriers.push_back(fresh);
  else
    *found = fresh;
  prepare.set_entitlement(slot, permits_for(wanted.slots), entitlement.fair_rank);
  prepare.reservations().prefer(slot, permits_for(wanted.slots));
  execute.set_entitlement(slot, MilliSlots{}, entitlement.fair_rank);
  execute.reservations().reserve(slot, wanted);
  dirty = true;
}

bool Band::leave_barrier(JobSlot slot, bool opens) {
  const bool waited = std::erase_if(barriers, [&](const BarrierHere& each) { return each.job == slot; }) > 0;
  prepare.reservations().drop(slot);
  if (opens)
    execute.reservations().open(slot);
  else
    execute.reservations().drop(slot);
  dirty = true;
  return waited && !opens;
}

void Band::give_back_barrier(BarrierHere& barrier) {
  prepare.reservations().drop(barrier.job);
  execute.reservations().drop(barrier.job);
  barrier.over = true;
  barrier.told = false;
}

bool Band::waits_at_barrier(JobSlot slot) const {
  return std::any_of(barriers.begin(), barriers.end(),
                     [&](const BarrierHere& each) { return each.job == slot && !each.over; });
}

// Resources that no plan counts, so that no subtask is ordered to leave for them, are waited for only until
// `patient_until`.
bool Band::is_ready_to_begin(const BarrierHere& barrier, const JobTable& jobs, const SubtaskTable& subtasks,
                             Instant now) const {
  if (!execute.reservations().has_slots(barrier.job)) return false;
  if (now >= barrier.patient_until) return true;
  if (!execute.reservations().is_whole(barrier.job)) return false;
  PENSTOCK_COVERAGE_MARK("members of a gang are looked at before it is answered for");
  std::int64_t queued = 0;
  std::int64_t unprepared = 0;
  MilliSlots prepared;
  for (RecordIndex each = jobs[barrier.job].records; each.valid(); each = subtasks[each].next_of_job) {
    const SubtaskRecord& record = subtasks[each];
    if (record.band != index) continue;
    queued += record.state == SubtaskState::Queued;
    unprepared += record.state == SubtaskState::Quota || record.state == SubtaskState::Preparing;
    if (record.state == SubtaskState::Ready || is_run(record)) prepared += record.program->content.request.slots;
  }
  if (prepared >= barrier.slots) return true;
  if (unprepared > 0) return false;
  // With parts of a slot there are more members than permits: the rest get theirs from members that begin.
  return queued == 0 || prepare.items().held_by(barrier.job) >= permits_for(barrier.slots);
}

// Runners of unused lanes, and those of other kinds that busy lanes keep, are ended as well, though no lane is named
// for them.
void Band::restart_idle_runners(Actions<WorkerAction>& out) {
  std::vector<SlotIndex> lanes = execute.lanes().restart_idle();
  warmer.forget();
  if (!lanes.empty() || relief.idle_use() > Bytes{0}) out.add(worker_action::RestartRunners{index, std::move(lanes)});
  relief.idle_restarted();
}

BandLoad Band::load(Bytes store_used) const {
  BandLoad load;
  load.band = index;
  load.cached = cached;
  load.queued = static_cast<std::uint32_t>(prepare.waiting());
  load.preparing = static_cast<std::uint32_t>(prepare.holding() - std::min(prepare.holding(), execute.waiting()));
  load.ready = static_cast<std::uint32_t>(execute.waiting());
  load.running = static_cast<std::uint32_t>(execute.holding());
  load.quota_used = quota.used();
  load.store_used = store_used;
  load.yielded = static_cast<std::uint32_t>(execute.yielded());
  return load;
}

void Band::validate(const SubtaskTable& subtasks, bool holds_back) const {
  prepare.validate();
  execute.validate();
  quota.validate();
  const auto may_start = [&](RecordIndex record) { return to_string(subtasks.id_of(subtasks[record])) + " may start"; };
  PENSTOCK_CHECK_MSG(dirty || !left_idle(prepare).valid(), may_start(left_idle(prepare)));
  const bool starts = !dirty && !held_back && !holds_back;
  PENSTOCK_CHECK_MSG(!starts || !left_idle(execute).valid(), may_start(left_idle(execute)));
  for (const BarrierHere& barrier : barriers) PENSTOCK_CHECK(execute.items().is_closed(barrier.job));
  for (std::uint32_t position = 0; position < running.size(); ++position)
    PENSTOCK_CHECK(is_run(subtasks[running[position]]) && subtasks[running[position]].running_position == position);
}

void Band::validate(RecordIndex place, const SubtaskRecord& record) const {
  const auto is = [&](SubtaskState state) { return record.state == state; };
  PENSTOCK_CHECK(is(SubtaskState::Yielded) == execute.has_yielded(place));
  PENSTOCK_CHECK(is(SubtaskState::Running) == execute.holds(place));
  PENSTOCK_CHECK(!is(SubtaskState::Ready) || execute.waits(place));
  PENSTOCK_CHECK(is(SubtaskState::Queued) == prepare.waits(place));
  PENSTOCK_CHECK(prepare.holds(place) == record.holds_permit);
  PENSTOCK_CHECK(is(SubtaskState::Quota) == quota.waits(place));
  PENSTOCK_CHECK(record.holds_quota || quota.granted_to(place).is_zero());
  PENSTOCK_CHECK(!quota.waits(place) || quota.priority_of(place) == record.priority);
}

}  // namespace penstock::worker
