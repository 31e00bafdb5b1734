// The jobs that a pass of the policy looks at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "common/base/lookup_map.hpp"
#include "common/base/ids.hpp"
#include "common/protocol/graph.hpp"
#include "supervisor/core/active_jobs.hpp"
#include "supervisor/core/job_shares.hpp"

namespace penstock::supervisor {

/// The cost of a pass grows with the jobs that it reads. Of jobs that are alike for a policy (`likeness_of`) a pass
/// reads the earliest `policy.queue_depth` that wait; the others are hidden until one of these begins or ends, and hold
/// nothing meanwhile. A pass could not distinguish them from those in sight. Slurm bounds the jobs of a user in the
/// same way (`bf_max_job_user`).
///
/// Cost: logarithmic for each change; `admit` that of the jobs in sight. Single-threaded, owned by `PolicyState`.
class PolicyAgenda {
 public:
  /// The job is in sight from the start, unless `depth` of its likeness are. An empty likeness is no likeness.
  /// REQUIRES: the job is not here.
  void enter(JobId job, std::int32_t priority, const std::string& likeness, std::uint32_t depth);
  /// Nothing happens if it is not here.
  void leave(JobId job);
  /// The job is in sight from now on, until it leaves or is hidden.
  void look_at(JobId job);
  /// Hides the job until `admit` takes it in again; one without a likeness stays in sight. REQUIRES: the job holds
  /// nothing.
  void hide(JobId job);
  /// The job has another priority, and with it another likeness; a job in sight stays there. Nothing happens if the job
  /// is not here.
  void change(JobId job, std::int32_t priority, const std::string& likeness, std::uint32_t depth);
  /// Takes jobs into sight until `depth` of each likeness wait there. `waits(JobId)`: nothing of it has begun.
  template <class Waits>
  void admit(std::uint32_t depth, Waits waits) {
    for (auto& [likeness, group] : groups_) group.waiting = 0;
    for (const JobId job : in_sight_)
      if (Group* group = places_.find(job)->group; group != nullptr && !group->hidden.empty() && waits(job))
        ++group->waiting;
    for (auto& [likeness, group] : groups_)
      for (; group.waiting < depth && !group.hidden.empty(); ++group.waiting) look_at(*group.hidden.begin());
  }

  /// The demand of jobs of its likeness, the same for all of them before a pass has read them; null for a job without a
  /// likeness. Empty until the caller sets it. REQUIRES: the job is here.
  KindShares* wanted_alike(JobId job);

  /// In the order in which they are served.
  const ActiveJobs& in_sight() const { return in_sight_; }
  bool is_hidden(JobId job) const;
  /// The number of hidden jobs of its likeness, the job itself among them. REQUIRES: is_hidden(job).
  std::size_t hidden_like(JobId job) const;

 private:
  struct Group {
    std::set<JobId> hidden;
    std::uint32_t members = 0;
    std::uint32_t waiting = 0;  ///< In sight; of the last `admit`.
    KindShares wanted;
  };
  struct Place {
    Group* group = nullptr;  ///< Null: it has no likeness.
    std::map<std::string, Group>::iterator at{};
    std::int32_t priority = 0;
    bool hidden = false;
  };

  ActiveJobs in_sight_;
  std::map<std::string, Group> groups_;
  LookupMap<JobId, Place> places_;
};

struct Job;

/// Jobs with the same text are alike for every policy: of one owner, with the same wishes and priority, and graphs of
/// one template with the same requests. Empty for those that are unlike all others: gangs, and graphs that borrow
/// (`borrows`) or have several templates.
std::string likeness_of(const JobSpec& spec, const Graph& graph, bool has_external_inputs);
/// REQUIRES: it has its graph.
std::string likeness_of(const Job& job);

}  // namespace penstock::supervisor
