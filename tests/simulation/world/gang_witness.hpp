// Gangs have all of their places or none, but for as long as the policy lets one wait for what it has lost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/supervisor_core.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::simulation {

/// A gang as plans have left it, on bands of one kind.
struct GangView {
  JobId job;
  BandKind kind = BandKind::Cpu;
  std::uint64_t wanted = 0;  ///< Thousandths of slots, all together.
  std::uint64_t given = 0;   ///< On bands that are there, and where it is moved to.
  std::uint64_t stays = 0;   ///< Under runs that never leave: whatever holds the gang back, it keeps those.

  bool lost_to_others = false;  ///< The slots that it lacks went to runs that may not leave.

  bool is_part() const { return given > 0 && given < wanted; }
  bool in_part() const { return given > stays && given < wanted; }
};

/// No run of a simulated program lasts for longer, however late its end is told.
inline constexpr Duration kRunsLast = std::chrono::seconds{20};

class GangWitness {
 public:
  /// The state that a pass finds, and the places that it is shown as promised and not taken yet. `grace`: the longest
  /// grace of a run in such a place.
  void pass_begins(Instant now, Duration wait, Duration grace, const std::vector<GangView>& gangs,
                   const std::map<JobId, std::vector<policy::Place>>& promised);
  /// The outcome of its plan for them; `workers_lost` since it began. The first breach; empty: none.
  std::string plan_applied(const std::vector<GangView>& gangs, bool workers_lost) const;
  /// The supervisor heard of no leaving run for a while: promises count from when it goes on.
  void stood_still() { promises_.clear(); }
  const std::string& broken_promise() const { return broken_promise_; }

 private:
  using Key = std::pair<JobId, BandKind>;
  struct Promise {
    std::vector<policy::Place> places;
    Instant since{};
    bool late = false;  ///< The pass that takes it back has begun.
  };
  Instant began_{};
  Duration wait_{};
  std::map<Key, Instant> in_part_since_;
  std::map<Key, Instant> part_since_;  ///< Also where it has nothing but what runs and never leaves.
  std::map<Key, std::uint64_t> given_;
  std::map<JobId, Promise> promises_;
  std::string broken_promise_;
};

/// Of jobs that have not ended, those gangs that may take slots anywhere.
std::vector<GangView> gangs_of(const supervisor::SupervisorCore& core, const std::vector<JobId>& jobs);
/// The places that the snapshot shows as promised, of gangs; by job, of CPU bands and of device bands together.
std::map<JobId, std::vector<policy::Place>> promised_to_gangs(const policy::Snapshot& snapshot,
                                                              const std::vector<GangView>& gangs);

}  // namespace penstock::simulation
