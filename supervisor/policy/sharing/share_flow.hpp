// Whether amounts that groups are to have can be placed together: a flow from groups over classes of bands to rooms.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "supervisor/policy/wide.hpp"

namespace penstock::policy {

/// Slots of a class that a group has or could use, beside what is pinned.
struct ClassDemand {
  std::uint32_t kind = 0;  ///< Position in `ClassedPool::classes`.
  std::int64_t slots = 0;
  friend bool operator==(const ClassDemand&, const ClassDemand&) = default;
};

/// Slots that a group has, beside what is pinned.
struct ClassHolding {
  std::uint32_t kind = 0;
  std::uint32_t room = 0;
  std::int64_t slots = 0;
};

/// A pool whose jobs may each be on some of its bands. Rooms are sets of bands that no class tells apart.
struct ClassedPool {
  std::vector<std::int64_t> rooms;                  ///< Slots in each, without those that are pinned there.
  std::vector<std::vector<std::uint32_t>> classes;  ///< The rooms of each.
  std::vector<std::vector<ClassDemand>> demands;    ///< Of each group, each class once.
  std::vector<std::vector<ClassHolding>> holdings;  ///< Of each group; a part of its demands.
};

/// Amounts of groups, each pushed to where it may be; what was placed before makes way, and never loses by it. Once
/// nothing more of a group can be placed, nor can of any other that only has places where that one may be: these stay
/// stuck, and are not searched again. Cost: O(groups + the rooms of all classes) for a push, mostly O(1).
class ShareFlow {
 public:
  /// Amounts are multiples of `1 / scale` slots. REQUIRES: `pool` outlives it.
  explicit ShareFlow(const ClassedPool& pool, Wide scale = 1);

  /// As much of `amount` more of the group as can be placed.
  Wide push(std::uint32_t group, Wide amount);
  /// Whether it is known that no more of the group, or of any that it could make way for, can be placed.
  bool stuck(std::uint32_t group) const;

  /// Takes places as they are. REQUIRES: there is room, and the group demands as much of the class.
  void place(std::uint32_t group, std::uint32_t kind, std::uint32_t room, Wide amount);
  /// Takes what another flow has placed. REQUIRES: that is over the same classes and demands, and there is room.
  void adopt(const ShareFlow& other);
  /// What is placed of a group's class, by its position in `ClassedPool::demands`.
  Wide of_demand(std::uint32_t group, std::size_t demand) const { return given_[group][demand]; }
  /// What is placed of a class in a room, by the room's position in `ClassedPool::classes`.
  Wide of_room(std::uint32_t kind, std::size_t position) const { return placed_[kind][position]; }

 private:
  /// What the search has come to, and from where.
  enum class Kind : std::uint8_t { Group, Class, Room };
  struct Node {
    Kind kind = Kind::Group;
    std::uint32_t at = 0;
    std::size_t from = 0;      ///< Position in `found_`.
    std::size_t position = 0;  ///< Of the edge, in the list of the group or class at one end.
  };

  bool search(std::uint32_t group);
  void visit(Kind kind, std::uint32_t at, std::size_t from, std::size_t position);
  void leave_group(std::size_t node);
  void leave_class(std::size_t node);
  void leave_room(std::size_t node);
  Wide narrowest(Wide amount) const;
  void shift(Wide amount);

  const ClassedPool& pool_;
  Wide scale_;
  std::vector<Wide> left_;                 ///< By room.
  std::vector<std::vector<Wide>> given_;   ///< By group and demand.
  std::vector<std::vector<Wide>> placed_;  ///< By class and its room.
  /// The other ends: groups with more than one class by class, and classes by room, with the position of the edge.
  std::vector<std::vector<std::pair<std::uint32_t, std::size_t>>> groups_of_;
  std::vector<std::vector<std::pair<std::uint32_t, std::size_t>>> classes_of_;
  std::vector<Node> found_;  ///< Of one search; the last is the room where it ended.
  // By kind of node: the search that saw it last, and whether it is stuck.
  std::vector<std::uint64_t> seen_[3];
  std::vector<bool> stuck_[3];
  std::uint64_t searches_ = 0;
};

}  // namespace penstock::policy
