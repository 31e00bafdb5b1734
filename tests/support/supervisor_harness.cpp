#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

std::string name_in(JobId job, SubtaskIndex subtask) {
  return job == JobId{1} ? std::to_string(subtask.value()) : to_string(SubtaskId{job, subtask});
}

/// Messages that no test has to look at.
bool is_routine(const SupervisorAction& action) {
  if (const auto* order = std::get_if<supervisor_action::SendToWorker>(&action))
    return std::holds_alternative<RegisterReply>(order->message) ||
           std::holds_alternative<ReportsApplied>(order->message) || std::holds_alternative<ForgetJob>(order->message);
  if (const auto* word = std::get_if<supervisor_action::SendToClient>(&action))
    return std::holds_alternative<JobProgress>(word->message);
  return false;
}

}  // namespace

Result<std::unique_ptr<GraphShape>> check_graph(const Graph& graph, const GraphLimits& limits) {
  GraphIntake intake{limits};
  if (Result<void> added = intake.add(graph); !added) return added.error();
  return intake.finish();
}

std::unique_ptr<GraphShape> shape_of(const Graph& graph) {
  Result<std::unique_ptr<GraphShape>> shape = check_graph(graph);
  EXPECT_TRUE(shape.has_value()) << to_string(shape.error());
  return shape ? std::move(shape).value() : nullptr;
}

SupervisorHarness::SupervisorHarness(SupervisorConfig config, Durability durability)
    : core_(config, Rng{1}, durability), durability_(durability) {}

std::vector<supervisor_action::Persist> SupervisorHarness::take_persists() { return std::exchange(persists_, {}); }

std::vector<supervisor_action::RunPass> SupervisorHarness::take_passes() {
  return take_actions<supervisor_action::RunPass>();
}

SupervisorHarness::~SupervisorHarness() {
  std::erase_if(actions_, is_routine);
  EXPECT_EQ(actions_.size(), 0U) << "an action was not looked at; the first has index "
                                 << (actions_.empty() ? 0 : actions_.front().index());
}

WorkerId SupervisorHarness::join(const WorkerSpec& spec) {
  const WorkerId id{next_worker_++};
  handle(supervisor_event::WorkerJoined{id, Incarnation{id.value() + 100}, describe(id, spec)});
  return id;
}

void SupervisorHarness::come_back(std::uint32_t worker, const Return& back) {
  const WorkerId id{worker};
  next_worker_ = std::max(next_worker_, worker + 1);
  Register description = describe(id, back.spec);
  description.reclaims = true;
  handle(supervisor_event::WorkerJoined{id, Incarnation{worker + 100}, description});
  ReportBatch batch;
  for (const JobReports& reports : back.reports) {
    batch.number = ++report_numbers_[id];
    batch.jobs = {reports};
    worker_says(worker, batch);
  }
  if (!back.replicas.empty()) {
    batch = {};
    batch.number = ++report_numbers_[id];
    batch.replicas = back.replicas;
    worker_says(worker, batch);
  }
  worker_says(worker, WorkerClaim{true, back.draining, back.jobs});
  // The word about the job, which it hears in any case.
  std::erase_if(actions_, [](const SupervisorAction& action) {
    const auto* order = std::get_if<supervisor_action::SendToWorker>(&action);
    const auto* changed = order == nullptr ? nullptr : std::get_if<PriorityBatch>(&order->message);
    return changed != nullptr && changed->changes.empty();
  });
  for (const ClaimedJob& job : back.jobs)
    for (const ClaimedAttempt& attempt : job.attempts) {
      Assignment held;
      held.subtask = attempt.subtask;
      held.attempt = attempt.attempt;
      held.band = attempt.band;
      held_[{id, SubtaskId{job.job, attempt.subtask}}] = held;
    }
}

Register SupervisorHarness::describe(WorkerId id, const WorkerSpec& spec) {
  Register description;
  description.name = "worker-" + std::to_string(id.value());
  description.host = "host-" + std::to_string(id.value());
  description.data_address = description.host + ":7000";
  description.operators = spec.operators;
  description.shared_storage = spec.shared_storage;
  description.store_bytes_max = spec.store_bytes_max;
  description.log_questions = spec.log_questions;
  description.barriers = spec.barriers;
  description.crash = spec.crash;
  description.labels = spec.labels;
  description.users = spec.users;
  for (std::uint32_t i = 0; i < spec.bands + spec.gpus; ++i) {
    const bool gpu = i >= spec.bands;
    BandDescription band;
    band.name = gpu ? "gpu-" + std::to_string(i - spec.bands) : "numa-" + std::to_string(i);
    band.kind = gpu ? BandKind::Gpu : BandKind::Cpu;
    band.capacity.slots = kOneSlot * spec.slots - spec.less;
    band.capacity.memory = spec.memory;
    band.capacity.cpu = spec.cpu;
    band.capacity.named = spec.named;
    band.memory_hard_limit = spec.memory * 2;
    if (gpu) band.capacity.gpu = MilliGpu{1000}, band.capacity.device_memory = spec.device_memory;
    description.bands.push_back(band);
  }
  return description;
}

void SupervisorHarness::lose(std::uint32_t worker, const std::string& reason) {
  handle(supervisor_event::WorkerLost{WorkerId{worker}, reason});
  std::erase_if(actions_, [](const SupervisorAction& action) {
    return std::holds_alternative<supervisor_action::ReleaseWorker>(action);
  });
}

JobId SupervisorHarness::submit(const Graph& graph, JobSpec spec, ClientId client) {
  supervisor_event::GraphChecked checked{client, next_submission_++, std::move(spec), nullptr, {}, next_identity};
  Result<std::unique_ptr<GraphShape>> shape = check_graph(graph);
  if (shape)
    checked.shape = std::move(shape).value();
  else
    checked.refusal = shape.error();
  handle(std::move(checked));
  const std::vector<SubmitReply> replies = take_for<SubmitReply>(client);
  if (durability_ == Durability::Journal && replies.empty()) return JobId::none();  // The reply waits for the disk.
  EXPECT_EQ(replies.size(), 1U);
  last_reply_ = replies.empty() ? SubmitReply{} : replies.front();
  return last_reply_.job;
}

// The core's graphs live until they are said to be written; tests look at them afterwards, too.
void SupervisorHarness::copy_graphs(supervisor_action::Persist& persist) {
  for (Record& record : persist.records)
    if (auto* accepted = std::get_if<record::JobAccepted>(&record)) {
      graphs_.push_back(std::make_unique<Graph>(*accepted->graph));
      accepted->graph = graphs_.back().get();
    }
}

void SupervisorHarness::handle(SupervisorEvent&& event) {
  Actions<SupervisorAction> actions;
  core_.handle(std::move(event), now_, actions);
  core_.validate();
  for (SupervisorAction& action : actions) {
    if (const auto* order = std::get_if<supervisor_action::SendToWorker>(&action))
      if (const auto* batch = std::get_if<AssignBatch>(&order->message))
        for (const Assignment& assignment : batch->assignments)
          held_[{order->worker, SubtaskId{batch->job, assignment.subtask}}] = assignment;
    if (auto* persist = std::get_if<supervisor_action::Persist>(&action)) {
      copy_graphs(*persist);
      persists_.push_back(std::move(*persist));
      continue;
    }
    actions_.push_back(std::move(action));
  }
}

AttemptReport SupervisorHarness::report_of(std::uint32_t worker, std::uint32_t subtask, std::uint32_t job_number) {
  const auto found = held_.find({WorkerId{worker}, SubtaskId{JobId{job_number}, SubtaskIndex{subtask}}});
  EXPECT_NE(found, held_.end()) << "subtask " << subtask << " was not assigned to w" << worker;
  AttemptReport report;
  report.subtask = SubtaskIndex{subtask};
  if (found != held_.end()) report.attempt = found->second.attempt;
  if (found != held_.end()) report.band = found->second.band;
  report.run_us = 1000;
  return report;
}

void SupervisorHarness::succeed(std::uint32_t worker, std::uint32_t subtask, std::vector<OutputReport> outputs,
                                std::uint32_t job_number) {
  AttemptReport attempt = report_of(worker, subtask, job_number);
  attempt.output_count = static_cast<std::uint16_t>(outputs.size());
  report(worker, JobReports{JobId{job_number}, {attempt}, std::move(outputs), {}, {}});
}

void SupervisorHarness::fail(std::uint32_t worker, std::uint32_t subtask, FailureDetail detail,
                             std::uint32_t job_number) {
  AttemptReport attempt = report_of(worker, subtask, job_number);
  attempt.outcome = Outcome::Failed;
  report(worker, JobReports{JobId{job_number}, {attempt}, {}, {std::move(detail)}, {}});
}

void SupervisorHarness::fail(std::uint32_t worker, std::uint32_t subtask, FailureClass failure,
                             std::uint32_t job_number) {
  FailureDetail detail;
  detail.failure = failure;
  detail.message = "broken";
  fail(worker, subtask, std::move(detail), job_number);
}

void SupervisorHarness::say(std::uint32_t worker, std::uint32_t subtask, Outcome outcome, std::uint32_t job_number) {
  AttemptReport attempt = report_of(worker, subtask, job_number);
  attempt.outcome = outcome;
  report(worker, JobReports{JobId{job_number}, {attempt}, {}, {}, {}});
}

void SupervisorHarness::report(std::uint32_t worker, const JobReports& reports) {
  worker_says(worker, ReportBatch{++report_numbers_[WorkerId{worker}], {reports}, {}, {}});
}

void SupervisorHarness::report_load(std::uint32_t worker, const BandLoad& load) {
  worker_says(worker, ReportBatch{++report_numbers_[WorkerId{worker}], {}, {}, {load}});
}

void SupervisorHarness::report_replica(std::uint32_t worker, std::uint32_t producer, std::uint32_t job_number) {
  const ReplicaReport replica{SubtaskId{JobId{job_number}, SubtaskIndex{producer}}, 0};
  worker_says(worker, ReportBatch{++report_numbers_[WorkerId{worker}], {}, {replica}, {}});
}

void SupervisorHarness::worker_says(std::uint32_t worker, const FromWorker& message) {
  handle(supervisor_event::WorkerSaid{WorkerId{worker}, message});
}

void SupervisorHarness::client_says(const FromClient& message, ClientId client) {
  handle(supervisor_event::ClientSaid{client, message});
}

Result<Value> SupervisorHarness::ask(const std::string& command, std::vector<std::string> arguments) {
  constexpr ClientId kOperator{99};
  client_says(AdminRequest{next_request_++, command, std::move(arguments), "", viewer}, kOperator);
  // Orders that workers confirm first are confirmed.
  if (command == "cancel")
    for (const auto& [worker, question] : take<ExplainQuestion>())
      worker_says(worker.value(), ExplainAnswer{question.question, false, {}, {}});
  std::vector<AdminAnswer> answers = take_for<AdminAnswer>(kOperator);
  EXPECT_EQ(answers.size(), 1U) << command << " was not answered at once";
  if (answers.empty()) return Error{};
  if (!answers.front().refusal.message.empty()) return answers.front().refusal;
  return std::move(answers.front().value);
}

namespace {

// A deadline that a tick leaves behind would have the shell tick again and again, and do nothing else.
void expect_ahead(const std::optional<Instant>& deadline, Instant now) {
  EXPECT_TRUE(!deadline.has_value() || *deadline > now) << "the core is due again at once";
}

}  // namespace

void SupervisorHarness::tick_after(Duration delay) {
  now_ += delay;
  handle(supervisor_event::Tick{});
  expect_ahead(core_.next_deadline(), now_);
}

void SupervisorHarness::tick_at_deadline() {
  const std::optional<Instant> deadline = core_.next_deadline();
  ASSERT_TRUE(deadline.has_value()) << "nothing is planned";
  now_ = std::max(now_, *deadline);
  handle(supervisor_event::Tick{});
  expect_ahead(core_.next_deadline(), now_);
}

std::vector<std::string> SupervisorHarness::assigned() {
  std::vector<std::string> lines;
  for (const auto& [worker, batch] : take<AssignBatch>())
    for (const Assignment& assignment : batch.assignments) {
      std::string line = name_in(batch.job, assignment.subtask);
      if (const Attempt attempt = assignment.attempt;
          (attempt.value() & 0xffffffffU) > 1)  // Not the first of its term.
        line += "#" + to_string(attempt);
      line += " to " + to_string(worker);
      lines.push_back(line + (assignment.cached ? ", cached" : ""));
    }
  return lines;
}

std::vector<std::string> SupervisorHarness::cancels() {
  std::vector<std::string> lines;
  for (const auto& [worker, batch] : take<CancelBatch>()) {
    if (batch.whole_job) lines.push_back("all at " + to_string(worker));
    for (const AttemptRef& attempt : batch.attempts)
      lines.push_back(name_in(batch.job, attempt.subtask) + " at " + to_string(worker));
  }
  return lines;
}

std::vector<std::string> SupervisorHarness::drops() {
  std::vector<std::string> lines;
  for (const auto& [worker, batch] : take<DropBatch>())
    for (const DataRef& datum : batch.data)
      lines.push_back(name_in(batch.job, datum.producer) + " at " + to_string(worker) + (batch.lost ? ", lost" : ""));
  return lines;
}

std::vector<std::string> SupervisorHarness::steals() {
  std::vector<std::string> lines;
  for (const auto& [worker, batch] : take<StealRequest>())
    for (const AttemptRef& attempt : batch.attempts)
      lines.push_back(name_in(batch.job, attempt.subtask) + " at " + to_string(worker));
  return lines;
}

std::vector<JobProgress> SupervisorHarness::news(ClientId client) { return take_for<JobProgress>(client); }

std::vector<Error> SupervisorHarness::alerts() {
  std::vector<Error> found;
  std::erase_if(actions_, [&](SupervisorAction& action) {
    auto* alert = std::get_if<supervisor_action::Alert>(&action);
    if (alert != nullptr) found.push_back(std::move(alert->error));
    return alert != nullptr;
  });
  return found;
}

const Job& SupervisorHarness::job(std::uint32_t number) {
  const Job* found = core_.find_job(JobId{number});
  PENSTOCK_CHECK_MSG(found != nullptr, "the test asks for a job that is not there");
  return *found;
}

}  // namespace penstock::supervisor
