// The names and settings of policy in a job, and in the configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/admin.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

struct EventContext;
class LimitRules;
class PolicyView;

/// Refuses jobs that name owners, pools or amounts that the policy in force does not have, and warns of settings that
/// are probably not meant. Cost: linear in the configuration.
class PolicyChecks {
 public:
  PolicyChecks(EventContext& event, const WorkerTable& workers, const PolicyState& policy, const PolicyView& view,
               LimitRules& rules)
      : event_(event), workers_(workers), policy_(policy), view_(view), rules_(rules) {}
  PolicyChecks(const PolicyChecks&) = delete;
  PolicyChecks& operator=(const PolicyChecks&) = delete;

  /// Checks the owner's names in a job, which must be known. Little is checked without a policy.
  Result<void> check_policy_of(const JobSpec& spec) const;
  /// Adds the warnings to the answer, and to the log.
  void add_warnings(Value::Record& answer);

 private:
  /// Settings in force that are probably not meant, given the present cluster.
  std::vector<std::string> warnings_of_policy() const;

  EventContext& event_;
  const WorkerTable& workers_;
  const PolicyState& policy_;
  const PolicyView& view_;
  LimitRules& rules_;
};

}  // namespace penstock::supervisor
