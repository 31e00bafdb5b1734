// The invariants of all parts together.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::supervisor {

struct Fleet;
struct Job;
struct JobTables;
struct Outputs;
struct Placement;
struct PolicyBase;

/// Checks what no part can check alone: counters of jobs and bands beside the subtasks that they count, kept
/// placements, shares, and inputs of what is assigned. For `SupervisorCore::validate`. Cost: linear in subtasks and
/// bands.
class Invariants {
 public:
  Invariants(const Fleet& fleet, const JobTables& tables, const Outputs& outputs, const PolicyBase& policy_base,
             const Placement& placement)
      : fleet_(fleet), tables_(tables), outputs_(outputs), policy_base_(policy_base), placement_(placement) {}
  Invariants(const Invariants&) = delete;
  Invariants& operator=(const Invariants&) = delete;

  void check() const;

 private:
  /// A nested job belongs to a run that is under way.
  void check_parent(const Job& job) const;
  /// Whatever is kept here for a band is found by looking at what is kept here for that band.
  void check_placements(const Job& job) const;
  /// Subtasks of a job that may be sent to a band are found by a look at the jobs that wait for the band. Counts what
  /// is kept.
  void check_waiting(const Job& job, std::vector<std::uint64_t>& ready) const;
  /// The counts for policy are those that a look at all subtasks would find.
  void check_shares(const Job& job) const;
  /// A subtask that may be given to a worker reads nothing that no worker holds, unless there is no worker.
  void check_inputs(const Job& job, std::uint32_t subtask) const;

  const Fleet& fleet_;
  const JobTables& tables_;
  const Outputs& outputs_;
  const PolicyBase& policy_base_;
  const Placement& placement_;
};

}  // namespace penstock::supervisor
