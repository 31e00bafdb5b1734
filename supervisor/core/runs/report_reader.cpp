#include "supervisor/core/runs/report_reader.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/data/data_directory.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/jobs/progress_outbox.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/jobs/watchdog.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/rooms.hpp"
#include "supervisor/core/runs/adoption.hpp"
#include "supervisor/core/runs/attempt_counts.hpp"
#include "supervisor/core/runs/recomputation.hpp"
#include "supervisor/core/runs/retries.hpp"
#include "supervisor/core/runs/subtask_ends.hpp"
#include "supervisor/core/runs/time_limits.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/worker_mail.hpp"

namespace penstock::supervisor {
namespace {

/// The more a worker reports, the larger the search budget for idle bands: helping them costs a share of the work at
/// most.
constexpr std::size_t kBudgetEarnedMax = 1024;

}  // namespace

void ReportReader::apply(WorkerSlot slot, Job& job, const JobReports& reports) {
  for (const AttemptTrace& run : reports.traces)
    outputs_.progress.add_trace(job, SubtaskTrace{fleet_.workers[slot].id, run});
  std::size_t next_output = 0;
  std::size_t next_failure = 0;
  placement_.search.search_budget +=
      static_cast<std::uint32_t>(std::min<std::size_t>(reports.attempts.size() / 2, kBudgetEarnedMax));
  const bool claiming = fleet_.workers[slot].claiming;
  CountedRuns runs;
  for (const AttemptReport& report : reports.attempts) {
    if (claiming) adoption_.claim_end(slot, job, report);
    const std::size_t outputs = std::min<std::size_t>(report.output_count, reports.outputs.size() - next_output);
    const std::span<const OutputReport> own_outputs = std::span{reports.outputs}.subspan(next_output, outputs);
    next_output += outputs;
    const FailureDetail* failure = nullptr;
    if (report.outcome == Outcome::Failed && next_failure < reports.failures.size())
      failure = &reports.failures[next_failure++];
    if (!attempts_.is_current(job, report, slot)) {
      // Spec: design 5. A stale attempt's report counts for nothing; its outputs are dropped.
      PENSTOCK_COVERAGE_MARK("a stale attempt was reported");
      ++tables_.counters.stale_reports;
      drop_stale(slot, job, report, own_outputs);
      continue;
    }
    const std::uint32_t subtask = report.subtask.value();
    policy_base_.usage.note_use(job, report);
    bool asked_to_leave = false;
    const bool is_counted = job.shares != nullptr || job.extras.devices.any();
    if (is_counted && is_end(report.outcome)) [[unlikely]]
      asked_to_leave = attempts_.note_stopped(job, subtask);
    if (asked_to_leave) policy_base_.turns.policy_changed();
    if (job.spec.time_limit > Duration{0}) [[unlikely]]
      time_limits_.note_report(job, report, asked_to_leave);
    tables_.watchdog.note_progress(event_.now);
    if (is_end(report.outcome)) count_run(slot, job, report, runs);
    switch (report.outcome) {
      case Outcome::Started:
        attempts_.note_started(job, subtask);
        AttemptCounts::note_devices(job, subtask, report.devices, event_.now);
        break;
      case Outcome::Lent:
      case Outcome::Wanted: move_slot(job, subtask, report.outcome); break;
      case Outcome::Succeeded: succeed(job, report, own_outputs, slot); break;
      case Outcome::Failed: {
        const FailureDetail unknown;
        measure(job, report);
        retries_.fail_attempt(job, subtask, failure == nullptr ? unknown : *failure,
                              fleet_.workers[slot].description.name);
        break;
      }
      case Outcome::Cancelled: cancelled(job, subtask); break;
      case Outcome::Returned: {
        ++tables_.counters.returned;
        const bool asked =
            asked_to_leave || (job.hot[subtask].flags & SubtaskFlag::kStealAsked) != 0 || fleet_.workers[slot].draining;
        if (asked)
          recomputation_.requeue(job, subtask);
        else
          retries_.wait_before_retry(job, subtask,
                                     std::chrono::milliseconds{10});  // The worker is full; do not play ball with it.
        break;
      }
    }
    if (job.status.run_taken) [[unlikely]]
      time_limits_.begin_anew_if_off(job);
  }
  end_runs(runs);
}

void ReportReader::move_slot(Job& job, std::uint32_t subtask, Outcome outcome) {
  if (outcome == Outcome::Lent) {
    attempts_.note_lent(job, subtask);
    placement_.machine.lend(job, subtask);
  } else {
    placement_.machine.want_back(job, subtask);
  }
  if (job.shares != nullptr) policy_base_.turns.policy_changed();
}

void ReportReader::ignore(WorkerSlot slot, const Job* ended, const JobReports& reports) {
  tables_.counters.stale_reports += reports.attempts.size();
  if (ended == nullptr || reports.outputs.empty()) return;
  std::vector<ClaimedDatum> made;
  std::size_t next_output = 0;
  for (const AttemptReport& report : reports.attempts)
    for (std::uint16_t i = 0; i < report.output_count && next_output < reports.outputs.size(); ++i, ++next_output)
      made.push_back({report.subtask, reports.outputs[next_output].output, reports.outputs[next_output].bytes});
  outputs_.data.drop_unkept(slot, *ended, made);
}

void ReportReader::cancelled(Job& job, std::uint32_t subtask) {
  ++job.tally.counts.attempts;
  const auto flags =
      static_cast<std::uint16_t>(job.hot[subtask].flags & (SubtaskFlag::kAdopted | SubtaskFlag::kCancelAsked));
  if (!job.status.cancelling && flags == SubtaskFlag::kAdopted) {
    PENSTOCK_COVERAGE_MARK("a cancel that was not written is undone");
    return recomputation_.requeue(job, subtask);
  }
  if (job.status.recovering) return recomputation_.requeue(job, subtask);  // A later attempt may still come back.
  ends_.end_subtask(job, subtask, SubtaskPhase::Cancelled);
  if (!job.status.cancelling) ends_.cancel_subtasks(job, {subtask}, kDefaultGrace);
}

void ReportReader::drop_stale(WorkerSlot slot, const Job& job, const AttemptReport& report,
                              std::span<const OutputReport> outputs) {
  const bool claiming = fleet_.workers[slot].claiming;
  const std::uint32_t subtask = report.subtask.value();
  if (subtask < job.total())
    if (outputs_.data.makes_again(slot, job, subtask) ||
        (claiming && job.hot[subtask].phase == SubtaskPhase::Succeeded))
      return;
  for (const OutputReport& output : outputs)
    fleet_.mail.tell(
        slot, DropBatch{job.id, DataDirectory::may_be_read(job, subtask), {DataRef{report.subtask, output.output}}});
}

void ReportReader::succeed(Job& job, const AttemptReport& report, std::span<const OutputReport> outputs,
                           WorkerSlot slot) {
  const std::uint32_t subtask = report.subtask.value();
  SubtaskHot& hot = job.hot[subtask];
  if ((hot.flags & SubtaskFlag::kCancelAsked) != 0) {
    PENSTOCK_COVERAGE_MARK("a success crossed its cancel");
    // The success stands: no cancel holds for a later attempt that makes a lost output again.
    hot.flags &= static_cast<std::uint16_t>(~SubtaskFlag::kCancelAsked);
  }
  ends_.end_subtask(job, subtask, SubtaskPhase::Succeeded);
  ++tables_.counters.succeeded;
  measure(job, report);
  if (report.forward == ForwardResult::Hit) ++job.tally.counts.forward_hits, ++tables_.counters.forward_hits;
  if (report.forward > ForwardResult::Hit) ++job.tally.counts.forward_misses, ++tables_.counters.forward_misses;
  if (!outputs.empty()) outputs_.data.keep(job, subtask, outputs);
  count_down_successors(job, subtask, slot);
  outputs_.data.release_inputs(job, subtask);
  if (job.data.in_use() && !DataDirectory::is_needed(job, subtask) && !outputs.empty())
    outputs_.data.drop(job, subtask);
  else if (!outputs.empty())
    outputs_.data.replicate(job, subtask);
  if ((hot.flags & SubtaskFlag::kVisible) == 0) outputs_.progress.succeeded(job, subtask);
}

void ReportReader::count_run(WorkerSlot slot, const Job& job, const AttemptReport& report, CountedRuns& runs) {
  const bool has_run = report.outcome == Outcome::Succeeded || report.run_us > 0;
  if (!has_run) return;
  if (runs.of != job.graph.shape->template_index(report.subtask.value()) || runs.band != report.band) [[unlikely]] {
    end_runs(runs);
    runs = begin_runs(slot, job, report);
    if (runs.durations == nullptr) return;
  }
  runs.durations->add_us(report.run_us);
  runs.run_us += report.run_us;
}

ReportReader::CountedRuns ReportReader::begin_runs(WorkerSlot slot, const Job& job, const AttemptReport& report) {
  const std::vector<BandSlot>& bands = fleet_.workers[slot].bands;
  if (report.band.value() >= bands.size()) return {};
  const Template& of = job.graph.shape->template_of(report.subtask.value());
  return {job.graph.shape->template_index(report.subtask.value()),
          report.band,
          bands[report.band.value()],
          job.shares == nullptr ? kAnyPool : job.shares->project,
          static_cast<std::uint64_t>(std::max<std::int64_t>(of.request.slots.value(), 0)),
          &tables_.counters.runs[static_cast<std::size_t>(of.runner)],
          0};
}

void ReportReader::end_runs(const CountedRuns& runs) {
  if (runs.durations == nullptr) return;
  const std::vector<std::uint32_t>& pools = policy_base_.state.pool_of_band;
  tables_.counters.busy.add(runs.project, runs.slot.value() < pools.size() ? pools[runs.slot.value()] : kAnyPool,
                            fleet_.workers[runs.slot].kind, runs.slots * runs.run_us / 1000);
}

void ReportReader::measure(Job& job, const AttemptReport& report) {
  if (job.tally.counts.attempts++ == 0)
    tables_.counters.job_waits[static_cast<std::size_t>(job.spec.policy.kind)].add(
        event_.now - job.status.submitted - std::chrono::microseconds{report.run_us});
  job.tally.counts.run_us += report.run_us;
  if (report.outcome != Outcome::Succeeded) return;
  TemplateFacts& facts = job.graph.templates[job.graph.shape->template_index(report.subtask.value())];
  const std::int64_t measured = std::int64_t{report.run_us} * 1000;
  const auto mean = static_cast<std::int64_t>(facts.mean_ns);
  // The first few runs count fully, later ones by an eighth: quick to learn, slow to forget.
  const std::int64_t change =
      facts.runs >= 7 ? (measured - mean) / 8 : (measured - mean) / static_cast<std::int64_t>(facts.runs + 1);
  facts.mean_ns = static_cast<std::uint64_t>(mean + change);
  ++facts.runs;
}

void ReportReader::count_down_successors(Job& job, std::uint32_t subtask, WorkerSlot worker) {
  placement_.machine.count_succeeded(job, subtask, [&](std::uint32_t successor) {
    const SubtaskHot& next = job.hot[successor];
    if (next.phase == SubtaskPhase::Assigned) {
      const WorkerSlot holder = fleet_.workers[next.band].worker;
      if (holder != worker) notice(job, subtask, holder, fleet_.workers[worker].id);
    } else if (next.phase == SubtaskPhase::Placeable && next.missing == 0 && next.band.valid()) {
      placement_.queues.keep_ready(job, next.band, successor);
    }
  });
}

void ReportReader::notice(Job& job, std::uint32_t producer, WorkerSlot to, WorkerId holder) {
  InputNoticeBatch& batch = fleet_.mail.last<InputNoticeBatch>(to, job.id);
  if (!batch.notices.empty() && batch.notices.back().producer.value() == producer) return;
  const std::uint16_t count = DataDirectory::outputs_of(job, producer);
  bool any = false;
  for (std::uint16_t output = 0; output < count; ++output) {
    const std::int64_t bytes = job.data.bytes(*job.graph.shape, producer, output);
    if (bytes == 0) continue;
    batch.notices.push_back(InputNotice{SubtaskIndex{producer}, output, holder, bytes});
    if (holder.valid()) fleet_.mail.introduce(to, holder);
    any = true;
  }
  if (!any) batch.notices.push_back(InputNotice{SubtaskIndex{producer}, EdgeKind::kOrderOnly, holder, 0});
}

}  // namespace penstock::supervisor
