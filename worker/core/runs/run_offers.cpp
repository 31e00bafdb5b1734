#include "worker/core/runs/run_offers.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "worker/core/rooms.hpp"

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

void RunOffers::offer(Band& band) {
  if (!band.running.any_ended() || band.execute.waiting() == 0 || data_.room.any_waiting()) return;
  const std::uint16_t shape = band.running.shape(tables_.subtasks);
  if (shape == 0) return;
  const std::uint64_t typical = tables_.subtasks[band.running.front()].program->typical_ns;
  // Very short runs are left to one lane, also while runs of other lanes last: with more slots than processors, lanes
  // wait for a processor, and runs that they do not take go back into the queue at each event of the core.
  const std::uint64_t lanes = typical < kWorthALaneNs ? 1 : band.running.size();
  const std::uint64_t count = kSpanNs / std::max(typical, kLeastRunNs) * lanes;
  offered_.clear();
  // Items of one template have one request, so a record itself is read only where the request changes. The prefetch is
  // for the loop below.
  const ResourceVector* known = nullptr;
  const auto may = [&](const QueueItem& item) {
    tables_.subtasks.prefetch(item.record);
    if (item.request == known) return true;
    if (tables_.subtasks[item.record].program->shape != shape) return false;
    known = item.request;
    return true;
  };
  band.execute.offer(static_cast<std::size_t>(count), band.running.records(), may, offered_);
  const bool within_jobs = band.execute.offers().within_jobs();
  for (const RecordIndex index : offered_) {
    worker_action::StartSubtask& action = starts_.order(index, tables_.subtasks[index]);
    action.offered = true;
    action.within_job = within_jobs;
  }
  if (!offered_.empty()) end_at_ = std::min(end_at_, later(event_.now, config_.report_after));
}

void RunOffers::withdraw() {
  end_at_ = kNever;
  for (const auto& band : bands_) {
    if (band->execute.offers().left() > 0) PENSTOCK_COVERAGE_MARK("an offer was taken back");
    band->execute.offers().withdraw();
  }
}

std::size_t RunOffers::starts_allowed(Band& band) {
  constexpr std::size_t kAll = ~std::size_t{0};
  band.held_back = false;
  if (data_.room.any_waiting()) return 1;
  const RecordIndex first = band.execute.first_waiting();
  if (!first.valid()) return kAll;
  const WorkerTemplate& program = *tables_.subtasks[first].program;
  if (program.shape == 0 || program.typical_ns >= kWorthALaneNs) return kAll;
  if (band.running.empty()) {
    band.held_back = band.execute.waiting() > 1;
    return 1;
  }
  if (band.running.shape(tables_.subtasks) != program.shape) return kAll;
  for (const RecordIndex index : band.running)
    if (tables_.subtasks[index].program->typical_ns >= kWorthALaneNs) return kAll;
  if (event_.now >= later(band.running.progress_at(), config_.report_after)) {
    PENSTOCK_COVERAGE_MARK("a run was longer than its like and others went ahead");
    return kAll;
  }
  band.held_back = true;
  return 0;
}

}  // namespace penstock::worker
