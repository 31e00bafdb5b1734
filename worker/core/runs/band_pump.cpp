#include "worker/core/runs/band_pump.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/band/queue_search.hpp"
#include "worker/core/rooms.hpp"

namespace penstock::worker {

void BandPump::pump_all() {
  for (bool again = true; again;) {
    again = false;
    for (const auto& band : bands_) {
      if (!band->dirty) continue;
      pump(*band);
      again = true;
    }
  }
}

// Moves all items on this band as far as latches and quota allow.
void BandPump::pump(Band& band) {
  do {
    band.dirty = false;
    band.preparing = true;
    taken_.clear();
    band.prepare.take(taken_);
    for (const Taken& taken : taken_) flow_.begin_prepare(taken.record);
    if (band.quota.waiting() > 0) {
      granted_.clear();
      band.quota.take_granted(granted_);
      for (const RecordIndex index : granted_) flow_.bring_inputs(index);
    }
    band.preparing = false;
    taken_.clear();
    const bool may_start = !data_.room.any_waiting() || data_.room.at_rest();
    band.held_back = false;
    if (may_start) band.execute.take(taken_, offers_.starts_allowed(band));
    for (const Taken& taken : taken_) starts_.start(taken.record, taken);
    // Members of the gang may have waited for the permits of those that start now.
    band.dirty = band.dirty || (!taken_.empty() && band.execute.reservations().any_opens());
    if (band.running.empty()) band.held_back = false;  // The worker did not hold items back.
    // Otherwise memory is not the reason why nothing starts.
    if (!band.dirty && may_start) demote_if_stuck(band);
    if (!band.dirty && may_start) resume_if_stuck(band);
    if (!band.dirty) demote_for_room(band);
    if (!band.dirty && !band.barriers.empty()) demote_for_gangs(band);
  } while (band.dirty);
}

// Spec: worker 4. Nothing runs, the first in line cannot get its memory, and prepared subtasks hold it: the lowest of
// them goes back to the prepare queue. At any time a holder of memory or a permit that others wait for goes back if its
// job's entitlement here is zero: it would never run and never let go.
//
// This ends: a subtask that lets go stands behind the first in line from then on, and overtaking is bounded.
void BandPump::demote_if_stuck(Band& band) {
  const RecordIndex head = band.quota.head();
  const bool closed = band.execute.items().any_closed();
  if (band.execute.waiting() == 0 || band.quota.paused()) return;
  if (!head.valid() && !(closed && band.prepare.first_waiting().valid())) return;
  if (band.execute.holding() > 0 && !closed) return;
  // Nothing runs because all lanes restart, not for lack of memory; a demoted subtask would get it again, without an
  // end.
  if (band.execute.holding() == 0 && band.execute.next_lanes(1).empty()) return;
  const RecordIndex lowest = lowest_waiting(band.execute, [&](RecordIndex candidate) {
    const SubtaskRecord& record = tables_.subtasks[candidate];
    if (record.state != SubtaskState::Ready) return false;
    if (closed && band.execute.items().is_closed(record.job))
      return (record.holds_quota || record.holds_permit) && !band.waits_at_barrier(record.job);
    return head.valid() && band.execute.holding() == 0 && record.holds_quota &&
           band.quota.is_behind_head(grants_.request_of(record, candidate));
  });
  if (!lowest.valid()) return;
  PENSTOCK_COVERAGE_MARK("a prepared subtask gave its memory back");
  demote(lowest);
}

// Runs that have lent their slots keep their memory. Where the policy has given the slots to jobs that wait for that
// memory, nothing would ever run: the best of those that want their slots back goes on. Its job holds more than it may
// until then.
void BandPump::resume_if_stuck(Band& band) {
  if (band.quota.waiting() == 0 || band.execute.yielded() == 0) return;
  taken_.clear();
  if (!band.execute.resume_best(taken_)) return;
  PENSTOCK_COVERAGE_MARK("a run got its slot back as others waited for its memory");
  for (const Taken& taken : taken_) starts_.start(taken.record, taken);
}

// Spec: worker 4. A prepared subtask pins its inputs in memory. While its job's entitlement here is zero it does not
// run, so the pins would keep room from finished outputs until these fail. The subtask goes back to the prepare queue,
// where the entitlement is zero as well, so it pins nothing again before its job may run.
void BandPump::demote_for_room(Band& band) {
  if (!data_.room.any_waiting() || !band.execute.items().any_closed()) return;
  const RecordIndex lowest = lowest_waiting(band.execute, [&](RecordIndex candidate) {
    const SubtaskRecord& record = tables_.subtasks[candidate];
    return record.state == SubtaskState::Ready && !record.pins.empty() && band.execute.items().is_closed(record.job) &&
           !band.waits_at_barrier(record.job);
  });
  if (!lowest.valid()) return;
  PENSTOCK_COVERAGE_MARK("a prepared subtask gave its inputs back");
  demote(lowest);
}

// The slots belong to the gang, and so do the permits that go with them: other prepared subtasks could not start before
// it, and members that wait for the permits would begin alone. A subtask that gives up its permit waits behind the
// gang.
void BandPump::demote_for_gangs(Band& band) {
  const auto lacks_permits = [&](const BarrierHere& each) {
    return !each.over && band.execute.reservations().has_slots(each.job) &&
           !band.prepare.reservations().has_slots(each.job) && band.prepare.items().any_waiting(each.job);
  };
  if (std::none_of(band.barriers.begin(), band.barriers.end(), lacks_permits)) return;
  const RecordIndex lowest = lowest_waiting(band.execute, [&](RecordIndex candidate) {
    const SubtaskRecord& record = tables_.subtasks[candidate];
    return record.state == SubtaskState::Ready && record.holds_permit && !band.waits_at_barrier(record.job);
  });
  if (!lowest.valid()) return;
  PENSTOCK_COVERAGE_MARK("a prepared subtask gave its permit to a gang");
  demote(lowest);
}

void BandPump::demote(RecordIndex index) {
  ++tables_.counters.demoted;
  flow_.put_back(index);
}

void BandPump::unready(Band& band) {
  std::vector<RecordIndex> waiting;
  for_each_waiting(band.execute, [&](RecordIndex index) { waiting.push_back(index); });
  for (const RecordIndex index : waiting) {
    if (tables_.subtasks[index].state != SubtaskState::Ready || !is_unprepared(tables_.subtasks[index])) continue;
    PENSTOCK_COVERAGE_MARK("a ready subtask went back while grants were stopped");
    flow_.put_back(index);
  }
}

void BandPump::unprepare(JobSlot slot, Band& band) {
  if (!band.execute.items().is_closed(slot)) return;
  band.prepare.set_entitlement(slot, MilliSlots{}, 0);
  for (RecordIndex index = tables_.jobs[slot].records; index.valid(); index = tables_.subtasks[index].next_of_job) {
    const SubtaskRecord& record = tables_.subtasks[index];
    const bool prepared = record.state == SubtaskState::Quota || record.state == SubtaskState::Preparing ||
                          (record.state == SubtaskState::Ready && (record.holds_permit || record.holds_quota));
    if (record.band != band.index || !prepared) continue;
    PENSTOCK_COVERAGE_MARK("a gang that does not begin gives back what its members were prepared with");
    flow_.put_back(index);
  }
}

}  // namespace penstock::worker
