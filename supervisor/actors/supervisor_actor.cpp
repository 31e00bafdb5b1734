#include "supervisor/actors/supervisor_actor.hpp"

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <map>
#include <optional>

#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/loop/actor_host.hpp"
#include "common/loop/mail.hpp"
#include "supervisor/actors/job_actor.hpp"
#include "supervisor/actors/job_log.hpp"
#include "supervisor/actors/journal_actor.hpp"
#include "supervisor/actors/policy_actor.hpp"
#include "supervisor/core/policy_pass.hpp"
#include "supervisor/core/pool_parts.hpp"
#include "supervisor/core/submissions.hpp"
#include "supervisor/core/supervisor_core.hpp"
#include "supervisor/core/unused_settings.hpp"
#include "supervisor/shell/supervisor_shell.hpp"

namespace penstock::supervisor {

/// A signal wants the configuration to be read again.
struct ReloadMail {};

/// The metrics port wants numbers.
struct MetricsMail {
  std::size_t jobs_max = 0;
  TellMetrics tell;
};

}  // namespace penstock::supervisor

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::ReloadMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::MetricsMail)

namespace penstock::supervisor {
namespace {

using Reloaded = caf::typed_actor<caf::reacts_to<ReloadMail>>;
using Measured = caf::typed_actor<caf::reacts_to<MetricsMail>>;
using SupervisorSelf = SupervisorHandle::extend<caf::reacts_to<GraphCheckedMail>, caf::reacts_to<JournalMail>,
                                                caf::reacts_to<ReloadMail>, caf::reacts_to<MetricsMail>>;

constexpr Duration kRetryAfter = std::chrono::seconds{1};  ///< Of a journal that could not write.

/// Notes of orders to the journal and of its answers, for metrics and the log.
struct JournalNotes {
  JournalCounters counters;
  JobLog jobs;
};

/// The world of a supervisor's shell: mails, the journal, threads, timers. Carries mails to the shell and what the
/// shell sends out as mails; decides nothing.
class SupervisorActor {
  using Shell = SupervisorShell<SupervisorActor, SupervisorCore>;

 public:
  explicit SupervisorActor(SupervisorSelf::stateful_pointer<SupervisorActor> self) : self_(self) {}
  ~SupervisorActor() {
    // A thread that checks a graph would wait for the rest of it for ever otherwise.
    for (const auto& [key, intake] : intakes_) caf::anon_send_exit(intake, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(policy_, caf::exit_reason::user_shutdown);
    end_journal(self_->system(), journal_);  // The journal reads graphs of the core.
  }
  SupervisorActor(const SupervisorActor&) = delete;
  SupervisorActor& operator=(const SupervisorActor&) = delete;

  static constexpr const char* name = "supervisor";

  SupervisorSelf::behavior_type make_behavior(Loop& loop, const SupervisorSetup& setup) {
    setup_ = setup;
    setup_->journal = nullptr;
    const Durability durability = setup.journal == nullptr ? Durability::None : Durability::Journal;
    core_ = std::make_unique<SupervisorCore>(setup_->config, setup.rng, durability);
    shell_.emplace(*core_, *this, setup_->config.messages_together_max);
    submissions_ = std::make_unique<Submissions>(setup_->config.graph, setup_->config.memory_max, setup_->config.users);
    timer_ = std::make_unique<LoopTimer>(loop);
    retry_timer_ = std::make_unique<LoopTimer>(loop);
    idle_timer_ = std::make_unique<LoopTimer>(loop);
    take_failures(*self_, ActorFailure::EndsProcess);
    self_->set_down_handler([this](const caf::down_msg& down) { child_ended(down); });
    if (setup.journal != nullptr)
      go_on_from(*setup.journal);
    else
      shell_->handle(supervisor_event::StateRecovered{{}, unix_now_ms()});
    return {[this](const FromWorkerMail& mail) { receive(mail); },
            [this](const WorkerLostMail& mail) { receive(mail); },
            [this](const WorkerSuspectedMail& mail) { shell_->worker_suspected(mail.worker, mail.suspected); },
            [this](const FromClientMail& mail) { receive(mail); },
            [this](const ClientLostMail& mail) { receive(mail); },
            [this](const GraphCheckedMail& mail) { receive(mail); },
            [this](const JournalMail& mail) { receive(mail); },
            [this](const ReloadMail&) { reload(); },
            [this](const MetricsMail& mail) { mail.tell(metrics_of(*core_, mail.jobs_max), notes_.counters); }};
  }

  // The world of the shell.
  using Mail = std::shared_ptr<const std::vector<FromWorker>>;
  static Instant now() { return monotonic_now(); }
  static JobIdentity draw_identity() { return random_identity(); }
  void joined(Incarnation worker, WorkerId number, const Register& from) {
    worker_routes_[worker] = sender<WorkerHandle>();
    log_line(LogLevel::Info, "worker joined",
             "worker=" + to_string(number) + " name=" + from.name + " host=" + from.host +
                 (from.reclaims ? " from=\"before a restart\"" : ""));
  }
  void send(Incarnation worker, std::vector<ToWorker> messages) {
    self_->send(worker_routes_.at(worker),
                ToWorkerMail{worker, std::make_shared<const std::vector<ToWorker>>(std::move(messages))});
  }
  void send_to_client(Incarnation client, std::vector<ToClient> messages) {
    self_->send(client_routes_.at(client),
                ToClientMail{client, std::make_shared<const std::vector<ToClient>>(std::move(messages))});
  }
  void dismiss(Incarnation worker) { self_->send(worker_routes_.extract(worker).mapped(), DismissWorkerMail{worker}); }
  void write(supervisor_action::Persist order) {
    for (const Record& record : order.records) notes_.jobs.note(record);
    self_->send(journal_, std::move(order));
  }
  void run_pass(supervisor_action::RunPass order) {
    if (!policy_) policy_ = spawn_policy(*self_, &supervisor::run_pass);
    self_->request(policy_, caf::infinite, std::move(order))
        .then([this](const PassMail& mail) { shell_->handle(std::move(*mail.ended)); },
              [](const caf::error&) {});  // The end of the actor is told by its `down_msg`.
  }
  Result<PolicyConfig> read_policy() {
    if (setup_->read_policy) return setup_->read_policy();
    return Error{ErrorCode::Unsupported, "reload", "there is no configuration file", {}};
  }
  static void alert(const Error& error) { log_error(LogLevel::Warn, "alert", error); }
  void arm(std::optional<Instant> at) {
    if (!at) return timer_->cancel();
    timer_->arm(*at, [this] { shell_->tick(); });
  }

 private:
  void go_on_from(OpenJournal& opened) {
    const std::size_t jobs = opened.recovered.state.jobs.size();
    JournalSetup journal{std::move(opened.storage), opened.recovered.next_number};
    notes_.jobs.recovered(opened.recovered.state);
    if (opened.lease != nullptr) journal.may_report = [lease = opened.lease] { return lease->check(); };
    journal_ = spawn_journal(*self_, std::move(journal));
    shell_->recovered(std::move(opened.recovered.state), unix_now_ms(), opened.recovered.identity.life);
    log_line(LogLevel::Info, "journal read", "jobs=" + std::to_string(jobs));
  }

  void receive(const JournalMail& mail) {
    notes_.counters.commits.add(mail.took);
    notes_.counters.failed += mail.error != nullptr;
    if (mail.error == nullptr) notes_.counters.changes += mail.changes;
    if (mail.error == nullptr) return shell_->handle(supervisor_event::Persisted{mail.ticket});
    shell_->handle(supervisor_event::StorageFailed{*mail.error});
    retry_timer_->arm(later(monotonic_now(), kRetryAfter), [this] { self_->send(journal_, RetryMail{}); });
  }

  void reload() {
    AdminRequest request;
    request.command = "reload";
    request.who = "SIGHUP";
    shell_->reload(std::move(request));
  }

  // Mails that have arrived meanwhile belong to the same event; behind the last mail there is no reason to wait.
  void receive(const FromWorkerMail& mail) {
    shell_->receive(mail.worker, *mail.messages, mail.messages, !self_->mailbox().empty());
  }

  void receive(const WorkerLostMail& mail) {
    shell_->worker_lost(mail.worker, mail.reason);
    worker_routes_.erase(mail.worker);
  }

  void receive(const FromClientMail& mail) {
    client_routes_.try_emplace(mail.client, sender<ClientHandle>());
    for (FromClient& message : *mail.messages)
      if (auto* chunk = std::get_if<SubmitChunk>(&message))
        take_chunk(mail.client, std::move(*chunk));
      else
        shell_->client_said(mail.client, message);
    shell_->settle();
  }

  // Fault F20: the check of a graph runs behind all other actors, and a graph may arrive faster than it is checked.
  // Waiting chunks must not exceed the memory limit.
  void take_chunk(Incarnation client, SubmitChunk chunk) {
    const SubmissionKey key{client, chunk.submission};
    const std::string user = chunk.first ? user_of(chunk.spec, parent_of(chunk.spec)) : std::string{};
    for (const RefusedSubmission& refused : submissions_->take(key, chunk, core_->held_bytes(), monotonic_now(), user))
      refuse_graph(refused);
    if (!submissions_->contains(key)) return;
    auto intake = intakes_.find(key);
    if (intake == intakes_.end()) {
      const Thread thread = chunk.last ? Thread::Shared : Thread::Own;
      intake = intakes_.emplace(key, spawn_job_intake(*self_, setup_->config.graph, client, thread)).first;
      if (intakes_.size() == 1) watch_idle_graphs();
    }
    self_->send(intake->second, ChunkMail{std::make_shared<SubmitChunk>(std::move(chunk))});
  }

  const Job* parent_of(const JobSpec& spec) const {
    return spec.parent.any() ? core_->find_job(spec.parent->id.job) : nullptr;
  }

  void watch_idle_graphs() {
    const std::optional<Instant> deadline = submissions_->next_deadline();
    if (!deadline) return idle_timer_->cancel();
    idle_timer_->arm(*deadline, [this] {
      for (const RefusedSubmission& refused : submissions_->take_idle(monotonic_now())) refuse_graph(refused);
      shell_->settle();
      watch_idle_graphs();
    });
  }

  /// `bytes`: of the chunks in the intake and in its mailbox; the end of the intake frees them. 0: the intake has
  /// handed its graph over.
  void end_intake(const SubmissionKey& key, std::uint64_t bytes) {
    const auto intake = intakes_.find(key);
    if (intake == intakes_.end()) return submissions_->freed(bytes);
    if (bytes > 0) ending_intakes_[intake->second.address()] = bytes;
    self_->send_exit(intake->second, caf::exit_reason::user_shutdown);
    intakes_.erase(intake);
  }

  void child_ended(const caf::down_msg& down) {
    if (down.source == policy_.address() || down.source == journal_.address()) return part_ended(down);
    if (const auto ended = ending_intakes_.extract(down.source)) return submissions_->freed(ended.mapped());
    if (down.reason != caf::exit_reason::user_shutdown) intake_failed(down);
  }

  // The graph may have taken the last memory, which is free again.
  void intake_failed(const caf::down_msg& down) {
    const auto intake = std::find_if(intakes_.begin(), intakes_.end(),
                                     [&](const auto& entry) { return entry.second.address() == down.source; });
    if (intake == intakes_.end()) return;
    const SubmissionKey key = intake->first;
    intakes_.erase(intake);
    submissions_->end(key);
    refuse_graph({key,
                  {ErrorCode::Internal, "graph", "its check failed: " + self_->system().render(down.reason),
                   "submit it again, or in smaller parts"}});
    shell_->settle();
  }

  /// The journal and the policy end before this actor only if they fail, or if the journal has found another holder
  /// of the state, which is told by the lease. A supervisor without them would not keep its promises, so it ends.
  void part_ended(const caf::down_msg& down) {
    if (!down.reason) return;
    const char* part = down.source == policy_.address() ? "policy" : "journal";
    const Error error{ErrorCode::Internal, part, "ended: " + self_->system().render(down.reason), {}};
    log_error(LogLevel::Error, "supervisor fails", error);
    PENSTOCK_CHECK(setup_->on_failed);
    setup_->on_failed(error);
    self_->quit(down.reason);
  }

  void refuse_graph(const RefusedSubmission& graph) {
    end_intake(graph.key, graph.arrived_bytes);
    supervisor_event::GraphChecked refused;
    refused.submission = graph.key.number;
    refused.refusal = graph.why;
    refused.retry_after = graph.retry_after;
    log_line(LogLevel::Info, "graph refused", "text=\"" + to_string(graph.why) + "\"");
    shell_->graph_checked(graph.key.client, std::move(refused));
  }

  void receive(const GraphCheckedMail& mail) {
    const SubmissionKey key{mail.client, mail.checked->submission};
    if (!intakes_.contains(key)) return;  // The graph was refused before its check ended, or its client has left.
    end_intake(key, 0);
    submissions_->end(key);
    const bool refused = mail.checked->shape == nullptr;
    log_line(refused ? LogLevel::Info : LogLevel::Debug, refused ? "graph refused" : "graph checked",
             "job=" + mail.checked->spec.name +
                 (mail.checked->shape == nullptr ? " text=\"" + to_string(mail.checked->refusal) + "\""
                                                 : " subtasks=" + std::to_string(mail.checked->shape->size())));
    shell_->graph_checked(mail.client, std::move(*mail.checked));
    shell_->settle();
  }

  void receive(const ClientLostMail& mail) {
    // Graphs that the client was sending go with the client; none of them was accepted.
    for (const LeftSubmission& left : submissions_->end_all_of(mail.client)) end_intake(left.key, left.arrived_bytes);
    shell_->client_lost(mail.client);
    shell_->settle();
    client_routes_.erase(mail.client);
  }

  template <class Handle>
  Handle sender() const {
    return caf::actor_cast<Handle>(self_->current_sender());
  }

  SupervisorSelf::stateful_pointer<SupervisorActor> self_;
  std::optional<SupervisorSetup> setup_;  ///< Without its journal.
  std::unique_ptr<SupervisorCore> core_;
  JournalActor journal_;
  JournalNotes notes_;
  PolicyActor policy_;  ///< Spawned for the first pass.
  std::unique_ptr<LoopTimer> timer_;
  std::unique_ptr<LoopTimer> retry_timer_;             ///< Of the journal.
  std::unique_ptr<LoopTimer> idle_timer_;              ///< Of graphs under way.
  std::map<Incarnation, WorkerHandle> worker_routes_;  ///< Of the mails to them.
  std::map<Incarnation, ClientHandle> client_routes_;
  std::unique_ptr<Submissions> submissions_;
  std::map<SubmissionKey, JobHandle> intakes_;               ///< Of those; each puts one graph together.
  std::map<caf::actor_addr, std::uint64_t> ending_intakes_;  ///< Told to exit, with the bytes of their chunks.
  std::optional<Shell> shell_;
};

SupervisorSelf::behavior_type supervisor_behavior(SupervisorSelf::stateful_pointer<SupervisorActor> self, Loop* loop,
                                                  const SupervisorSetup& setup) {
  return self->state.make_behavior(*loop, setup);
}

}  // namespace

void ask_for_metrics(const SupervisorHandle& supervisor, std::size_t jobs_max, TellMetrics tell) {
  caf::anon_send(caf::actor_cast<Measured>(supervisor), MetricsMail{jobs_max, std::move(tell)});
}

void reload_policy(const SupervisorHandle& supervisor) {
  caf::anon_send(caf::actor_cast<Reloaded>(supervisor), ReloadMail{});
}

Bytes default_memory_max(const MemoryBounds& bounds) {
  Bytes most{bounds.host.value() / 4 * 3};
  if (bounds.group) most = std::min(most, Bytes{bounds.group->value() / 4 * 3});
  // Stacks take address space, too, as do the untouched reserves of allocators.
  if (bounds.process) most = std::min(most, Bytes{bounds.process->value() / 2});
  return std::max(most, Bytes{1});  // 0 would be no limit.
}

Result<void> check_parts(const std::vector<PoolConfig>& pools) {
  PENSTOCK_TRY(parts_of(pools));
  return {};
}

std::vector<std::string> warnings_of(const PolicyConfig& policy) {
  std::vector<std::string> warnings = policy_warnings(policy);
  for (std::string& unused : unused_settings(policy)) warnings.push_back(std::move(unused));
  return warnings;
}

SupervisorHandle spawn_supervisor(caf::actor_system& system, Loop& loop, const SupervisorSetup& setup) {
  return system.spawn(supervisor_behavior, &loop, setup);
}

}  // namespace penstock::supervisor
