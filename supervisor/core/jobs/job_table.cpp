#include "supervisor/core/jobs/job_table.hpp"

#include <algorithm>
#include <string>

#include "common/base/check.hpp"

namespace penstock::supervisor {
namespace {

/// FNV-1a (Fowler, Noll, Vo), mixed.
std::uint64_t hash_of_name(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return mix_bits(hash);
}

}  // namespace

// Number 0 is not used: it would look like a default.
JobTable::JobTable() { jobs_.emplace_back(); }

void JobTable::skip_to(JobId next) {
  if (jobs_.size() < next.value()) jobs_.resize(next.value());
}

Job& JobTable::add(JobId id) {
  PENSTOCK_CHECK(!knows(id));
  skip_to(JobId{id.value() + 1});
  jobs_[id.value()] = std::make_unique<Job>();
  Job& job = *jobs_[id.value()];
  job.id = id;
  return job;
}

void JobTable::add_name(const Job& job) { names_[hash_of_name(job.spec.name)].push_back(job.id); }

void JobTable::remove_name(const Job& job) {
  std::vector<JobId>& same = names_[hash_of_name(job.spec.name)];
  std::erase(same, job.id);
  if (same.empty()) names_.erase(hash_of_name(job.spec.name));
}

Job* JobTable::find(const JobSelector& selector) {
  const Viewer& viewer = selector.viewer;
  if (selector.id.valid()) {
    Job* const job = find(selector.id);
    return job != nullptr && viewer.sees(job->spec) ? job : nullptr;
  }
  const std::vector<JobId>* candidates = names_.find(hash_of_name(selector.name));
  if (candidates == nullptr) return nullptr;
  Job* latest = nullptr;
  Job* own = nullptr;
  for (const JobId id : *candidates) {
    Job* const job = find(id);
    if (job == nullptr || job->spec.name != selector.name || !viewer.sees(job->spec)) continue;
    latest = job;
    if (!viewer.user.empty() && job->spec.owner == viewer.user) own = job;
  }
  return own != nullptr ? own : latest;
}

}  // namespace penstock::supervisor
