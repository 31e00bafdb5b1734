// SupervisorCore: reports of workers, applied in one pass.
#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

/// The more a worker reports, the larger the search budget for idle bands: helping them costs a share of the work at
/// most.
constexpr std::size_t kBudgetEarnedMax = 1024;

}  // namespace

void SupervisorCore::receive(WorkerSlot slot, const ReportBatch& message) {
  WorkerEntry& worker = workers_[slot];
  worker.reports_received = std::max(worker.reports_received, message.number);
  mail_.of(slot);  // At least `ReportsApplied` goes back.
  for (const JobReports& reports : message.jobs)
    if (means_another(slot, reports.job, reports.identity)) return;
  for (const JobReports& reports : message.jobs) {
    if (jobs_.knows(reports.job) && jobs_[reports.job].state == JobState::Running) {
      apply(slot, jobs_[reports.job], reports);
    } else {
      counters_.stale_reports += reports.attempts.size();
    }
  }
  for (const ReplicaReport& replica : message.replicas) {
    if (!jobs_.knows(replica.producer.job)) continue;
    Job& job = jobs_[replica.producer.job];
    if (data_.receive(slot, job, replica)) record_end(job);
  }
  for (const BandLoad& load : message.loads)
    if (load.band.value() < worker.bands.size()) note_load(worker.bands[load.band.value()], load);
  if (message.counters.any()) workers_[slot].counters = *message.counters;
  if (!message.loads.empty()) data_.make_room(slot);
}

void SupervisorCore::apply(WorkerSlot slot, Job& job, const JobReports& reports) {
  for (const AttemptTrace& run : reports.traces) progress_.add_trace(job, SubtaskTrace{workers_[slot].id, run});
  std::size_t next_output = 0;
  std::size_t next_failure = 0;
  search_.search_budget +=
      static_cast<std::uint32_t>(std::min<std::size_t>(reports.attempts.size() / 2, kBudgetEarnedMax));
  const bool claiming = workers_[slot].claiming;
  for (const AttemptReport& report : reports.attempts) {
    if (claiming) claim_end(slot, job, report);
    const std::size_t outputs = std::min<std::size_t>(report.output_count, reports.outputs.size() - next_output);
    const std::span<const OutputReport> own_outputs = std::span{reports.outputs}.subspan(next_output, outputs);
    next_output += outputs;
    const FailureDetail* failure = nullptr;
    if (report.outcome == Outcome::Failed && next_failure < reports.failures.size())
      failure = &reports.failures[next_failure++];
    if (!is_current(job, report, slot)) {
      // Spec: design 5. A stale attempt's report counts for nothing; its outputs are dropped.
      PENSTOCK_COVERAGE_MARK("a stale attempt was reported");
      ++counters_.stale_reports;
      drop_stale(slot, job, report, own_outputs);
      continue;
    }
    const std::uint32_t subtask = report.subtask.value();
    note_use(job, report);
    bool asked_to_leave = false;
    if (job.shares != nullptr && report.outcome != Outcome::Started) [[unlikely]] {
      note_stopped(job, subtask);
      asked_to_leave = !job.shares->preempting->empty() && job.shares->preempting.edit().erase(report.subtask);
    }
    if (asked_to_leave) policy_changed();
    watchdog_.note_progress(event_.now);
    switch (report.outcome) {
      case Outcome::Started: note_started(job, subtask); break;
      case Outcome::Succeeded: succeed(job, report, own_outputs, slot); break;
      case Outcome::Failed: {
        const FailureDetail unknown;
        measure(job, report);
        fail_attempt(job, subtask, failure == nullptr ? unknown : *failure, workers_[slot].description.name);
        break;
      }
      case Outcome::Cancelled:
        ++job.counts.attempts;
        if (!job.cancelling &&
            (job.hot[subtask].flags & (SubtaskFlag::kAdopted | SubtaskFlag::kCancelAsked)) == SubtaskFlag::kAdopted) {
          PENSTOCK_COVERAGE_MARK("a cancel that was not written is undone");
          requeue(job, subtask);
          break;
        }
        if (job.recovering) {
          requeue(job, subtask);  // A later attempt may still come back.
          break;
        }
        end_subtask(job, subtask, SubtaskPhase::Cancelled);
        if (!job.cancelling) cancel_subtasks(job, {subtask}, kDefaultGrace);
        break;
      case Outcome::Returned: {
        ++counters_.returned;
        const bool asked =
            asked_to_leave || (job.hot[subtask].flags & SubtaskFlag::kStealAsked) != 0 || workers_[slot].draining;
        if (asked)
          requeue(job, subtask);
        else
          wait_before_retry(job, subtask,
                            std::chrono::milliseconds{10});  // The worker is full; do not play ball with it.
        break;
      }
    }
  }
}

void SupervisorCore::note_started(Job& job, std::uint32_t subtask) {
  SubtaskHot& hot = job.hot[subtask];
  if (job.shares != nullptr && (hot.flags & SubtaskFlag::kStarted) == 0) {
    ++job.shares->at(hot.band).started;
    add(accrue(job).started_rate, rate_of(job, subtask));
  }
  hot.flags |= SubtaskFlag::kStarted;
}

/// The attempt has ended or was given back: its use of resources is charged no more.
void SupervisorCore::note_stopped(Job& job, std::uint32_t subtask) {
  const SubtaskHot& hot = job.hot[subtask];
  if (job.shares == nullptr || (hot.flags & SubtaskFlag::kStarted) == 0) return;
  --job.shares->at(hot.band).started;
  subtract(accrue(job).started_rate, rate_of(job, subtask));
}

/// The outputs of a stale attempt. A worker that claims may be the holder of what an earlier attempt of the same
/// subtask is known to have made; its claim tells.
void SupervisorCore::drop_stale(WorkerSlot slot, const Job& job, const AttemptReport& report,
                                std::span<const OutputReport> outputs) {
  const bool claiming = workers_[slot].claiming;
  const std::uint32_t subtask = report.subtask.value();
  if (subtask < job.total())
    if (data_.makes_again(slot, job, subtask) || (claiming && job.hot[subtask].phase == SubtaskPhase::Succeeded))
      return;
  for (const OutputReport& output : outputs)
    mail_.tell(slot,
               DropBatch{job.id, DataDirectory::may_be_read(job, subtask), {DataRef{report.subtask, output.output}}});
}

bool SupervisorCore::is_current(const Job& job, const AttemptReport& report, WorkerSlot slot) const {
  if (report.subtask.value() >= job.total()) return false;
  const SubtaskHot& hot = job.hot[report.subtask.value()];
  return hot.phase == SubtaskPhase::Assigned && hot.attempt == report.attempt.value() &&
         workers_[hot.band].worker == slot;
}

void SupervisorCore::succeed(Job& job, const AttemptReport& report, std::span<const OutputReport> outputs,
                             WorkerSlot slot) {
  const std::uint32_t subtask = report.subtask.value();
  SubtaskHot& hot = job.hot[subtask];
  if ((hot.flags & SubtaskFlag::kCancelAsked) != 0) {
    PENSTOCK_COVERAGE_MARK("a success crossed its cancel");
    // The success stands: no cancel holds for a later attempt that makes a lost output again.
    hot.flags &= static_cast<std::uint8_t>(~SubtaskFlag::kCancelAsked);
  }
  end_subtask(job, subtask, SubtaskPhase::Succeeded);
  ++counters_.succeeded;
  measure(job, report);
  if (report.forward == ForwardResult::Hit) ++job.counts.forward_hits;
  if (report.forward > ForwardResult::Hit) ++job.counts.forward_misses;
  if (!outputs.empty()) data_.keep(job, subtask, outputs);
  count_down_successors(job, subtask, slot);
  data_.release_inputs(job, subtask);
  if (job.data.in_use() && !DataDirectory::is_needed(job, subtask) && !outputs.empty())
    data_.drop(job, subtask);
  else if (!outputs.empty())
    data_.replicate(job, subtask);
  if ((hot.flags & SubtaskFlag::kVisible) == 0) progress_.succeeded(job, subtask);
}

void SupervisorCore::measure(Job& job, const AttemptReport& report) {
  ++job.counts.attempts;
  job.counts.run_us += report.run_us;
  if (report.outcome != Outcome::Succeeded) return;
  TemplateFacts& facts = job.templates[job.shape->template_index(report.subtask.value())];
  const std::int64_t measured = std::int64_t{report.run_us} * 1000;
  const auto mean = static_cast<std::int64_t>(facts.mean_ns);
  // The first few runs count fully, later ones by an eighth: quick to learn, slow to forget.
  const std::int64_t change =
      facts.runs >= 7 ? (measured - mean) / 8 : (measured - mean) / static_cast<std::int64_t>(facts.runs + 1);
  facts.mean_ns = static_cast<std::uint64_t>(mean + change);
  ++facts.runs;
}

void SupervisorCore::count_down_successors(Job& job, std::uint32_t subtask, WorkerSlot worker) {
  machine_.count_succeeded(job, subtask, [&](std::uint32_t successor) {
    const SubtaskHot& next = job.hot[successor];
    if (next.phase == SubtaskPhase::Assigned) {
      const WorkerSlot holder = workers_[next.band].worker;
      if (holder != worker) notice(job, subtask, holder, workers_[worker].id);
    } else if (next.phase == SubtaskPhase::Placeable && next.missing == 0 && next.band.valid()) {
      keep_ready(job, next.band, successor);
    }
  });
}

// Notifies the worker that caches a successor that one of its producers has finished elsewhere. `holder` is none if the
// outputs are lost.
void SupervisorCore::notice(Job& job, std::uint32_t producer, WorkerSlot to, WorkerId holder) {
  InputNoticeBatch& batch = mail_.last<InputNoticeBatch>(to, job.id);
  if (!batch.notices.empty() && batch.notices.back().producer.value() == producer) return;
  const std::uint16_t count = DataDirectory::outputs_of(job, producer);
  bool any = false;
  for (std::uint16_t output = 0; output < count; ++output) {
    const std::int64_t bytes = job.data.bytes(*job.shape, producer, output);
    if (bytes == 0) continue;
    batch.notices.push_back(InputNotice{SubtaskIndex{producer}, output, holder, bytes});
    if (holder.valid()) mail_.introduce(to, holder);
    any = true;
  }
  if (!any) batch.notices.push_back(InputNotice{SubtaskIndex{producer}, EdgeKind::kOrderOnly, holder, 0});
}

}  // namespace penstock::supervisor
