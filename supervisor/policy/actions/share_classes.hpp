// Which bands those who share a pool may be on, as classes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "supervisor/policy/sharing/share_flow.hpp"
#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {

/// One workload's members with slots, oldest first.
struct Contender {
  std::uint32_t workload = kNone;
  std::vector<std::uint32_t> pending;  ///< Those that could be placed if all that may be preempted were gone.
  std::vector<std::uint32_t> running;
  std::int64_t leaving = 0;  ///< Slots of members on their way out: they will wait again.
  std::int64_t held = 0;
};

/// Whether any band of the pool, or any member, is told apart from the others by labels, lists or blocks.
bool is_told_apart(const SlotPass& pass);

/// A class for each distinct wish for bands, and one for each band whose members could not have come there now: such
/// stay where they are or go. Rooms are made of bands that are in the same classes.
/// Cost: O(members + classes * bands).
class ShareClasses {
 public:
  ShareClasses(SlotPass& pass, const std::vector<Contender>& present);

  const ClassedPool& pool() const { return pool_; }
  /// REQUIRES: a member of a contender, pending.
  std::uint32_t kind_of(std::uint32_t member) const { return kinds_[member]; }
  /// The same of a member that holds one place.
  std::uint32_t kind_held(std::uint32_t member) const { return kind_at(member, held_band(member)); }
  std::uint32_t room_held(std::uint32_t member) const { return room_of_[held_band(member)]; }
  const std::vector<std::uint32_t>& bands_of(std::uint32_t room) const { return bands_of_[room]; }

 private:
  using Wish = std::tuple<std::string, std::uint32_t, std::vector<std::uint32_t>>;

  void name_kind(std::uint32_t member);
  void name_stays(std::uint32_t member);
  void make_rooms();
  void count(std::uint32_t group, const Contender& contender);
  void add_demand(std::uint32_t group, std::uint32_t kind, std::int64_t slots);
  std::uint32_t kind_at(std::uint32_t member, std::uint32_t band) const;
  std::uint32_t held_band(std::uint32_t member) const { return snapshot_.members[member].places.front().band; }
  bool is_in(std::uint32_t kind, std::uint32_t band) const;

  SlotPass& pass_;
  const Snapshot& snapshot_;
  ClassedPool pool_;
  std::map<Wish, std::uint32_t> wishes_;
  std::map<std::uint32_t, std::uint32_t> stays_;         ///< By band: the class of those who may only stay there.
  std::vector<std::uint32_t> kinds_;                     ///< By member.
  std::vector<std::vector<std::uint32_t>> class_bands_;  ///< By class, ascending.
  std::vector<std::uint32_t> room_of_;                   ///< By band; none: in no class.
  std::vector<std::vector<std::uint32_t>> bands_of_;     ///< By room.
};

}  // namespace penstock::policy
