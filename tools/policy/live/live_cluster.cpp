#include "tools/policy/live/live_cluster.hpp"

#include <algorithm>

#include "supervisor/core/graph_shape.hpp"
#include "supervisor/core/policy_pass.hpp"

namespace penstock::tools {

using namespace supervisor;
using namespace supervisor::supervisor_action;
using namespace worker::worker_action;

namespace {

constexpr ClientId kClient{1};

}  // namespace

LiveCluster::LiveCluster(SupervisorConfig config) : file_(config.policy), core_(config, Rng{1}) {}

WorkerId LiveCluster::join(Register description) {
  const WorkerId id{++workers_};
  description.barriers = true;
  hosts_[id] = std::make_unique<Host>(worker_config_, description);
  tell_supervisor(supervisor_event::WorkerJoined{id, Incarnation{id.value()}, description});
  deliver();
  return id;
}

void LiveCluster::introduce_again(WorkerId worker, Register description) {
  say(worker, std::move(description));
  deliver();
}

void LiveCluster::lose(WorkerId worker) {
  std::erase_if(runs_, [worker](const auto& run) { return run.second.worker == worker; });
  std::erase_if(mail_, [worker](const Mail& mail) { return mail.worker == worker; });
  tell_supervisor(supervisor_event::WorkerLost{worker, "it was taken away"});
  hosts_.erase(worker);
  deliver();
}

SubmitReply LiveCluster::submit(JobSpec spec, const Graph& graph) {
  supervisor_event::GraphChecked checked{kClient, ++requests_, std::move(spec), nullptr, {}, {}};
  GraphIntake intake{GraphLimits{}};
  Result<void> added = intake.add(graph);
  Result<std::unique_ptr<GraphShape>> shape = added ? intake.finish() : added.error();
  if (shape)
    checked.shape = std::move(shape).value();
  else
    checked.refusal = shape.error();
  answers_.clear();
  tell_supervisor(std::move(checked));
  SubmitReply reply;
  for (ToClient& answer : answers_)
    if (auto* mine = std::get_if<SubmitReply>(&answer)) reply = std::move(*mine);
  deliver();
  return reply;
}

Result<Value> LiveCluster::ask(const std::string& command, std::vector<std::string> arguments) {
  answers_.clear();
  const FromClient request{AdminRequest{++requests_, command, std::move(arguments), "case"}};
  tell_supervisor(supervisor_event::ClientSaid{kClient, request});
  deliver();
  for (ToClient& answer : answers_)
    if (auto* mine = std::get_if<AdminAnswer>(&answer); mine != nullptr && mine->request == requests_) {
      if (!mine->refusal.message.empty()) return mine->refusal;
      return std::move(mine->value);
    }
  return Error{ErrorCode::Internal, command, "was not answered", "report it"};
}

Result<Value> LiveCluster::reload(PolicyConfig policy) {
  file_ = std::move(policy);
  return ask("reload");
}

void LiveCluster::tell_supervisor(SupervisorEvent&& event) {
  Actions<SupervisorAction> actions;
  core_.handle(std::move(event), now_, actions);
  for (SupervisorAction& action : actions) std::visit([this](auto& concrete) { carry_out(concrete); }, action);
}

void LiveCluster::tell_worker(WorkerId worker, const worker::WorkerEvent& event) {
  const auto host = hosts_.find(worker);
  if (host == hosts_.end()) return;
  Actions<worker::WorkerAction> actions;
  host->second->core.handle(event, now_, actions);
  for (worker::WorkerAction& action : actions)
    std::visit([this, worker](auto& concrete) { carry_out(worker, concrete); }, action);
}

/// Everything that can happen without time passing: messages in the order in which they were sent, then passes.
void LiveCluster::deliver() {
  while (!mail_.empty() || !events_.empty() || !leaving_.empty()) {
    if (!leaving_.empty()) {
      const SubtaskId leaves = leaving_.front();
      leaving_.pop_front();
      end_run(leaves, false, FailureClass::RunnerCrash);
      continue;
    }
    if (mail_.empty()) {
      SupervisorEvent event = std::move(events_.front());
      events_.pop_front();
      tell_supervisor(std::move(event));
      continue;
    }
    const Mail mail = std::move(mail_.front());
    mail_.pop_front();
    if (mail.from != nullptr)
      tell_supervisor(supervisor_event::WorkerSaid{mail.worker, *mail.from});
    else
      tell_worker(mail.worker, worker::worker_event::MessageArrived{*mail.to});
  }
}

Instant LiveCluster::next_deadline() const {
  Instant next = core_.next_deadline().value_or(kNever);
  for (const auto& [id, host] : hosts_) next = std::min(next, host->core.next_deadline().value_or(kNever));
  return next;
}

void LiveCluster::tick_what_is_due() {
  std::vector<WorkerId> due;
  for (const auto& [id, host] : hosts_)
    if (host->core.next_deadline().value_or(kNever) <= now_) due.push_back(id);
  for (const WorkerId id : due) {
    tell_worker(id, worker::worker_event::SupervisorHeard{now_});
    tell_worker(id, worker::worker_event::Tick{});
  }
  if (core_.next_deadline().value_or(kNever) <= now_) tell_supervisor(supervisor_event::Tick{});
  deliver();
}

void LiveCluster::advance(Duration duration) {
  const Instant until = later(now_, duration);
  deliver();
  while (next_deadline() <= until) {
    now_ = std::max(now_, next_deadline());
    tick_what_is_due();
  }
  now_ = until;
}

void LiveCluster::settle(Duration most) {
  constexpr std::uint32_t kQuietPasses = 3;
  const Instant until = later(now_, most);
  const auto running = [this] {
    std::vector<std::pair<SubtaskId, Attempt>> all;
    for (const auto& [id, run] : runs_) all.emplace_back(id, run.attempt);
    return all;
  };
  auto before = running();
  for (std::uint32_t quiet = 0; quiet < kQuietPasses && now_ < until;) {
    advance(file_.period + file_.settle);
    auto after = running();
    quiet = after == before ? quiet + 1 : 0;
    before = std::move(after);
  }
}

void LiveCluster::end(SubtaskId subtask, bool succeeded, FailureClass failure) {
  end_run(subtask, succeeded, failure);
  deliver();
}

void LiveCluster::lend(SubtaskId subtask) {
  const LiveRun& run = runs_.at(subtask);
  const auto& records = hosts_.at(run.worker)->records;
  const auto record =
      std::find_if(records.begin(), records.end(), [&](const auto& each) { return each.second == subtask; });
  if (record != records.end()) tell_worker(run.worker, worker::worker_event::SlotYielded{record->first, run.attempt});
  deliver();
}

void LiveCluster::end_run(SubtaskId subtask, bool succeeded, FailureClass failure) {
  const auto found = runs_.find(subtask);
  if (found == runs_.end()) return;
  const LiveRun run = found->second;
  runs_.erase(found);
  const auto host = hosts_.find(run.worker);
  if (host == hosts_.end()) return;
  auto& records = host->second->records;
  const auto record =
      std::find_if(records.begin(), records.end(), [&](const auto& each) { return each.second == subtask; });
  if (record == records.end()) return;
  FailureDetail detail;
  detail.failure = failure;
  worker::RunEnd ended;
  ended.record = record->first;
  ended.attempt = run.attempt;
  ended.succeeded = succeeded;
  ended.failure = succeeded ? nullptr : &detail;
  records.erase(record);
  tell_worker(run.worker, worker::worker_event::RunsEnded{std::span{&ended, 1}});
}

void LiveCluster::carry_out(SendToWorker& order) {
  if (hosts_.contains(order.worker)) mail_.emplace_back(order.worker, std::move(order.message));
}

void LiveCluster::carry_out(SendToClient& word) { answers_.push_back(std::move(word.message)); }

void LiveCluster::carry_out(const RunPass& order) { events_.emplace_back(run_pass(order)); }

void LiveCluster::carry_out(const ReloadPolicy& order) {
  events_.emplace_back(supervisor_event::PolicyRead{order.client, order.request, file_});
}

void LiveCluster::carry_out(WorkerId worker, const StartSubtask& order) {
  hosts_.at(worker)->records[order.record] = order.id;
  runs_[order.id] = {order.id, order.attempt, worker, order.band, false};
}

void LiveCluster::carry_out(WorkerId worker, const StopRun& order) {
  const auto& records = hosts_.at(worker)->records;
  const auto record = records.find(order.record);
  if (record == records.end()) return;
  LiveRun& run = runs_.at(record->second);
  run.asked = true;
  // Not at once: further actions of the same event may be about this run.
  if (order.kill || on_stop_ != OnStop::Stay) leaving_.push_back(run.subtask);
}

}  // namespace penstock::tools
