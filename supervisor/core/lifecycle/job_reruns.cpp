#include "supervisor/core/lifecycle/job_reruns.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "common/protocol/external_input.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/ledger/wall_clock.hpp"
#include "supervisor/core/lifecycle/job_acceptance.hpp"
#include "supervisor/core/lifecycle/job_names.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/rooms.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {
namespace {

Error unknown_graph(const Job& last) {
  return {
      ErrorCode::UnknownGraph, "the graph of " + to_string(last.id) + " '" + last.spec.name + "'",
      "is not kept any more",
      "submit it with `--rerun`; `supervisor.cached_graphs_max` and `cached_graph_bytes_max` say how many are kept, "
      "and after a restart those of jobs that failed or were cancelled are"};
}

/// Its alias subtasks may add so much to the payloads.
constexpr std::uint64_t kBorrowedBytes = 28;

/// A part of the graph must be as addressable as the whole.
Result<void> check_size(const Graph& graph) {
  const std::uint64_t subtasks = graph.size();
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint64_t kDigits = 10;  // Of a number that becomes a key.
  if (graph.payloads.size() + subtasks * kBorrowedBytes <= kMax && graph.names.size() + subtasks * kDigits <= kMax)
    return {};
  return Error{ErrorCode::LimitExceeded, "the graph", "is too large to be divided", "run all of it again"};
}

Value describe(const Job& job, const Job& last) {
  return Value::Record{{"job", to_string(job.id)},
                       {"name", job.spec.name},
                       {"run", job.spec.runs->number},
                       {"after", to_string(last.id)},
                       {"subtasks", job.tally.counts.total}};
}

}  // namespace

Result<void> JobReruns::check(const Job& last) const {
  if (last.spec.parent.any())
    return Error{ErrorCode::WrongState, to_string(last.id), "was submitted by a run, and runs again when that does",
                 "run the job of that run again: `penstock job " + to_string(last.id) + "` names it as `parent`"};
  return {};
}

EndedRun JobReruns::look_at(const Job& last, const GraphShape& shape) const {
  EndedRun ended{last.id, last.identity, std::vector<bool>(shape.size()), std::vector<bool>(shape.size())};
  for (const SubtaskRange& range : last.outbox.last().succeeded)
    for (std::uint64_t i = range.first.value(); i <= range.last.value() && i < shape.size(); ++i)
      ended.succeeded[i] = true;
  if (last.outputs.release_when_unreferenced) return ended;
  std::vector<std::string> holders;
  for (std::uint32_t i = 0; i < fleet_.workers.worker_slots(); ++i) {
    const WorkerEntry& worker = fleet_.workers[WorkerSlot{i}];
    if (worker.alive && !worker.draining) holders.push_back(worker.description.data_address);
  }
  std::sort(holders.begin(), holders.end());
  for (const OutputLocation& output : last.outputs.locations) {
    const std::uint32_t subtask = output.producer.value();
    if (subtask >= shape.size() || !ended.succeeded[subtask] || last.outputs.is_released(output.producer)) continue;
    if (shape.template_of(subtask).output_count > 1) continue;  // Borrowing subtasks have one output.
    ended.kept[subtask] = std::binary_search(holders.begin(), holders.end(), output.data_address);
  }
  return ended;
}

Result<SharedGraph*> JobReruns::add_part(RerunGraph part) {
  GraphIntake intake{config_.graph};
  PENSTOCK_TRY(intake.add(std::move(part.graph)));
  Result<std::unique_ptr<GraphShape>> shape = intake.finish();
  if (!shape) return shape.error();
  return &tables_.graphs.add(std::move(shape).value());
}

Result<RerunGraph> JobReruns::part_of(const Job& last, const SharedGraph* whole, const std::string& from) {
  SharedGraph* const run = tables_.graphs.join(last.graph.hash);  // Of a run of a part, that part.
  if (run == nullptr) return unknown_graph(last);
  const bool by_run = whole == nullptr || whole == run;
  const GraphShape& shape = by_run ? *run->shape : *whole->shape;
  EndedRun ended = look_at(last, *run->shape);
  if (!by_run) ended = as_run_of_whole(shape, *run->shape, ended);
  const auto part = [&]() -> Result<RerunGraph> {
    std::vector<std::uint32_t> first;
    const SubtaskIndex found = from.empty() ? SubtaskIndex::none() : shape.find_key_or_number(from);
    if (!from.empty() && !found.valid())
      return Error{ErrorCode::NotFound, "subtask '" + from + "' of " + to_string(last.id), "is not in the graph",
                   "give its key or its number"};
    // The run has borrowed its output, and the graph with its program is gone.
    if (found.valid() && whole == nullptr && is_alias(shape.template_of(found.value()))) return unknown_graph(last);
    if (found.valid()) first.push_back(found.value());
    PENSTOCK_TRY(check_size(shape.graph()));
    return rerun_graph(shape, ended, first);
  };
  Result<RerunGraph> made = part();
  tables_.graphs.leave(*run);
  return made;
}

/// The graph to run, which has counted the new job.
Result<SharedGraph*> JobReruns::graph_of(const Job& last, const AdminRequest& request, JobSpec& spec, Parts& parts) {
  const std::string from = option(request, "from");
  const GraphHash& all = last.spec.runs->whole.valid() ? last.spec.runs->whole : last.graph.hash;
  SharedGraph* const whole = tables_.graphs.join(all);
  if (from.empty() && !has_flag(request, "failed")) {
    if (whole == nullptr) return unknown_graph(last);
    parts.again = whole->shape->size();
    return whole;
  }
  Result<RerunGraph> part = part_of(last, whole, from);
  if (part && part->again == 0)
    part = Error{ErrorCode::WrongState, to_string(last.id), "has no subtask that failed or was cancelled",
                 "without `--failed` all of it runs again"};
  if (part) parts = {part->again, part->taken, part->left_out};
  if (part && whole != nullptr && part->taken + part->left_out == 0) return whole;
  if (whole != nullptr) tables_.graphs.leave(*whole);
  if (!part) return part.error();
  Result<SharedGraph*> added = add_part(std::move(part).value());
  if (added) spec.runs.edit().whole = all;
  return added;
}

Result<Value> JobReruns::rerun_by_request(const AdminRequest& request, const JobIdentity& identity) {
  Job* const last = tables_.jobs.find(job_selector_of(operand(request, 0), request.viewer));
  if (last == nullptr)
    return not_found("job '" + operand(request, 0) + "'", "`jobs --all` lists those that are remembered");
  // Another job may have run since under the same name.
  const Job* const newest = tables_.jobs.find({JobId::none(), last->spec.name, {last->spec.owner, Viewer::Sees::Own}});
  const Job& before = newest == nullptr ? *last : *newest;
  std::uint64_t submission = 0;
  if (const std::string number = option(request, "submission"); !number.empty() && !parse(number, submission))
    return bad_argument("--submission", "is no number");
  if (submission != 0 && before.spec.submitter == submission) return describe(before, *last);
  PENSTOCK_TRY(check(*last));
  if (before.status.state != JobState::Running && last->status.state != JobState::Running) {
    JobSpec spec = last->spec;
    if (spec.name == to_string(last->id)) spec.name.clear();  // The new one is named by its own number.
    spec.priority = last->scale.written(last->spec.priority);
    spec.submitter = submission;
    spec.name_use = NameUse::Same;
    spec.runs = Seldom{JobNames{tables_.jobs, ledger_.clock, event_.now, config_.earlier_runs_max}.runs_after(before)};
    Parts parts;
    const Result<SharedGraph*> graph = graph_of(*last, request, spec, parts);
    if (!graph) return graph.error();
    const Result<JobId> accepted = acceptance_.run_again(std::move(spec), **graph, identity);
    if (!accepted) return accepted.error();
    Value::Record answer = *describe(tables_.jobs[*accepted], *last).record();
    answer.emplace_back("again", parts.again);
    answer.emplace_back("taken", parts.taken);
    answer.emplace_back("left_out", parts.left_out);
    return Value{std::move(answer)};
  }
  return JobNames::still_runs(before.status.state == JobState::Running ? before : *last);
}

}  // namespace penstock::supervisor
