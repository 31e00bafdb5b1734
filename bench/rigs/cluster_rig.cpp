#include "bench/rigs/cluster_rig.hpp"

#include <algorithm>

namespace penstock::bench {

using namespace supervisor;
using namespace worker;

ClusterRig::ClusterRig(const RigOptions& options, const Meters& meters)
    : supervisor_(SupervisorConfig{}, Rng{1}), workers_(options.workers), meters_(meters) {
  for (std::uint32_t i = 0; i < options.workers; ++i) {
    Register hello;
    hello.name = "worker-" + std::to_string(i + 1);
    BandDescription band;
    band.name = "numa-0";
    band.capacity.slots = kOneSlot * options.slots;
    band.capacity.memory = band.memory_hard_limit = kGiB;
    hello.bands.push_back(band);
    workers_[i].core = std::make_unique<WorkerCore>(WorkerConfig{}, hello.bands);
    tell_supervisor(supervisor_event::WorkerJoined{WorkerId{i + 1}, Incarnation{i + 1}, hello});
  }
  meters_.supervisor.reset();
  meters_.workers.reset();
}

void ClusterRig::run(Graph&& graph) {
  GraphIntake intake{GraphLimits{}};
  const Result<void> added = intake.add(std::move(graph));
  Result<std::unique_ptr<GraphShape>> shape = intake.finish();
  PENSTOCK_CHECK(added && shape);
  ended_ = false;
  JobSpec spec;
  spec.name = "bench-" + std::to_string(++submissions_);
  spec.keep = Keep::Nothing;
  tell_supervisor(
      supervisor_event::GraphChecked{ClientId{1}, submissions_, std::move(spec), std::move(shape).value(), {}});
  while (!ended_) {
    now_ += std::chrono::microseconds{100};
    if (active_.empty()) {
      // Whoever holds something back does so until a deadline.
      now_ += std::chrono::milliseconds{2};
      tell_supervisor(supervisor_event::Tick{});
      for (std::uint32_t i = 0; i < workers_.size(); ++i) {
        close_offers(i);
        tell_worker(i, worker_event::Tick{});
      }
    }
    for (const std::uint32_t index : std::exchange(active_, {})) run_worker(index);
    for (auto& [index, message] : std::exchange(said_, {}))
      tell_supervisor(supervisor_event::WorkerSaid{WorkerId{index + 1}, message});
  }
}

void ClusterRig::run_worker(std::uint32_t index) {
  Worker& worker = workers_[index];
  worker.active = false;
  while (!worker.ends.empty()) {
    std::vector<RunEnd> ends = std::exchange(worker.ends, {});
    // The first lane takes over all that is on offer, one after the other.
    std::size_t last = 0;
    for (const RunEnd& offer : std::exchange(worker.offers, {})) {
      ends[last].next = offer.record;
      last = ends.size();
      ends.push_back(offer);
    }
    tell_worker(index, worker_event::RunsEnded{ends, true});
    tell_worker(index, worker_event::OffersWanted{});
  }
}

void ClusterRig::close_offers(std::uint32_t index) {
  if (workers_[index].offers.empty()) return;
  workers_[index].offers.clear();
  tell_worker(index, worker_event::RunsEnded{{}, true});
}

void ClusterRig::tell_supervisor(SupervisorEvent&& event) {
  meters_.supervisor.resume();
  supervisor_.handle(std::move(event), now_, supervisor_actions_);
  meters_.supervisor.pause();
  Actions<SupervisorAction> actions;
  std::swap(actions, supervisor_actions_);
  for (SupervisorAction& action : actions) {
    if (auto* order = std::get_if<supervisor_action::SendToWorker>(&action)) {
      close_offers(order->worker.value() - 1);
      tell_worker(order->worker.value() - 1, worker_event::MessageArrived{order->message});
    } else if (auto* news = std::get_if<supervisor_action::SendToClient>(&action)) {
      if (const auto* progress = std::get_if<JobProgress>(&news->message))
        ended_ = ended_ || progress->state != JobState::Running;
    }
  }
}

void ClusterRig::tell_worker(std::uint32_t index, const WorkerEvent& event) {
  Worker& worker = workers_[index];
  meters_.workers.resume();
  worker.core->handle(event, now_, worker_actions_);
  meters_.workers.pause();
  for (WorkerAction& action : worker_actions_) {
    if (const auto* start = std::get_if<worker_action::StartSubtask>(&action)) {
      RunEnd end;
      end.record = start->record;
      end.attempt = start->attempt;
      (start->offered ? worker.offers : worker.ends).push_back(end);
      if (!worker.active) active_.push_back(index);
      worker.active = true;
    } else if (auto* report = std::get_if<worker_action::SendReport>(&action)) {
      said_.emplace_back(index, std::move(report->batch));
    }
  }
  worker_actions_.clear();
}

std::uint64_t ClusterRig::forward_hits() const {
  std::uint64_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.core->counters().forward_hits;
  return sum;
}

}  // namespace penstock::bench
