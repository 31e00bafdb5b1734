// Work conservation over the cluster: no worker is idle for long beside ready work that it could have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "supervisor/core/supervisor_core.hpp"

namespace penstock::simulation {

/// Within a worker its core's own invariants look at that. Here only work counts that any CPU band may have, of jobs
/// that nothing holds back, and not under a policy: then a band without work asks for it after `steal_after`.
class IdleWitness {
 public:
  /// Far above any `steal_after` that is drawn, and the time of a message.
  static constexpr Duration kPatience = std::chrono::seconds{2};
  /// Each look is at all that is ready: now and then is enough.
  bool is_due(Instant now) const { return now >= looked_at_ + std::chrono::milliseconds{100}; }
  /// The breach at `now`; empty: none.
  std::string look(const supervisor::SupervisorCore& core, const std::vector<JobId>& jobs, Instant now);
  /// The supervisor has not run since.
  void clear() { idle_since_.clear(); }

 private:
  std::map<BandId, Instant> idle_since_;
  Instant looked_at_{};
};

}  // namespace penstock::simulation
