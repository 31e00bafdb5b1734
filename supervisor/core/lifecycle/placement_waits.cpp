#include "supervisor/core/lifecycle/placement_waits.hpp"
#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/data/awaited_outputs.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/runs/recomputation.hpp"
#include "supervisor/core/runs/subtask_ends.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

void PlacementWaits::resolve_external_input(const SubtaskId& waiter) {
  if (!jobs_.knows(waiter.job) || jobs_[waiter.job].status.state != JobState::Running) return;
  Job& job = jobs_[waiter.job];
  const std::uint32_t subtask = waiter.index.value();
  if (job.hot[subtask].phase != SubtaskPhase::Placeable || job.hot[subtask].band.valid()) return;
  const ExternalInput& input = *job.graph.shape->external_input_of(subtask);
  const Availability availability = external_inputs_.availability_of(job, input);
  if (!availability.never) {
    if (availability.drains)
      holders_drain_until_.try_emplace(waiter, later(event_.now, config_.required_band_wait));
    else
      holders_drain_until_.erase(waiter);
    return placer_.become_placeable(job, subtask);
  }
  PENSTOCK_COVERAGE_MARK("an external input is lost");
  ends_.fail_external_input(job, input, availability.why);
}

void PlacementWaits::give_up_draining_holders() {
  std::vector<SubtaskId> due;
  for (const auto& [waiter, until] : holders_drain_until_)
    if (until <= event_.now) due.push_back(waiter);
  for (const SubtaskId& waiter : due) {
    holders_drain_until_.erase(waiter);
    if (!jobs_.knows(waiter.job) || jobs_[waiter.job].status.state != JobState::Running) continue;
    Job& job = jobs_[waiter.job];
    const SubtaskHot& hot = job.hot[waiter.index.value()];
    if (hot.phase != SubtaskPhase::Placeable || hot.band.valid()) continue;
    const ExternalInput& input = *job.graph.shape->external_input_of(waiter.index.value());
    const Availability availability = external_inputs_.availability_of(job, input);
    if (!availability.drains) continue;
    PENSTOCK_COVERAGE_MARK("a holder of an external input drains for long");
    awaited_.changed(input.datum.producer);
    ends_.fail_external_input(
        job, input,
        availability.why + " since " + std::to_string(config_.required_band_wait / std::chrono::seconds{1}) + " s");
  }
}

void PlacementWaits::place_all_unschedulable() {
  recomputation_.read_what_waits();
  awaited_.all_changed();
  for (const JobId id : std::vector<JobId>{indices_.with_unschedulable.begin(), indices_.with_unschedulable.end()})
    placer_.place_unschedulable(jobs_[id]);
}

void PlacementWaits::give_up_missing_bands() {
  for (const JobId id : indices_.bands_awaited.due_at(event_.now)) {
    Job& job = jobs_[id];
    const std::vector<std::uint32_t> unschedulable = placer_.take_unschedulable(job);
    for (const std::uint32_t subtask : unschedulable) {
      const SubtaskHot& hot = job.hot[subtask];
      if (hot.phase != SubtaskPhase::Placeable || hot.band.valid()) continue;
      const BandSelector& required = job.graph.shape->template_of(subtask).required;
      if (required.empty() || job.spec.wait_for_resources || workers_.alive_bands() == 0 ||
          placer_.is_present(required)) {
        placer_.leave_unschedulable(job, subtask);
        continue;
      }
      PENSTOCK_COVERAGE_MARK("a required band did not come back");
      ends_.fail_for_missing_band(job, subtask, required);
    }
  }
}

}  // namespace penstock::supervisor
