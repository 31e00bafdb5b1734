// Settings of the supervisor's border: the audit.
#pragma once

#include <chrono>
#include <cstdint>

#include "common/base/time.hpp"

namespace penstock {

/// The audit of a supervisor, `STATE/audit`.
struct AuditConfig {
  std::uint64_t file_bytes_max = 64ULL << 20U;
  std::uint32_t keep_files = 0;
  Duration refusals_every = std::chrono::minutes{1};
  std::uint32_t addresses_max = 256;
  std::uint32_t waiting_max = 10'000;
  std::uint32_t open_max = 65'536;
  bool syslog = false;
};

}  // namespace penstock
