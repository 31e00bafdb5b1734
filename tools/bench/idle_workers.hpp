// Connected workers that never get a subtask, for benchmarks.
#pragma once

#include <memory>

#include "common/base/result.hpp"
#include "common/net/connection.hpp"

namespace penstock::tools {

/// Links to a supervisor, each registered as a worker of one GPU band, which graphs without GPU requests never use.
/// Heartbeats and acknowledgements are those of real workers; all links share one thread of this process.
class IdleWorkers {
 public:
  /// Begins to connect, with the credential of this user; the supervisor's list of workers shows when they are
  /// connected. Error: Internal.
  static Result<std::unique_ptr<IdleWorkers>> start(const HostPort& supervisor, std::uint32_t count);
  virtual ~IdleWorkers() = default;
};

}  // namespace penstock::tools
