#include "supervisor/core/supervisor_core.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/driver/barrier_facts.hpp"
#include "supervisor/core/invariants.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/pool_parts.hpp"
#include "supervisor/core/report_prefetcher.hpp"

namespace penstock::supervisor {
namespace {

/// The search budget of one event for idle bands, apart from the budget that its reports earn.
constexpr std::uint32_t kBudgetForEvent = 16;
/// The same for each further message in one event.
constexpr std::uint32_t kBudgetForMessage = 4;

/// Jobs that an alarm of the watchdog names, the best first.
constexpr std::size_t kNamedMax = 8;

}  // namespace

SupervisorCore::SupervisorCore(const SupervisorConfig& config, Rng rng, Durability durability)
    : config_(config),
      ledger_(config_, event_, durability),
      fleet_(config_, event_, ledger_),
      tables_(config_, rng),
      outputs_(config_, event_, ledger_, fleet_, tables_),
      policy_base_(config_, event_, ledger_, fleet_, tables_),
      placement_(config_, event_, ledger_, fleet_, tables_, outputs_, policy_base_),
      driver_(event_, ledger_, fleet_, tables_, policy_base_, placement_),
      runs_(config_, event_, fleet_, tables_, outputs_, policy_base_, placement_, driver_),
      lifecycle_(config_, event_, ledger_, fleet_, tables_, outputs_, policy_base_, placement_, driver_, runs_),
      admin_(config_, event_, ledger_, fleet_, tables_, policy_base_, placement_, driver_, runs_),
      returns_(config_, event_, ledger_, fleet_, tables_, outputs_, policy_base_, driver_, runs_, lifecycle_, admin_),
      losses_(config_, event_, ledger_, fleet_, tables_, outputs_, policy_base_, placement_, driver_, runs_, lifecycle_,
              admin_, returns_) {
  policy_base_.state.config = config.policy;
  policy_base_.state.tree = project_tree(policy_base_.state.config);
  policy_base_.state.parts = parts_in_force(config.policy);
  policy_base_.state.contended.assign(config.policy.pools.size() * kBandKinds, true);
  tables_.counters.busy.set_names(config.policy);
}

void SupervisorCore::handle(SupervisorEvent&& event, Instant now, Actions<SupervisorAction>& actions) {
  event_.now = now;
  event_.out = &actions;
  placement_.search.search_budget = kBudgetForEvent;
  // Such events change nothing for bands that found nothing before; whatever else happens may.
  placement_.search.all_may_try =
      !std::holds_alternative<supervisor_event::Tick>(event) &&
      !(std::holds_alternative<supervisor_event::Persisted>(event) && ledger_.accepting.empty() &&
        ledger_.losses.empty() && !fleet_.readoption.awaits_disk());
  std::visit([this](auto& concrete) { on(concrete); }, event);
  do {
    lifecycle_.nested.end_children();
    outputs_.awaited.settle([this](const SubtaskId& waiter) { lifecycle_.waits.resolve_external_input(waiter); });
    placement_.dispatcher.fill_dirty_bands();
    placement_.dispatcher.help_idle_bands();
    for (std::size_t i = 0; i < tables_.maybe_done.size(); ++i)
      if (tables_.jobs.knows(tables_.maybe_done[i]))
        lifecycle_.releases.finish_if_done(tables_.jobs[tables_.maybe_done[i]]);
    tables_.maybe_done.clear();
    // Further jobs waited for outputs of a job that has ended, or were submitted by its runs.
  } while (outputs_.awaited.any_changed() || lifecycle_.nested.any_to_end());
  lifecycle_.releases.forget_spent_jobs();
  run_policy();
  outputs_.progress.send_due();
  outputs_.data.remove_old_files();
  fleet_.mail.flush();
  if (ledger_.gate.durable()) write_what_has_changed();
  event_.out = nullptr;
}

std::optional<Instant> SupervisorCore::next_deadline() const {
  Instant next =
      std::min({tables_.watchdog.look_at(), placement_.search.help_at, fleet_.readoption.next_due(),
                placement_.external_inputs.holders_given_up_at(), tables_.ended.next_due(), admin_.shared.next_due()});
  if (const std::optional<Instant> policy = policy_base_.turns.policy_deadline()) next = std::min(next, *policy);
  next = std::min({next, outputs_.progress.due(), tables_.timers.first(), tables_.indices.bands_awaited.first(),
                   tables_.indices.kept.first(), tables_.indices.time_limits.first()});
  return next == kNever ? std::nullopt : std::optional{next};
}

void SupervisorCore::on(supervisor_event::WorkerJoined& event) {
  if (const Result<void> good = check_registration(event.description, config_.graph.name_bytes_max); !good) {
    event_.out->add(supervisor_action::Alert{good.error()});
    event_.out->add(supervisor_action::ReleaseWorker{event.worker});
    return;
  }
  std::optional<record::WorkerJoined> known;
  if (event.description.reclaims) {
    known = returns_.take_back(event.worker, event.incarnation);
    if (!known) {
      event_.out->add(supervisor_action::ReleaseWorker{event.worker});
      return;
    }
  }
  const std::size_t user_lists = fleet_.workers.user_lists();
  const WorkerSlot slot = fleet_.workers.add(event.worker, event.incarnation, event.description);
  if (known) fleet_.workers[slot].drain_order = known->drain;
  driver_.membership.note_pools_of(slot);
  if (fleet_.workers.user_lists() > user_lists)  // Jobs that could run on every worker may not run on this one.
    for (const JobId id : tables_.indices.active.all()) driver_.fallbacks.open_labels(tables_.jobs[id]);
  fleet_.mail.tell(slot, RegisterReply{event.worker});
  tables_.watchdog.note_progress(event_.now);
  if (event.description.crash) losses_.blame(slot, *event.description.crash);
  if (event.description.reclaims) return returns_.begin_claim(slot);
  ledger_.gate.write_with_next(
      record::WorkerJoined{event.worker, event.incarnation, event.description.name, event.description.shared_storage});
  outputs_.data.workers_changed();
  for (const BandSlot band : fleet_.workers[slot].bands) fleet_.bands.mark_dirty(band);
  lifecycle_.waits.place_all_unschedulable();
}

void SupervisorCore::on(const supervisor_event::WorkerSaid& event) {
  supervisor_event::WorkersSaid alone{{&event, 1}};
  on(alone);
}

void SupervisorCore::on(supervisor_event::WorkersSaid& event) {
  ReportPrefetcher prefetcher{fleet_.workers, tables_.jobs};
  for (std::size_t i = 0; i < event.said.size(); ++i) {
    if (i > 0) placement_.search.search_budget += kBudgetForMessage;
    if (i % ReportPrefetcher::kTogether == 0)
      prefetcher.look_at(event.said.subspan(i, std::min(ReportPrefetcher::kTogether, event.said.size() - i)));
    const WorkerSlot slot = fleet_.workers.find(event.said[i].worker);
    if (!slot.valid()) {
      ++tables_.counters.stale_reports;
      continue;
    }
    std::visit([this, slot](const auto& message) { receive(slot, message); }, event.said[i].message);
  }
}

void SupervisorCore::on(supervisor_event::ClientSaid& event) {
  const auto job_of = [&](const auto& message) {
    Job* job = tables_.jobs.find(message.job);
    return job != nullptr && differ(message.identity, job->identity) ? nullptr : job;
  };
  if (const auto* attach_message = std::get_if<AttachJob>(&event.message)) {
    lifecycle_.acceptance.attach(event.client, *attach_message);
  } else if (const auto* release = std::get_if<ReleaseJob>(&event.message)) {
    if (Job* job = job_of(*release)) lifecycle_.releases.release_for(*job, event.client);
  } else if (const auto* outputs = std::get_if<ReleaseOutputs>(&event.message)) {
    if (Job* job = job_of(*outputs)) lifecycle_.releases.release_outputs(*job, outputs->subtasks);
  } else if (const auto* unfollow_message = std::get_if<UnfollowJob>(&event.message)) {
    if (Job* job = job_of(*unfollow_message)) lifecycle_.releases.unfollow(*job, event.client);
  } else if (const auto* request = std::get_if<AdminRequest>(&event.message)) {
    answer(event, *request);
  } else if (const auto* again = std::get_if<SubmitAgain>(&event.message)) {
    lifecycle_.acceptance.submit_again(event.client, *again, event.identity);
  }
}

void SupervisorCore::on(supervisor_event::ClientGone& event) {
  for (const JobId id : outputs_.progress.followed_by(event.client))
    if (tables_.jobs.knows(id)) lifecycle_.releases.unfollow(tables_.jobs[id], event.client);
  admin_.questions.client_gone(event.client);
  admin_.shared.client_gone(event.client);
}

void SupervisorCore::on(supervisor_event::Tick&) {
  if (policy_base_.view.policed() && event_.now >= policy_base_.state.barriers_end)
    driver_.entitlements.give_up_late_barriers();
  runs_.time_limits.end_overdue();
  runs_.retries.run_timers();
  lifecycle_.waits.give_up_missing_bands();
  lifecycle_.waits.give_up_draining_holders();
  if (fleet_.readoption.gives_up_absent()) returns_.end_reclaiming();
  for (const JobId id : tables_.indices.kept.due_at(event_.now)) {
    Job& job = tables_.jobs[id];
    if (job.outbox.followers().empty() && job.outputs.borrowed->empty() && !job.outputs.kept_by_order)
      lifecycle_.releases.release_job(job);
    else  // A follower is connected, a job refers to it, or an order keeps it.
      tables_.indices.kept.move(id, job.outputs.keep_until, later(event_.now, config_.results_keep));
  }
  lifecycle_.releases.forget_old_jobs();
  admin_.shared.end_due();
  watch();
}

std::uint64_t SupervisorCore::memory_bytes() const {
  std::uint64_t sum = tables_.graphs.memory_bytes();
  for (const auto& job : tables_.jobs.all()) {
    if (job == nullptr) continue;
    sum += sizeof(Job) + job->hot.capacity() * sizeof(SubtaskHot) + job->place.locals.memory_bytes();
  }
  return sum;
}

ClusterMetrics metrics_of(const SupervisorCore& core, std::size_t jobs_max) {
  ClusterMetrics seen =
      ClusterSample{core.fleet_.workers, core.tables_.jobs, core.tables_.indices, core.policy_base_.state}.take(
          jobs_max);
  seen.counters = core.tables_.counters;
  seen.held_bytes = core.held_bytes();
  seen.reclaiming = core.reclaiming();
  seen.journal_in_trouble = core.ledger_.gate.trouble().has_value();
  return seen;
}

void SupervisorCore::validate() const {
  outputs_.data.validate();
  outputs_.progress.validate();
  admin_.shared.validate();
  Invariants{fleet_, tables_, outputs_, policy_base_, placement_}.check();
}

void SupervisorCore::on(supervisor_event::GraphChecked& event) { lifecycle_.acceptance.submit(event); }

void SupervisorCore::on(supervisor_event::StateRecovered& event) {
  ledger_.clock = WallClock{event_.now, event.unix_ms};
  placement_.first_attempt = attempts_begin(event.term);
  admin_.shared.recover(event.state.shared);
  lifecycle_.recovery.recover(event);
}

void SupervisorCore::receive(WorkerSlot slot, const WorkerClaim& message) {
  if (!fleet_.workers[slot].claiming) return;  // The worker has nothing to claim in this term.
  for (const ClaimedJob& claimed : message.jobs)
    if (losses_.means_another(slot, claimed.job, claimed.identity)) return;
  for (const ClaimedJob& claimed : message.jobs) returns_.claim_job(slot, claimed);
  if (message.last) returns_.finish_claim(slot, message.draining);
}

// Fault F02: subtasks given to a worker that is gone wait there until it is declared lost.
void SupervisorCore::on(supervisor_event::WorkerSuspected& event) {
  const WorkerSlot slot = fleet_.workers.find(event.worker);
  if (!slot.valid() || fleet_.workers[slot].lost || fleet_.workers[slot].suspected == event.suspected) return;
  WorkerEntry& worker = fleet_.workers[slot];
  worker.suspected = event.suspected;
  outputs_.data.workers_changed();
  if (event.suspected) {
    PENSTOCK_COVERAGE_MARK("a worker was suspected");
    event_.out->add(
        supervisor_action::Alert{Error{ErrorCode::Disconnected,
                                       worker.description.name,
                                       "suspected: nothing is heard of it; it gets nothing new until it is heard again",
                                       {}}});
  }
  if (!worker.claiming) losses_.open_or_close_bands(slot);
}

// The work of a lost worker is given to others when its loss is on the disk. A supervisor that died before that would
// be followed by one that takes the worker back, and its runs would go on beside those that others were given.
void SupervisorCore::on(supervisor_event::WorkerLost& event) {
  const WorkerSlot slot = fleet_.workers.find(event.worker);
  if (!slot.valid() || fleet_.workers[slot].lost) return;
  if (!ledger_.gate.durable()) return losses_.lose_worker(slot, event.reason);
  ledger_.gate.write(record::WorkerGone{event.worker});
  ledger_.losses.add({event.worker, std::move(event.reason)});
  WorkerEntry& worker = fleet_.workers[slot];
  worker.lost = worker.suspected = true;
  if (!worker.claiming) losses_.open_or_close_bands(slot);
  // A gang must not begin on slots of a lost worker.
  for (const auto& [id, kind] : driver_.barriers.barriers_with(slot))
    driver_.entitlements.give_up_barrier(tables_.jobs[id], kind,
                                         worker.description.name + ", which held a part of them, was lost");
}

// A second registration of the same incarnation changes nothing, or the worker is not what it was.
void SupervisorCore::receive(WorkerSlot slot, const Register& message) {
  const Result<void> same = check_unchanged(fleet_.workers[slot].description, message, policy_base_.state.config);
  if (!same) losses_.lose_worker(slot, same.error().message + "; it must begin anew");
}

void SupervisorCore::receive(WorkerSlot slot, const DrainState& message) {
  fleet_.workers[slot].drained = message.draining && message.empty;
}

void SupervisorCore::receive(WorkerSlot slot, const BarrierAnswer& message) {
  if (!tables_.jobs.knows(message.job) || message.band.value() >= fleet_.workers[slot].bands.size()) return;
  Job& job = tables_.jobs[message.job];
  if (job.shares == nullptr || job.status.cancelling) return;
  const BandSlot band = fleet_.workers[slot].bands[message.band.value()];
  const BandKind kind = fleet_.workers[band].kind;
  GangBarrier& barrier = job.shares->kinds.edit(kind).gang.barrier.edit();
  if (message.held.is_zero() && message.barrier != 0 && barrier.opened == message.barrier &&
      job.shares->of(band).planned > 0) {
    PENSTOCK_COVERAGE_MARK("a gang was let begin on slots that had been given back");
    return driver_.entitlements.give_up_barrier(
        job, kind, band_text(fleet_.workers, band) + " gave its slots back before it heard that all begin");
  }
  if (!barrier.waits() || barrier.number != message.barrier) {
    PENSTOCK_COVERAGE_MARK("a worker answers for a barrier that is over");
    return;
  }
  if (message.held.is_zero())
    return driver_.entitlements.give_up_barrier(
        job, kind, band_text(fleet_.workers, band) + " had no word for too long and gave its slots back");
  // As the worker counts it: a band may have a part of a slot.
  const MilliSlots asked = std::min(job.shares->of(band).entitled, fleet_.workers[band].description.capacity.slots);
  if (asked.is_zero() || message.held < asked || barrier.is_held(band)) return;
  if (barrier.now_held(band)) driver_.barriers.open_if_all_held(job, kind);
}

void SupervisorCore::receive(WorkerSlot slot, const ReportBatch& message) {
  WorkerEntry& worker = fleet_.workers[slot];
  worker.reports_received = std::max(worker.reports_received, message.number);
  fleet_.mail.of(slot);  // At least `ReportsApplied` goes back.
  for (const JobReports& reports : message.jobs)
    if (losses_.means_another(slot, reports.job, reports.identity)) return;
  for (const JobReports& reports : message.jobs) {
    Job* job = tables_.jobs.find(reports.job);
    if (job != nullptr && job->status.state == JobState::Running)
      runs_.reports.apply(slot, *job, reports);
    else
      runs_.reports.ignore(slot, job, reports);
  }
  for (const ReplicaReport& replica : message.replicas) {
    if (!tables_.jobs.knows(replica.producer.job)) continue;
    Job& job = tables_.jobs[replica.producer.job];
    if (outputs_.data.receive(slot, job, replica)) policy_base_.records.record_end(job);
  }
  for (const BandLoad& load : message.loads)
    if (load.band.value() < worker.bands.size()) placement_.placer.note_load(worker.bands[load.band.value()], load);
  if (message.counters.any()) fleet_.workers[slot].counters = *message.counters;
  if (!message.loads.empty()) outputs_.data.make_room(slot);
}

// Spec: worker 11. Work pending and nothing happening for long is a defect or a cluster that cannot serve the job; the
// reason is named once.
void SupervisorCore::watch() {
  if (tables_.indices.active.empty()) return tables_.watchdog.stop();
  if (!tables_.watchdog.looks(event_.now)) return;
  bool runs = false;
  for (std::uint32_t i = 0; i < fleet_.workers.band_slots(); ++i)
    runs = runs || (fleet_.workers[BandSlot{i}].alive &&
                    (fleet_.workers[BandSlot{i}].load.running > 0 || fleet_.workers[BandSlot{i}].load.yielded > 0));
  if (runs || !tables_.watchdog.alarms(event_.now)) return;
  PENSTOCK_COVERAGE_MARK("the watchdog gave alarm");
  ++tables_.counters.watchdog_alerts;
  std::size_t named = 0;
  for (const JobId id : tables_.indices.active) {
    if (named++ == kNamedMax) break;
    const std::size_t others = named == kNamedMax ? tables_.indices.active.size() - kNamedMax : 0;
    Job& job = tables_.jobs[id];
    const Value explanation = admin_.cluster_answers.explain_job(job, false);
    const std::string* reason = explanation["reason"].text();
    event_.out->add(
        supervisor_action::Alert{Error{ErrorCode::Internal, to_string(id),
                                       "has pending work and nothing runs: " + (reason == nullptr ? "" : *reason) +
                                           (others > 0 ? "; and " + std::to_string(others) + " other jobs" : ""),
                                       "`penstock explain " + to_string(id) + "` tells more"}});
  }
}

}  // namespace penstock::supervisor
