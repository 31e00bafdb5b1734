// SupervisorCore: why something waits, and the alarm when everything does (spec worker 11).
#include <algorithm>
#include <charconv>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/credit.hpp"
#include "supervisor/core/lookahead.hpp"
#include "supervisor/core/overlap_holds.hpp"

namespace penstock::supervisor {
namespace {

/// Jobs that an alarm of the watchdog names, the best first.
constexpr std::size_t kNamedMax = 8;

Error not_in_the_graph(const Job& job, const std::string& key) {
  return {ErrorCode::NotFound, "subtask '" + key + "' of " + to_string(job.id), "is not in the graph",
          "give its key or its number"};
}

}  // namespace

Result<Value> SupervisorCore::explain_by_request(ClientId client, const AdminRequest& request, bool& deferred) {
  if (request.arguments.empty())
    return Error{ErrorCode::InvalidArgument, request.command, "needs a job, and perhaps a subtask",
                 request.command + " JOB [SUBTASK]"};
  std::string job_text = request.arguments[0];
  std::string key = request.arguments.size() > 1 ? request.arguments[1] : "";
  const bool is_job = jobs_.find(job_selector_of(job_text)) != nullptr;  // Names may have colons.
  if (const std::size_t colon = job_text.find(':'); !is_job && key.empty() && colon != std::string::npos) {
    key = job_text.substr(colon + 1);
    job_text.resize(colon);
  }
  Job* job = jobs_.find(job_selector_of(job_text));
  if (job == nullptr)
    return Error{ErrorCode::NotFound, "job '" + job_text + "'", "is not known", "`jobs --all` lists them"};
  if (request.command == "logs") {
    std::string only;
    if (!key.empty()) {
      std::uint32_t index = 0;  // The graph of a job that has ended may be gone; then only numbers say which.
      const bool plain = std::from_chars(key.data(), key.data() + key.size(), index).ptr == key.data() + key.size();
      const SubtaskIndex wanted = job->shape != nullptr ? job->shape->find_key_or_number(key)
                                  : plain               ? SubtaskIndex{index}
                                                        : SubtaskIndex::none();
      if (!wanted.valid()) return not_in_the_graph(*job, key);
      only = to_string(SubtaskId{job->id, wanted}) + "#";
    }
    deferred = questions_.ask_for_logs(job->id, only, {client, request.request});
    return Value{Value::Record{{"job", to_string(job->id)}, {"logs", Value::List{}}}};
  }
  if (job->shape == nullptr || key.empty()) return explain_job(*job, true);
  const SubtaskIndex subtask = job->shape->find_key_or_number(key);
  if (!subtask.valid()) return not_in_the_graph(*job, key);
  Value answer = explain_subtask(*job, subtask.value());
  if (job->hot[subtask.value()].phase != SubtaskPhase::Assigned) return answer;
  // Only the worker knows which of its latches holds the subtask.
  deferred = true;
  const WorkerSlot slot = workers_[job->hot[subtask.value()].band].worker;
  questions_.ask_for_explanation(slot, {job->id, subtask}, {client, request.request}, std::move(answer));
  return Value{};
}

Value SupervisorCore::explain_job(Job& job, bool with_remedies) {
  Value::Record fields{
      {"job", to_string(job.id)}, {"name", job.spec.name}, {"state", std::string{to_string(job.state)}}};
  if (!job.error->message.empty()) fields.emplace_back("error", to_string(*job.error));
  if (job.state != JobState::Running || job.shape == nullptr) return fields;
  explain_policy(job, with_remedies, fields);
  std::uint64_t phases[7] = {};
  for (const SubtaskHot& hot : job.hot) ++phases[static_cast<std::size_t>(hot.phase)];
  for (std::size_t i = 0; i < 7; ++i)
    if (phases[i] > 0) fields.emplace_back(std::string{to_string(static_cast<SubtaskPhase>(i))}, phases[i]);
  // The best subtask that is neither running nor done tells what holds the job.
  for (std::uint32_t rank = 0; rank < job.total(); ++rank) {
    const std::uint32_t subtask = job.shape->at_rank(rank);
    const SubtaskPhase phase = job.hot[subtask].phase;
    if (is_final(phase) || (job.hot[subtask].flags & SubtaskFlag::kStarted) != 0) continue;
    fields.emplace_back("next", job.shape->name(subtask));
    fields.emplace_back("reason", reason_of(job, subtask));
    break;
  }
  return fields;
}

Value SupervisorCore::explain_subtask(Job& job, std::uint32_t subtask) {
  const SubtaskHot& hot = job.hot[subtask];
  Value::Record fields{{"job", to_string(job.id)},        {"subtask", subtask},
                       {"key", job.shape->name(subtask)}, {"state", std::string{to_string(hot.phase)}},
                       {"attempt", hot.attempt},          {"reason", reason_of(job, subtask)}};
  if (const SubtaskHistory* history = job.histories->find(SubtaskIndex{subtask})) {
    Value::List lines;
    for (const std::string& line : history->lines) lines.emplace_back(line);
    fields.emplace_back("history", std::move(lines));
  }
  return fields;
}

std::string SupervisorCore::reason_of(Job& job, std::uint32_t subtask) {
  const SubtaskHot& hot = job.hot[subtask];
  const auto band_name = [this](BandSlot slot) {
    return workers_.worker_of(slot).description.name + "/" + workers_[slot].description.name;
  };
  switch (hot.phase) {
    case SubtaskPhase::Waiting: {
      if (job.waiting_for_disk) return "its job is being written to the journal";
      if (job.recovering && hot.missing == 0)
        return "waits until the workers of before the restart are back, which may hold it: " +
               std::to_string(readoption_.missing()) + " are missing";
      std::string reason = "waits for " + std::to_string(hot.missing) + " predecessors:";
      std::size_t shown = 0;
      for (const std::uint32_t predecessor : job.shape->predecessors(subtask)) {
        if (job.hot[predecessor].phase == SubtaskPhase::Succeeded) continue;
        if (shown++ == 3) return reason + " ...";
        reason += " " + job.shape->name(predecessor) + " (" + std::string{to_string(job.hot[predecessor].phase)} + ")";
      }
      return reason;
    }
    case SubtaskPhase::Placeable: {
      if (!hot.band.valid()) {
        if (workers_.alive_workers() == 0) return "no worker is connected";
        if (const ExternalInput* external = job.shape->external_input_of(subtask); external != nullptr)
          return explain_external_input(job, *external);
        return explain_unschedulable(job, subtask);
      }
      const BandEntry& band = workers_[hot.band];
      if (job.shares != nullptr && credit_of(job, hot.band).slots == 0) {
        const std::string hold = policy_.agenda.is_hidden(job.id)
                                     ? hold_of(job, band.kind)
                                     : job.shares->kinds[static_cast<std::size_t>(band.kind)].hold;
        return "policy gives its job no slots of " + band_name(hot.band) + (hold.empty() ? "" : ": " + hold);
      }
      const std::uint32_t slots = credit_of(job, hot.band).slots;
      const std::uint32_t credit = std::min(lookahead_limit(job, job.shape->template_index(subtask), slots),
                                            part_ahead(config_.lookahead_subtasks_max, slots, band.slots));
      return "kept for " + band_name(hot.band) + ", which holds " + std::to_string(band.in_flight) + " attempts, " +
             std::to_string(band.runnable) + " of them runnable, on " + std::to_string(band.slots) +
             " slots; its credit is " + std::to_string(credit) + ", and " + std::to_string(band.ready_here) +
             " runnable subtasks are kept for it";
    }
    case SubtaskPhase::Assigned:
      return "assigned to " + band_name(hot.band) +
             (hot.missing > 0 ? ", where it waits for " + std::to_string(hot.missing) + " producers" : "") +
             ((hot.flags & SubtaskFlag::kStarted) != 0 ? ", where it runs" : "");
    case SubtaskPhase::Backoff: {
      const RetryTimer* timer = timers_.find(job.id, subtask, hot.attempt);
      const Duration rest = timer == nullptr ? Duration{0} : timer->at - event_.now;
      const std::string until = " in " + std::to_string(rest.count() / 1'000'000) + " ms";
      const SubtaskHistory* history = job.histories->find(SubtaskIndex{subtask});
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

// Spec: worker 11. Work pending and nothing happening for long is a defect or a cluster that cannot serve the job; the
// reason is named once.
void SupervisorCore::watch() {
  if (indices_.active.empty()) return watchdog_.stop();
  if (!watchdog_.looks(event_.now)) return;
  bool runs = false;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    runs = runs || (workers_[BandSlot{i}].alive &&
                    (workers_[BandSlot{i}].load.running > 0 || workers_[BandSlot{i}].load.yielded > 0));
  if (runs || !watchdog_.alarms(event_.now)) return;
  PENSTOCK_COVERAGE_MARK("the watchdog gave alarm");
  ++counters_.watchdog_alerts;
  std::size_t named = 0;
  for (const JobId id : indices_.active) {
    if (named++ == kNamedMax) break;
    const std::size_t others = named == kNamedMax ? indices_.active.size() - kNamedMax : 0;
    Job& job = jobs_[id];
    const Value explanation = explain_job(job, false);
    const std::string* reason = explanation["reason"].text();
    event_.out->add(
        supervisor_action::Alert{Error{ErrorCode::Internal, to_string(id),
                                       "has pending work and nothing runs: " + (reason == nullptr ? "" : *reason) +
                                           (others > 0 ? "; and " + std::to_string(others) + " other jobs" : ""),
                                       "`penstock explain " + to_string(id) + "` tells more"}});
  }
}

}  // namespace penstock::supervisor
