#include "bench/rigs/jobs_rig.hpp"

#include <malloc.h>

#include <utility>

#include "supervisor/core/policy_pass.hpp"

namespace penstock::bench {

using namespace supervisor;

namespace {

constexpr ClientId kClient{1};

SupervisorConfig config_of(bool policed) {
  SupervisorConfig config;
  if (!policed) return config;
  config.policy.pools.emplace_back().name = "default";
  config.policy.pools.back().preset = "fair_share";
  return config;
}

Graph one_subtask(bool fits) {
  Graph graph;
  Template& entry = graph.templates.emplace_back();
  entry.program = "operator";
  entry.request.slots = kOneSlot;
  if (!fits) entry.request.memory = kGiB * 1024;
  graph.template_of = {0};
  graph.input_offsets = {0, 0};
  return graph;
}

}  // namespace

JobsRig::JobsRig(std::uint32_t workers, std::uint32_t slots, bool policed, Meter& core)
    : core_(config_of(policed), Rng{1}), meter_(&core) {
  for (std::uint32_t number = 1; number <= workers; ++number) {
    Register hello;
    hello.name = "worker-" + std::to_string(number);
    BandDescription& band = hello.bands.emplace_back();
    band.name = "numa-0";
    band.capacity.slots = kOneSlot * slots;
    band.capacity.memory = band.memory_hard_limit = kGiB;
    handle(supervisor_event::WorkerJoined{WorkerId{number}, Incarnation{number}, hello});
  }
}

void JobsRig::submit() { submit(one_subtask(++submissions_ % 4 != 0)); }

void JobsRig::submit_one_that_fits() {
  ++submissions_;
  submit(one_subtask(true));
}

void JobsRig::submit(Graph&& graph) {
  GraphIntake intake{GraphLimits{}};
  const Result<void> added = intake.add(std::move(graph));
  Result<std::unique_ptr<GraphShape>> shape = intake.finish();
  PENSTOCK_CHECK(added && shape);
  JobSpec spec;
  spec.wait_for_resources = true;
  spec.priority = static_cast<std::int32_t>(submissions_ % 3);
  handle(supervisor_event::GraphChecked{kClient, submissions_, std::move(spec), std::move(shape).value(), {}});
}

void JobsRig::end_one() {
  PENSTOCK_CHECK(!runs_.empty());
  const Run run = runs_.front();
  runs_.pop_front();
  ReportBatch batch;
  batch.number = ++reports_[run.worker];
  batch.jobs.push_back({run.job, {}, {}, {}, {}});
  AttemptReport& report = batch.jobs.back().attempts.emplace_back();
  report.subtask = run.attempt.subtask;
  report.attempt = run.attempt.attempt;
  report.run_us = 1'000'000;
  const FromWorker message{std::move(batch)};
  handle(supervisor_event::WorkerSaid{run.worker, message});
}

void JobsRig::list() {
  const FromClient question{AdminRequest{1, "jobs", {"--limit=50"}, {}}};
  handle(supervisor_event::ClientSaid{kClient, question});
}

std::size_t JobsRig::allocated_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

void JobsRig::handle(SupervisorEvent&& event) {
  Actions<SupervisorAction> actions;
  now_ += std::chrono::milliseconds{1};
  const Duration before = meter_->elapsed();
  meter_->resume();
  core_.handle(std::move(event), now_, actions);
  keep_deadline_ = core_.next_deadline();  // The shell asks after every event.
  meter_->pause();
  costs_.push_back(meter_->elapsed() - before);
  std::vector<supervisor_action::RunPass> passes;
  for (SupervisorAction& action : actions) {
    if (auto* pass = std::get_if<supervisor_action::RunPass>(&action)) passes.push_back(std::move(*pass));
    const auto* order = std::get_if<supervisor_action::SendToWorker>(&action);
    const auto* batch = order == nullptr ? nullptr : std::get_if<AssignBatch>(&order->message);
    if (batch == nullptr) continue;
    for (const Assignment& each : batch->assignments)
      runs_.push_back({order->worker, batch->job, {each.subtask, each.attempt}});
  }
  for (supervisor_action::RunPass& order : passes) handle(run_pass(std::move(order)));
}

}  // namespace penstock::bench
