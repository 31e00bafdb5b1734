// When something is due of each of many jobs.
#pragma once

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"

namespace penstock::supervisor {

/// Jobs in the order of their deadlines, which the jobs keep themselves. Cost: logarithmic for each change.
class Deadlines {
 public:
  void insert(JobId job, Instant at) { due_.emplace(at, job); }
  /// False if it was not there with that deadline.
  bool erase(JobId job, Instant at) { return due_.erase({at, job}) > 0; }
  /// The deadline changes; it is not put in by that.
  void move(JobId job, Instant& at, Instant to) {
    if (erase(job, at)) insert(job, to);
    at = to;
  }
  /// `kNever`: there is none.
  Instant first() const { return due_.empty() ? kNever : due_.begin()->first; }
  /// Jobs with a deadline that has passed, the earliest first. The jobs stay in the list.
  std::vector<JobId> due_at(Instant now) const {
    std::vector<JobId> jobs;
    for (const auto& [at, job] : due_) {
      if (at > now) break;
      jobs.push_back(job);
    }
    return jobs;
  }

 private:
  std::set<std::pair<Instant, JobId>> due_;
};

}  // namespace penstock::supervisor
