// What SupervisorCore may send to a band for one job.
#pragma once

#include <cstdint>

#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

/// What of a band a job may fill: all of it, or its share.
struct SupervisorCore::Credit {
  std::uint32_t slots;
  std::uint32_t in_flight;
  std::uint32_t runnable;
  std::uint32_t runs;  ///< That fit at once: more than slots, where each takes a part of one.
};

}  // namespace penstock::supervisor
