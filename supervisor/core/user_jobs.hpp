// The number of unfinished jobs of each user.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/base/check.hpp"

namespace penstock::supervisor {

/// Counts jobs by their owner, so that a submit compares two numbers however many jobs there are (`users.jobs_max`).
/// Users without jobs take nothing. Cost: logarithmic in the users for each change. Single-threaded.
class UserJobs {
 public:
  /// A job of the user has been accepted, or has come back after a restart.
  void add(const std::string& user) { ++counts_[user]; }
  /// A job of the user has ended. REQUIRES: it was added.
  void remove(const std::string& user) {
    const auto at = counts_.find(user);
    PENSTOCK_CHECK_MSG(at != counts_.end(), user);
    if (--at->second == 0) counts_.erase(at);
  }
  std::uint64_t count(const std::string& user) const {
    const auto at = counts_.find(user);
    return at == counts_.end() ? 0 : at->second;
  }
  /// Of each user with jobs.
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  friend bool operator==(const UserJobs&, const UserJobs&) = default;

 private:
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace penstock::supervisor
