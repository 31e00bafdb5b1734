// When slots of single bands become free, as far as time limits tell, and the reservations of bands.
#pragma once

#include <vector>

#include "supervisor/policy/backfill_profile.hpp"
#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {

/// A band where a member waits for slots, and its start there.
struct OwnPlace {
  std::uint32_t band = kNone;
  Instant at = kNever;  ///< By time limits.
  std::int64_t free = 0;
  std::int64_t slots = 0;
};

/// The ends of running jobs that a profile counts on.
enum class Ends : std::uint8_t {
  Assumed,  ///< By the time limits of their jobs, queues or pools.
  Kept,     ///< Of jobs that are ended at their time limits; those of others are not known.
};

/// One profile for each band, made when the first is asked for and kept for the pass, so that two reservations on one
/// band never count on the same slots. The free slots of a band with a reservation are taken on the trial: a search
/// does not find them, `place_in_gap` does. Cost: O(bands + running) once; O(bands that could hold it) for a choice.
class BandProfiles {
 public:
  explicit BandProfiles(SlotPass& pass, Ends ends = Ends::Assumed) : pass_(pass), ends_(ends) {}

  /// The places where it starts first, not before then, all of them at the same time: on one band, of these the one
  /// with most room; where none could ever hold it, on bands that it takes whole; so for each of its parts. Empty: the
  /// bands that it may use could never hold it. Cost: O(bands that it may use); for whole bands and parts, times the
  /// times at which the last of them becomes free.
  std::vector<OwnPlace> choose(const Member& member, Duration limit, Instant not_before);
  /// From then on no start that would delay this one finds a place there.
  void reserve(const OwnPlace& place, Duration limit);
  /// From then on no search finds what is free there.
  void keep_from_searches(std::uint32_t band);
  /// A place on a band with reservations that delays none of them. On the trial it is free afterwards.
  std::vector<Place> place_in_gap(const Member& member, Duration limit);
  /// A member has started there.
  void note_start(const std::vector<Place>& places, Duration limit);

 private:
  /// A request that has found no gap. An equal request for as long finds none either, because gaps only get smaller.
  struct Failed {
    std::int64_t slots = 0;
    Duration limit{};
  };
  void make();
  OwnPlace choose_one(const Member& member, Duration limit, Instant not_before);
  std::vector<OwnPlace> choose_whole(const Member& member, Duration limit, Instant not_before);
  std::vector<OwnPlace> choose_parts(const Member& member, Duration limit, Instant not_before);
  std::vector<std::uint32_t> bands_for(const Member& member) const;
  std::vector<OwnPlace> first_that_hold(const std::vector<OwnPlace>& by_time, std::int64_t slots) const;
  AvailabilityProfile& of(std::uint32_t band) { return profiles_[band]; }

  SlotPass& pass_;
  const Ends ends_;
  std::vector<AvailabilityProfile> profiles_;  ///< By position in the snapshot; empty until first asked.
  std::vector<SlotsReturn> started_;           ///< Of this pass, before the profiles were made: end,
  std::vector<std::uint32_t> started_on_;      ///< and where.
  std::vector<std::uint32_t> reserved_;        ///< Bands with reservations, each once.
  std::vector<Failed> failed_;
};

}  // namespace penstock::policy
