// Workers that are there and never get anything to do, for benchmarks.
#pragma once

#include <memory>

#include "common/base/result.hpp"
#include "common/runtime/connection.hpp"

namespace penstock::tools {

/// Links of their own to a supervisor, each registered as a worker of one GPU band, which graphs without GPU requests
/// never use. Heartbeats and acknowledgements are those of real workers; all links share one thread of this process.
class IdleWorkers {
 public:
  /// Begins to link; they are there when the supervisor's list of workers says so.
  static std::unique_ptr<IdleWorkers> start(const HostPort& supervisor, std::uint32_t count);
  virtual ~IdleWorkers() = default;
};

}  // namespace penstock::tools
