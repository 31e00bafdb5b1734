// SupervisorCore: questions and orders of operators. Answers are trees of values; the command line renders them.
#include <algorithm>
#include <limits>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/admin/data_answers.hpp"
#include "supervisor/core/request_words.hpp"
#include "supervisor/core/results.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

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

/// The users with jobs that have not ended; clients see themselves.
Value describe_users(const UserJobs& jobs, const UserLimits& limits, const Viewer& viewer) {
  Value::List rows;
  for (const auto& [user, count] : jobs.counts())
    if (viewer.what == Viewer::Sees::All || (viewer.what == Viewer::Sees::Own && viewer.user == user))
      rows.emplace_back(Value::Record{{"user", user}, {"jobs", count}, {"jobs_max", std::uint64_t{limits.jobs_max}}});
  return Value{std::move(rows)};
}

/// The answer to an order that is carried out while nothing can be written: a crash undoes it.
Value unwritten(const Value& answer) {
  Value::Record fields = answer.record() == nullptr ? Value::Record{} : *answer.record();
  fields.emplace_back("written", false);
  return fields;
}

}  // namespace

void SupervisorCore::answer(const supervisor_event::ClientSaid& event, const AdminRequest& request) {
  const ClientId client = event.client;
  AdminAnswer reply;
  reply.request = request.request;
  bool deferred = false;
  Result<Value> result = execute(event, request, deferred);
  if (deferred) return;
  ledger_.audit.note_order(request, result);
  const bool confirms = result && request.command == "cancel" && !ledger_.gate.trouble().has_value();
  if (confirms && admin_.orders.await_confirmations(client, request, *result)) return;
  if (result)
    reply.value = ledger_.gate.trouble().has_value() && is_order(request.command) ? unwritten(*result)
                                                                                  : std::move(result).value();
  else
    reply.refusal = result.error();
  ledger_.gate.send_to_client(client, std::move(reply));
}

Result<Value> SupervisorCore::execute(const supervisor_event::ClientSaid& event, const AdminRequest& request,
                                      bool& deferred) {
  const ClientId client = event.client;
  const std::string& command = request.command;
  if (command == "jobs") return admin_.cluster_answers.list_jobs(request);
  if (command == "audit") return ledger_.audit.list(request);
  if (command == "workers") return admin_.cluster_answers.describe_workers();
  if (command == "bands") return admin_.cluster_answers.describe_bands();
  if (command == "queues") return admin_.cluster_answers.describe_queues();
  if (command == "counters" && !operand(request, 0).empty())
    return describe_counters_of(fleet_.workers, operand(request, 0));
  if (command == "counters") return describe(tables_.counters, policy_base_.state);
  if (command == "cancel") return admin_.orders.cancel_by_request(request);
  if (command == "priority") return admin_.orders.priority_by_request(request);
  if (command == "drain" || command == "undrain") return drain_by_request(request);
  if (command == "explain" || command == "logs") return admin_.orders.explain_by_request(client, request, deferred);
  if (command == "words") return admin_.cluster_answers.complete_words(request);
  if (command == "pools") return driver_.answers.describe_pools();
  if (command == "projects") return driver_.answers.describe_projects();
  if (command == "shares") return driver_.answers.describe_shares();
  if (command == "queue") return driver_.answers.describe_queue(request.viewer);
  if (command == "users") return describe_users(tables_.indices.of_users, config_.users, request.viewer);
  if (command == "limits") return policy_base_.rules.describe_limits();
  if (command == "rerun") return lifecycle_.reruns.rerun_by_request(request, event.identity);
  if (command == "keep" || command == "unkeep") return keep_by_request(request);
  if (command == "hold" || command == "release") return admin_.orders.hold_by_request(request);
  if (command == "set" && operand(request, 0) == "time-limit") return admin_.time_limit_orders.set_by_request(request);
  if (command == "set") return admin_.orders.set_by_request(request);
  if (command == "move") return admin_.orders.move_by_request(request);
  if (command == "reload") {
    deferred = true;
    event_.out->add(supervisor_action::ReloadPolicy{client, request});
    return Value{};
  }
  if (command == "job") {
    const Job* job = tables_.jobs.find(job_selector_of(operand(request, 0), request.viewer));
    if (job == nullptr)
      return not_found("job '" + operand(request, 0) + "'", "`jobs --all` lists those that are remembered");
    return admin_.cluster_answers.describe_job(*job);
  }
  if (command == "shared") return admin_.shared.carry_out(client, request, deferred);
  if (command == "data") return describe_data(tables_.jobs, fleet_.workers, request);
  if (command == "kept" || command == "results" || command == "explain-data" || command == "places") {
    const Job* job = tables_.jobs.find(job_selector_of(operand(request, 0), request.viewer));
    if (job == nullptr) return not_found("job '" + operand(request, 0) + "'", "submit it again");
    if (command == "places") return list_places(fleet_.workers, *job, request);
    if (command == "explain-data") return explain_data(tables_.jobs, fleet_.workers, *job, operand(request, 1));
    return command == "kept" ? find_missing(*job, request.arguments) : list_results(*job, request);
  }
  return Error{ErrorCode::Unsupported, command, "is no command of this supervisor",
               "it is version " + std::string{kSoftwareVersion}};
}

Result<Value> SupervisorCore::keep_by_request(const AdminRequest& request) {
  Job* job = tables_.jobs.find(job_selector_of(operand(request, 0), request.viewer));
  if (job == nullptr)
    return not_found("job '" + operand(request, 0) + "'", "`jobs --all` lists those that are remembered");
  return lifecycle_.releases.keep_by_order(*job, request.command == "keep");
}

Result<Value> SupervisorCore::drain_by_request(const AdminRequest& request) {
  const WorkerSlot slot = fleet_.workers.find(operand(request, 0));
  if (!slot.valid())
    return not_found("worker '" + operand(request, 0) + "'", "`workers` lists those that are connected");
  const bool drains = request.command == "drain";
  losses_.set_draining(slot, drains);
  Value::Record done{{"worker", fleet_.workers[slot].description.name}, {"draining", fleet_.workers[slot].draining}};
  if (drains && has_flag(request, "now")) done.emplace_back("told_to_leave", losses_.clear_worker(slot));
  return Value{std::move(done)};
}

}  // namespace penstock::supervisor
