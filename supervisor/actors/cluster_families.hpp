// The metrics of a supervisor, by name.
#pragma once

#include "common/metrics/metric_family.hpp"
#include "supervisor/actors/gateway_actor.hpp"
#include "supervisor/actors/supervisor_actor.hpp"
#include "supervisor/core/admin/cluster_metrics.hpp"

namespace penstock::supervisor {

/// The numbers of one scrape.
struct SupervisorNumbers {
  ClusterMetrics cluster;
  JournalCounters journal;
  GatewayCounters gateway;
};

/// docs/metrics.md lists them. At most some 1,500 samples, whatever the size of the cluster.
MetricFamilies families_of(const SupervisorNumbers& numbers);

}  // namespace penstock::supervisor
