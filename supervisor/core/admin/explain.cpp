// ClusterAnswers: why something waits (spec worker 11).
#include <algorithm>

#include "supervisor/core/admin/cluster_answers.hpp"
#include "supervisor/core/data/awaited_outputs.hpp"
#include "supervisor/core/driver/policy_answers.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/nested_jobs.hpp"
#include "supervisor/core/jobs/retry_timers.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/lookahead.hpp"
#include "supervisor/core/overlap_holds.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/dispatcher.hpp"
#include "supervisor/core/placement/external_inputs.hpp"
#include "supervisor/core/policy/feasibility.hpp"
#include "supervisor/core/results.hpp"
#include "supervisor/core/workers/readoption.hpp"

namespace penstock::supervisor {

Value ClusterAnswers::explain_job(Job& job, bool with_remedies) {
  Value::Record fields{
      {"job", to_string(job.id)}, {"name", job.spec.name}, {"state", std::string{to_string(job.status.state)}}};
  if (!job.status.error->message.empty()) fields.emplace_back("error", to_string(*job.status.error));
  if (job.status.state != JobState::Running || job.graph.shape == nullptr) return fields;
  policy_answers_.explain_policy(job, with_remedies, fields);
  std::uint64_t phases[7] = {};
  for (const SubtaskHot& hot : job.hot) ++phases[static_cast<std::size_t>(hot.phase)];
  for (std::size_t i = 0; i < 7; ++i)
    if (phases[i] > 0) fields.emplace_back(std::string{to_string(static_cast<SubtaskPhase>(i))}, phases[i]);
  // The best subtask that is neither running nor done tells what holds the job.
  for (std::uint32_t rank = 0; rank < job.total(); ++rank) {
    const std::uint32_t subtask = job.graph.shape->at_rank(rank);
    const SubtaskPhase phase = job.hot[subtask].phase;
    if (is_final(phase) || (job.hot[subtask].flags & SubtaskFlag::kStarted) != 0) continue;
    fields.emplace_back("next", job.graph.shape->name(subtask));
    fields.emplace_back("reason", reason_of(job, subtask));
    break;
  }
  return fields;
}

Value ClusterAnswers::explain_subtask(Job& job, std::uint32_t subtask) {
  const SubtaskHot& hot = job.hot[subtask];
  Value::Record fields{{"job", to_string(job.id)},
                       {"subtask", subtask},
                       {"key", job.graph.shape->name(subtask)},
                       {"state", std::string{to_string(hot.phase)}},
                       {"attempt", hot.attempt},
                       {"reason", reason_of(job, subtask)}};
  if (const SubtaskHistory* history = job.extras.histories->find(SubtaskIndex{subtask})) {
    Value::List lines;
    for (const std::string& line : history->lines) lines.emplace_back(line);
    fields.emplace_back("history", std::move(lines));
  }
  return fields;
}

std::string ClusterAnswers::children_text(const SubtaskId& parent) const {
  constexpr std::size_t kNamedMax = 3;
  const std::span<const NestedJobs::Child> children = nested_.of(parent);
  std::string text;
  for (std::size_t i = 0; i < std::min(children.size(), kNamedMax); ++i)
    text += (i == 0 ? "; it has submitted " : ", ") + to_string(children[i].job);
  return text + (children.size() > kNamedMax ? " and " + std::to_string(children.size() - kNamedMax) + " more" : "");
}

std::string ClusterAnswers::reason_of(Job& job, std::uint32_t subtask) {
  const SubtaskHot& hot = job.hot[subtask];
  const auto band_name = [this](BandSlot slot) {
    return workers_.worker_of(slot).description.name + "/" + workers_[slot].description.name;
  };
  switch (hot.phase) {
    case SubtaskPhase::Waiting: {
      if (job.status.waiting_for_disk) return "its job is being written to the journal";
      if (job.status.recovering && hot.missing == 0)
        return "waits until the workers of before the restart are back, which may hold it: " +
               std::to_string(readoption_.missing()) + " are missing";
      std::string reason = "waits for " + std::to_string(hot.missing) + " predecessors:";
      std::size_t shown = 0;
      for (const std::uint32_t predecessor : job.graph.shape->predecessors(subtask)) {
        if (job.hot[predecessor].phase == SubtaskPhase::Succeeded) continue;
        if (shown++ == 3) return reason + " ...";
        reason +=
            " " + job.graph.shape->name(predecessor) + " (" + std::string{to_string(job.hot[predecessor].phase)} + ")";
      }
      return reason;
    }
    case SubtaskPhase::Placeable: {
      if (!hot.band.valid()) {
        if (workers_.alive_workers() == 0) return "no worker is connected";
        if (const ExternalInput* external = job.graph.shape->external_input_of(subtask); external != nullptr)
          return external_inputs_.explain_external_input(job, *external);
        return feasibility_.explain_unschedulable(job, subtask);
      }
      const BandEntry& band = workers_[hot.band];
      if (job.shares != nullptr && queues_.credit_of(job, hot.band).slots == 0) {
        const std::string hold = policy_.agenda.is_hidden(job.id)
                                     ? policy_answers_.hold_of(job, band.kind)
                                     : job.shares->kinds[static_cast<std::size_t>(band.kind)].why.hold;
        return "policy gives its job no slots of " + band_name(hot.band) + (hold.empty() ? "" : ": " + hold);
      }
      const std::uint32_t slots = queues_.credit_of(job, hot.band).slots;
      const std::uint32_t credit =
          std::min(dispatcher_.lookahead_limit(job, job.graph.shape->template_index(subtask), slots),
                   part_ahead(config_.lookahead_subtasks_max, slots, band.slots));
      return "kept for " + band_name(hot.band) + ", which holds " + std::to_string(band.in_flight) + " attempts, " +
             std::to_string(band.runnable) + " of them runnable, on " + std::to_string(band.slots) +
             " slots; its credit is " + std::to_string(credit) + ", and " + std::to_string(band.ready_here) +
             " runnable subtasks are kept for it";
    }
    case SubtaskPhase::Assigned:
      return "assigned to " + band_name(hot.band) +
             (hot.missing > 0 ? ", where it waits for " + std::to_string(hot.missing) + " producers" : "") +
             ((hot.flags & SubtaskFlag::kStarted) != 0 ? ", where it runs" : "") +
             children_text({job.id, SubtaskIndex{subtask}});
    case SubtaskPhase::Backoff: {
      const RetryTimer* timer = timers_.find(job.id, subtask, hot.attempt);
      const Duration rest = timer == nullptr ? Duration{0} : timer->at - event_.now;
      const std::string until = " in " + std::to_string(rest.count() / 1'000'000) + " ms";
      const SubtaskHistory* history = job.extras.histories->find(SubtaskIndex{subtask});
      if (overlap_ends(job, subtask, {}) > event_.now)
        return "a worker that was lost may still run it (overlap = \"never\"); it is given out" + until;
      if (history == nullptr || history->transfers == 0) return "failed and runs again" + until;
      return history->last.message + ", " + std::to_string(history->transfers) + " times in a row; it is tried again" +
             until;
    }
    case SubtaskPhase::Succeeded:
    case SubtaskPhase::Failed:
    case SubtaskPhase::Cancelled: return "has ended";
  }
  return {};
}

}  // namespace penstock::supervisor
