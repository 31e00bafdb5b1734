// The account and user to which the use of a job is charged.
#pragma once

#include <vector>

#include "common/protocol/policy_config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/usage.hpp"

namespace penstock::supervisor {

/// The name of its account, if it has one, and of its owner. REQUIRES: the job has shares.
inline UsageTable::Key charged_for(const Job& job, const std::vector<AccountConfig>& accounts) {
  const std::uint32_t account = job.shares->account;
  return {account < accounts.size() ? accounts[account].name : "", job.spec.owner};
}

}  // namespace penstock::supervisor
