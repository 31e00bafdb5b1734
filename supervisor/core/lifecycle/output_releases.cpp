// JobReleases: single outputs that go before their job, and outputs that other jobs have read.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/data/awaited_outputs.hpp"
#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/jobs/ended_jobs.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"
#include "supervisor/core/lifecycle/job_releases.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/rooms.hpp"

namespace penstock::supervisor {

void JobReleases::release_outputs(Job& job, std::span<const SubtaskRange> ranges) {
  if (job.outputs.kept_by_order) return;
  if (job.status.state != JobState::Running && job.outputs.locations.empty())
    return release_job(job);  // All is lost, and the workers have not heard that the job is over.
  std::vector<std::uint32_t> unread;
  std::uint64_t next = 0;
  for (const auto& [first, last] : ranges) {
    if (first.value() < next || last < first || last.value() >= job.tally.counts.total) break;
    next = std::uint64_t{last.value()} + 1;
    for (std::uint32_t subtask = first.value(); subtask < next; ++subtask)
      if (stop_wanting(job, subtask)) unread.push_back(subtask);
  }
  let_go(job, unread);
}

/// True if the client was the last that needed its outputs, apart from subtasks of the job.
bool JobReleases::stop_wanting(Job& job, std::uint32_t subtask) {
  if (job.outputs.is_released(SubtaskIndex{subtask})) return false;
  if (!job.hot.empty()) {  // Of a job that had ended before the restart only the places of its outputs are known.
    std::uint16_t& flags = job.hot[subtask].flags;
    if ((flags & SubtaskFlag::kWanted) == 0) return false;
    flags &= static_cast<std::uint16_t>(~SubtaskFlag::kWanted);
  }
  if (!job.outputs.borrowed->contains(SubtaskIndex{subtask})) return true;
  PENSTOCK_COVERAGE_MARK("outputs were released while another job had still to read them");
  job.outputs.borrowed.edit()[SubtaskIndex{subtask}].released = true;
  return false;
}

/// `subtasks`: in ascending order.
void JobReleases::let_go(Job& job, const std::vector<std::uint32_t>& subtasks) {
  if (subtasks.empty()) return;
  const std::vector<OutputLocation>& kept = job.outputs.locations;
  const bool nothing_stays = std::all_of(kept.begin(), kept.end(), [&](const OutputLocation& output) {
    return std::binary_search(subtasks.begin(), subtasks.end(), output.producer.value());
  });
  if (job.status.state != JobState::Running && nothing_stays) return release_job(job);
  record::OutputsReleased released{job.id, {}};
  for (const std::uint32_t subtask : subtasks) {
    job.outputs.released.edit().insert(subtask);
    append(released.subtasks, SubtaskIndex{subtask});
  }
  ledger_.gate.write(std::move(released));
  outputs_.data.let_go(job, subtasks);
  if (job.status.state == JobState::Running) return;
  PENSTOCK_COVERAGE_MARK("outputs of a job that has ended were released one by one");
  tables_.ended.weigh(job);
}

void JobReleases::drop_references(const Job& job) {
  if (job.graph.shape == nullptr || job.graph.shape->external_inputs().empty()) return;
  outputs_.awaited.forget_waiters(job.id);
  std::erase_if(placement_.holders_drain_until, [&](const auto& each) { return each.first.job == job.id; });
  std::map<JobId, std::vector<std::uint32_t>> unread;
  for (const ExternalInput& input : job.graph.shape->external_inputs()) {
    const SubtaskId& producer = input.datum.producer;
    Job* producer_job = tables_.jobs.find(producer.job);
    if (producer_job == nullptr || !producer_job->outputs.borrowed->contains(producer.index)) continue;
    LookupMap<SubtaskIndex, BorrowedOutputs>& borrowed = producer_job->outputs.borrowed.edit();
    BorrowedOutputs& at = borrowed[producer.index];
    if (--at.references > 0) continue;
    if (at.released) unread[producer.job].push_back(producer.index.value());
    borrowed.erase(producer.index);
  }
  for (auto& [id, subtasks] : unread) {
    std::sort(subtasks.begin(), subtasks.end());
    let_go(tables_.jobs[id], subtasks);
  }
  for (const JobId id : producer_jobs_of(*job.graph.shape)) {
    Job* producer_job = tables_.jobs.find(id);
    if (producer_job == nullptr || !producer_job->outputs.borrowed->empty()) continue;
    const bool unneeded = producer_job->outputs.release_when_unreferenced || producer_job->outputs.locations.empty();
    if (!unneeded || producer_job->status.state == JobState::Running) continue;
    PENSTOCK_COVERAGE_MARK("a producer job was released after its last reference");
    release_job(*producer_job);
  }
}

}  // namespace penstock::supervisor
