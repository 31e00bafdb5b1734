// The host, or the workers of one label, for a gang that stays together.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class Feasibility;
class JobTable;
class PolicyView;

/// Chooses for each gang with `JobPolicy::together` the group of workers in which the next pass may place it, or of a
/// gang with `JobPolicy::gang_groups` one for each of these. The pass knows nothing of groups: it is given their bands.
/// Cost: nothing where no such gang waits; else linear in the slots that all jobs hold, and for each such gang in the
/// bands of its pool.
class Colocation {
 public:
  Colocation(JobTable& jobs, const WorkerTable& workers, PolicyState& policy, const PolicyView& view,
             const Feasibility& feasibility)
      : jobs_(jobs), workers_(workers), policy_(policy), view_(view), feasibility_(feasibility) {}
  Colocation(const Colocation&) = delete;
  Colocation& operator=(const Colocation&) = delete;

  /// Before a pass, in the order of the agenda. A gang that holds slots or is promised some stays where it is. Another
  /// one is tried where it has room, or else in each group once, in the order of `Candidate`. A gang with a reserved
  /// start leaves its groups only for some with room.
  void choose_groups();

 private:
  /// Thousandths of slots of a band that no job holds, and those of jobs that may lose them.
  struct Room {
    std::uint64_t free = 0;
    std::uint64_t lost = 0;
  };
  using Sums = std::array<Room, kBandKinds>;

  /// A group of workers that could hold some of the gang, or of its groups. Smaller ones are tried first: of those with
  /// room where the gang could use most of what is free, then the fullest.
  struct Candidate {
    WorkerGroup group;
    bool was_tried = false;
    std::uint32_t free = 0;          ///< Groups of the gang that find room,
    std::uint32_t free_or_lost = 0;  ///< if others left as well, and
    std::uint32_t could_hold = 0;    ///< if no other job were there.
    std::uint64_t usable = 0;        ///< Thousandths of free slots up to the most that the gang takes.
    std::uint64_t all_free = 0;
    std::uint32_t chosen = 0;  ///< Groups of the gang.

    bool operator<(const Candidate& other) const {
      if (usable != other.usable) return usable > other.usable;
      if (all_free != other.all_free) return all_free < other.all_free;
      return group < other.group;
    }
  };

  void choose(Job& job);
  std::vector<Candidate> candidates_for(const Job& job, const std::vector<GroupPart>& kept) const;
  void measure(Candidate& candidate, const Job& job) const;
  /// Where there is room, then where others could leave, then anywhere, first among those that were not tried before.
  /// Whether all have room.
  static bool choose_among(std::vector<Candidate>& candidates, std::uint32_t missing);
  /// Adds the chosen ones to the parts that the gang keeps.
  void settle(Job& job, const std::vector<Candidate>& candidates, std::vector<GroupPart> parts, bool all_free);
  void measure_rooms();
  Sums room_in(const WorkerGroup& group, std::uint32_t pool) const;
  /// The group of all its places, if there is one.
  std::vector<GroupPart> part_of_places(const Job& job, const std::vector<PromisedPlace>& places) const;
  /// The groups of its places, with whole groups of the gang each. None: its places are in no such groups.
  std::vector<GroupPart> parts_of_places(const Job& job, const std::vector<PromisedPlace>& places) const;
  void take_room(const WorkerGroup& group, const Job& job, std::uint64_t milli);

  JobTable& jobs_;
  const WorkerTable& workers_;
  PolicyState& policy_;
  const PolicyView& view_;
  const Feasibility& feasibility_;
  std::vector<Room> rooms_;  ///< By band slot; empty: not measured in this pass.
};

}  // namespace penstock::supervisor
