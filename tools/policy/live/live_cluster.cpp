#include "tools/policy/live/live_cluster.hpp"

#include <algorithm>

#include "supervisor/core/graph_shape.hpp"
#include "supervisor/core/policy_pass.hpp"

namespace penstock::tools {

using namespace supervisor;
using namespace supervisor::supervisor_action;

namespace {

constexpr ClientId kClient{1};

/// Cases have more runs on a worker than it has slots: policy counts a run for which the slot was lent as its holder,
/// as it does where a worker of an earlier version does not tell.
void hide_loans(FromWorker& message) {
  auto* batch = std::get_if<ReportBatch>(&message);
  if (batch == nullptr) return;
  for (JobReports& reports : batch->jobs)
    for (AttemptReport& report : reports.attempts)
      if (!is_end(report.outcome)) report.outcome = Outcome::Started;
}

}  // namespace

LiveCluster::LiveCluster(SupervisorConfig config)
    : file_(config.policy), core_(config, Rng{1}), hosts_([this](WorkerId worker, FromWorker message) {
        hide_loans(message);
        mail_.emplace_back(worker, std::move(message));
      }) {}

WorkerId LiveCluster::join(Register description) {
  const WorkerId id{++workers_};
  description.barriers = true;
  description.keeps_to_devices = true;
  hosts_.add(id, description);
  tell_supervisor(supervisor_event::WorkerJoined{id, Incarnation{id.value()}, description});
  deliver();
  return id;
}

void LiveCluster::introduce_again(WorkerId worker, Register description) {
  mail_.emplace_back(worker, FromWorker{std::move(description)});
  deliver();
}

void LiveCluster::lose(WorkerId worker) {
  hosts_.remove(worker);
  std::erase_if(mail_, [worker](const Mail& mail) { return mail.worker == worker; });
  tell_supervisor(supervisor_event::WorkerLost{worker, "it was taken away"});
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

/// Everything that can happen without time passing: messages in the order in which they were sent, then passes.
void LiveCluster::deliver() {
  while (true) {
    if (hosts_.end_one_that_leaves(now_)) continue;
    if (mail_.empty() && events_.empty()) return;
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
      hosts_.tell(mail.worker, worker::worker_event::MessageArrived{*mail.to}, now_);
  }
}

Instant LiveCluster::next_deadline() const {
  return std::min(core_.next_deadline().value_or(kNever), hosts_.next_deadline());
}

void LiveCluster::tick_what_is_due() {
  hosts_.tick_what_is_due(now_);
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

void LiveCluster::step(Instant until) {
  deliver();
  const Instant due = next_deadline();
  now_ = std::max(now_, std::min(due, until));
  if (due <= now_) tick_what_is_due();
}

void LiveCluster::settle(Duration most) {
  constexpr std::uint32_t kQuietPasses = 3;
  const Instant until = later(now_, most);
  const auto running = [this] {
    std::vector<std::pair<SubtaskId, Attempt>> all;
    for (const auto& [id, run] : runs()) all.emplace_back(id, run.attempt);
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
  hosts_.end_run(subtask, succeeded, failure, now_);
  deliver();
}

void LiveCluster::lend(SubtaskId subtask) {
  hosts_.lend(subtask, now_);
  deliver();
}

std::vector<Error> LiveCluster::troubles() const {
  std::vector<Error> all = alerts_;
  all.insert(all.end(), hosts_.troubles().begin(), hosts_.troubles().end());
  return all;
}

void LiveCluster::carry_out(SendToWorker& order) {
  if (hosts_.knows(order.worker)) mail_.emplace_back(order.worker, std::move(order.message));
}

void LiveCluster::carry_out(SendToClient& word) { answers_.push_back(std::move(word.message)); }

void LiveCluster::carry_out(const RunPass& order) { events_.emplace_back(run_pass(order)); }

void LiveCluster::carry_out(const ReloadPolicy& order) {
  events_.emplace_back(supervisor_event::PolicyRead{order.client, order.request, file_});
}

}  // namespace penstock::tools
