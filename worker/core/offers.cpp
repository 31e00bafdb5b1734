// WorkerCore: runs that lanes take over by themselves, because asking the core for each would take longer than the
// runs.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::worker {
namespace {

/// Runs on offer last about this long, by the latest durations: for so long an end may stay unreported, and a successor
/// that it completes may wait.
constexpr std::uint64_t kSpanNs = 50'000;
/// A run takes at least this, with its overhead.
constexpr std::uint64_t kLeastRunNs = 250;
/// Shorter runs are left to one lane. The core needs as long for each of them, so a second lane would only wait its
/// turn, and would slow the first: the state of the core moves between processors (a no-op subtask on two lanes costs
/// 1.1 us of processor time and 0.8 us of real time, on one lane 0.4 us of both; docs/decisions/0005).
constexpr std::uint32_t kWorthALaneNs = 600;

}  // namespace

void WorkerCore::on(const worker_event::OffersWanted&) {
  pump_all();
  for (const auto& band : bands_) offer(*band);
}

// Spec: worker 2, an item leaves only together with its slot: a lane that ends a run takes the next item over with the
// slot and in the order of the queue, and a withdrawal precedes any event that could change this order. Only the path
// is shorter. Nothing is offered unless a run has ended since the last withdrawal: a band of long runs would be asked
// again and again for nothing.
void WorkerCore::offer(Band& band) {
  if (!band.may_offer || band.execute.waiting() == 0 || !waiting_for_room_.empty()) return;
  const std::uint16_t shape = shape_of_runs(band);
  if (shape == 0) return;
  const std::uint64_t typical = records_[band.running.front()].program->typical_ns;
  // Very short runs are left to one lane, also while runs of other lanes last: with more slots than processors, lanes
  // wait for a processor, and runs that they do not take go back into the queue at each event of the core.
  const std::uint64_t lanes = typical < kWorthALaneNs ? 1 : band.running.size();
  const std::uint64_t count = kSpanNs / std::max(typical, kLeastRunNs) * lanes;
  granted_.clear();
  // Items of one template have one request, so a record itself is read only where the request changes. The prefetch is
  // for the loop below.
  const ResourceVector* known = nullptr;
  const auto may = [&](const QueueItem& item) {
    records_.prefetch(item.record);
    if (item.request == known) return true;
    if (records_[item.record].program->shape != shape) return false;
    known = item.request;
    return true;
  };
  band.execute.offer(static_cast<std::size_t>(count), band.running, may, granted_);
  const bool within_jobs = band.execute.is_offered_within_jobs();
  for (const RecordIndex index : granted_) {
    worker_action::StartSubtask& action = order_start(index);
    action.offered = true;
    action.within_job = within_jobs;
  }
  if (!granted_.empty()) offers_end_at_ = std::min(offers_end_at_, later(now_, config_.report_after));
}

// The number of waiting items that may start now. When runs are very short, further lanes stay asleep and waiting items
// are left to the running lane; but not once it has shown no progress for `report_after`: then its run is not short.
std::size_t WorkerCore::starts_allowed(Band& band) {
  constexpr std::size_t kAll = ~std::size_t{0};
  band.held_back = false;
  if (!waiting_for_room_.empty()) return 1;
  const RecordIndex first = band.execute.first_waiting();
  if (!first.valid()) return kAll;
  const WorkerTemplate& program = *records_[first].program;
  if (program.shape == 0 || program.typical_ns >= kWorthALaneNs) return kAll;
  if (band.running.empty()) {
    band.held_back = band.execute.waiting() > 1;
    return 1;
  }
  if (shape_of_runs(band) != program.shape) return kAll;
  for (const RecordIndex index : band.running)
    if (records_[index].program->typical_ns >= kWorthALaneNs) return kAll;
  if (now_ >= later(band.progress_at, config_.report_after)) {
    PENSTOCK_COVERAGE_MARK("a run was longer than its like and others went ahead");
    return kAll;
  }
  band.held_back = true;
  return 0;
}

// The shape that all runs of the band have in common, so that any item of the shape may follow any of them; 0 if none.
std::uint16_t WorkerCore::shape_of_runs(const Band& band) const {
  std::uint16_t shape = 0;
  for (const RecordIndex index : band.running) {
    const SubtaskRecord& record = records_[index];
    if (shape == 0) shape = record.program->shape;
    const bool same = record.state == SubtaskState::Running && record.program->shape == shape;
    if (!same || shape == 0) return 0;
  }
  return shape;
}

void WorkerCore::take_over(const RunEnd& run) {
  const SubtaskRecord& ended = records_[run.record];
  SubtaskRecord& record = records_[run.next];
  Band& band = band_of(record);
  move(run.next, SubtaskState::Running);
  record.lane = band.execute.hand_over(run.record, run.next);
  if (record.holds_permit) {
    band.prepare.release(run.next);
    record.holds_permit = false;
    band.dirty = true;
  }
  record.started = band.progress_at = std::min(run.ended, now_);
  record.running_position = ended.running_position;
  band.running[record.running_position] = run.next;
  ++counters_.started;
  want_check_at(later(record.started, config_.started_after));
}

void WorkerCore::withdraw_offers() {
  offers_end_at_ = kNever;
  for (const auto& band : bands_) {
    if (band->execute.offered() > 0) PENSTOCK_COVERAGE_MARK("an offer was taken back");
    band->execute.withdraw_offers();
  }
}

}  // namespace penstock::worker
