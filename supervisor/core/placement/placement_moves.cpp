#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/placement/band_queues.hpp"
#include "supervisor/core/placement/dispatcher.hpp"
#include "supervisor/core/placement/placement_costs.hpp"
#include "supervisor/core/placement/placer.hpp"
#include "supervisor/core/rooms.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/band_indices.hpp"

namespace penstock::supervisor {
namespace {

/// Subtasks of one band that are examined in vain.
constexpr std::uint32_t kPassedOverMax = 8;
/// Jobs of a victim that each search begins with.
constexpr std::size_t kBestFirst = 4;
/// Bands of a job that are searched for work that another of its bands has slots for.
constexpr std::uint32_t kPlacementsTried = 8;

/// Subtasks of a job that are examined in one event, in order of rank.
constexpr std::uint32_t kRanksLookedAt = 256;
/// Times `steal_after` between two searches in vain.
constexpr int kSearchPause = 8;

/// So many more could run there at once.
std::uint32_t runs_missing(const BandShare& share) { return share.runs - std::min(share.runs, share.runnable); }

}  // namespace

struct Dispatcher::Moved {
  std::uint32_t count = 0;
  std::uint32_t passed_over = 0;  ///< Subtasks that were examined and had to stay.
};

// Moves the lowest in order first. Subtasks that have to stay are left as they were, so that no band searches again
// because of them: two bands that search each other in vain would never come to an end.
template <class MayMove>
Dispatcher::Moved Dispatcher::move_ready(Job& job, BandSlot from, BandSlot to, std::uint32_t most, MayMove may_move) {
  Moved moved;
  std::vector<std::uint64_t> stays;
  while (moved.count < most && stays.size() < kPassedOverMax) {
    const std::uint64_t key = job.place.locals.at(from).take_lowest_ready();
    if (key == LocalSet::kNone) break;
    const std::uint32_t subtask = job.graph.shape->at_rank(static_cast<std::uint32_t>(key));
    SubtaskHot& hot = job.hot[subtask];
    const bool current = hot.phase == SubtaskPhase::Placeable && hot.band == from && hot.missing == 0;
    if (current && !may_move(subtask)) {
      stays.push_back(key);
      continue;
    }
    fleet_.bands.change_ready(from, -1);
    if (!current) continue;
    hot.band = to;
    queues_.keep_ready(job, to, subtask);
    ++moved.count;
  }
  // The lowest in order was taken first: back in ascending order, the keys are a run again and cost no heap.
  for (auto key = stays.rbegin(); key != stays.rend(); ++key) job.place.locals.at(from).push_ready(*key);
  moved.passed_over = static_cast<std::uint32_t>(stays.size());
  tables_.counters.moved_here += moved.count;
  return moved;
}

bool Dispatcher::move_placements(BandSlot thief, BandSlot victim) {
  WaitingJobs& waiting = fleet_.workers[victim].waiting;
  const std::uint32_t wanted =
      std::max(1U, std::min(fleet_.workers[victim].ready_here / 2, config_.lookahead_subtasks_max));
  std::uint32_t moved = 0;
  const std::size_t count = waiting.size();
  std::size_t tries = 0;
  bool hides_more = false;  // A job has kept the subtasks examined first.
  for (; tries < count && moved < wanted && (tries < kBestFirst || search_.search_budget > 0); ++tries) {
    const std::size_t at = tries < kBestFirst ? tries : waiting.next_to_offer();
    if (at >= waiting.size()) break;
    const JobId id = waiting[at].job;
    if (!queues_.correct_waiting(victim, at)) continue;
    Job& job = tables_.jobs[id];
    if (!queues_.has_slots_for(job, thief)) {
      search_.search_budget -= search_.search_budget > 0;
      continue;
    }
    const Moved of_job = move_ready(job, victim, thief, wanted - moved, [&](std::uint32_t subtask) {
      return may_move_placement(job, subtask, victim, thief);
    });
    moved += of_job.count;
    hides_more |= of_job.passed_over == kPassedOverMax;
    const std::uint32_t budget = std::max(of_job.passed_over, of_job.count == 0 ? 1U : 0U);
    search_.search_budget -= std::min(search_.search_budget, budget);
  }
  if (moved > 0)
    waiting.offer_anew();
  else if (tries < count)
    search_.search_unfinished = !waiting.all_offered(search_.idle.size());
  // Entries change places during the rotation, so that a search may pass one; and a subtask that is not worth its move
  // now is worth it when the victim has stood still for long enough.
  const bool in_vain = moved == 0 && !search_.search_unfinished;
  if ((hides_more || in_vain) && fleet_.workers[thief].in_flight == 0 && !search_.ranks.thief.valid() &&
      search_.ranks.again_at == kNever)
    search_.ranks = RankSearch{.thief = thief};
  return moved > 0;
}

bool Dispatcher::may_move_placement(const Job& job, std::uint32_t subtask, BandSlot victim, BandSlot thief) {
  if (!placer_.may_run_on(job, subtask, thief)) return false;
  const BandEntry& band = fleet_.workers[victim];
  const std::int64_t stands_still = band.in_flight > 0 ? (event_.now - band.progress_at).count() : 0;
  const std::int64_t gain = std::max(fleet_.costs.queue_ns(job, subtask, victim), stands_still);
  return fleet_.costs.movement_ns(job, subtask, thief) <= gain + config_.steal_after.count();
}

bool Dispatcher::search_ranks() {
  RankSearch& search = search_.ranks;
  if (!search.thief.valid()) return false;
  const BandEntry& thief = fleet_.workers[search.thief];
  const bool is_idle = thief.alive && !thief.draining && thief.in_flight == 0;
  for (std::uint32_t budget = kRanksLookedAt; is_idle && budget > 0;) {
    Job* job = tables_.jobs.find(search.job);
    const bool may_have = job != nullptr && job->status.state == JobState::Running && !job->status.cancelling &&
                          queues_.has_slots_for(*job, search.thief);
    if (may_have && take_placement(*job, budget)) {
      search.thief = BandSlot::none();
      return true;
    }
    if (budget == 0) return false;  // The search goes on here.
    const std::optional<JobId> next = tables_.indices.active.after(search.job, search.precedence);
    if (!next) {
      search.again_at = later(event_.now, config_.steal_after * kSearchPause);
      break;
    }
    search.job = *next;
    search.precedence = tables_.jobs[*next].precedence();
    search.next = 0;
    --budget;
  }
  search.thief = BandSlot::none();
  return false;
}

bool Dispatcher::take_placement(Job& job, std::uint32_t& budget) {
  RankSearch& search = search_.ranks;
  for (; search.next < job.total() && budget > 0; ++search.next, --budget) {
    const std::uint32_t subtask = job.graph.shape->at_rank(search.next);
    SubtaskHot& hot = job.hot[subtask];
    if (hot.phase != SubtaskPhase::Placeable || hot.missing > 0 || !hot.band.valid() || hot.band == search.thief)
      continue;
    const BandEntry& placed_on = fleet_.workers[hot.band];
    if (placed_on.runnable < placed_on.slots || !may_move_placement(job, subtask, hot.band, search.thief)) continue;
    PENSTOCK_COVERAGE_MARK("an idle band found fitting work behind other work");
    hot.band = search.thief;
    queues_.keep_ready(job, search.thief, subtask);
    ++tables_.counters.moved_here;
    return true;
  }
  return false;
}

bool Dispatcher::pull_placements(Job& job, BandSlot slot) {
  const std::uint32_t bands = job.place.locals.end();
  std::uint32_t at = job.shares->pull_cursor;
  std::uint32_t tries = 0;
  for (std::uint32_t looked_at = 0; looked_at < bands && tries < kPlacementsTried; ++looked_at, ++at) {
    const BandSlot from{at % bands};
    const LocalSet* local = from == slot ? nullptr : job.place.locals.find(from);
    if (local == nullptr || local->ready_count() == 0) continue;
    ++tries;
    const auto count = static_cast<std::uint32_t>(local->ready_count());
    const BandShare there = job.shares->of(from);
    const BandShare here = job.shares->of(slot);
    const std::uint32_t to_spare = count - std::min(count, runs_missing(there));
    const std::uint32_t wanted = there.entitled.is_zero()
                                     ? std::max(count / 2, here.runs + kPreparedAhead)
                                     : std::max((count - 1) / 2, std::min(runs_missing(here), to_spare));
    const auto may_move = [&](std::uint32_t subtask) { return placer_.may_run_on(job, subtask, slot); };
    if (move_ready(job, from, slot, std::min(wanted, config_.lookahead_subtasks_max), may_move).count == 0) continue;
    job.shares->pull_cursor = from.value();
    fleet_.bands.mark_dirty(from);  // The thief has left what this band could begin at once.
    return true;
  }
  return false;
}

}  // namespace penstock::supervisor
