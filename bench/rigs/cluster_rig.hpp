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
/// at once, in events with all started runs and those that lanes then take over, as in a band. Each kind of core has
/// its own meter.
class ClusterRig {
 public:
  struct Meters {
    Meter& supervisor;
    Meter& workers;  ///< Both outlive the rig.
  };

  ClusterRig(const RigOptions& options, const Meters& meters);

  /// Submits the graphs, each as a job, and runs the jobs to their end.
  void run(std::vector<Graph>&& graphs);

  /// Counts of all runs so far.
  struct Counts {
    std::uint64_t forward_hits = 0;
    std::uint64_t passes = 0;        ///< Of the policy.
    std::uint64_t entitlements = 0;  ///< Sent to workers, of one job on one band each.
    std::uint64_t assign_batches = 0;
    std::uint64_t report_sections = 0;  ///< Of one job in one batch.
  };
  Counts counts() const;

 private:
  struct Run {
    worker::RunEnd end;
    JobId job;
    bool within_job = false;  ///< On offer to runs of its job only.
  };
  struct Worker {
    std::unique_ptr<worker::WorkerCore> core;
    std::vector<Run> ends;    ///< Of what has started since the last event.
    std::vector<Run> offers;  ///< Of what is on offer.
    bool active = false;
  };

  void submit(Graph&& graph, std::uint32_t weight);
  void tell_supervisor(supervisor::SupervisorEvent&& event);
  void carry_out(supervisor::supervisor_action::SendToWorker& order);
  void run_passes();
  void tell_worker(std::uint32_t index, const worker::WorkerEvent& event);
  void run_worker(std::uint32_t index);
  void close_offers(std::uint32_t index);

  supervisor::SupervisorCore supervisor_;
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> active_;
  std::vector<std::pair<std::uint32_t, FromWorker>> said_;
  std::vector<supervisor::supervisor_action::RunPass> passes_;
  std::uint32_t running_ = 0;  ///< Jobs.
  const std::uint32_t run_ns_;
  Counts counts_;
  std::uint64_t submissions_ = 0;
  Instant now_ = instant_at(std::chrono::seconds{1});
  Meters meters_;
  Actions<supervisor::SupervisorAction> supervisor_actions_;
  Actions<worker::WorkerAction> worker_actions_;
};

}  // namespace penstock::bench
