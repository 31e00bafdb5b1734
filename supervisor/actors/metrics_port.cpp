#include "supervisor/actors/metrics_port.hpp"

#include "supervisor/actors/cluster_families.hpp"

namespace penstock::supervisor {

Result<std::unique_ptr<MetricsPort>> MetricsPort::open(Loop& loop, const MetricsPortOptions& options,
                                                       const Gateway& gateway, const SupervisorHandle& supervisor) {
  std::unique_ptr<MetricsPort> port{new MetricsPort};
  const auto revoked = std::make_shared<RevokedSerials>();
  MetricsServerOptions server;
  server.listen = options.listen;
  server.config = options.config;
  server.tls = options.security.settings;
  server.open_to_all = options.open_to_all;
  server.revoked = revoked;
  server.ask = [&loop, &gateway, supervisor, revoked, list = options.revoked, jobs_max = options.config.jobs_max,
                weak = std::weak_ptr<const bool>{port->alive_}](auto answer) {
    loop.post([&gateway, supervisor, revoked, list, jobs_max, weak, answer = std::move(answer)] {
      if (weak.expired()) return;
      if (list) revoked->add(list());
      const GatewayCounters border = gateway.counters();
      ask_for_metrics(supervisor, jobs_max, [border, answer](ClusterMetrics&& cluster, const JournalCounters& journal) {
        const auto numbers =
            std::make_shared<const SupervisorNumbers>(SupervisorNumbers{std::move(cluster), journal, border});
        answer([numbers] { return families_of(*numbers); });
      });
    });
  };
  Result<std::unique_ptr<MetricsServer>> opened = MetricsServer::open(std::move(server));
  if (!opened) return std::move(opened).error();
  port->server_ = std::move(opened).value();
  return port;
}

}  // namespace penstock::supervisor
