// The number of unfinished jobs under each limit of a user, account, level of service or queue.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/check.hpp"
#include "common/protocol/policy_rules.hpp"

namespace penstock::supervisor {

/// Counts jobs by the limited owner, so that a submit compares two numbers however many jobs there are. Cost:
/// logarithmic in the number of limits for each change. Single-threaded.
class LimitedJobs {
 public:
  /// A job comes under these limits.
  void add(const std::vector<LimitedBy>& limits) {
    for (const LimitedBy& by : limits) ++counts_[by.whom];
  }
  /// A job leaves these limits. REQUIRES: they were added.
  void remove(const std::vector<LimitedBy>& limits) {
    for (const LimitedBy& by : limits) {
      const auto at = counts_.find(by.whom);
      PENSTOCK_CHECK_MSG(at != counts_.end(), by.whom);
      if (--at->second == 0) counts_.erase(at);
    }
  }
  /// The number of jobs under the limit of that user or account.
  std::int64_t count(const std::string& whom) const {
    const auto at = counts_.find(whom);
    return at == counts_.end() ? 0 : at->second;
  }
  friend bool operator==(const LimitedJobs&, const LimitedJobs&) = default;

 private:
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace penstock::supervisor
