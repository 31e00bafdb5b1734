// The link's part of the header of every frame.
#pragma once

#include <cstdint>

#include "common/base/ids.hpp"

namespace penstock {

/// The link's part of the header of every frame on the wire. `sequence` 0 is a heartbeat.
struct LinkHeader {
  Incarnation sender;  ///< Incarnation of the sender.
  std::uint64_t sequence = 0;
  std::uint64_t acknowledged = 0;  ///< The sender has received everything up to this number.
  /// From a worker or client: milliseconds of its own clock. From a supervisor: the newest such stamp that it has
  /// received from this peer. 0: none.
  std::uint32_t stamp = 0;
  friend bool operator==(const LinkHeader&, const LinkHeader&) = default;
};

}  // namespace penstock
