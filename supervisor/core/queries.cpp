// SupervisorCore: questions and orders of operators. Answers are trees of values; the command line renders them.
#include <algorithm>
#include <limits>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/results.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

const char* state_of(const WorkerEntry& worker) {
  if (worker.suspected) return "suspected";
  if (!worker.draining) return "ready";
  return worker.drained ? "drained" : "draining";
}

/// Where no pool in which the job may be looks at priorities: an order without an effect is none.
Result<void> check_priority_counts(const PolicyState& policy, const Job& job) {
  const auto parts_in = [&](std::uint32_t pool) -> const policy::Parts& {
    return policy.parts[domain_of(pool, BandKind::Cpu)];
  };
  if (job.shares == nullptr) return {};
  for (const std::uint32_t pool : job.shares->fallback.pools())
    if (parts_in(pool).ordering == policy::Ordering::Priority) return {};
  const policy::Parts& parts = parts_in(job.shares->pool);
  const bool shares = parts.sharing != policy::Sharing::None;
  const bool by_sum = parts.ordering == policy::Ordering::Multifactor;
  return Error{ErrorCode::WrongState, to_string(job.id),
               "is in pool '" + policy.config.pools[job.shares->pool].name + "', where " +
                   (shares   ? "all have their shares at once, whatever their priorities"
                    : by_sum ? "jobs go by the sum of their factors, and priority is none of them"
                             : "jobs go by age, whatever their priorities"),
               shares   ? "`set weight` changes its share"
               : by_sum ? "`set qos` and `set queue` change the sum, `queue --json` shows it"
                        : "use a pool with ordering = \"priority\""};
}

/// Counts of events since this incarnation began.
Value describe(const SupervisorCounters& counters, const PolicyState& policy) {
  return Value::Record{{"jobs_accepted", counters.jobs_accepted},
                       {"jobs_refused", counters.jobs_refused},
                       {"graphs_known", counters.graphs_again},
                       {"attempts_assigned", counters.assigned},
                       {"attempts_succeeded", counters.succeeded},
                       {"attempts_failed", counters.failed_attempts},
                       {"attempts_returned", counters.returned},
                       {"attempts_adopted", counters.adopted},
                       {"attempts_preempted", policy.preemptions},
                       {"reports_stale", counters.stale_reports},
                       {"subtasks_recomputed", counters.recomputed},
                       {"subtasks_moved", counters.moved_here},
                       {"steals_asked", counters.steals_asked},
                       {"copies_asked", counters.copies_asked},
                       {"waiting_jobs_looked_at", counters.jobs_looked_at},
                       {"workers_lost", counters.workers_lost},
                       {"watchdog_alerts", counters.watchdog_alerts},
                       {"policy_passes_given_up", policy.given_up}};
}

/// Counters of a worker, as of its last load report.
Value describe(const WorkerCounters& counters) {
  const auto misses = [&](ForwardResult why) { return counters.forward_misses[static_cast<std::size_t>(why)]; };
  return Value::Record{{"attempts_assigned", counters.assigned},
                       {"attempts_started", counters.started},
                       {"attempts_succeeded", counters.succeeded},
                       {"attempts_failed", counters.failed},
                       {"attempts_cancelled", counters.cancelled},
                       {"attempts_returned", counters.returned},
                       {"events_stale", counters.stale},
                       {"forward_hits", counters.forward_hits},
                       {"forward_misses_input_remote", misses(ForwardResult::InputRemote)},
                       {"forward_misses_input_spilled", misses(ForwardResult::InputSpilled)},
                       {"forward_misses_memory", misses(ForwardResult::Quota)},
                       {"forward_misses_lease", misses(ForwardResult::Lease)},
                       {"inputs_fetched", counters.fetches},
                       {"subtasks_demoted", counters.demoted},
                       {"memory_grants_exclusive", counters.exclusive},
                       {"memory_grants_grown", counters.grown},
                       {"memory_relief_steps", counters.relief_steps},
                       {"data_spilled", counters.spills},
                       {"outputs_waited_for_room", counters.room_waits}};
}

Result<Value> describe_counters_of(const WorkerTable& workers, const std::string& name) {
  const WorkerSlot slot = workers.find(name);
  if (!slot.valid()) return Error{ErrorCode::NotFound, "worker '" + name + "'", "is not known", "`workers` lists them"};
  return describe(workers[slot].counters);
}

/// The answer to an order that is carried out while nothing can be written: a crash undoes it.
Value unwritten(const Value& answer) {
  Value::Record fields = answer.record() == nullptr ? Value::Record{} : *answer.record();
  fields.emplace_back("written", false);
  return fields;
}

}  // namespace

void SupervisorCore::answer(ClientId client, const AdminRequest& request) {
  AdminAnswer reply;
  reply.request = request.request;
  bool deferred = false;
  Result<Value> result = execute(client, request, deferred);
  if (deferred) return;
  audit_.note_order(request, result);
  const bool confirms = result && request.command == "cancel" && !gate_.trouble().has_value();
  if (confirms && await_confirmations(client, request, *result)) return;
  if (result)
    reply.value =
        gate_.trouble().has_value() && is_order(request.command) ? unwritten(*result) : std::move(result).value();
  else
    reply.refusal = result.error();
  send_to_client(client, std::move(reply));
}

/// Whether the answer to a cancel waits until the workers that may hold something of the job have carried it out.
/// Workers from before a restart get the order when they are back, and are asked then.
bool SupervisorCore::await_confirmations(ClientId client, const AdminRequest& request, const Value& answer) {
  const std::string* name = answer["job"].text();
  const Job* job = name == nullptr ? nullptr : jobs_.find(job_selector_of(*name));
  if (job == nullptr) return false;
  const WorkerQuestions::Asker asker{client, request.request};
  if (!job->recovering) return questions_.ask_for_confirmations(job->id, job->known_workers, asker, answer);
  questions_.ask_for_confirmations_later(job->id, asker, answer);
  return true;
}

Result<Value> SupervisorCore::execute(ClientId client, const AdminRequest& request, bool& deferred) {
  const std::string& command = request.command;
  if (command == "jobs") return list_jobs(request);
  if (command == "audit") return audit_.list(request);
  if (command == "workers") return describe_workers();
  if (command == "bands") return describe_bands();
  if (command == "queues") return describe_queues();
  if (command == "counters" && !operand(request, 0).empty()) return describe_counters_of(workers_, operand(request, 0));
  if (command == "counters") return describe(counters_, policy_);
  if (command == "cancel") return cancel_by_request(request);
  if (command == "priority") return priority_by_request(request);
  if (command == "drain" || command == "undrain") return drain_by_request(request);
  if (command == "explain" || command == "logs") return explain_by_request(client, request, deferred);
  if (command == "words") return complete_words(request);
  if (command == "pools") return describe_pools();
  if (command == "projects") return describe_projects();
  if (command == "shares") return describe_shares();
  if (command == "queue") return describe_queue();
  if (command == "limits") return describe_limits();
  if (command == "hold" || command == "release") return hold_by_request(request);
  if (command == "set") return set_by_request(request);
  if (command == "move") return move_by_request(request);
  if (command == "reload") {
    deferred = true;
    event_.out->add(supervisor_action::ReloadPolicy{client, request});
    return Value{};
  }
  if (command == "job") {
    const Job* job = jobs_.find(job_selector_of(operand(request, 0)));
    if (job == nullptr)
      return not_found("job '" + operand(request, 0) + "'", "`jobs --all` lists those that are remembered");
    return describe_job(*job);
  }
  if (command == "kept" || command == "results") {
    const Job* job = jobs_.find(job_selector_of(operand(request, 0)));
    if (job == nullptr) return not_found("job '" + operand(request, 0) + "'", "submit it again");
    return command == "kept" ? find_missing(*job, request.arguments) : list_results(*job, request);
  }
  return Error{ErrorCode::Unsupported, command, "is no command of this supervisor",
               "it is version " + std::string{kSoftwareVersion}};
}

Value SupervisorCore::describe_job(const Job& job) const {
  const Duration age = (job.ended == kNever ? event_.now : job.ended) - job.submitted;
  Value::Record fields = first_fields(job);
  fields.emplace_back("attempts", job.counts.attempts);
  fields.emplace_back("forward_hits", job.counts.forward_hits);
  fields.emplace_back("forward_misses", job.counts.forward_misses);
  fields.emplace_back("work_s", static_cast<double>(job.counts.run_us) / 1e6);
  fields.emplace_back("elapsed_s", seconds(age));
  if (!job.error->message.empty()) fields.emplace_back("error", to_string(*job.error));
  if (job.shape != nullptr && job.state == JobState::Running) {
    std::uint64_t ready = 0;
    for (const SubtaskHot& hot : job.hot) ready += hot.phase == SubtaskPhase::Placeable && hot.missing == 0;
    fields.emplace_back("ready", ready);
    fields.emplace_back("critical_path_s", static_cast<double>(job.shape->critical_path_ns()) / 1e9);
  }
  Value::List failures;
  for (const SubtaskFailure& failure : job.outbox.failures()) {
    Value::List history;
    for (const std::string& line : failure.history) history.emplace_back(line);
    failures.push_back(Value::Record{{"subtask", failure.subtask.value()},
                                     {"key", failure.name},
                                     {"class", std::string{to_string(failure.last.failure)}},
                                     {"message", failure.last.message},
                                     {"exit_code", failure.last.exit_code},
                                     {"signal", failure.last.signal},
                                     {"output_tail", failure.last.output_tail},
                                     {"history", std::move(history)}});
  }
  if (!failures.empty()) fields.emplace_back("failures", std::move(failures));
  return fields;
}

Value SupervisorCore::describe_workers() const {
  Value::List rows;
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    if (!worker.alive) continue;
    std::uint64_t slots = 0;
    std::uint64_t running = 0;
    std::uint64_t assigned = 0;
    for (const BandSlot band : worker.bands) {
      slots += workers_[band].slots;
      running += workers_[band].load.running;
      assigned += workers_[band].in_flight;
    }
    std::string labels;
    for (const std::string& label : worker.description.labels) labels += (labels.empty() ? "" : ",") + label;
    rows.push_back(Value::Record{{"id", to_string(worker.id)},
                                 {"name", worker.description.name},
                                 {"host", worker.description.host},
                                 {"state", state_of(worker)},
                                 {"bands", static_cast<std::uint64_t>(worker.bands.size())},
                                 {"slots", slots},
                                 {"running", running},
                                 {"assigned", assigned},
                                 {"data_address", worker.description.data_address},
                                 {"labels", std::move(labels)}});
  }
  return rows;
}

Value SupervisorCore::describe_bands() const {
  Value::List rows;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive) continue;
    const BandDescription& found = band.description;
    rows.push_back(Value::Record{{"band", to_string(band.id)},
                                 {"worker", workers_[band.worker].description.name},
                                 {"name", found.name},
                                 {"kind", found.kind == BandKind::Gpu ? "gpu" : "cpu"},
                                 {"slots", band.slots},
                                 {"milli_cpu", found.capacity.cpu.value()},
                                 {"milli_gpu", found.capacity.gpu.value()},
                                 {"memory_bytes", found.capacity.memory.value()},
                                 {"device_memory_bytes", found.capacity.device_memory.value()},
                                 {"device", found.device_name},
                                 {"device_uuid", found.device_uuid},
                                 {"running", band.load.running},
                                 {"quota_used_bytes", band.load.quota_used.value()},
                                 {"store_used_bytes", band.load.store_used.value()}});
  }
  return rows;
}

Value SupervisorCore::describe_queues() const {
  Value::List rows;
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive) continue;
    rows.push_back(Value::Record{{"band", to_string(band.id)},
                                 {"worker", workers_[band.worker].description.name},
                                 {"name", band.description.name},
                                 {"kept_here", band.ready_here},
                                 {"assigned", band.in_flight},
                                 {"runnable", band.runnable},
                                 {"cached", band.load.cached},
                                 {"queued", band.load.queued},
                                 {"preparing", band.load.preparing},
                                 {"ready", band.load.ready},
                                 {"running", band.load.running}});
  }
  return rows;
}

Result<Value> SupervisorCore::cancel_by_request(const AdminRequest& request) {
  Job* job = jobs_.find(job_selector_of(operand(request, 0)));
  if (job == nullptr) return not_found("job '" + operand(request, 0) + "'", "`jobs` lists those that run");
  if (job->state != JobState::Running)
    return Error{
        ErrorCode::WrongState, to_string(job->id), "has ended already: " + std::string{to_string(job->state)}, {}};
  Duration kill_after = kDefaultGrace;
  if (const std::string grace = option(request, "kill-after-ms"); !grace.empty()) {
    std::int64_t ms = 0;
    if (grace == "never")
      kill_after = kNeverKill;
    else if (parse(grace, ms) && ms >= 0 && ms <= 86'400'000)
      kill_after = std::chrono::milliseconds{ms};
    else
      return bad_argument("--kill-after-ms", "takes a number of milliseconds up to a day, or `never`");
  }
  if (const std::string key = operand(request, 1); !key.empty()) {
    const SubtaskIndex subtask = job->shape->find_key_or_number(key);
    if (!subtask.valid())
      return not_found("subtask '" + key + "' of " + to_string(job->id), "give its key or its number");
    const SubtaskHot& hot = job->hot[subtask.value()];
    const bool ended = is_final(hot.phase);
    // The end of a subtask that has failed, or was cancelled behind another, may not be written yet: after a restart
    // without that record the order must be known.
    const bool may_come_back = ended && (hot.flags & SubtaskFlag::kVisible) == 0;
    if (may_come_back) PENSTOCK_COVERAGE_MARK("a subtask that had ended without success was cancelled");
    if (!ended || may_come_back) {
      job->cancel_orders.edit().insert(subtask, true);
      record_change(*job, subtask.value());
    }
    cancel_subtasks(*job, {subtask.value()}, kill_after);
    return Value{Value::Record{{"job", to_string(job->id)}, {"subtask", key}, {"cancelled", !ended}}};
  }
  cancel_job(*job, Error{ErrorCode::Cancelled, job->spec.name, "was cancelled by an operator or its client", {}},
             kill_after);
  return Value{Value::Record{{"job", to_string(job->id)}, {"cancelled", true}}};
}

Result<Value> SupervisorCore::priority_by_request(const AdminRequest& request) {
  Job* job = jobs_.find(job_selector_of(operand(request, 0)));
  if (job == nullptr) return not_found("job '" + operand(request, 0) + "'", "`jobs` lists those that run");
  if (job->state != JobState::Running)
    return Error{
        ErrorCode::WrongState, to_string(job->id), "has ended already: " + std::string{to_string(job->state)}, {}};
  std::int32_t priority = 0;
  if (!parse(operand(request, 1), priority))
    return bad_argument("priority", "'" + operand(request, 1) + "' is no whole number from " +
                                        std::to_string(std::numeric_limits<std::int32_t>::min()) + " to " +
                                        std::to_string(std::numeric_limits<std::int32_t>::max()));
  if (const std::string key = option(request, "subtask"); !key.empty()) {
    const SubtaskIndex subtask = job->shape->find_key_or_number(key);
    if (!subtask.valid())
      return not_found("subtask '" + key + "' of " + to_string(job->id), "give its key or its number");
    change_subtask_priority(*job, subtask.value(), priority);
  } else {
    PENSTOCK_TRY(check_priority_counts(policy_, *job));
    const std::int32_t before = job->scale.written(job->spec.priority);
    const Result<std::int32_t> inside = job->scale.inside(priority);
    if (!inside) return inside.error();
    change_priority(*job, *inside);
    return Value{Value::Record{{"job", to_string(job->id)}, {"priority", priority}, {"was", before}}};
  }
  return Value{Value::Record{{"job", to_string(job->id)}, {"priority", priority}}};
}

Result<Value> SupervisorCore::drain_by_request(const AdminRequest& request) {
  const WorkerSlot slot = workers_.find(operand(request, 0));
  if (!slot.valid())
    return not_found("worker '" + operand(request, 0) + "'", "`workers` lists those that are connected");
  const bool drains = request.command == "drain";
  set_draining(slot, drains);
  Value::Record done{{"worker", workers_[slot].description.name}, {"draining", workers_[slot].draining}};
  if (drains && has_flag(request, "now")) done.emplace_back("told_to_leave", clear_worker(slot));
  return Value{std::move(done)};
}

// Words for tab completion: of jobs, or of workers.
Result<Value> SupervisorCore::complete_words(const AdminRequest& request) const {
  Value::List words;
  if (operand(request, 0) == "workers") {
    for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i)
      if (workers_[WorkerSlot{i}].alive) words.emplace_back(workers_[WorkerSlot{i}].description.name);
    return Value{std::move(words)};
  }
  for (const auto& job : jobs_.all()) {
    if (job == nullptr) continue;
    words.emplace_back(to_string(job->id));
    words.emplace_back(job->spec.name);
  }
  return Value{std::move(words)};
}

}  // namespace penstock::supervisor
