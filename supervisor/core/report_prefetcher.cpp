#include "supervisor/core/report_prefetcher.hpp"

#include <algorithm>

#include "common/base/prefetch.hpp"

namespace penstock::supervisor {
namespace {

/// With fewer most of it is in the cache.
constexpr std::uint32_t kManyBands = 64;
constexpr std::size_t kAttempts = 64;
/// Most assignments that follow one report share two lines.
constexpr std::size_t kAppended = 4;
/// Neighbours of a subtask on one side that are looked at.
constexpr std::size_t kNeighbours = 8;

std::span<const std::uint32_t> some_of(std::span<const std::uint32_t> neighbours) {
  return neighbours.first(std::min(neighbours.size(), kNeighbours));
}

}  // namespace

void ReportPrefetcher::look_at(Said said) {
  if (workers_.alive_bands() < kManyBands) return;
  const std::span ahead{ahead_.data(), said.size()};
  for (std::size_t i = 0; i < said.size(); ++i) step_entries(ahead[i], said[i]);
  for (const Ahead& one : ahead) step_kept(one);
  for (const Ahead& one : ahead) step_keys(one);
  for (Ahead& one : ahead) step_next(one);
  for (const Ahead& one : ahead) step_edges(one);
  for (const Ahead& one : ahead) step_successors(one);
  for (const Ahead& one : ahead) step_placed(one);
}

void ReportPrefetcher::step_entries(Ahead& ahead, const supervisor_event::WorkerSaid& said) const {
  ahead.place = workers_.place_of(said.worker);
  ahead.job = nullptr;
  ahead.count = ahead.ended = 0;
  if (!ahead.place.worker.valid()) return;
  prefetch_line(&workers_[ahead.place.worker]);
  const BandSlot band = ahead.place.first_band;
  if (band.valid()) prefetch_line(&workers_[band]);
  ahead.reports = reports_of(said.message, ahead.job);
  if (ahead.reports == nullptr) return;
  const Job& job = *ahead.job;
  if (ahead.place.worker.value() < job.audience.known_of.size())
    prefetch_line(&job.audience.known_of[ahead.place.worker.value()]);
  ahead.local = job.place.locals.find(band);
  if (ahead.local != nullptr) prefetch_line(ahead.local);
  const std::vector<AttemptReport>& attempts = ahead.reports->attempts;
  for (std::size_t i = 0; i < std::min(attempts.size(), kAttempts); ++i) {
    const std::uint32_t subtask = attempts[i].subtask.value();
    if (subtask >= job.total()) continue;
    prefetch_line(&job.hot[subtask]);
    job.graph.shape->prefetch(subtask);
    if (ahead.count < kSubtasks) ahead.subtasks[ahead.count++] = subtask;
  }
  ahead.ended = ahead.count;
}

void ReportPrefetcher::step_kept(const Ahead& ahead) const {
  const BandSlot band = ahead.place.first_band;
  if (ahead.job == nullptr || !band.valid()) return;
  const std::vector<AssignedRef>& assigned = workers_[band].assigned;
  if (assigned.size() + kAppended < assigned.capacity()) {
    prefetch_line(assigned.data() + assigned.size());
    prefetch_line(assigned.data() + assigned.size() + kAppended);
  }
  if (ahead.local != nullptr) ahead.local->prefetch_rest();
}

void ReportPrefetcher::step_keys(const Ahead& ahead) {
  if (ahead.job != nullptr && ahead.local != nullptr) ahead.local->prefetch_keys();
}

void ReportPrefetcher::step_next(Ahead& ahead) {
  if (ahead.job == nullptr || ahead.local == nullptr) return;
  // About as many are sent as have ended.
  std::array<std::uint64_t, kSubtasks> keys{};
  const std::size_t count =
      ahead.local->next_keys(std::span{keys}.first(std::min(kSubtasks, ahead.reports->attempts.size())));
  for (const std::uint64_t key : std::span{keys}.first(count)) {
    const std::uint32_t subtask = ahead.job->graph.shape->at_rank(static_cast<std::uint32_t>(key));
    prefetch_line(&ahead.job->hot[subtask]);
    ahead.job->graph.shape->prefetch(subtask);
    ahead.subtasks[ahead.count++] = subtask;
  }
}

void ReportPrefetcher::step_edges(const Ahead& ahead) {
  if (ahead.job == nullptr || !ahead.job->graph.shape->has_edges()) return;
  for (const std::uint32_t subtask : std::span{ahead.subtasks}.first(ahead.count))
    ahead.job->graph.shape->prefetch_edges(subtask);
}

void ReportPrefetcher::step_successors(const Ahead& ahead) {
  if (ahead.job == nullptr || !ahead.job->graph.shape->has_edges()) return;
  for (const std::uint32_t subtask : std::span{ahead.subtasks}.first(ahead.count))
    for (const std::uint32_t successor : some_of(ahead.job->graph.shape->successors(subtask))) {
      prefetch_line(&ahead.job->hot[successor]);
      ahead.job->graph.shape->prefetch(successor);
    }
}

// Successors of subtasks that are about to be assigned get tentative bands by the places of their producers.
void ReportPrefetcher::step_placed(const Ahead& ahead) {
  if (ahead.job == nullptr || !ahead.job->graph.shape->has_edges()) return;
  for (const std::uint32_t subtask : std::span{ahead.subtasks}.subspan(ahead.ended, ahead.count - ahead.ended))
    for (const std::uint32_t successor : some_of(ahead.job->graph.shape->successors(subtask)))
      ahead.job->graph.shape->prefetch_edges(successor);
}

/// Null if the message is not about a running job. Only the first job counts: most reports name one.
const JobReports* ReportPrefetcher::reports_of(const FromWorker& message, const Job*& job) const {
  const auto* batch = std::get_if<ReportBatch>(&message);
  if (batch == nullptr || batch->jobs.empty() || batch->jobs.front().attempts.empty()) return nullptr;
  const Job* known = jobs_.find(batch->jobs.front().job);
  if (known == nullptr || known->status.state != JobState::Running) return nullptr;
  job = known;
  return &batch->jobs.front();
}

}  // namespace penstock::supervisor
