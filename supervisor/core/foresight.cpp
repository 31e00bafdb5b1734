#include "supervisor/core/foresight.hpp"

#include <algorithm>

#include "common/base/prefetch.hpp"

namespace penstock::supervisor {
namespace {

/// With fewer most of it is in the cache.
constexpr std::uint32_t kManyBands = 64;
constexpr std::size_t kAttempts = 64;
/// Most assignments that follow one report stand in two lines.
constexpr std::size_t kAppended = 4;

}  // namespace

void Foresight::look_at(Said said) {
  if (workers_.alive_bands() < kManyBands) return;
  said_ = said;
  for (std::size_t i = 0; i < said.size(); ++i) step_worker(i);
  for (std::size_t i = 0; i < said.size(); ++i) step_band(i);
  for (std::size_t i = 0; i < said.size(); ++i) step_kept(i);
  for (std::size_t i = 0; i < said.size(); ++i) step_next(i);
}

void Foresight::step_worker(std::size_t message) {
  const WorkerSlot slot = workers_.find(said_[message].worker);
  slots_[message] = slot;
  if (slot.valid()) prefetch_line(&workers_[slot]);
}

// The list of its bands would be one more trip: most have one.
void Foresight::step_band(std::size_t message) const {
  const WorkerSlot slot = slots_[message];
  if (!slot.valid()) return;
  if (const BandSlot band = workers_[slot].first_band; band.valid()) prefetch_line(&workers_[band]);
  const Job* job = nullptr;
  const JobReports* reports = reports_of(message, job);
  if (reports == nullptr) return;
  if (slot.value() < job->known_of.size()) prefetch_line(&job->known_of[slot.value()]);
  if (const std::uint32_t band = workers_[slot].first_band.value(); band < job->local_of.size())
    prefetch_line(&job->local_of[band]);
  for (std::size_t i = 0; i < std::min(reports->attempts.size(), kAttempts); ++i)
    if (const std::uint32_t subtask = reports->attempts[i].subtask.value(); subtask < job->total()) {
      prefetch_line(&job->hot[subtask]);
      job->shape->prefetch(subtask);
    }
}

void Foresight::step_kept(std::size_t message) const {
  const WorkerSlot slot = slots_[message];
  const Job* job = nullptr;
  if (!slot.valid() || reports_of(message, job) == nullptr) return;
  const BandSlot band = workers_[slot].first_band;
  if (!band.valid()) return;
  const std::vector<AssignedRef>& assigned = workers_[band].assigned;
  if (assigned.size() + kAppended < assigned.capacity()) {
    prefetch_line(assigned.data() + assigned.size());
    prefetch_line(assigned.data() + assigned.size() + kAppended);
  }
  job->prefetch_local(band);
}

void Foresight::step_next(std::size_t message) const {
  const WorkerSlot slot = slots_[message];
  const Job* job = nullptr;
  if (!slot.valid() || reports_of(message, job) == nullptr) return;
  if (const BandSlot band = workers_[slot].first_band; band.valid()) job->prefetch_next(band);
}

/// Null if the message is not about a running job. Only the first job counts: most reports name one.
const JobReports* Foresight::reports_of(std::size_t message, const Job*& job) const {
  const auto* batch = std::get_if<ReportBatch>(&said_[message].message);
  if (batch == nullptr || batch->jobs.empty() || batch->jobs.front().attempts.empty()) return nullptr;
  const std::uint32_t number = batch->jobs.front().job.value();
  if (number >= jobs_.size() || jobs_[number] == nullptr || jobs_[number]->state != JobState::Running) return nullptr;
  job = jobs_[number].get();
  return &batch->jobs.front();
}

}  // namespace penstock::supervisor
