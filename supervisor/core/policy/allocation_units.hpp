// The part of a band that one member of a snapshot stands for.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class JobTable;
class PolicyView;

/// Up to a whole number of steps.
constexpr std::uint64_t round_up(std::uint64_t amount, std::uint64_t step) { return (amount + step - 1) / step * step; }

/// Computes allocation units: jobs that request only slots are counted by whole slots; parts of devices, memory and
/// processors are counted by the amounts of one run. Writes `KindShare`'s units, `DomainView` and nothing else.
/// Cost: linear in the templates of a job; for a pass in bands and jobs in sight.
class AllocationUnits {
 public:
  AllocationUnits(JobTable& jobs, const WorkerTable& workers, PolicyState& policy, const PolicyView& view)
      : jobs_(jobs), workers_(workers), policy_(policy), view_(view) {}
  AllocationUnits(const AllocationUnits&) = delete;
  AllocationUnits& operator=(const AllocationUnits&) = delete;

  void measure_requests(Job& job) const;
  static void measure_requests(const std::vector<Template>& templates, BandKind kind, KindShare& share);
  /// Thousandths of slots that one run counts for on the device bands where the job may be, as they are now: a job that
  /// takes much of a device leaves few of its slots to others. Of several pools with devices, the least. 0: no subtask
  /// wants a device.
  std::uint64_t run_milli_on_devices(const std::vector<Template>& templates, const JobSpec& spec) const;
  /// For a pass: the capacity of each kind in each pool, and the granularity of its counts.
  void size_allocation_units(PassUnderWay& pass);
  /// The unit of a job with that share on bands of the domain. `quotas`: by amounts, where quotas count.
  AllocationUnit allocation_unit_of(const KindShare& share, BandKind kind, const DomainView& domain, bool quotas) const;

 private:
  /// Quotas are in thousandths anyhow, and CPU bands are divided by whole slots.
  void choose_granularities(PassUnderWay& pass) const;
  /// A bag spreads over its pools where one of its runs counts alike in all of them.
  void size_in_all_pools(Job& job, BandKind kind, PassUnderWay& pass) const;
  /// One run, on the band where it counts for most.
  std::uint64_t run_milli(const KindShare& share, BandKind kind, const DomainView& domain) const;

  JobTable& jobs_;
  const WorkerTable& workers_;
  PolicyState& policy_;
  const PolicyView& view_;
};

}  // namespace penstock::supervisor
