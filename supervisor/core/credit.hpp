// The credit of one job on a band, for SupervisorCore.
#pragma once

#include <cstdint>

#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {

/// The part of a band that a job may fill: all of it, or its share.
struct SupervisorCore::Credit {
  std::uint32_t slots;
  std::uint32_t in_flight;
  std::uint32_t runnable;
  std::uint32_t runs;  ///< Runs that fit at once: more than slots, where each takes a part of one.
};

}  // namespace penstock::supervisor
