// How far bands in need of work have looked for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/time.hpp"
#include "supervisor/core/index_set.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// The search through all kept subtasks by rank, a part of them in each event, for a band without work.
struct RankSearch {
  BandSlot thief = BandSlot::none();    ///< None: no search is under way.
  std::int64_t precedence = INT64_MAX;  ///< Of
  JobId job = JobId{0};                 ///< the job that is looked at, and
  std::uint32_t next = 0;               ///< the next rank in its order.
  Instant again_at = kNever;            ///< After a search in vain: until then there is none.
};

/// State of the search of the dispatcher: bands that have nothing to run.
struct WorkSearch {
  IndexSet idle;  ///< Bands with free slots and nothing to run.
  std::uint32_t victim_cursor = 0;
  std::uint32_t idle_cursor = 0;
  std::size_t idle_untried = 0;             ///< Idle bands still to be helped since the last change.
  Instant hysteresis_until = kNever;        ///< The first band that has been idle for long enough is then.
  Instant help_at = kNever;                 ///< When they are, should nothing else happen.
  Instant offer_again_at = kNever;          ///< When bands that had nothing to be had are looked at again.
  RankSearch ranks;
  bool search_unfinished = false;           ///< An idle band has not seen all of its victim's work.
  bool all_may_try = false;                 ///< This event may help bands that found nothing before.
  std::uint64_t fill_round = 0;             ///< Counts how often bands with changes were filled.
  std::uint32_t search_budget = 0;          ///< Examinations left for idle bands in this event.
  std::vector<WaitingJobs::Entry> passed_over;  ///< Scratch: jobs from which the band that is filled can take no more.
};

}  // namespace penstock::supervisor
