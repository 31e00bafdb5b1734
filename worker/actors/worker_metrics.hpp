// The port at which a worker serves its metrics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/loop/loop.hpp"
#include "common/metrics/metrics_server.hpp"
#include "worker/actors/worker_actor.hpp"
#include "worker/actors/worker_tally.hpp"

namespace penstock::worker {

/// The numbers of one scrape.
struct WorkerScrape {
  WorkerNumbers numbers;
  std::vector<std::string> bands;  ///< Their names.
  Bytes store_used;
  Bytes store_max;
  Bytes disk_used;
};

/// docs/metrics.md lists them.
MetricFamilies families_of(const WorkerScrape& scrape);

/// Asks the loop of the worker, so that one that hangs is found unhealthy. Lives on the loop's thread; loop and store
/// outlive it. Without TLS the port is for this host alone.
class WorkerMetrics {
 public:
  /// REQUIRES: the options have a tally. Errors: as of `MetricsServer::open`.
  static Result<std::unique_ptr<WorkerMetrics>> open(Loop& loop, const ObjectStore& store, const WorkerOptions& options,
                                                     const MetricsConfig& config, const HostPort& listen);
  std::uint16_t port() const { return server_->port(); }

 private:
  WorkerMetrics() = default;

  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  ///< Questions that come later are dropped.
  std::unique_ptr<MetricsServer> server_;
};

}  // namespace penstock::worker
