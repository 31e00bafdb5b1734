// Slots of bands on trial: members take and give back places, and all of it can be undone.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/snapshot.hpp"
#include "supervisor/policy/wide.hpp"

namespace penstock::policy {

/// One band as the policies that count slots see it.
struct SlotRoom {
  std::int64_t slots = 0;  ///< Usable ones.
  std::int64_t used = 0;
  std::int64_t light_places = 0;
  std::int64_t light_used = 0;
  std::uint64_t hash = 0;
  bool open = true;  ///< Takes new members.

  std::int64_t free() const { return open ? slots - used : 0; }
  std::int64_t light_free() const { return open ? light_places - light_used : 0; }
};

/// Bands with the same room: they score alike, and only ties between names tell them apart.
struct RoomClass {
  std::int64_t slots = 0;
  std::int64_t used = 0;
  std::int64_t light_places = 0;
  std::int64_t light_used = 0;
  friend auto operator<=>(const RoomClass&, const RoomClass&) = default;
};

/// A trial over the bands of one pool. A member without slots takes one light place instead; the two kinds of place are
/// independent. Owned by one pass. Cost: O(log bands) for a change; a search looks at every class of bands once: of all
/// bands, or of those in the member's list where that is long and asked for often; a short list is scanned.
class SlotTrial {
 public:
  /// All members of `snapshot` that hold places hold them here.
  SlotTrial(const Snapshot& snapshot, std::uint32_t pool, const Parts& parts);

  /// The best places for a pending member, or none; for one in parts, the best of each part in turn. Takes none of
  /// them. Spec: policy-determined 6.
  std::vector<Place> find(const Member& member);
  /// The same over whole unused bands only.
  std::vector<Place> find_dedicated(const Member& member) const;
  /// The same as `find` without the index: looks at every band. Tests compare the two.
  std::vector<Place> find_by_scan(const Member& member) const;
  /// Whether the member fits on this band alone. A member in parts does not.
  bool fits_on(const Member& member, std::uint32_t band) const;
  /// Whether it may be on this band at all, or a part of it.
  bool allowed(const Member& member, std::uint32_t band) const;
  /// Whether it would fit there alone if the band were empty.
  bool could_hold(const Member& member, std::uint32_t band) const;
  /// Whether no member holds a slot of the band.
  bool unused(std::uint32_t band) const { return rooms_[band].open && rooms_[band].used == 0; }

  void take(const std::vector<Place>& places);
  void give_back(const std::vector<Place>& places);
  /// Undo: everything since the mark.
  std::size_t mark() const { return log_.size(); }
  void undo_to(std::size_t mark);

  const SlotRoom& room(std::uint32_t band) const { return rooms_[band]; }
  /// Usable slots of the pool.
  std::int64_t capacity() const { return capacity_; }
  /// Most free slots of one band.
  std::int64_t roomiest() const;

 private:
  struct Change {
    Place place;
    std::int64_t sign = 0;
  };

  /// The bands of the pool in the order in which ties end.
  struct BandOrder {
    std::vector<std::uint32_t> by_rank;  ///< By hash; the smaller name is the nearer one of equal hashes.
    std::vector<std::uint32_t> ranks;    ///< By position in the snapshot: where in `by_rank`.
  };

  /// Positions in `BandOrder::by_rank`; the first of a round is the nearest to the member's hash.
  using Ranks = std::set<std::uint32_t>;
  using Classes = std::map<RoomClass, Ranks>;

  /// The open bands of one list by class.
  struct ListIndex {
    std::size_t seen = 0;  ///< Up to there it knows `refiled_`.
    Classes classes;
    std::vector<RoomClass> filed;  ///< By position in the list.
  };

  std::vector<Place> find_parts(const Member& member);
  void rank_bands();
  void file_changes() const;
  static void refile(Classes& classes, std::uint32_t rank, RoomClass& filed, const RoomClass& next);
  const Classes* classes_of(const Member& member) const;
  void catch_up(ListIndex& index, std::span<const std::uint32_t> bands, bool is_new) const;
  bool has_room(const Member& member, std::uint32_t band) const;
  Fraction score(const Member& member, const SlotRoom& room) const;
  std::uint32_t nearest(std::uint32_t from, const Ranks& ranks) const;
  std::uint32_t best_band(const Member& member) const;
  std::uint32_t best_band(const Member& member, std::span<const std::uint32_t> bands, bool listed) const;
  std::uint32_t rank_of(const Member& member) const;
  /// The distance of a band from a member on the circle of ranks: the nearer member wins.
  std::uint32_t distance(std::uint32_t from, std::uint32_t rank) const {
    return from >= rank ? from - rank : from + static_cast<std::uint32_t>(order_.by_rank.size()) - rank;
  }
  std::vector<Place> find_dedicated_by_scan(const Member& member) const;
  std::vector<std::uint32_t> by_score(const Member& member, std::vector<std::uint32_t> bands) const;
  void apply(const Place& place, std::int64_t sign);

  const Snapshot& snapshot_;
  const Parts& parts_;
  std::vector<std::uint32_t> bands_;   ///< Of the pool.
  BandOrder order_;
  std::int64_t capacity_ = 0;
  std::vector<SlotRoom> rooms_;  ///< By position in the snapshot.
  std::vector<Change> log_;
  // The open bands by class. A search files the changes since the last one: a trial that is undone costs nothing.
  mutable Classes classes_;
  mutable std::vector<RoomClass> filed_;  ///< By position in the snapshot: the class of the band.
  mutable std::vector<std::uint32_t> changed_;
  mutable std::vector<bool> is_changed_;
  mutable std::map<std::uint32_t, ListIndex> lists_;  ///< By position in `Snapshot::band_lists`.
  mutable std::vector<std::uint32_t> asked_;          ///< By the same: the number of searches without an index.
  mutable std::vector<std::uint32_t> refiled_;        ///< Bands with changes of class since the first index.
};

/// A member as large as one of its parts, on the bands of that.
Member part_of(const Member& member, const MemberPart& part);

/// How well a member suits a band; larger is better. Spec: policy-determined 6.3.
Fraction slot_score(std::int64_t slots, const SlotRoom& room, Fitting fitting);

}  // namespace penstock::policy
