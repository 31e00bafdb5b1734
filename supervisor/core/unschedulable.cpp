// SupervisorCore: subtasks that no present band may have.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

void SupervisorCore::leave_unschedulable(Job& job, std::uint32_t subtask) {
  if (job.unschedulable.empty()) indices_.with_unschedulable.insert(job.id);
  job.unschedulable.push_back(subtask);
  const bool may_end = !job.spec.wait_for_resources && !job.shape->template_of(subtask).required.empty();
  if (may_end && job.bands_awaited_until == kNever) await_bands(job, later(event_.now, config_.required_band_wait));
}

void SupervisorCore::await_bands(Job& job, Instant until) {
  indices_.bands_awaited.erase(job.id, job.bands_awaited_until);
  job.bands_awaited_until = until;
  if (until != kNever) indices_.bands_awaited.insert(job.id, until);
}

std::vector<std::uint32_t> SupervisorCore::take_unschedulable(Job& job) {
  await_bands(job, kNever);
  if (!job.unschedulable.empty()) indices_.with_unschedulable.erase(job.id);
  return std::exchange(job.unschedulable, {});
}

void SupervisorCore::place_unschedulable() {
  read_what_waits();
  awaited_.all_changed();
  for (const JobId id : std::vector<JobId>{indices_.with_unschedulable.begin(), indices_.with_unschedulable.end()})
    place_unschedulable(jobs_[id]);
}

void SupervisorCore::place_unschedulable(Job& job) {
  const Instant until = job.bands_awaited_until;
  const std::vector<std::uint32_t> unschedulable = take_unschedulable(job);
  for (const std::uint32_t subtask : unschedulable) {
    const SubtaskHot& hot = job.hot[subtask];
    if (hot.phase != SubtaskPhase::Placeable || hot.band.valid()) continue;
    become_placeable(job, subtask);
    if (hot.band.valid()) PENSTOCK_COVERAGE_MARK("an unschedulable subtask found a band");
  }
  // Workers that come and are no help do not prolong the wait for the one that would be.
  if (job.bands_awaited_until != kNever) await_bands(job, std::min(until, job.bands_awaited_until));
}

// Spec: worker 10, a subtask fails with `NoAvailableBand` when its required band is gone. The band gets a while to come
// back, because workers are restarted. Without any worker no band is known, and everything waits.
void SupervisorCore::give_up_missing_bands() {
  for (const JobId id : indices_.bands_awaited.due_at(event_.now)) {
    Job& job = jobs_[id];
    const std::vector<std::uint32_t> unschedulable = take_unschedulable(job);
    for (const std::uint32_t subtask : unschedulable) {
      const SubtaskHot& hot = job.hot[subtask];
      if (hot.phase != SubtaskPhase::Placeable || hot.band.valid()) continue;
      const BandSelector& required = job.shape->template_of(subtask).required;
      if (required.empty() || job.spec.wait_for_resources || workers_.alive_bands() == 0 || is_present(required)) {
        leave_unschedulable(job, subtask);
        continue;
      }
      PENSTOCK_COVERAGE_MARK("a required band did not come back");
      fail_for_missing_band(job, subtask, required);
    }
  }
}

bool SupervisorCore::is_present(const BandSelector& required) const {
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (band.alive && workers_.selects(required, band)) return true;
  }
  return false;
}

void SupervisorCore::fail_for_missing_band(Job& job, std::uint32_t subtask, const BandSelector& required) {
  const std::string name =
      required.worker + (required.worker.empty() || required.band.empty() ? "" : "/") + required.band;
  FailureDetail detail;
  detail.failure = FailureClass::Refused;
  detail.code = ErrorCode::NoAvailableBand;
  detail.message = "NoAvailableBand: it requires band '" + name + "', which is not there since " +
                   std::to_string(config_.required_band_wait / std::chrono::seconds{1}) +
                   " s (start that worker again, or submit with --wait-for-resources)";
  SubtaskHistory& history = job.histories.edit()[SubtaskIndex{subtask}];
  history.last = detail;
  history.lines.push_back(detail.message);
  job.hot[subtask].flags |= SubtaskFlag::kTroubled;
  fail_subtask(job, subtask, detail);
}

}  // namespace penstock::supervisor
