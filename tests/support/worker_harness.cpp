#include "tests/support/worker_harness.hpp"

namespace penstock::worker {

WorkerHarness::WorkerHarness(std::uint32_t slots, Bytes memory, WorkerConfig config)
    : core_(config, {band(slots, memory)}), templates_(1) {}

WorkerHarness::~WorkerHarness() {
  EXPECT_EQ(actions_.size(), 0U) << "an action was not looked at; the first has index "
                                 << (actions_.empty() ? 0 : actions_.front().index());
}

BandDescription WorkerHarness::band(std::uint32_t slots, Bytes memory) {
  BandDescription description;
  description.name = "numa-0";
  description.capacity.slots = kOneSlot * slots;
  description.capacity.memory = memory;
  description.memory_hard_limit = memory * 2;
  return description;
}

Template& WorkerHarness::template_at(std::uint32_t index) {
  if (templates_.size() <= index) templates_.resize(index + 1);
  return templates_[index];
}

void WorkerHarness::assign(const std::vector<SubtaskSpec>& subtasks, std::uint32_t job) {
  AssignBatch batch;
  batch.job = JobId{job};
  for (std::uint32_t i = 0; i < templates_.size(); ++i)
    batch.templates.push_back(TemplateDefinition{TemplateIndex{i}, templates_[i]});
  for (const SubtaskSpec& spec : subtasks) {
    Assignment assignment;
    assignment.subtask = SubtaskIndex{spec.subtask};
    assignment.attempt = Attempt{spec.attempt};
    assignment.template_index = TemplateIndex{spec.template_index};
    assignment.priority = spec.priority << 32U;
    assignment.band = BandIndex{spec.band};
    assignment.cached = !spec.missing.empty();
    for (const std::uint32_t producer : spec.missing)
      batch.inputs.push_back(AssignedInput{SubtaskIndex{producer}, EdgeKind::kOrderOnly, InputPlace::Missing, {}, 0});
    batch.inputs.insert(batch.inputs.end(), spec.inputs.begin(), spec.inputs.end());
    assignment.input_count = static_cast<std::uint32_t>(spec.missing.size() + spec.inputs.size());
    batch.assignments.push_back(assignment);
  }
  receive(batch);
}

void WorkerHarness::receive(const ToWorker& message) { handle(worker_event::MessageArrived{message}); }

void WorkerHarness::tick_after(Duration delay) {
  now_ += delay;
  handle(worker_event::Tick{});
}

void WorkerHarness::handle(const WorkerEvent& event) {
  Actions<WorkerAction> actions;
  core_.handle(event, now_, actions);
  core_.validate();
  for (WorkerAction& action : actions) {
    if (const auto* start = std::get_if<worker_action::StartSubtask>(&action))
      runs_[{start->id.job.value(), start->id.index.value()}] = *start;
    actions_.push_back(std::move(action));
  }
}

RunEnd WorkerHarness::end_of(std::uint32_t subtask, std::uint32_t job) {
  const auto found = runs_.find({job, subtask});
  EXPECT_NE(found, runs_.end()) << "subtask " << subtask << " was not started";
  RunEnd end;
  end.record = found->second.record;
  end.attempt = found->second.attempt;
  end.run_us = 5;
  runs_.erase(found);
  return end;
}

void WorkerHarness::succeed(std::uint32_t subtask, std::vector<OutputReport> outputs, std::uint32_t job) {
  RunEnd end = end_of(subtask, job);
  end.outputs = outputs;
  handle(worker_event::RunsEnded{std::span{&end, 1}});
}

void WorkerHarness::succeed_both(std::uint32_t first, std::uint32_t second) {
  const std::vector<RunEnd> ends{end_of(first, 1), end_of(second, 1)};
  handle(worker_event::RunsEnded{ends});
}

void WorkerHarness::fail(std::uint32_t subtask, FailureClass failure, std::uint32_t job) {
  RunEnd end = end_of(subtask, job);
  FailureDetail detail;
  detail.failure = failure;
  detail.message = "broken";
  end.succeeded = false;
  end.failure = &detail;
  handle(worker_event::RunsEnded{std::span{&end, 1}});
}

void WorkerHarness::fetched(std::uint32_t producer, std::int64_t bytes, std::uint32_t job) {
  const FetchEnd end{DataKey{{JobId{job}, SubtaskIndex{producer}}, 0}, true, Bytes{bytes}, false};
  handle(worker_event::FetchesEnded{std::span{&end, 1}});
}

std::vector<std::uint32_t> WorkerHarness::started() {
  std::vector<std::uint32_t> subtasks;
  for (const auto& start : take<worker_action::StartSubtask>()) subtasks.push_back(start.id.index.value());
  return subtasks;
}

std::vector<std::uint32_t> WorkerHarness::fetches() {
  std::vector<std::uint32_t> producers;
  for (const auto& fetch : take<worker_action::FetchInput>()) producers.push_back(fetch.key.producer.index.value());
  return producers;
}

std::vector<std::string> WorkerHarness::reports() {
  tick_after(std::chrono::milliseconds{2});
  std::vector<std::string> lines;
  std::vector<worker_action::SendReport> batches = take<worker_action::SendReport>();
  for (const auto& report : batches)
    for (const JobReports& job : report.batch.jobs)
      for (const AttemptReport& attempt : job.attempts)
        lines.push_back(std::to_string(attempt.subtask.value()) + " " + std::string{name_of(attempt.outcome)});
  return lines;
}

std::vector<FailureDetail> WorkerHarness::failures() {
  tick_after(std::chrono::milliseconds{2});
  std::vector<FailureDetail> details;
  for (const auto& report : take<worker_action::SendReport>())
    for (const JobReports& job : report.batch.jobs)
      details.insert(details.end(), job.failures.begin(), job.failures.end());
  return details;
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::Started: return "Started";
    case Outcome::Succeeded: return "Succeeded";
    case Outcome::Failed: return "Failed";
    case Outcome::Cancelled: return "Cancelled";
    case Outcome::Returned: return "Returned";
    case Outcome::Lent: return "Lent";
    case Outcome::Wanted: return "Wanted";
  }
  return "?";
}

}  // namespace penstock::worker
