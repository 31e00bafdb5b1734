// A preempted run has all of its grace to save what it has, and no more.
#pragma once

#include <map>
#include <set>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"

namespace penstock::simulation {

/// The runs of one worker that were told to leave their slots.
class GraceWitness {
 public:
  /// The shortest of several counts, from when it was said.
  void told(SubtaskId run, Instant now, Duration grace);
  /// Something else may end it earlier, whatever it is told from now on: a cancel, a time limit.
  void may_end(SubtaskId run);
  void ended(SubtaskId run);
  /// The run is made to end; the breach, empty: none.
  std::string killed(SubtaskId run, Instant now);
  /// A run that still goes on at `now`, though all its grace and `bound` are over; empty: none.
  std::string overdue(Instant now, Duration bound) const;
  void clear();

 private:
  std::map<SubtaskId, Instant> told_;
  std::set<SubtaskId> may_end_;
};

}  // namespace penstock::simulation
