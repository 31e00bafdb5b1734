#include "supervisor/core/supervisor_core.hpp"

#include <algorithm>

#include "supervisor/core/credit.hpp"
#include "supervisor/core/pool_parts.hpp"
#include "supervisor/core/report_prefetcher.hpp"

namespace penstock::supervisor {
namespace {

/// The search budget of one event for idle bands, apart from the budget that its reports earn.
constexpr std::uint32_t kBudgetForEvent = 16;
/// The same for each further message in one event.
constexpr std::uint32_t kBudgetForMessage = 4;

/// Graphs that are kept in case that they are wanted again leave seven eighths of the memory to what is wanted.
std::uint64_t cached_graph_bytes(const SupervisorConfig& config) {
  const std::int64_t most = config.memory_max.is_zero() ? INT64_MAX : config.memory_max.value() / 8;
  return static_cast<std::uint64_t>(std::min(config.cached_graph_bytes_max, most));
}

}  // namespace

SupervisorCore::SupervisorCore(const SupervisorConfig& config, Rng rng, Durability durability)
    : config_(config),
      gate_(durability, event_),
      audit_(config_, gate_, clock_, event_),
      mail_(workers_, gate_, event_),
      bands_(workers_),
      machine_(workers_, bands_, event_),
      ended_(config_, jobs_),
      progress_(config_, jobs_, gate_, event_),
      data_(config_, workers_, mail_, gate_, jobs_, progress_, awaited_, counters_),
      questions_(workers_, mail_, gate_, config_.log_answer_bytes_max),
      readoption_(config_, gate_, event_),
      eligibility_(workers_),
      costs_(config_, workers_),
      graphs_(config.cached_graphs_max, cached_graph_bytes(config)),
      timers_(rng),
      watchdog_(config.watchdog_after),
      lost_incarnations_(config.lost_lives_max) {
  policy_.config = config.policy;
  policy_.tree = project_tree(policy_.config);
  policy_.parts = parts_in_force(config.policy);
  policy_.contended.assign(config.policy.pools.size() * kBandKinds, true);
}

void SupervisorCore::handle(SupervisorEvent&& event, Instant now, Actions<SupervisorAction>& actions) {
  event_.now = now;
  event_.out = &actions;
  search_.search_budget = kBudgetForEvent;
  // Such events change nothing for bands that found nothing before; whatever else happens may.
  search_.all_may_try = !std::holds_alternative<supervisor_event::Tick>(event) &&
                        !(std::holds_alternative<supervisor_event::Persisted>(event) && accepting_.empty() &&
                          losses_.empty() && !readoption_.awaits_disk());
  std::visit([this](auto& concrete) { on(concrete); }, event);
  do {
    awaited_.settle([this](const SubtaskId& waiter) { resolve_external_input(waiter); });
    fill_dirty_bands();
    help_idle_bands();
    for (std::size_t i = 0; i < maybe_done_.size(); ++i)
      if (jobs_.knows(maybe_done_[i])) finish_if_done(jobs_[maybe_done_[i]]);
    maybe_done_.clear();
  } while (awaited_.any_changed());  // Further jobs waited for outputs of a job that has ended.
  run_policy();
  progress_.send_due();
  data_.remove_old_files();
  mail_.flush();
  if (gate_.durable()) write_what_has_changed();
  event_.out = nullptr;
}

std::optional<Instant> SupervisorCore::next_deadline() const {
  Instant next = std::min(
      {watchdog_.look_at(), search_.help_at, readoption_.next_due(), holders_given_up_at(), ended_.next_due()});
  if (const std::optional<Instant> policy = policy_deadline()) next = std::min(next, *policy);
  next = std::min({next, progress_.due(), timers_.first(), indices_.bands_awaited.first(), indices_.kept.first()});
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
    known = take_back(event.worker, event.incarnation);
    if (!known) {
      event_.out->add(supervisor_action::ReleaseWorker{event.worker});
      return;
    }
  }
  const WorkerSlot slot = workers_.add(event.worker, event.incarnation, event.description);
  if (known) workers_[slot].drain_order = known->drain;
  note_pools_of(slot);
  mail_.tell(slot, RegisterReply{event.worker});
  watchdog_.note_progress(event_.now);
  if (event.description.crash) blame(slot, *event.description.crash);
  if (event.description.reclaims) return begin_claim(slot);
  gate_.write_with_next(
      record::WorkerJoined{event.worker, event.incarnation, event.description.name, event.description.shared_storage});
  data_.workers_changed();
  for (const BandSlot band : workers_[slot].bands) bands_.mark_dirty(band);
  place_unschedulable();
}

void SupervisorCore::on(const supervisor_event::WorkerSaid& event) {
  supervisor_event::WorkersSaid alone{{&event, 1}};
  on(alone);
}

void SupervisorCore::on(supervisor_event::WorkersSaid& event) {
  ReportPrefetcher prefetcher{workers_, jobs_};
  for (std::size_t i = 0; i < event.said.size(); ++i) {
    if (i > 0) search_.search_budget += kBudgetForMessage;
    if (i % ReportPrefetcher::kTogether == 0)
      prefetcher.look_at(event.said.subspan(i, std::min(ReportPrefetcher::kTogether, event.said.size() - i)));
    const WorkerSlot slot = workers_.find(event.said[i].worker);
    if (!slot.valid()) {
      ++counters_.stale_reports;
      continue;
    }
    std::visit([this, slot](const auto& message) { receive(slot, message); }, event.said[i].message);
  }
}

void SupervisorCore::on(supervisor_event::ClientSaid& event) {
  if (const auto* attach_message = std::get_if<AttachJob>(&event.message)) {
    attach(event.client, *attach_message);
  } else if (const auto* release = std::get_if<ReleaseJob>(&event.message)) {
    if (jobs_.knows(release->job) && !differ(release->identity, jobs_[release->job].identity))
      release_for(jobs_[release->job], event.client);
  } else if (const auto* unfollow_message = std::get_if<UnfollowJob>(&event.message)) {
    if (jobs_.knows(unfollow_message->job) &&
        !differ(unfollow_message->identity, jobs_[unfollow_message->job].identity))
      unfollow(jobs_[unfollow_message->job], event.client);
  } else if (const auto* request = std::get_if<AdminRequest>(&event.message)) {
    answer(event.client, *request);
  } else if (const auto* again = std::get_if<SubmitAgain>(&event.message)) {
    submit_again(event.client, *again, event.identity);
  }
}

void SupervisorCore::on(supervisor_event::ClientGone& event) {
  for (const JobId id : progress_.followed_by(event.client))
    if (jobs_.knows(id)) unfollow(jobs_[id], event.client);
  questions_.client_gone(event.client);
}

void SupervisorCore::on(supervisor_event::Tick&) {
  if (policed() && event_.now >= policy_.barriers_end) give_up_late_barriers();
  run_timers();
  give_up_missing_bands();
  give_up_draining_holders();
  if (readoption_.gives_up_absent()) end_reclaiming();
  for (const JobId id : indices_.kept.due_at(event_.now)) {
    Job& job = jobs_[id];
    if (job.outbox.followers().empty() && job.references == 0)
      release_job(job);
    else  // A follower is connected, or a job refers to it.
      indices_.kept.move(id, job.keep_until, later(event_.now, config_.results_keep));
  }
  forget_old_jobs();
  watch();
}

void SupervisorCore::send_to_client(ClientId client, ToClient message) {
  gate_.defer(supervisor_action::SendToClient{client, std::move(message)});
}

std::uint64_t SupervisorCore::memory_bytes() const {
  std::uint64_t sum = graphs_.memory_bytes();
  for (const auto& job : jobs_.all()) {
    if (job == nullptr) continue;
    sum += sizeof(Job) + job->hot.capacity() * sizeof(SubtaskHot);
    for (const LocalSet& local : job->locals) sum += sizeof(LocalSet) + local.memory_bytes();
  }
  return sum;
}

/// Whatever is kept here for a band is found by looking at what is kept here for that band.
void SupervisorCore::check_placements(Job& job) const {
  std::vector<bool> found(job.total());
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i)
    if (const LocalSet* local = job.find_local(BandSlot{i}))
      for (const std::uint64_t key : local->all_keys()) {
        const std::uint32_t subtask = job.shape->at_rank(static_cast<std::uint32_t>(key));
        if (job.hot[subtask].band == BandSlot{i}) found[subtask] = true;
      }
  for (std::uint32_t i = 0; i < job.total(); ++i) {
    const bool kept = job.hot[i].phase == SubtaskPhase::Placeable && job.hot[i].band.valid();
    PENSTOCK_CHECK_MSG(!kept || found[i], to_string(SubtaskId{job.id, SubtaskIndex{i}}));
  }
}

/// A subtask that may be given to a worker reads nothing that no worker holds, unless there is no worker.
void SupervisorCore::check_inputs(const Job& job, std::uint32_t subtask) const {
  const auto predecessors = job.shape->predecessors(subtask);
  for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
    if (job.shape->edge_output(job.shape->first_edge(subtask) + k) == EdgeKind::kOrderOnly) continue;
    const SubtaskId id{job.id, SubtaskIndex{predecessors[k]}};
    const bool waits = std::find(unread_.begin(), unread_.end(), id) != unread_.end();
    PENSTOCK_CHECK_MSG(waits || !DataDirectory::is_gone(job, predecessors[k]), to_string(id));
  }
}

/// The counts for policy are those that a look at all subtasks would find.
void SupervisorCore::check_shares(const Job& job) const {
  std::vector<BandShare> found(std::max<std::size_t>(workers_.band_slots(), job.shares->bands.size()));
  UsedRate started_rate{};
  for (std::uint32_t i = 0; i < job.hot.size(); ++i) {
    const SubtaskHot& hot = job.hot[i];
    if (hot.phase != SubtaskPhase::Assigned) continue;
    BandShare& share = found[hot.band.value()];
    ++share.in_flight;
    share.runnable += hot.missing == 0;
    if ((hot.flags & SubtaskFlag::kStarted) == 0) continue;
    ++share.started;
    add(started_rate, rate_of(job, i));
  }
  PENSTOCK_CHECK_MSG(job.shares->use->started_rate == started_rate, to_string(job.id));
  std::array<std::size_t, kBandKinds> short_bands{};
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    const BandShare share = job.shares->of(BandSlot{i});
    const auto kind = static_cast<std::size_t>(workers_[BandSlot{i}].kind);
    if (share.is_short()) ++short_bands[kind];
    PENSTOCK_CHECK_MSG(job.shares->short_bands[kind].contains(i) == share.is_short(), to_string(job.id));
    PENSTOCK_CHECK_MSG(share.in_flight == found[i].in_flight, to_string(job.id));
    PENSTOCK_CHECK_MSG(share.runnable == found[i].runnable, to_string(job.id));
    PENSTOCK_CHECK_MSG(share.started == found[i].started, to_string(job.id));
  }
  for (std::size_t kind = 0; kind < kBandKinds; ++kind)
    PENSTOCK_CHECK_MSG(job.shares->short_bands[kind].size() == short_bands[kind], to_string(job.id));
}

/// Subtasks of a job that may be sent to a band are found by a look at the jobs that wait for the band. Counts what is
/// kept.
void SupervisorCore::check_waiting(Job& job, std::vector<std::uint64_t>& ready) const {
  for (std::uint32_t i = job.first_local; i < job.locals_end(); ++i) {
    const LocalSet* local = job.find_local(BandSlot{i});
    if (local == nullptr || local->empty()) continue;
    ready[i] += local->ready_count();
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || job.cancelling || credit_of(job, BandSlot{i}).slots == 0) continue;
    bool found = false;
    for (std::size_t at = 0; at < band.waiting.size(); ++at)
      found |= band.waiting[at].job == job.id && band.waiting[at].epoch == job.waiting_epoch &&
               band.waiting[at].priority == job.spec.priority;
    PENSTOCK_CHECK_MSG(found && local->is_waiting(), to_string(job.id));
  }
}

void SupervisorCore::validate() const {
  data_.validate();
  progress_.validate();
  std::vector<std::uint64_t> ready(workers_.band_slots());
  std::vector<std::uint32_t> in_flight(workers_.band_slots());
  std::vector<std::uint32_t> runnable(workers_.band_slots());
  LimitedJobs limited;
  for (const auto& job : jobs_.all()) {
    if (job != nullptr && job->shares != nullptr) limited.add(job->shares->rules.limits);
    if (job == nullptr || job->shape == nullptr || job->state != JobState::Running) continue;
    std::uint32_t open = 0;
    std::uint32_t assigned = 0;
    for (std::uint32_t i = 0; i < job->total(); ++i) {
      const SubtaskHot& hot = job->hot[i];
      open += !is_final(hot.phase);
      if (is_final(hot.phase)) continue;
      std::uint32_t missing = 0;
      std::uint32_t unplaced = 0;
      bool doomed = false;
      for (const std::uint32_t predecessor : job->shape->predecessors(i)) {
        const SubtaskPhase phase = job->hot[predecessor].phase;
        missing += phase != SubtaskPhase::Succeeded;
        unplaced += phase != SubtaskPhase::Succeeded && phase != SubtaskPhase::Assigned;
        doomed |= phase == SubtaskPhase::Failed || phase == SubtaskPhase::Cancelled;
      }
      const SubtaskId id{job->id, SubtaskIndex{i}};
      PENSTOCK_CHECK_MSG(missing == hot.missing, to_string(id));
      PENSTOCK_CHECK_MSG(unplaced == hot.unplaced, to_string(id));
      PENSTOCK_CHECK_MSG(hot.phase != SubtaskPhase::Placeable || unplaced == 0, to_string(id));
      PENSTOCK_CHECK_MSG(hot.phase == SubtaskPhase::Assigned || !doomed || job->cancelling || job->recovering,
                         to_string(id));
      PENSTOCK_CHECK_MSG(hot.phase != SubtaskPhase::Waiting || unplaced > 0 || job->cancelling ||
                             job->waiting_for_disk || job->recovering,
                         to_string(id));
      if (hot.phase == SubtaskPhase::Placeable && !job->recovering && !job->cancelling) {
        check_inputs(*job, i);
        check_waiting_external_inputs(*job, i);
      }
      if (hot.phase != SubtaskPhase::Assigned) continue;
      ++assigned;
      PENSTOCK_CHECK_MSG(workers_[hot.band].alive, to_string(id));
      ++in_flight[hot.band.value()];
      runnable[hot.band.value()] += hot.missing == 0;
    }
    PENSTOCK_CHECK_MSG(open == job->open && assigned == job->in_flight, to_string(job->id));
    if (job->shares != nullptr) check_shares(*job);
    eligibility_.validate(*job);
    check_placements(*job);
    check_waiting(*job, ready);
  }
  PENSTOCK_CHECK(limited == indices_.limited);
  std::uint32_t claims = 0;
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i)
    claims += workers_[WorkerSlot{i}].alive && workers_[WorkerSlot{i}].claiming;
  PENSTOCK_CHECK(claims == readoption_.claims_open());
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive) continue;
    PENSTOCK_CHECK_MSG(band.in_flight == in_flight[i], to_string(band.id));
    PENSTOCK_CHECK_MSG(band.runnable == runnable[i], to_string(band.id));
    PENSTOCK_CHECK_MSG(band.ready_here == ready[i], to_string(band.id));
  }
}

}  // namespace penstock::supervisor
