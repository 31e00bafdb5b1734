// The host, or the workers of one label, for a gang that stays together.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class Feasibility;
class JobTable;
class PolicyView;

/// Chooses for each gang with `JobPolicy::together` the group of workers in which the next pass may place it. The pass
/// knows nothing of groups: `PolicyView::bands_allowed` gives it the bands of one. Cost: nothing where no such gang
/// waits; else linear in the slots that all jobs hold, and for each such gang in the bands of its pool.
class Colocation {
 public:
  Colocation(JobTable& jobs, const WorkerTable& workers, PolicyState& policy, const PolicyView& view,
             const Feasibility& feasibility)
      : jobs_(jobs), workers_(workers), policy_(policy), view_(view), feasibility_(feasibility) {}
  Colocation(const Colocation&) = delete;
  Colocation& operator=(const Colocation&) = delete;

  /// Before a pass, in the order of the agenda. A gang that holds slots or is promised some stays where it is. Another
  /// one is tried where it has room, or else in each group once, in the order of `Rank`. A gang with a reserved start
  /// leaves its group only for one with room.
  void choose_groups();

 private:
  /// Thousandths of slots of a band that no job holds, and those of jobs that may lose them.
  struct Room {
    std::uint64_t free = 0;
    std::uint64_t lost = 0;
  };
  using Sums = std::array<Room, kBandKinds>;

  enum class Order : std::uint8_t { HasRoom, CouldHave, Neither };
  /// Smaller ones are tried first: groups with room, then those that others could leave; of them where the gang could
  /// use most of what is free, then the fullest.
  struct Rank {
    Order order = Order::Neither;
    std::int64_t usable = 0;  ///< Thousandths of free slots up to the most that the gang takes, negative.
    std::int64_t free = 0;
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };

  void choose(Job& job);
  Rank rank_of(const WorkerGroup& group, const Job& job) const;
  void measure_rooms();
  Sums room_in(const WorkerGroup& group, std::uint32_t pool) const;
  /// The group of all its places, if there is one.
  std::optional<WorkerGroup> group_of_places(const Job& job) const;
  void take_room(const WorkerGroup& group, const Job& job);

  JobTable& jobs_;
  const WorkerTable& workers_;
  PolicyState& policy_;
  const PolicyView& view_;
  const Feasibility& feasibility_;
  std::vector<Room> rooms_;  ///< By band slot; empty: not measured in this pass.
};

}  // namespace penstock::supervisor
