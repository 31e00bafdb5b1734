// Limits of each user of a cluster.
#pragma once

#include <cstdint>

#include "common/base/units.hpp"

namespace penstock {

/// Kept so that no user takes the places of others: `[users]`. The user is that of the certificate; of a job that a run
/// submits it is the owner of the run's job.
struct UserLimits {
  std::uint32_t jobs_max = 100'000;
  std::uint32_t submissions_max = 1024;
  Bytes submissions_bytes_max = kGiB * 16;
  std::uint32_t requests_per_second = 2000;
  std::uint32_t requests_burst = 10'000;
};

}  // namespace penstock
