#include "supervisor/core/rooms.hpp"

namespace penstock::supervisor {
namespace {

/// Graphs that are kept in case that they are wanted again leave seven eighths of the memory to what is wanted.
std::uint64_t cached_graph_bytes(const SupervisorConfig& config) {
  const std::int64_t most = config.memory_max.is_zero() ? INT64_MAX : config.memory_max.value() / 8;
  return static_cast<std::uint64_t>(std::min(config.cached_graph_bytes_max, most));
}

}  // namespace

Ledger::Ledger(const SupervisorConfig& config, EventContext& event, Durability durability)
    : gate(durability, event), audit(config, gate, clock, event), accepting(gate), losses(gate), being_written(gate) {}

Fleet::Fleet(const SupervisorConfig& config, EventContext& event, Ledger& ledger)
    : mail(workers, ledger.gate, event),
      bands(workers),
      eligibility(workers),
      costs(config, workers),
      readoption(config, ledger.gate, event),
      lost_incarnations(config.lost_lives_max) {}

JobTables::JobTables(const SupervisorConfig& config, Rng rng)
    : graphs(config.cached_graphs_max, cached_graph_bytes(config)),
      ended(config, jobs),
      timers(rng),
      watchdog(config.watchdog_after) {}

Outputs::Outputs(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables)
    : progress(config, tables.jobs, ledger.gate, event),
      data(config, fleet.workers, fleet.mail, ledger.gate, tables.jobs, progress, awaited, tables.counters) {}

PolicyBase::PolicyBase(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet,
                       JobTables& tables)
    : view(tables.jobs, fleet.workers, fleet.eligibility, state, tables.indices),
      turns(event, state, view),
      records(ledger.clock, ledger.gate, state),
      units(tables.jobs, fleet.workers, state, view),
      demand(tables.jobs, fleet.workers, fleet.eligibility, state, view),
      rules(tables.jobs, fleet.workers, state, tables.indices, view, units),
      feasibility(fleet.workers, fleet.readoption, fleet.eligibility, state, view, units, rules),
      usage(event, ledger.clock, ledger.gate, tables.jobs, state, tables.indices, view, turns),
      checks(event, fleet.workers, state, view, rules),
      entitlement_mail(config, event, fleet.workers, fleet.mail, state) {}

Placement::Placement(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet,
                     JobTables& tables, Outputs& outputs, PolicyBase& policy_base)
    : machine(fleet.workers, fleet.bands, tables.nested, event),
      queues(tables.jobs, fleet.workers, fleet.bands, tables.counters, policy_base.turns),
      assignments(config, ledger.clock, fleet.workers, fleet.mail, policy_base.entitlement_mail),
      external_inputs(tables.jobs, fleet.workers, outputs.awaited, fleet.readoption, fleet.eligibility,
                      holders_drain_until, policy_base.view),
      placer(config, event, fleet.workers, fleet.bands, machine, fleet.readoption, fleet.eligibility, fleet.costs,
             tables.indices, tables.timers, search, policy_base.view, queues, external_inputs),
      dispatcher(config, event, fleet, tables, policy_base, machine, search, first_attempt, queues, assignments,
                 placer) {}

PolicyDriver::PolicyDriver(EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables,
                           PolicyBase& policy_base, Placement& placement)
    : fallbacks(event, ledger.audit, tables.jobs, fleet.workers, policy_base.state, policy_base.view,
                policy_base.records, policy_base.feasibility, placement.placer),
      colocation(tables.jobs, fleet.workers, policy_base.state, policy_base.view, policy_base.feasibility),
      snapshot(event, tables.jobs, fleet.workers, policy_base.state, policy_base.view, policy_base.units,
               policy_base.demand, policy_base.rules, policy_base.feasibility, policy_base.usage, fallbacks,
               colocation),
      admission_audit(event, ledger.audit, tables.jobs, fleet.workers, policy_base.state, tables.indices,
                      policy_base.view),
      barriers(event, tables.jobs, fleet.workers, policy_base.state, policy_base.view, policy_base.demand,
               policy_base.entitlement_mail),
      entitlements(event, tables.jobs, fleet.workers, fleet.eligibility, fleet.mail, policy_base.state,
                   policy_base.view, policy_base.turns, policy_base.records, policy_base.demand,
                   policy_base.entitlement_mail, placement.queues, placement.assignments, admission_audit, barriers),
      plan_effects(tables.jobs, fleet.workers, policy_base.state, policy_base.view, policy_base.rules, fallbacks,
                   admission_audit, entitlements),
      membership(fleet.workers, fleet.bands, policy_base.state, tables.indices, policy_base.view, policy_base.turns,
                 policy_base.units, policy_base.rules, policy_base.usage, policy_base.entitlement_mail, fallbacks),
      answers(event, tables.jobs, fleet.workers, policy_base.state, tables.indices, policy_base.view,
              policy_base.demand, policy_base.rules, policy_base.feasibility, policy_base.usage, fallbacks, barriers) {}

Runs::Runs(const SupervisorConfig& config, EventContext& event, Fleet& fleet, JobTables& tables, Outputs& outputs,
           PolicyBase& policy_base, Placement& placement, PolicyDriver& driver)
    : ends(config, fleet.workers, fleet.mail, placement.machine, outputs.progress, outputs.awaited, outputs.data,
           policy_base.records, placement.external_inputs, driver.barriers, tables.maybe_done),
      time_limits(event, tables.jobs, tables.indices, policy_base.records, ends),
      priorities(fleet.workers, fleet.mail, fleet.bands, policy_base.state, tables.indices, policy_base.view,
                 policy_base.turns, policy_base.records, placement.queues, placement.placer),
      recomputation(config, tables.jobs, fleet.workers, placement.machine, outputs.data, tables.counters,
                    placement.external_inputs, placement.placer, ends, priorities, outputs.unread),
      retries(config, event, tables.jobs, fleet.workers, placement.machine, outputs.data, fleet.eligibility,
              tables.timers, tables.counters, policy_base.view, policy_base.records, policy_base.units,
              placement.placer, ends, recomputation),
      attempts(fleet.workers, policy_base.usage),
      adoption(config, event, fleet.workers, fleet.mail, placement.machine, tables.counters, placement.placer,
               attempts),
      reports(event, fleet, tables, outputs, policy_base, placement, ends, time_limits, recomputation, retries,
              attempts, adoption) {}

Lifecycle::Lifecycle(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet,
                     JobTables& tables, Outputs& outputs, PolicyBase& policy_base, Placement& placement,
                     PolicyDriver& driver, Runs& runs)
    : releases(config, event, ledger, fleet, tables, outputs, policy_base, placement, driver, runs),
      nested(config, tables.jobs, tables.nested, runs.ends, releases),
      acceptance(config, event, ledger, fleet, tables, outputs, policy_base, placement, driver, releases, nested),
      reruns(config, event, ledger, fleet, tables, acceptance),
      waits(config, event, tables.jobs, fleet.workers, outputs.awaited, tables.indices, placement.holders_drain_until,
            placement.external_inputs, placement.placer, runs.ends, runs.recomputation),
      recovery(config, event, ledger, fleet, tables, outputs, policy_base, placement, driver, runs, releases,
               acceptance) {}

Admin::Admin(const SupervisorConfig& config, EventContext& event, Ledger& ledger, Fleet& fleet, JobTables& tables,
             PolicyBase& policy_base, Placement& placement, PolicyDriver& driver, Runs& runs)
    : questions(fleet.workers, fleet.mail, ledger.gate, config.log_answer_bytes_max),
      cluster_answers(config, event, tables.jobs, fleet.workers, tables.ended, tables.nested, fleet.readoption,
                      policy_base.state, tables.indices, tables.timers, policy_base.feasibility, placement.queues,
                      placement.external_inputs, placement.dispatcher, driver.answers),
      orders(tables.jobs, fleet.workers, questions, policy_base.state, tables.indices, policy_base.view,
             policy_base.turns, policy_base.records, policy_base.rules, policy_base.usage, policy_base.checks,
             driver.answers, cluster_answers, runs.ends, runs.priorities),
      time_limit_orders(event, tables.jobs, policy_base.rules, policy_base.turns, runs.time_limits),
      shared(config, ledger.gate, event) {}

}  // namespace penstock::supervisor
