// Bytes that a process has sent and received over TCP, as the kernel counts them.
#pragma once

#include <cstdint>

#include "common/base/result.hpp"

namespace penstock::tools {

struct WireBytes {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  friend bool operator==(const WireBytes&, const WireBytes&) = default;
};

/// Sums over the TCP sockets that the process has open now, without headers of packets. For child processes: their
/// sockets are read without their help, so that the measured program is the one of users.
/// Error: Unsupported, where the kernel forbids it.
Result<WireBytes> wire_bytes_of(int process);

}  // namespace penstock::tools
