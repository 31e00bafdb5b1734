// The slots that jobs want and hold, as a pass counts them.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class Eligibility;
class JobTable;
class PolicyView;

/// Measures what each job could use and what of the last plan it holds. Writes the demand, the bonds and the planned
/// slots of `JobShares`. Cost: for a job linear in the bands; `count_holdings` for all jobs in sight.
class JobDemand {
 public:
  JobDemand(JobTable& jobs, const WorkerTable& workers, const Eligibility& eligibility, PolicyState& policy,
            const PolicyView& view)
      : jobs_(jobs), workers_(workers), eligibility_(eligibility), policy_(policy), view_(view) {}
  JobDemand(const JobDemand&) = delete;
  JobDemand& operator=(const JobDemand&) = delete;

  /// Runs beyond the last plan count as the job's own where nothing was limited or the job is never preempted. So do
  /// runs under a plan from before a restart, when they are seen first, but no part of a gang. The sum may exceed the
  /// capacity, because a shortage is reported late: then others lose slots that they do not use.
  void count_holdings();
  /// Runnable subtasks that are kept for a band or are there.
  std::uint64_t runnable_for(const Job& job, BandSlot band) const;
  /// Runnable subtasks that are not known to run.
  std::uint64_t waiting_of(const Job& job, BandKind kind) const;
  /// The slots of one band that a job could use if its work there can run nowhere else.
  std::uint64_t measure_demand_at(const Job& job, BandSlot slot) const;
  /// Most jobs take slots wherever they are, and bring their work there. A job is bound if its slots must be where its
  /// work is: if its subtasks fit different bands, or are to run at certain ones, or must not return to where they have
  /// failed, or if it was given slots that it cannot use. A bound gang takes as many slots as it gets, but only while
  /// it is bound: one that has lost a worker, say, stays a gang. A job without tentative placements, because it is only
  /// tried in the pool, takes any slots.
  bool is_bound(Job& job, BandKind kind);
  /// Whether the attempt was asked to leave its slots and has not ended yet.
  static bool is_leaving(const Job& job, std::uint32_t subtask, Attempt attempt);
  /// Slots of attempts that have been running for a while.
  static std::uint64_t milli_run(const KindShare& kind, const BandShare& share, const BandEntry& band);
  /// The same of so many attempts.
  static std::uint64_t milli_of(const KindShare& kind, std::uint32_t runs, const BandEntry& band);
  /// The slots that the job could use now, or could use until lately.
  std::uint64_t measure_demand(const Job& job, BandKind kind, std::uint64_t capacity) const;
  /// The slots that the job could use, or could until lately, beyond its demand for all of the capacity. `before`: its
  /// demand with the slots beyond it, as last measured.
  std::uint64_t measure_beyond(const Job& job, BandKind kind, std::uint64_t capacity, std::uint64_t before) const;
  /// The demand of a bag by position in its list of pools: its runs, then idle slots that it holds, in the order of
  /// the list, then the rest where it is tried.
  std::vector<std::uint64_t> divide_by_pool(const Job& job, BandKind kind) const;
  /// The part of the last plan that the job holds, of a bag in the pool where it is looked at. Where the plan was
  /// limited, runs beyond it are leaving.
  std::vector<PromisedPlace> settle_holdings(Job& job, BandKind kind, std::vector<PromisedPlace>& leaving);
  /// Whether policy may take back slots of the job's runs on bands of that kind.
  bool may_leave(const Job& job, BandKind kind) const;
  /// Slots of running attempts that must not run twice, and so are never preempted.
  std::uint64_t milli_that_stays(const Job& job, BandSlot slot) const;

 private:
  /// Whether any of the bands that the plan may give the job can run any of its subtasks of that kind: all bands of the
  /// pool can, or its subtasks are alike, those of a gang by the bands that can run them, so that the plan knows the
  /// bands (`PolicyView::bands_allowed`).
  bool fits_where_it_may(const Job& job, BandKind kind);
  /// Whether each band that the job may use can run all of its subtasks of that kind, or none of them, and one can.
  bool fits_alike(const Job& job, BandKind kind);
  /// Bands where the job may not be are ignored.
  bool fits_all_of_pool(const Job& job, std::uint32_t template_index);
  /// Attempts that are leaving the band, and so need no slots there.
  std::uint64_t leaving_from(const Job& job, BandSlot band) const;

  JobTable& jobs_;
  const WorkerTable& workers_;
  const Eligibility& eligibility_;
  PolicyState& policy_;
  const PolicyView& view_;
};

}  // namespace penstock::supervisor
