// The jobs of a supervisor by number and by name.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/base/lookup_map.hpp"
#include "supervisor/core/job.hpp"

namespace penstock::supervisor {

/// Owns all jobs that are known: running ones, and ended ones until they are forgotten. Numbers count up from 1 and are
/// never given out again. Several jobs may have one name: the runs of one, and jobs of several owners. Cost: constant.
class JobTable {
 public:
  JobTable();

  bool knows(JobId id) const { return id.value() < jobs_.size() && jobs_[id.value()] != nullptr; }
  /// REQUIRES: knows(id).
  Job& operator[](JobId id) { return *jobs_[id.value()]; }
  const Job& operator[](JobId id) const { return *jobs_[id.value()]; }
  /// Null if unknown or forgotten.
  Job* find(JobId id) { return knows(id) ? jobs_[id.value()].get() : nullptr; }
  const Job* find(JobId id) const { return knows(id) ? jobs_[id.value()].get() : nullptr; }
  /// By number, or else by name: then the newest job of the viewer, or else the newest that it sees.
  Job* find(const JobSelector& selector);
  /// In order of their numbers; null where a number is not used or its job is forgotten.
  std::span<const std::unique_ptr<Job>> all() const { return jobs_; }

  /// The number of the next new job.
  JobId next() const { return JobId{static_cast<std::uint32_t>(jobs_.size())}; }
  /// Numbers below `next` are not given out.
  void skip_to(JobId next);
  /// An empty job under that number; those before it are skipped. REQUIRES: !knows(id).
  Job& add(JobId id);
  void erase(JobId id) { jobs_[id.value()].reset(); }

  /// `find` sees the job by its name from now on.
  void add_name(const Job& job);
  void remove_name(const Job& job);

 private:
  std::vector<std::unique_ptr<Job>> jobs_;
  LookupMap<std::uint64_t, std::vector<JobId>> names_;  ///< Jobs by the hash of their names.
};

}  // namespace penstock::supervisor
