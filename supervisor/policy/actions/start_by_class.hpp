// Fair shares where not everybody may be everywhere, and best fit leaves somebody short: places are chosen for all at
// once.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/actions/share_classes.hpp"
#include "supervisor/policy/sharing/fair_targets.hpp"

namespace penstock::policy {

/// Who may be elsewhere makes way for who may not: members start where that leaves room for all, and those that run in
/// the wrong place leave, to start in another (`Consolidation`). All have as many slots as their targets say as soon as
/// those have left. REQUIRES: all members of contenders have one slot and one place; `targets` can be placed.
class StartByClass {
 public:
  StartByClass(SlotPass& pass, const std::vector<Contender>& present, const std::vector<ShareGroup>& groups,
               const ShareClasses& classes, const std::vector<std::int64_t>& targets);

  /// Takes back what is above its share or in the way; what is within it starts.
  void run();

 private:
  void keep_what_may_stay();
  void place_the_rest();
  void release_excess(std::uint32_t group);
  void release_misplaced();
  void release(std::uint32_t member, std::uint32_t group);
  void start_within(std::uint32_t group);
  std::int64_t& due_of(std::uint32_t group, std::uint32_t kind);
  std::uint32_t best_band(std::uint32_t member) const;
  /// How many more members of the class the rooms at that position are to have; below 0: fewer.
  std::int64_t missing(std::uint32_t kind, std::size_t position) const {
    return static_cast<std::int64_t>(flow_.of_room(kind, position)) - has_[kind][position];
  }
  std::size_t position_of(std::uint32_t kind, std::uint32_t room) const;

  SlotPass& pass_;
  const std::vector<Contender>& present_;
  const std::vector<ShareGroup>& groups_;
  const ShareClasses& classes_;
  const ClassedPool& pool_;
  const std::vector<std::int64_t>& targets_;
  ShareFlow flow_;
  std::vector<std::vector<ClassHolding>> kept_;  ///< By group: what it has and may keep, as far as shares go.
  std::vector<std::vector<std::int64_t>> due_;   ///< By group and demand: how many more it is to have; below 0: fewer.
  std::vector<std::vector<std::int64_t>> has_;   ///< By class and room: members that run and stay, or start.
  std::vector<std::int64_t> held_;               ///< By group.
  std::uint32_t short_ = kNone;                  ///< The oldest workload that is due more than it has.
};

}  // namespace penstock::policy
