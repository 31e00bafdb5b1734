// What a process has sent and received over TCP, as the kernel counts it.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"

namespace penstock::tools {

struct WireBytes {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  friend bool operator==(const WireBytes&, const WireBytes&) = default;
};

/// Sums over the TCP sockets that the process has open now, headers of packets left out. For children of ours: their
/// sockets are looked at without their help, so that what is measured is what users run.
/// Error: Unsupported, where the kernel does not let us.
Result<WireBytes> wire_bytes_of(int process);

}  // namespace penstock::tools
