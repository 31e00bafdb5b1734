// Both production cores, with runs that take no time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/rigs/meter.hpp"
#include "bench/rigs/supervisor_rig.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::bench {

/// A supervisor core and worker cores joined without wires: a message of one is the next event of the other. Runs end
/// at once, in events of all that has started and of what lanes then take over, as a band would say it. Each kind of
/// core has its own meter.
class ClusterRig {
 public:
  struct Meters {
    Meter& supervisor;
    Meter& workers;  ///< Both outlive the rig.
  };

  ClusterRig(const RigOptions& options, const Meters& meters);

  /// Submits the graph and runs it to its end.
  void run(Graph&& graph);

  std::uint64_t forward_hits() const;

 private:
  struct Worker {
    std::unique_ptr<worker::WorkerCore> core;
    std::vector<worker::RunEnd> ends;    ///< Of what has started since the last event.
    std::vector<worker::RunEnd> offers;  ///< Of what is on offer.
    bool active = false;
  };

  void tell_supervisor(supervisor::SupervisorEvent&& event);
  void tell_worker(std::uint32_t index, const worker::WorkerEvent& event);
  void run_worker(std::uint32_t index);
  void close_offers(std::uint32_t index);

  supervisor::SupervisorCore supervisor_;
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> active_;
  std::vector<std::pair<std::uint32_t, FromWorker>> said_;
  bool ended_ = false;
  std::uint64_t submissions_ = 0;
  Instant now_ = instant_at(std::chrono::seconds{1});
  Meters meters_;
  Actions<supervisor::SupervisorAction> supervisor_actions_;
  Actions<worker::WorkerAction> worker_actions_;
};

}  // namespace penstock::bench
