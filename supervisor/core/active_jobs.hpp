// The running jobs in the order in which they are served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "common/base/ids.hpp"

namespace penstock::supervisor {

/// The highest precedence first, then the earliest. Walking it yields numbers of jobs; a caller that ends or changes
/// jobs meanwhile walks `all()`. Cost: logarithmic for each change.
class ActiveJobs {
  struct Key {
    std::int64_t precedence;
    JobId job;
    bool operator<(const Key& other) const {
      return precedence != other.precedence ? precedence > other.precedence : job < other.job;
    }
  };

 public:
  class Iterator {
   public:
    explicit Iterator(std::set<Key>::const_iterator at) : at_(at) {}
    JobId operator*() const { return at_->job; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    std::set<Key>::const_iterator at_;
  };

  /// See `Job::precedence`.
  void insert(JobId job, std::int64_t precedence) { keys_.insert({precedence, job}); }
  /// REQUIRES: it was inserted with that precedence, or is not there.
  void erase(JobId job, std::int64_t precedence) { keys_.erase({precedence, job}); }
  void clear() { keys_.clear(); }

  Iterator begin() const { return Iterator{keys_.begin()}; }
  Iterator end() const { return Iterator{keys_.end()}; }
  bool empty() const { return keys_.empty(); }
  std::size_t size() const { return keys_.size(); }
  /// The first one behind that one, which need not be there.
  std::optional<JobId> after(JobId job, std::int64_t precedence) const {
    const auto next = keys_.upper_bound({precedence, job});
    return next == keys_.end() ? std::nullopt : std::optional{next->job};
  }
  std::vector<JobId> all() const {
    std::vector<JobId> jobs;
    jobs.reserve(keys_.size());
    for (const Key& key : keys_) jobs.push_back(key.job);
    return jobs;
  }

 private:
  std::set<Key> keys_;
};

}  // namespace penstock::supervisor
