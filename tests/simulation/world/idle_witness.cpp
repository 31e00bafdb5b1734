#include "tests/simulation/world/idle_witness.hpp"

#include <algorithm>

namespace penstock::simulation {

using namespace supervisor;

namespace {

bool is_idle(const BandEntry& band) {
  return band.alive && !band.draining && band.kind == BandKind::Cpu && band.in_flight == 0;
}

/// Whether any CPU band that is large enough may have whatever is ready of the job.
bool is_free(const Job& job) {
  return job.status.state == JobState::Running && !job.status.cancelling && !job.status.recovering &&
         !job.status.waiting_for_disk && job.shares == nullptr && job.place.label_limits.empty() &&
         job.graph.shape->external_inputs().empty() && job.extras.histories->size() == 0;
}

bool fits(const Template& wanted, const BandEntry& band) {
  return wanted.required.empty() && wanted.request.gpu.is_zero() &&
         fits_execution(wanted.request, band.description.capacity) &&
         wanted.request.memory <= band.description.capacity.memory;
}

/// A ready subtask that is kept for the idle band, or for another one that has enough to run without it.
std::string ready_beside(const SupervisorCore& core, const std::vector<JobId>& jobs, const BandEntry& idle) {
  for (const JobId id : jobs) {
    const Job* job = core.find_job(id);
    if (job == nullptr || job->graph.shape == nullptr || !is_free(*job)) continue;
    for (std::uint32_t i = 0; i < job->total(); ++i) {
      const SubtaskHot& hot = job->hot[i];
      if (hot.phase != SubtaskPhase::Placeable || hot.missing > 0 || !hot.band.valid()) continue;
      const BandEntry& home = core.workers()[hot.band];
      const bool needed_there = home.id != idle.id && home.runnable < home.slots;
      if (!needed_there && fits(job->graph.shape->template_of(i), idle))
        return to_string(SubtaskId{id, SubtaskIndex{i}}) + " is ready, kept for " + to_string(home.id) + " with " +
               std::to_string(home.runnable) + " runnable and " + std::to_string(home.in_flight) + " in flight on " +
               std::to_string(home.slots) + " slots";
    }
  }
  return {};
}

}  // namespace

std::string IdleWitness::look(const SupervisorCore& core, const std::vector<JobId>& jobs, Instant now) {
  looked_at_ = now;
  if (core.reclaiming()) {
    idle_since_.clear();
    return {};
  }
  std::map<BandId, Instant> idle_since;
  for (std::uint32_t i = 0; i < core.workers().band_slots(); ++i) {
    const BandEntry& band = core.workers()[BandSlot{i}];
    if (!is_idle(band)) continue;
    const std::string ready = ready_beside(core, jobs, band);
    if (ready.empty()) continue;
    const auto known = idle_since_.find(band.id);
    idle_since[band.id] = known == idle_since_.end() ? now : known->second;
    if (now >= idle_since[band.id] + kPatience) return to_string(band.id) + " is idle, and " + ready;
  }
  idle_since_ = std::move(idle_since);
  return {};
}

}  // namespace penstock::simulation
