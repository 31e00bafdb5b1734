// Jobs that runs of subtasks have submitted, by those runs.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "common/base/ids.hpp"

namespace penstock::supervisor {

/// A job that a run has submitted lives no longer than that run, and is forgotten when it has ended and been released:
/// there may be millions. The table knows the children of each subtask, and since it was asked last, which subtasks
/// with children have moved, and which children may be forgotten. Single-threaded. Cost: logarithmic in the parents,
/// linear in the children of one.
class NestedJobs {
 public:
  struct Child {
    JobId job;
    Attempt attempt;  ///< The run of the parent.
  };

  void add(const SubtaskId& parent, Child child) { children_[parent].push_back(child); }
  void remove(const SubtaskId& parent, JobId child) {
    const auto found = children_.find(parent);
    if (found == children_.end()) return;
    std::erase_if(found->second, [child](const Child& known) { return known.job == child; });
    if (found->second.empty()) children_.erase(found);
  }
  bool has(const SubtaskId& parent, JobId child) const {
    const std::span<const Child> children = of(parent);
    return std::any_of(children.begin(), children.end(), [child](const Child& known) { return known.job == child; });
  }
  /// Valid until the next change.
  std::span<const Child> of(const SubtaskId& parent) const {
    const auto found = children_.find(parent);
    return found == children_.end() ? std::span<const Child>{} : std::span<const Child>{found->second};
  }

  /// The subtask, which may have children, has another phase or attempt.
  void note_moved(const SubtaskId& parent) { moved_.push_back(parent); }
  /// The same for all subtasks of the job that have children.
  void note_all_moved(JobId job) {
    for (auto at = children_.lower_bound({job, SubtaskIndex{0}}); at != children_.end() && at->first.job == job; ++at)
      moved_.push_back(at->first);
  }
  bool any_moved() const { return !moved_.empty(); }
  std::vector<SubtaskId> take_moved() { return std::exchange(moved_, {}); }
  /// The job may have nothing more to give, and nobody to give it to.
  void note_spent(JobId child) { spent_.push_back(child); }
  std::vector<JobId> take_spent() { return std::exchange(spent_, {}); }

 private:
  std::map<SubtaskId, std::vector<Child>> children_;
  std::vector<SubtaskId> moved_;
  std::vector<JobId> spent_;
};

}  // namespace penstock::supervisor
