// Which process runners a band has been told to start before they are needed.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/graph.hpp"

namespace penstock::worker {

/// Names the process that runs a template: templates that differ in program, arguments, environment or directory need
/// different ones. 0: it needs none. Two share a name only by a chance of 2^-64; then one of them starts when it runs.
std::uint64_t runner_kind_of(const Template& content);

/// For how many lanes of one band the runners of each kind were ordered, at most `kinds_max` of them: the one that was
/// not asked for longest makes room, as it does in a lane. Passive.
class RunnerKinds {
 public:
  /// REQUIRES: kinds_max > 0.
  explicit RunnerKinds(std::uint32_t kinds_max) : kinds_max_(kinds_max) {}

  /// Whether so many lanes are more than the kind was ordered for; from now on it is.
  bool order(std::uint64_t kind, std::uint32_t lanes);
  /// The runners of the band are gone.
  void forget() { known_.clear(); }

 private:
  struct Known {
    std::uint64_t kind;
    std::uint32_t lanes;
  };
  const std::uint32_t kinds_max_;
  std::vector<Known> known_;  ///< The one asked for last is the last.
};

}  // namespace penstock::worker
