// The number of workers that waiting requests call for: what a pool that grows and shrinks would have.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::supervisor {

/// The waiting requests of one job.
struct WaitingRequests {
  struct Request {
    std::int64_t slots = 0;  ///< 0: a light place.
    std::int64_t count = 1;
  };
  std::vector<Request> requests;
  std::int64_t slots_max = INT64_MAX;  ///< Of all of them together.
};

/// A worker of the pool.
struct WorkerShape {
  std::int64_t slots = 0;
  std::int64_t light_places = 0;  ///< For requests without slots.
};

/// A request counts that one worker holds, or that fills some of them. Spec: policy-determined 9.6.
std::int64_t desired_workers(const std::vector<WaitingRequests>& jobs, const WorkerShape& shape);

}  // namespace penstock::supervisor
