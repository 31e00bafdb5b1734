// Subtasks that wait for an output of another job.
#pragma once

#include <map>
#include <vector>

#include "common/base/ids.hpp"

namespace penstock::supervisor {

/// Waiters by the producer of the output that they need, and the producers with changes. A change is looked
/// at when the core settles: nothing is half done then. Cost: logarithmic in the number of awaited producers.
class AwaitedOutputs {
 public:
  /// The waiter has no band. The core looks at it once more when it settles.
  void wait(const SubtaskId& producer, const SubtaskId& waiter);
  /// Something has become of the producer or its output.
  void changed(const SubtaskId& producer) {
    if (!waiters_.empty() && waiters_.contains(producer)) changed_.push_back(producer);
  }
  /// The same of all awaited subtasks of a job; of all jobs if it is none.
  void all_changed(JobId job = JobId::none());
  bool any_changed() const { return !changed_.empty(); }
  /// The job has ended, and none of its subtasks waits any more.
  void forget_waiters(JobId job);
  bool is_waiting(const SubtaskId& producer, const SubtaskId& waiter) const;

  /// Passes every waiter of a changed producer to `look(waiter)`, which calls `wait` for it if it still waits. Ends
  /// when nothing changes any more; a waiter that goes on waiting is no change.
  template <class Look>
  void settle(Look look) {
    while (!changed_.empty()) {
      const std::vector<SubtaskId> producers = take_changed();
      for (const SubtaskId& producer : producers)
        for (const SubtaskId& waiter : take_waiters(producer)) look(waiter);
      forget_changes(producers);
    }
  }

 private:
  std::vector<SubtaskId> take_changed();  ///< Sorted, each once.
  std::vector<SubtaskId> take_waiters(const SubtaskId& producer);
  void forget_changes(const std::vector<SubtaskId>& producers);

  std::map<SubtaskId, std::vector<SubtaskId>> waiters_;
  std::vector<SubtaskId> changed_;
};

}  // namespace penstock::supervisor
