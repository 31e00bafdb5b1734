// A data directory over two workers and one job.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/data/data_directory.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {

/// Subtask 0 is read by 1 and 2. Both workers read shared storage; the journal is on.
class DirectoryFixture : public ::testing::Test {
 protected:
  static constexpr JobId kJob{1};
  using Drop = std::pair<std::uint32_t, bool>;  ///< Producer, and whether its output was lost.

  DirectoryFixture() {
    event.out = &out;
    for (std::uint32_t i = 1; i <= 2; ++i) {
      Register description;
      description.name = "worker-" + std::to_string(i);
      description.data_address = "host-" + std::to_string(i) + ":7";
      description.shared_storage = true;
      description.bands.resize(1);
      workers.add(WorkerId{i}, Incarnation{i}, description);
    }
    Job& fresh = jobs.add(kJob);
    fresh.id = kJob;
    fresh.graph.shape = shape.get();
    fresh.hot.resize(shape->size());
    fresh.tally.counts.total = fresh.tally.open = fresh.total();
  }

  Job& job() { return jobs[kJob]; }
  WorkerSlot slot(std::uint32_t worker) { return workers.find(WorkerId{worker + 1}); }
  BandSlot band(std::uint32_t worker) { return workers[slot(worker)].bands.front(); }

  /// The subtask has succeeded on the worker and reads nothing any more; 0 bytes: it has made nothing.
  void succeed(std::uint32_t subtask, std::uint32_t worker, std::int64_t bytes = 0) {
    job().hot[subtask].phase = SubtaskPhase::Succeeded;
    job().hot[subtask].band = band(worker);
    const OutputReport output{0, bytes};
    if (bytes > 0) directory.keep(job(), subtask, std::span{&output, 1});
    directory.release_inputs(job(), subtask);
  }
  /// As `succeed`, but by the journal of an earlier term: nobody knows where the output is.
  void recovered(std::uint32_t subtask, std::int64_t bytes) {
    job().hot[subtask].phase = SubtaskPhase::Succeeded;
    job().data.open(*shape);
    job().data.set_bytes(*shape, subtask, 0, bytes);
    job().data.set_gone(subtask, true);
  }
  ReplicaReport replica(std::uint32_t subtask) {
    ReplicaReport report;
    report.producer = {kJob, SubtaskIndex{subtask}};
    return report;
  }
  ReplicaReport checkpoint(std::uint32_t subtask) {
    ReplicaReport report = replica(subtask);
    report.checkpoint = true;
    return report;
  }
  /// The worker is about to be removed. Returns what must be made again.
  std::vector<std::uint32_t> lose(std::uint32_t worker) {
    const std::vector<HeldOutput> held = std::exchange(workers[slot(worker)].held, {});
    workers[band(worker)].draining = true;
    return directory.lose(job(), held, slot(worker));
  }
  /// Messages of that kind that were gathered for the worker; they are taken.
  template <class Message>
  std::vector<Message> take(std::uint32_t worker) {
    std::vector<Message> found;
    std::erase_if(mail.of(slot(worker)), [&](ToWorker& message) {
      Message* wanted = std::get_if<Message>(&message);
      if (wanted != nullptr) found.push_back(std::move(*wanted));
      return wanted != nullptr;
    });
    return found;
  }
  std::vector<Drop> drops(std::uint32_t worker) {
    std::vector<Drop> found;
    for (const DropBatch& batch : take<DropBatch>(worker))
      for (const DataRef& datum : batch.data) found.emplace_back(datum.producer.value(), batch.lost);
    return found;
  }

  SupervisorConfig config;
  std::unique_ptr<GraphShape> shape = shape_of(GraphBuilder{}.add().add({0}).add({0}).build());
  Actions<SupervisorAction> out;
  EventContext event;
  CommitGate gate{Durability::Journal, event};
  WorkerTable workers;
  WorkerMail mail{workers, gate, event};
  JobTable jobs;
  ProgressOutbox progress{config, jobs, gate, event};
  AwaitedOutputs awaited;
  SupervisorCounters counters;
  DataDirectory directory{config, workers, mail, gate, jobs, progress, awaited, counters};
};

}  // namespace penstock::supervisor
