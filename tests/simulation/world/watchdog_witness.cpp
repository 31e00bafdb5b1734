#include "tests/simulation/world/watchdog_witness.hpp"

#include <algorithm>
#include <utility>

namespace penstock::simulation {

std::string WatchdogWitness::alarm() {
  told_ = true;
  if (std::exchange(may_tell_, false)) return {};
  return "the watchdog tells twice of one standstill";
}

std::string WatchdogWitness::look(Instant now) const {
  const Instant told_by = std::max(since_ + 2 * after_, ran_until_ + after_);
  if (told_ || runs_ || now <= told_by) return {};
  return "the cluster stands still, and the watchdog has not told of it";
}

}  // namespace penstock::simulation
