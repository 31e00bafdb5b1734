#include "supervisor/core/placement/dispatcher.hpp"

#include <algorithm>

#include "common/base/prefetch.hpp"
#include "common/protocol/checkpoint_key.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/jobs/subtask_machine.hpp"
#include "supervisor/core/lookahead.hpp"
#include "supervisor/core/placement/assignment_writer.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/placement_costs.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/rooms.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/transfer_retry.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/band_indices.hpp"
#include "supervisor/core/workers/worker_mail.hpp"

namespace penstock::supervisor {
namespace {

/// Subtasks of one job that are taken before another job of equal priority is considered.
constexpr std::uint32_t kQuantum = 64;
/// Jobs that may give nothing in one event to a band with enough to run.
constexpr std::size_t kUnhelpfulJobsMax = 4;
/// Waiting jobs that are looked at anew in one event, beside those that are served.
constexpr std::size_t kCorrectedPerEvent = 8;
constexpr std::uint32_t kVictimsTried = 8;
/// The latest assignments of one that are looked at.
constexpr std::size_t kQueuedLookedAt = 32;

/// Idle bands that may find work in one event without using up the search budget.
constexpr std::uint32_t kFedMax = 256;
/// The next attempt to help idle bands if no other event comes before.
constexpr Duration kHelpAgainAfter = std::chrono::milliseconds{1};
/// The time after which work that was not worth moving, by known durations, is considered again: where nothing has
/// ended since, the work has waited for so long. Between two reports every band seems to stand still.
constexpr Duration kOfferAgainAfter = std::chrono::milliseconds{100};

/// Runs of `milli_slots` each that fit so many slots.
std::uint32_t runs_in(std::uint32_t slots, std::int64_t milli_slots) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(slots * kOneSlot.value() / milli_slots, UINT16_MAX));
}

/// The band for which a subtask is left that could only wait here, while the job has slots there and nothing to run on
/// them; none if there is no such band. Members of a gang would wait for that band for ever, and the last of other
/// subtasks would take twice as long.
template <class MayRunOn>
BandSlot left_for(const Job& job, BandSlot slot, const WorkerTable& workers, bool is_ready, MayRunOn may_run_on) {
  if (job.shares == nullptr) return BandSlot::none();
  const BandShare here = job.shares->of(slot);
  const BandKind kind = workers[slot].kind;
  const IndexSet& short_bands = job.shares->short_bands[static_cast<std::size_t>(kind)];
  if (!here.limited() || short_bands.empty()) return BandSlot::none();
  // Ahead of their inputs members of a gang are sent only as far as they can run beside all that is here already.
  if (is_ready ? here.runnable < here.runs : job.spec.policy.gang == 0 || here.in_flight < here.runs)
    return BandSlot::none();
  for (std::uint32_t at = short_bands.next(0); at != IndexSet::kNone; at = short_bands.next(at + 1))
    if (const BandSlot other{at}; other != slot && workers[other].alive && may_run_on(other)) return other;
  return BandSlot::none();
}

/// The slots of a band, in thousandths, that are left once all its attempts with complete inputs run.
std::int64_t milli_left(const BandEntry& band, const JobTable& jobs) {
  std::int64_t left = band.description.capacity.slots.value();
  for (const AssignedRef& ref : band.assigned) {
    const Job* job = jobs.find(ref.job);
    if (job == nullptr || ref.subtask >= job->total()) continue;
    const SubtaskHot& hot = job->hot[ref.subtask];
    if (hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.missing == 0)
      left -= job->graph.shape->template_of(ref.subtask).request.slots.value();
  }
  return left;
}

}  // namespace

void Dispatcher::offer_again() {
  if (event_.now < search_.offer_again_at) return;
  search_.offer_again_at = kNever;
  fleet_.bands.offer_all();
  search_.idle_untried = search_.idle.size();
}

void Dispatcher::fill_dirty_bands() {
  ++search_.fill_round;
  fleet_.bands.fill_dirty([this](BandSlot band) { fill(band); });
}

void Dispatcher::help_idle_bands() {
  if (search_ranks()) fill_dirty_bands();
  offer_again();
  if (event_.now >= search_.hysteresis_until) {
    search_.hysteresis_until = kNever;
    search_.all_may_try = true;
  }
  if (event_.now >= search_.ranks.again_at) {
    search_.ranks.again_at = kNever;
    search_.all_may_try = true;
  }
  if (search_.all_may_try) search_.idle_untried = search_.idle.size();
  search_.idle_untried = std::min(search_.idle_untried, search_.idle.size());
  std::uint32_t fed = 0;
  std::size_t unfinished = 0;  // Bands that have not seen all that others keep.
  while (search_.idle_untried > 0 && search_.search_budget > 0 && !fleet_.bands.none_to_take()) {
    --search_.idle_untried;
    const std::uint32_t at = search_.idle.next_around(search_.idle_cursor);
    search_.idle_cursor = at + 1;
    const std::uint32_t budget_before = search_.search_budget--;
    if (!feed_idle_band(BandSlot{at})) {
      unfinished += std::exchange(search_.search_unfinished, false);
      continue;
    }
    // Only vain searches use up the budget.
    if (++fed <= kFedMax) search_.search_budget = budget_before;
    fill_dirty_bands();
    search_.idle_untried = std::min(search_.idle_untried, search_.idle.size());
  }
  search_.idle_untried = std::min(search_.idle_untried + unfinished, search_.idle.size());
  const bool again = search_.ranks.thief.valid() || (search_.idle_untried > 0 && !fleet_.bands.none_to_take());
  search_.help_at = again ? later(event_.now, kHelpAgainAfter) : kNever;
  if (!fleet_.bands.with_excess().empty() && !search_.idle.empty())
    search_.help_at = std::min(search_.help_at, search_.hysteresis_until);
  if (!search_.idle.empty())
    search_.help_at = std::min({search_.help_at, search_.offer_again_at, search_.ranks.again_at});
}

void Dispatcher::fill(BandSlot slot) {
  BandEntry& band = fleet_.workers[slot];
  if (!band.draining) {
    serve_waiting(slot);
    if (policy_base_.view.policed()) fill_shares(slot);
  }
  const bool idle = !band.draining && band.runnable < band.slots;
  if (idle && band.idle_since == kNever) band.idle_since = event_.now;
  if (!idle) band.idle_since = kNever;
  if (idle)
    search_.idle.insert(slot.value());
  else
    search_.idle.erase(slot.value());
}

void Dispatcher::serve_waiting(BandSlot slot) {
  WaitingJobs& waiting = fleet_.workers[slot].waiting;
  for (std::size_t i = std::min(kCorrectedPerEvent, waiting.size()); i > 0 && waiting.size() > 1; --i)
    queues_.correct_waiting(slot, waiting.next_to_correct());
  search_.passed_over.clear();
  while (Job* job = queues_.first_waiting(slot)) {
    // A job with a credit of its own takes nothing from others by using it: all at once, so that it is one message.
    const bool own_credit = job->shares != nullptr && job->shares->of(slot).limited();
    const Credit credit = queues_.credit_of(*job, slot);
    const bool wants_runnable = credit.runnable < credit.runs + kPreparedAhead;
    const bool is_of_use = credit.in_flight < config_.lookahead_subtasks_max ||
                           (wants_runnable && job->place.locals.find(slot)->ready_count() > 0);
    if (is_of_use && take_from(*job, slot, own_credit ? config_.lookahead_subtasks_max : kQuantum) > 0) continue;
    if (waiting.size() == 1 || (search_.passed_over.size() >= kUnhelpfulJobsMax &&
                                fleet_.workers[slot].runnable >= fleet_.workers[slot].slots))
      break;
    search_.passed_over.push_back(waiting[0]);
    waiting.erase(0);
  }
  for (const WaitingJobs::Entry& entry : search_.passed_over) waiting.push(entry);
}

void Dispatcher::fill_shares(BandSlot slot) {
  std::vector<JobId>& entitled = fleet_.workers[slot].entitled;
  for (auto at = entitled.begin(); at != entitled.end();) {
    Job* job = tables_.jobs.find(*at);
    const BandShare share = job == nullptr || job->shares == nullptr ? BandShare{} : job->shares->of(slot);
    if (share.entitled.is_zero() || !share.limited()) {
      at = entitled.erase(at);
      continue;
    }
    ++at;
    const LocalSet* local = job->place.locals.find(slot);
    const bool waits_here = local != nullptr && local->ready_count() > 0;
    if (job->status.cancelling || waits_here ||
        share.runnable >= share.runs + fleet_.workers[slot].yielded + kPreparedAhead)
      continue;
    if (pull_placements(*job, slot)) take_from(*job, slot, kQuantum);
  }
}

std::uint32_t Dispatcher::take_from(Job& job, BandSlot slot, std::uint32_t count_max) {
  std::uint32_t used = 0;
  std::uint32_t limit = 0;  // Of the template that was last asked for: it takes a division.
  std::uint32_t limit_of = ~std::uint32_t{0};
  const std::uint32_t most =
      part_ahead(config_.lookahead_subtasks_max, queues_.credit_of(job, slot).slots, fleet_.workers[slot].slots);
  while (used < count_max) {
    // The set is looked up anew each time: assigning may make room for further bands in `job.locals`.
    LocalSet& local = job.place.locals.at(slot);
    const std::uint64_t ready = local.best_ready();
    const std::uint64_t ahead = local.best_ahead();
    if (ready == LocalSet::kNone && ahead == LocalSet::kNone) break;
    const Credit credit = queues_.credit_of(job, slot);
    if (credit.slots == 0) break;
    const bool wants_runnable = credit.runnable < credit.runs + kPreparedAhead;
    const bool take_ready = ready != LocalSet::kNone && (wants_runnable || ready <= ahead);
    const std::uint64_t key = take_ready ? ready : ahead;
    const std::uint32_t subtask = job.graph.shape->at_rank(static_cast<std::uint32_t>(key));
    const SubtaskHot& hot = job.hot[subtask];
    const bool has_rank = !job.extras.keys_carry_priority || key == job.order_key(subtask);
    const bool current =
        hot.phase == SubtaskPhase::Placeable && hot.band == slot && (hot.missing == 0) == take_ready && has_rank;
    if (const std::uint32_t wanted = job.graph.shape->template_index(subtask); wanted != limit_of) {
      limit_of = wanted;
      limit = std::min(lookahead_limit(job, wanted, credit.slots), most);
    }
    if (current && credit.in_flight >= limit && !(take_ready && wants_runnable)) break;
    const auto may_run = [&](BandSlot band) { return placer_.may_run_on(job, subtask, band); };
    const BandSlot other = current ? left_for(job, slot, fleet_.workers, take_ready, may_run) : BandSlot::none();
    if (other.valid()) {
      const bool asks = job.shares->leave_for(slot, other, take_ready, search_.fill_round);
      if (asks) fleet_.bands.mark_dirty(other);  // The band pulls what it can run, however costly it is to move.
      break;
    }
    if (take_ready) {
      local.take_ready();
      fleet_.bands.change_ready(slot, -1);
    } else {
      local.take_ahead();
    }
    ++used;
    if (!current) continue;
    assign(job, subtask, slot);
    if (job.shares == nullptr || job.shares->left_for_others.empty()) continue;
    if (!job.shares->short_bands[static_cast<std::size_t>(fleet_.workers[slot].kind)].empty()) continue;
    // No band is short any more: what was left may be sent ahead.
    for (const LeftForAnother& left : std::exchange(job.shares->left_for_others, {}))
      fleet_.bands.mark_dirty(left.band);
  }
  return used;
}

std::uint32_t Dispatcher::lookahead_limit(const Job& job, std::uint32_t template_index, std::uint32_t slots) const {
  const TemplateFacts& facts = job.graph.templates[template_index];
  const std::int64_t each = job.graph.shape->graph().templates[template_index].request.slots.value();
  const bool is_part = each > 0 && each < kOneSlot.value();
  const std::uint32_t least = (is_part ? runs_in(slots, each) : slots) + kPreparedAhead;
  if (facts.runs == 0) {
    const Duration expected = job.graph.shape->graph().templates[template_index].expected_duration;
    if (expected <= Duration{0}) return std::max(least, config_.lookahead_subtasks_initial);
    const auto count =
        static_cast<std::uint64_t>(config_.lookahead.count()) * slots / static_cast<std::uint64_t>(expected.count());
    return std::max(least, static_cast<std::uint32_t>(std::min<std::uint64_t>(count, config_.lookahead_subtasks_max)));
  }
  const std::uint64_t mean = std::max<std::uint64_t>(facts.mean_ns, 100);
  const std::uint64_t count = static_cast<std::uint64_t>(config_.lookahead.count()) * slots / mean;
  return std::max(least, static_cast<std::uint32_t>(std::min<std::uint64_t>(count, config_.lookahead_subtasks_max)));
}

void Dispatcher::assign(Job& job, std::uint32_t subtask, BandSlot slot) {
  const SubtaskHot& hot = job.hot[subtask];
  std::uint64_t last = hot.attempt;
  if ((hot.flags & SubtaskFlag::kOutrun) != 0) last = std::max(last, *job.extras.outrun->find(SubtaskIndex{subtask}));
  machine_.assign(job, subtask, slot, std::max(last, first_attempt_.value()) + 1);
  ++tables_.counters.assigned;
  BandEntry& band = fleet_.workers[slot];
  if (band.assigned.size() > 2 * std::size_t{band.in_flight} + 64) sweep_assigned(band);
  AssignedRef& ref = band.assigned.emplace_back();
  ref.job = job.id;
  ref.subtask = subtask;
  ref.attempt = hot.attempt;
  // Successors come near while the assignment is written.
  for (const std::uint32_t successor : job.graph.shape->successors(subtask)) {
    prefetch_line(&job.hot[successor]);
    job.graph.shape->prefetch(successor);
  }
  assignments_.write_assignment(job, subtask, slot);
  machine_.count_assigned(job, subtask, [&](std::uint32_t successor) { placer_.become_placeable(job, successor); });
}

void Dispatcher::sweep_assigned(BandEntry& band) {
  std::erase_if(band.assigned, [this](const AssignedRef& ref) {
    if (!tables_.jobs.knows(ref.job) || ref.subtask >= tables_.jobs[ref.job].total()) return true;
    const SubtaskHot& hot = tables_.jobs[ref.job].hot[ref.subtask];
    return hot.phase != SubtaskPhase::Assigned || hot.attempt != ref.attempt;
  });
}

bool Dispatcher::feed_idle_band(BandSlot thief) {
  const std::uint32_t count = fleet_.workers.band_slots();
  search_.victim_cursor = (search_.victim_cursor + 1) % std::max(count, 1U);
  const auto try_all = [&](const IndexSet& victims, auto take) {
    std::uint32_t at = victims.next_around(search_.victim_cursor);
    for (std::uint32_t tries = 0; tries < kVictimsTried && at != IndexSet::kNone && search_.search_budget > 0;
         ++tries) {
      --search_.search_budget;
      if (BandSlot{at} != thief && (this->*take)(thief, BandSlot{at})) return true;
      at = victims.next_around(at + 1);
    }
    return false;
  };
  if (try_all(fleet_.bands.with_ready(), &Dispatcher::move_placements)) return true;
  // One that holds successors asks for what has been sent to others only if it stays idle: where neighbours wait for
  // each other, as in a stencil, everyone is idle now and then, and what moves for it comes to lie apart from its
  // inputs. And nobody asks again while the answer may be on its way: at the end of a wide graph thousands would pass
  // the rest around among themselves.
  BandEntry& band = fleet_.workers[thief];
  Instant may_ask_from = band.may_ask_at;
  if (band.in_flight > 0) may_ask_from = std::max(may_ask_from, later(band.idle_since, config_.steal_after));
  if (event_.now < may_ask_from) {
    search_.hysteresis_until = std::min(search_.hysteresis_until, may_ask_from);
    return false;
  }
  if (!try_all(fleet_.bands.with_excess(), &Dispatcher::ask_for_queued)) return false;
  band.may_ask_at = later(event_.now, config_.steal_after);
  return true;
}

bool Dispatcher::ask_for_queued(BandSlot thief, BandSlot victim) {
  BandEntry& band = fleet_.workers[victim];
  const std::uint32_t excess =
      std::max(band.runnable - std::min(band.runnable, band.slots), band.blocked ? band.load.ready : 0);
  const Duration stands_still = event_.now - band.progress_at;
  const std::int64_t stands_still_ns = stands_still < kOfferAgainAfter ? 0 : stands_still.count();
  const std::uint32_t wanted = std::min((excess + 1) / 2, fleet_.workers[thief].slots + kPreparedAhead);
  std::uint32_t asked = 0;
  bool for_another = false;          // The victim has work that this thief may not take, or would run too late.
  Instant again = kNever;            // The time when some work has waited for long enough to be worth its move.
  std::optional<std::int64_t> left;  // The thief's free slots, in thousandths; only counted for wide subtasks.
  // The latest assignments are the lowest in order. Only some are looked at, however long the list is.
  std::size_t looked_at = 0;
  const std::size_t least = band.assigned.size() - std::min(band.assigned.size(), kQueuedLookedAt);
  for (std::size_t i = least; i < band.assigned.size(); ++i)
    if (const AssignedRef ref = band.assigned[i]; tables_.jobs.knows(ref.job)) {
      const LargeArray<SubtaskHot>& hot = tables_.jobs[ref.job].hot;
      if (ref.subtask < hot.size()) prefetch_line(&hot[ref.subtask]);
    }
  for (std::size_t i = band.assigned.size(); i-- > least && asked < wanted; ++looked_at) {
    const AssignedRef ref = band.assigned[i];
    if (!tables_.jobs.knows(ref.job)) continue;
    Job& job = tables_.jobs[ref.job];
    // Work of a job that recovers would come back only to wait until all its workers have claimed.
    if (ref.subtask >= job.total() || job.status.cancelling || job.status.recovering) continue;
    if (!queues_.has_slots_for(job, thief)) continue;
    SubtaskHot& hot = job.hot[ref.subtask];
    const bool waits = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.missing == 0 &&
                       (hot.flags & (SubtaskFlag::kStarted | SubtaskFlag::kStealAsked)) == 0;
    if (!waits) continue;
    const std::int64_t wait_ns = std::max(
        PlacementCosts::waiting_ns(excess, fleet_.costs.estimate_ns(job, ref.subtask), band.slots), stands_still_ns);
    if (wait_ns < config_.steal_after.count()) {
      again = std::min(again, later(band.progress_at, config_.steal_after));
      break;
    }
    // A subtask of several slots would wait again beside others.
    const std::int64_t takes = job.graph.shape->template_of(ref.subtask).request.slots.value();
    const bool is_wide = takes > kOneSlot.value();
    if (is_wide && !left) {
      left = milli_left(fleet_.workers[thief], tables_.jobs) - asked * kOneSlot.value();
      looked_at += fleet_.workers[thief].assigned.size();
    }
    const bool may_take = placer_.may_run_on(job, ref.subtask, thief) && (!is_wide || takes <= *left);
    const std::int64_t cost = may_take ? fleet_.costs.movement_ns(job, ref.subtask, thief) : 0;
    if (!may_take || cost > wait_ns) {
      if (may_take) again = std::min(again, later(band.progress_at, Duration{cost}));
      for_another = true;
      continue;
    }
    hot.flags |= SubtaskFlag::kStealAsked;
    job.extras.thieves.edit()[SubtaskIndex{ref.subtask}] = thief;
    fleet_.mail.last<StealRequest>(band.worker, job.id)
        .attempts.push_back(AttemptRef{SubtaskIndex{ref.subtask}, Attempt{ref.attempt}});
    ++asked;
    if (left) *left -= takes;
    ++tables_.counters.steals_asked;
  }
  search_.search_budget -= std::min(search_.search_budget, static_cast<std::uint32_t>(looked_at));
  // Nothing to be had here, until something changes about this band or it has stood still for longer; for nobody,
  // unless there was something for another.
  if (asked == 0 && !for_another) fleet_.bands.offer(victim, false), again = event_.now;
  if (asked == 0 && again < kNever)
    search_.offer_again_at = std::min(search_.offer_again_at, std::max(again, later(event_.now, kOfferAgainAfter)));
  return asked > 0;
}

}  // namespace penstock::supervisor
