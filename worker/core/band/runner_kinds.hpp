// The kinds of process runners that a band was ordered to start before they are needed.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/graph.hpp"

namespace penstock::worker {

/// Names the process that runs a template: templates with different program, arguments, environment or directory need
/// different ones. 0: no process. Two kinds share a name only by a chance of 2^-64; then one of them starts when it
/// runs.
std::uint64_t runner_kind_of(const Template& content);

/// The number of lanes of one band for which the runners of each kind were ordered, for at most `kinds_max` kinds: the
/// least recently ordered kind makes room, as it does in a lane. Passive.
class RunnerKinds {
 public:
  /// REQUIRES: kinds_max > 0.
  explicit RunnerKinds(std::uint32_t kinds_max) : kinds_max_(kinds_max) {}

  /// Orders runners of the kind for so many lanes; true if these are more than before.
  bool order(std::uint64_t kind, std::uint32_t lanes);
  /// The runners of the band are gone.
  void forget() { known_.clear(); }

 private:
  struct Known {
    std::uint64_t kind;
    std::uint32_t lanes;
  };
  const std::uint32_t kinds_max_;
  std::vector<Known> known_;  ///< The most recently ordered kind is the last.
};

}  // namespace penstock::worker
