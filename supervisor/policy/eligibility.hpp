// Whether a member could be placed at all, if others were gone.
#pragma once

#include <cstdint>

#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {

/// The members that are assumed to be gone.
enum class Gone : std::uint8_t {
  Preemptible,
  InTime,  ///< Also members that are kept for a time only, in the turn of their job.
  Everybody,
};

/// Members that would fit the pool without those. A member that would not fit even an empty pool competes with no
/// other: it waits for bands that are not there, and must keep no other member waiting. Cost: a search for each shape
/// of request.
class Eligibility {
 public:
  Eligibility(SlotPass& pass, Gone gone);

  bool admits(std::uint32_t member);

 private:
  const Snapshot& snapshot_;
  SlotTrial emptied_;
  KnownShapes failed_;
  KnownShapes fits_;
};

}  // namespace penstock::policy
