// The limits of users, accounts, queues and levels of service, counted again from what jobs say of
// themselves and what a plan gives them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/protocol/policy_rules.hpp"
#include "supervisor/core/supervisor_core.hpp"

namespace penstock::simulation {

/// A job as limits see it.
struct LimitedJob {
  JobId id;
  bool on_hold = false;
  bool exempt = false;   ///< From limits of slots.
  bool has_run = false;  ///< The job counts as running, also while what it had is lost.
  std::vector<LimitedBy> limits;
  std::array<std::uint64_t, supervisor::kBandKinds> given{};  ///< Thousandths of slots that the last plan gave it.
  bool unlimited = false;                                     ///< Its workers let it have what it wants.

  bool has_any() const { return given[0] + given[1] > 0; }
};

/// A running job keeps what it has when a limit is lowered, or when it comes under one: so a plan may leave a limit
/// passed, but gives no job more in it. A job on hold gets nothing.
class LimitWitness {
 public:
  /// A pass looks at the cluster now: its plan keeps the limits of now.
  void pass_begins(std::vector<LimitedJob> jobs);
  /// The outcome of that plan for them. The first breach; empty: none.
  std::string plan_applied(const std::vector<LimitedJob>& jobs) const;

 private:
  struct Limit;
  std::map<JobId, LimitedJob> before_;
  /// Limits that a job has come under by an order after it had begun: so many may run, by then, as did.
  std::set<std::string> joined_;
};

/// Thousandths of slots that the last plan gave the job of a band: what its workers are told, not what the next pass
/// may have found to be running meanwhile. REQUIRES: the job has shares.
std::uint64_t given_to(const supervisor::Job& job, supervisor::BandSlot band, BandKind kind);

/// All that have not ended, by the policy in force.
std::vector<LimitedJob> limited_jobs(const supervisor::SupervisorCore& core, const std::vector<JobId>& jobs);

}  // namespace penstock::simulation
