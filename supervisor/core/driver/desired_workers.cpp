#include "supervisor/core/driver/desired_workers.hpp"

#include <algorithm>

namespace penstock::supervisor {
namespace {

/// Spec: a term is 0 where its divisor is.
std::int64_t needed(std::int64_t amount, std::int64_t each) { return each == 0 ? 0 : (amount + each - 1) / each; }

}  // namespace

std::int64_t desired_workers(const std::vector<WaitingRequests>& jobs, const WorkerShape& shape) {
  std::int64_t light = 0;
  std::int64_t slots = 0;
  for (const WaitingRequests& job : jobs) {
    std::int64_t of_job = 0;
    for (const auto& [each, count] : job.requests) {
      if (each == 0)
        light += count;
      else if (shape.slots > 0 && (each <= shape.slots || each % shape.slots == 0))
        of_job += each * count;
    }
    slots += std::min(of_job, job.slots_max);
  }
  return std::max(needed(light, shape.light_places), needed(slots, shape.slots));
}

}  // namespace penstock::supervisor
