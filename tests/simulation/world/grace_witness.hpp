// Whoever is preempted has all of its grace to save what it has, and no more.
#pragma once

#include <map>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"

namespace penstock::simulation {

/// The runs of one worker that were told to leave their slots.
class GraceWitness {
 public:
  /// The shortest of several counts, from when it was said.
  void told(SubtaskId run, Instant now, Duration grace);
  /// Something else may end it earlier: a cancel, a time limit.
  void may_end(SubtaskId run) { told_.erase(run); }
  void ended(SubtaskId run) { told_.erase(run); }
  /// It is made to end; the breach, empty: none.
  std::string killed(SubtaskId run, Instant now);
  /// Who is still let run by `now`, though all its grace and `bound` are over; empty: nobody.
  std::string overdue(Instant now, Duration bound) const;
  void clear() { told_.clear(); }

 private:
  std::map<SubtaskId, Instant> told_;
};

}  // namespace penstock::simulation
