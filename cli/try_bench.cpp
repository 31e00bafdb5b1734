#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/embedded_cluster.hpp"
#include "client/src/transport.hpp"
#include "common/runtime/clock.hpp"
#include "common/runtime/log.hpp"

using namespace penstock;

int main(int argc, char** argv) {
  start_log(LogLevel::Warn);
  const std::string shape = argc > 1 ? argv[1] : "flat";
  const std::uint32_t n = argc > 2 ? static_cast<std::uint32_t>(atoi(argv[2])) : 1000000;
  const int slots = argc > 3 ? atoi(argv[3]) : 2;
  const int repeat = argc > 4 ? atoi(argv[4]) : 3;
  cli::EmbeddedOptions options;
  BandDescription band;
  band.name = "numa-0";
  band.capacity.slots = kOneSlot * slots;
  band.capacity.memory = kGiB;
  band.memory_hard_limit = kGiB;
  options.worker.name = "w";
  options.worker.bands = {band};
  Result<std::unique_ptr<cli::EmbeddedCluster>> cluster = std::unique_ptr<cli::EmbeddedCluster>{};
  client::Session remote;
  client::Session* session = &remote;
  if (argc > 5) {
    client::RemoteOptions ro;
    ro.supervisors = {*parse_host_port(argv[5], "127.0.0.1")};
    ro.name = "bench";
    auto t = client::connect_remote(ro, remote.handlers());
    if (!t) return 3;
    remote.start(std::move(t).value());
  } else {
    cluster = cli::EmbeddedCluster::start(options);
    session = &(*cluster)->session();
  }
  for (int r = 0; r < repeat; ++r) {
    Graph graph;
    Template t;
    t.name = "noop";
    t.program = "noop";
    graph.templates = {t};
    graph.template_of.assign(n, 0);
    if (shape == "flat") {
      graph.input_offsets.assign(n + 1, 0);
    } else if (shape == "chain") {
      for (std::uint32_t i = 0; i < n; ++i) {
        if (i > 0) graph.predecessors.push_back(i - 1);
        graph.input_offsets.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
      }
    } else if (shape == "stencil") {
      const std::uint32_t w = 1000;
      for (std::uint32_t i = 0; i < n; ++i) {
        if (i >= w) {
          const std::uint32_t c = i % w;
          if (c > 0) graph.predecessors.push_back(i - w - 1);
          graph.predecessors.push_back(i - w);
          if (c + 1 < w) graph.predecessors.push_back(i - w + 1);
        }
        graph.input_offsets.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
      }
    }
    JobSpec spec;
    spec.name = "b" + std::to_string(r) + std::to_string(monotonic_now().time_since_epoch().count());
    const Instant t0 = monotonic_now();
    auto s = session->submit(spec, std::move(graph));
    if (!s) { std::printf("%s\n", to_string(s.error()).c_str()); return 1; }
    const Instant t1 = monotonic_now();
    auto w = session->wait(s->job); if (!w) return 4; const auto v = std::make_unique<client::JobView>(session->view(s->job));
    const Instant t2 = monotonic_now();
    const double total = std::chrono::duration<double>(t2 - t0).count();
    std::printf("%s: accept %.1f ms total %.1f ms  %.0f/s  %.1f ns each, state %d ok %lu fwd %lu\n", shape.c_str(),
                std::chrono::duration<double>(t1 - t0).count() * 1e3, total * 1e3, n / total, total / n * 1e9, static_cast<int>(v->state), v->counts.succeeded, v->counts.forward_hits);
  }
}
