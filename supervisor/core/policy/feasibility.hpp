// Requests that no worker can fit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AllocationUnits;
class Eligibility;
class LimitRules;
class PolicyView;
class Readoption;

/// A host, or the workers of one label, and how many groups of a gang they could hold.
struct GroupRoom {
  WorkerGroup group;
  std::uint32_t groups = 0;
};

/// Refuses at submission what the present cluster could never run, with the nearest offer, and tells why a subtask has
/// no band. Reads only. Cost: linear in templates times bands.
class Feasibility {
 public:
  Feasibility(const WorkerTable& workers, const Readoption& readoption, const Eligibility& eligibility,
              const PolicyState& policy, const PolicyView& view, AllocationUnits& units, LimitRules& rules)
      : workers_(workers),
        readoption_(readoption),
        eligibility_(eligibility),
        policy_(policy),
        view_(view),
        units_(units),
        rules_(rules) {}
  Feasibility(const Feasibility&) = delete;
  Feasibility& operator=(const Feasibility&) = delete;

  /// Refuses a job of which a subtask, a gang or the whole could never run, with the nearest offer.
  Result<void> check_feasible(const JobSpec& spec, const GraphShape& shape) const;
  /// Whether all of the job could run in the pool if no other job did. REQUIRES: the job has shares.
  bool could_hold(const Job& job, std::uint32_t pool) const;
  /// The hosts, or the labels, of the pool that could hold the gang that stays together, or some of its groups, if no
  /// other job were there. In order. REQUIRES: the job has shares.
  std::vector<GroupRoom> groups_that_could_hold(const Job& job, std::uint32_t pool) const;
  /// Of a subtask that no present band may have: never, as the cluster is now, or not for the moment.
  std::string explain_unschedulable(const Job& job, std::uint32_t subtask) const;

 private:
  struct GangRoom;
  struct Offer;
  /// In one of the pools, what a job takes at once must be within the limits of its project and of the departments
  /// above it, and, if it is never preempted, within their guarantees. Spec: policy-runai 6.
  Result<void> check_owners(const JobSpec& spec, const GraphShape& shape, const std::vector<Reach>& reaches) const;
  Result<void> check_owners_in(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const;
  Result<void> check_ceiling(const JobSpec& spec, std::uint64_t milli, BandKind kind) const;
  Result<void> check_memory_ceiling(const JobSpec& spec, const GraphShape& shape) const;
  Result<void> check_guarantee_in(const JobSpec& spec, std::uint64_t milli, const Reach& reach, BandKind kind) const;
  /// Thousandths of slots that the job never holds less of once it has begun: its gang, or its largest subtask.
  std::uint64_t least_at_once(const JobSpec& spec, const GraphShape& shape, const Reach& reach, BandKind kind) const;
  Result<void> check_feasible_in(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const;
  /// Limits that no worker there is within, alone or together.
  Result<void> check_labels_in(const JobSpec& spec, const Reach& reach) const;
  /// A subtask that ran out of memory must not end up where no band has as much as it requests now.
  bool could_hold_larger(const Job& job, const Reach& reach) const;
  /// A gang takes its slots one by one if its subtasks fit certain bands only; all the same the pool must have enough
  /// slots of the kind that it has more of.
  Result<void> check_gang(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const;
  /// The same for so many slots of it.
  Result<void> check_slots_of_gang(const JobSpec& spec, const GraphShape& shape, const Reach& reach,
                                   std::uint32_t slots) const;
  /// One host, or one label, of the reach must hold all of a gang that stays together; several, if it has groups.
  Result<void> check_together(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const;
  /// Of the groups of a gang that stays together: how many are within that reach at most.
  std::uint32_t groups_held_in(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const;
  GangRoom room_for_gang(const GraphShape& shape, const Reach& reach, BandKind kind) const;
  Offer look_for(const Template& wanted, const Reach& reach) const;
  /// The reason why no band of the pool may run the template, with the nearest band, and the places elsewhere that
  /// could.
  Error explain_infeasible(const Template& wanted, const Reach& reach) const;
  bool any_band_for(const Template& wanted, const Reach& reach) const;
  /// Spec: policy-determined 8.1.
  Result<void> check_cap(const JobSpec& spec, const GraphShape& shape) const;

  const WorkerTable& workers_;
  const Readoption& readoption_;
  const Eligibility& eligibility_;
  const PolicyState& policy_;
  const PolicyView& view_;
  AllocationUnits& units_;
  LimitRules& rules_;
};

}  // namespace penstock::supervisor
