#include "bench/rigs/cluster_rig.hpp"

#include <algorithm>
#include <map>

#include "supervisor/core/job_shares.hpp"
#include "supervisor/core/policy_pass.hpp"

namespace penstock::bench {

using namespace supervisor;
using namespace worker;

namespace {

SupervisorConfig config_of(const RigOptions& options) {
  SupervisorConfig config;
  if (options.policed != 0) config.policy.pools = {PoolConfig{.name = "all", .preset = "fair_share"}};
  return config;
}

}  // namespace

ClusterRig::ClusterRig(const RigOptions& options, const Meters& meters)
    : supervisor_(config_of(options), Rng{1}), workers_(options.workers), run_ns_(options.run_ns), meters_(meters) {
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

void ClusterRig::submit(Graph&& graph, std::uint32_t weight) {
  GraphIntake intake{GraphLimits{}};
  const Result<void> added = intake.add(std::move(graph));
  Result<std::unique_ptr<GraphShape>> shape = intake.finish();
  PENSTOCK_CHECK(added && shape);
  JobSpec spec;
  spec.name = "bench-" + std::to_string(++submissions_);
  spec.keep = Keep::Nothing;
  spec.policy.weight = weight * 1000;
  ++running_;
  tell_supervisor(
      supervisor_event::GraphChecked{ClientId{1}, submissions_, std::move(spec), std::move(shape).value(), {}});
}

void ClusterRig::run(std::vector<Graph>&& graphs) {
  for (std::size_t i = 0; i < graphs.size(); ++i)
    submit(std::move(graphs[i]), static_cast<std::uint32_t>(graphs.size() - i));
  while (running_ > 0) {
    now_ += std::chrono::microseconds{100};
    if (active_.empty()) {
      // Parts hold messages back until a deadline.
      now_ += std::chrono::milliseconds{2};
      tell_supervisor(supervisor_event::Tick{});
      for (std::uint32_t i = 0; i < workers_.size(); ++i) {
        close_offers(i);
        tell_worker(i, worker_event::Tick{});
      }
    }
    run_passes();
    for (const std::uint32_t index : std::exchange(active_, {})) run_worker(index);
    for (auto& [index, message] : std::exchange(said_, {}))
      tell_supervisor(supervisor_event::WorkerSaid{WorkerId{index + 1}, message});
  }
}

// Runs passes as a thread of its own would: the core continues meanwhile, and no meter counts the pass.
void ClusterRig::run_passes() {
  for (supervisor_action::RunPass& order : std::exchange(passes_, {})) tell_supervisor(run_pass(std::move(order)));
}

void ClusterRig::run_worker(std::uint32_t index) {
  Worker& worker = workers_[index];
  worker.active = false;
  while (!worker.ends.empty()) {
    const std::vector<Run> ended = std::exchange(worker.ends, {});
    std::vector<RunEnd> ends;
    for (const Run& run : ended) ends.push_back(run.end);
    // The first lane that may takes over all runs on offer, one after the other.
    std::map<JobId, std::size_t> last;
    for (const Run& offer : std::exchange(worker.offers, {})) {
      const JobId after = offer.within_job ? offer.job : JobId::none();
      const auto first =
          std::find_if(ended.begin(), ended.end(), [&](const Run& run) { return !after.valid() || run.job == after; });
      if (first == ended.end()) continue;
      const auto at = last.try_emplace(after, static_cast<std::size_t>(first - ended.begin())).first;
      ends[at->second].next = offer.end.record;
      at->second = ends.size();
      ends.push_back(offer.end);
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
      carry_out(*order);
    } else if (auto* news = std::get_if<supervisor_action::SendToClient>(&action)) {
      if (const auto* progress = std::get_if<JobProgress>(&news->message))
        running_ -= progress->state != JobState::Running;
    } else if (auto* pass = std::get_if<supervisor_action::RunPass>(&action)) {
      ++counts_.passes;
      passes_.push_back(std::move(*pass));
    }
  }
}

void ClusterRig::carry_out(supervisor_action::SendToWorker& order) {
  if (const auto* batch = std::get_if<EntitlementBatch>(&order.message))
    counts_.entitlements += batch->entitlements.size();
  counts_.assign_batches += std::holds_alternative<AssignBatch>(order.message);
  close_offers(order.worker.value() - 1);
  tell_worker(order.worker.value() - 1, worker_event::MessageArrived{order.message});
}

void ClusterRig::tell_worker(std::uint32_t index, const WorkerEvent& event) {
  Worker& worker = workers_[index];
  meters_.workers.resume();
  worker.core->handle(event, now_, worker_actions_);
  meters_.workers.pause();
  for (WorkerAction& action : worker_actions_) {
    if (const auto* start = std::get_if<worker_action::StartSubtask>(&action)) {
      Run run{{}, start->id.job, start->within_job};
      run.end.record = start->record;
      run.end.attempt = start->attempt;
      run.end.run_ns = run_ns_;
      (start->offered ? worker.offers : worker.ends).push_back(std::move(run));
      if (!worker.active) active_.push_back(index);
      worker.active = true;
    } else if (auto* report = std::get_if<worker_action::SendReport>(&action)) {
      counts_.report_sections += report->batch.jobs.size();
      said_.emplace_back(index, std::move(report->batch));
    }
  }
  worker_actions_.clear();
}

ClusterRig::Counts ClusterRig::counts() const {
  Counts counts = counts_;
  for (const Worker& worker : workers_) counts.forward_hits += worker.core->counters().forward_hits;
  return counts;
}

}  // namespace penstock::bench
