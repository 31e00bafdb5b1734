#include "bench/rigs/supervisor_rig.hpp"

#include <malloc.h>

#include <algorithm>

namespace penstock::bench {

using namespace supervisor;

namespace {

constexpr ClientId kClient{1};

SupervisorConfig config_of(const RigOptions& options) {
  SupervisorConfig config;
  config.lookahead_subtasks_max = options.lookahead_subtasks_max;
  return config;
}

std::size_t allocated_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

}  // namespace

SupervisorRig::SupervisorRig(const RigOptions& options, const Meters& meters)
    : options_(options), core_(config_of(options), Rng{1}), meters_(meters) {
  for (std::uint32_t i = 0; i < options.workers; ++i) join();
  meters_.core.reset();
  events_ = 0;
}

void SupervisorRig::join() {
  workers_.emplace_back();
  const auto number = static_cast<std::uint32_t>(workers_.size());
  Register hello;
  hello.name = "worker-" + std::to_string(number);
  BandDescription band;
  band.name = "numa-0";
  band.capacity.slots = kOneSlot * options_.slots;
  band.capacity.memory = band.memory_hard_limit = kGiB;
  hello.bands.push_back(band);
  handle(supervisor_event::WorkerJoined{WorkerId{number}, Incarnation{number}, hello});
}

void SupervisorRig::lose(std::uint32_t worker) {
  handle(supervisor_event::WorkerLost{WorkerId{worker + 1}, "measured"});
}

std::size_t SupervisorRig::submit(Graph&& graph) {
  const std::size_t count = graph.size();
  subtasks_.assign(count, Subtask{});
  const std::size_t before = allocated_bytes() - graph.payloads.capacity();
  ended_ = false;
  meters_.intake.resume();
  GraphIntake intake{GraphLimits{}};
  const Result<void> added = intake.add(std::move(graph));
  Result<std::unique_ptr<GraphShape>> shape = intake.finish();
  meters_.intake.pause();
  PENSTOCK_CHECK(added && shape);
  // The columns of the graph were allocated before and are now kept: only additions of the check and of the core are
  // measured, so the columns are added.
  const std::size_t columns = (*shape)->graph().template_of.capacity() * 4 +
                              (*shape)->graph().input_offsets.capacity() * 4 +
                              (*shape)->graph().predecessors.capacity() * 4;
  shape_ = shape->get();
  JobSpec spec;
  spec.name = "bench-" + std::to_string(++submissions_);
  spec.keep = Keep::Nothing;
  handle(supervisor_event::GraphChecked{kClient, submissions_, std::move(spec), std::move(shape).value(), {}});
  return allocated_bytes() - before + columns;
}

void SupervisorRig::finish() {
  while (!ended_) {
    if (active_.empty()) {
      const auto deadline = core_.next_deadline();
      PENSTOCK_CHECK_MSG(deadline.has_value(), "nothing is left to do and the job has not ended");
      now_ = std::max(now_, *deadline);
      handle(supervisor_event::Tick{});
      continue;
    }
    take_turns();
  }
}

// Takes the reports of all workers that are due by the time of the first, in one event.
void SupervisorRig::take_turns() {
  now_ = std::max(now_, workers_[active_.front()].next_turn);
  said_.clear();
  while (!active_.empty() && said_.size() < options_.messages_together_max) {
    const std::uint32_t worker = active_.front();
    if (workers_[worker].next_turn > now_) break;
    active_.pop_front();
    workers_[worker].active = false;
    ReportBatch batch = turn(worker);
    if (batch.jobs.front().attempts.empty()) continue;
    said_.emplace_back(worker, std::move(batch));
  }
  events_said_.clear();
  for (const auto& [worker, message] : said_)
    events_said_.push_back(supervisor_event::WorkerSaid{WorkerId{worker + 1}, message});
  if (!said_.empty()) handle(supervisor_event::WorkersSaid{events_said_});
}

void SupervisorRig::handle(SupervisorEvent&& event) {
  ++events_;
  meters_.core.resume();
  core_.handle(std::move(event), now_, actions_);
  meters_.core.pause();
  for (SupervisorAction& action : actions_) {
    if (auto* order = std::get_if<supervisor_action::SendToWorker>(&action)) {
      carry_out(order->worker.value() - 1, order->message);
    } else if (auto* news = std::get_if<supervisor_action::SendToClient>(&action)) {
      if (const auto* reply = std::get_if<SubmitReply>(&news->message)) job_ = reply->job;
      if (const auto* progress = std::get_if<JobProgress>(&news->message))
        ended_ = ended_ || progress->state != JobState::Running;
    }
  }
  // Freeing sent messages is the shell's part in production, too.
  actions_.clear();
}

void SupervisorRig::carry_out(std::uint32_t worker, const ToWorker& message) {
  if (const auto* batch = std::get_if<AssignBatch>(&message)) take(worker, *batch);
  if (const auto* steal = std::get_if<StealRequest>(&message)) give_back(worker, *steal);
  if (const auto* notices = std::get_if<InputNoticeBatch>(&message))
    for (const InputNotice& notice : notices->notices) count_down(worker, notice.producer.value());
}

void SupervisorRig::take(std::uint32_t worker, const AssignBatch& batch) {
  std::size_t input = 0;
  for (const Assignment& assignment : batch.assignments) {
    const std::uint32_t index = assignment.subtask.value();
    Subtask& subtask = subtasks_[index];
    subtask.worker = worker;
    subtask.attempt = assignment.attempt.value();
    subtask.state = State::Cached;
    subtask.missing = 0;
    for (std::uint32_t i = 0; i < assignment.input_count; ++i)
      subtask.missing += batch.inputs[input++].place == InputPlace::Missing;
    if (subtask.missing == 0) make_runnable(worker, index);
  }
}

void SupervisorRig::make_runnable(std::uint32_t worker, std::uint32_t subtask) {
  subtasks_[subtask].state = State::Runnable;
  workers_[worker].runnable.push_back(AttemptRef{SubtaskIndex{subtask}, Attempt{subtasks_[subtask].attempt}});
  activate(worker);
}

void SupervisorRig::activate(std::uint32_t worker) {
  if (workers_[worker].active) return;
  workers_[worker].active = true;
  active_.push_back(worker);
}

void SupervisorRig::count_down(std::uint32_t worker, std::uint32_t producer) {
  for (const std::uint32_t successor : shape_->successors(producer)) {
    Subtask& next = subtasks_[successor];
    if (next.worker == worker && next.state == State::Cached && --next.missing == 0) make_runnable(worker, successor);
  }
}

void SupervisorRig::give_back(std::uint32_t worker, const StealRequest& request) {
  for (const AttemptRef& ref : request.attempts) {
    Subtask& subtask = subtasks_[ref.subtask.value()];
    if (subtask.worker != worker || subtask.attempt != ref.attempt.value() || subtask.state != State::Runnable)
      continue;
    subtask.state = State::Elsewhere;
    workers_[worker].returned.push_back(ref);
    activate(worker);
  }
}

ReportBatch SupervisorRig::turn(std::uint32_t index) {
  Worker& worker = workers_[index];
  worker.next_turn = now_ + std::chrono::milliseconds{1};
  ReportBatch batch;
  batch.number = ++worker.reports;
  batch.jobs.push_back(JobReports{job_, {}, {}, {}, {}});
  std::vector<AttemptReport>& attempts = batch.jobs.back().attempts;
  const auto report = [&](const AttemptRef& ref, Outcome outcome) {
    AttemptReport& entry = attempts.emplace_back();
    entry.subtask = ref.subtask;
    entry.attempt = ref.attempt;
    entry.band = BandIndex{0};
    entry.outcome = outcome;
    entry.run_us = 1000 * options_.slots / options_.reports_per_turn;
  };
  for (const AttemptRef& ref : worker.returned) report(ref, Outcome::Returned);
  const std::size_t most = worker.returned.size() + options_.reports_per_turn;  // Returned subtasks take no slot.
  worker.returned.clear();
  while (attempts.size() < most && !worker.runnable.empty()) {
    const AttemptRef ref = worker.runnable.front();
    worker.runnable.pop_front();
    Subtask& subtask = subtasks_[ref.subtask.value()];
    if (subtask.worker != index || subtask.attempt != ref.attempt.value() || subtask.state != State::Runnable) continue;
    subtask.state = State::Ended;
    report(ref, Outcome::Succeeded);
    count_down(index, ref.subtask.value());
  }
  if (!worker.runnable.empty()) activate(index);
  return batch;
}

}  // namespace penstock::bench
