// What stands before every frame of a link.
#pragma once

#include <cstdint>

#include "common/base/ids.hpp"

namespace penstock {

/// What stands before every frame on the wire, as far as the link cares. `sequence` 0 is a heartbeat.
struct LinkHeader {
  Incarnation sender;                  ///< Life of the process that sent it.
  std::uint64_t sequence = 0;
  std::uint64_t acknowledged = 0;      ///< Everything up to here has arrived at the sender of this frame.
  /// Of a worker or client: milliseconds of its own clock. Of a supervisor: the newest such stamp that it has heard of
  /// this peer. 0: none.
  std::uint32_t stamp = 0;
  friend bool operator==(const LinkHeader&, const LinkHeader&) = default;
};

}  // namespace penstock
