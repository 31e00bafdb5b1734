#include "supervisor/actors/supervisor_actor.hpp"

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <map>
#include <optional>

#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/loop/mail.hpp"
#include "supervisor/actors/job_actor.hpp"
#include "supervisor/actors/journal_thread.hpp"
#include "supervisor/actors/policy_thread.hpp"
#include "supervisor/core/pool_parts.hpp"
#include "supervisor/core/submissions.hpp"
#include "supervisor/core/supervisor_core.hpp"
#include "supervisor/core/unused_settings.hpp"

namespace penstock::supervisor {

/// From the journal's thread: a ticket, or an error.
struct JournalMail {
  std::uint64_t ticket = 0;
  std::shared_ptr<const Error> error;
};

/// From the policy's thread.
struct PassMail {
  std::shared_ptr<supervisor_event::PassEnded> ended;
};

/// A signal wants the configuration to be read again.
struct ReloadMail {};

}  // namespace penstock::supervisor

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::ReloadMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::JournalMail)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::supervisor::PassMail)

namespace penstock::supervisor {
namespace {

/// Carries mails in as events and actions out as mails. Decides nothing.
class SupervisorActor {
 public:
  explicit SupervisorActor(caf::stateful_actor<SupervisorActor>* self) : self_(self) {}
  ~SupervisorActor() {
    // A thread that checks a graph would wait for the rest of it for ever otherwise.
    for (const auto& [key, intake] : intakes_) caf::anon_send_exit(intake, caf::exit_reason::user_shutdown);
  }
  SupervisorActor(const SupervisorActor&) = delete;
  SupervisorActor& operator=(const SupervisorActor&) = delete;

  static constexpr const char* name = "supervisor";

  caf::behavior make_behavior(Loop& loop, const SupervisorSetup& setup) {
    config_ = setup.config;
    read_policy_ = setup.read_policy;
    const Durability durability = setup.journal == nullptr ? Durability::None : Durability::Journal;
    core_ = std::make_unique<SupervisorCore>(config_, setup.rng, durability);
    submissions_ = std::make_unique<Submissions>(config_.graph, config_.memory_max);
    timer_ = std::make_unique<LoopTimer>(loop);
    idle_timer_ = std::make_unique<LoopTimer>(loop);
    if (setup.journal != nullptr)
      go_on_from(*setup.journal);
    else
      feed(supervisor_event::StateRecovered{{}, unix_now_ms()});
    return {
        [this](const FromWorkerMail& mail) { receive(mail); },   [this](const WorkerLostMail& mail) { take(mail); },
        [this](const WorkerSuspectedMail& mail) { take(mail); }, [this](const FromClientMail& mail) { take(mail); },
        [this](const ClientLostMail& mail) { take(mail); },      [this](const GraphCheckedMail& mail) { take(mail); },
        [this](const JournalMail& mail) { take(mail); },         [this](const PassMail& mail) { take(mail); },
        [this](const ReloadMail& mail) { take(mail); }};
  }

 private:
  /// Mails that are not from workers are applied at once, behind the messages that workers sent before. Actions of both
  /// leave even when the mail itself turns out to be about a peer that is gone.
  template <class Mail>
  void take(const Mail& mail) {
    apply_said();
    receive(mail);
    carry_out_all();
  }

  /// A connected peer: the route of its mails, and its number in the core.
  template <class IdType>
  struct Peer {
    IdType id;
    Incarnation incarnation;
    caf::actor route;
  };

  void go_on_from(OpenJournal& opened) {
    const std::size_t jobs = opened.recovered.state.jobs.size();
    // The handle keeps the actor's address, not its state: the state ends first, and the thread with it.
    JournalHandlers handlers;
    handlers.on_persisted = [self = caf::actor{self_}](std::uint64_t ticket) {
      caf::anon_send(self, JournalMail{ticket, {}});
    };
    handlers.on_failed = [self = caf::actor{self_}](const Error& error) {
      caf::anon_send(self, JournalMail{0, std::make_shared<const Error>(error)});
    };
    if (opened.lease != nullptr) handlers.may_report = [lease = opened.lease] { return lease->check(); };
    journal_ =
        std::make_unique<JournalThread>(std::move(opened.storage), opened.recovered.next_number, std::move(handlers));
    next_worker_ = opened.recovered.state.next_worker.value();
    for (const record::WorkerJoined& worker : opened.recovered.state.workers)
      known_[worker.incarnation] = worker.worker;
    feed(supervisor_event::StateRecovered{std::move(opened.recovered.state), unix_now_ms(),
                                          opened.recovered.identity.life});
    carry_out_all();
    log_line(LogLevel::Info, "journal read", "jobs=" + std::to_string(jobs));
  }

  void receive(const JournalMail& mail) {
    if (mail.error == nullptr)
      feed(supervisor_event::Persisted{mail.ticket});
    else
      feed(supervisor_event::StorageFailed{*mail.error});
  }

  void receive(const PassMail& mail) { feed(std::move(*mail.ended)); }

  void receive(const ReloadMail&) {
    AdminRequest request;
    request.command = "reload";
    request.who = "SIGHUP";
    reload({ClientId::none(), request});
  }

  void run_pass(supervisor_action::RunPass&& order) {
    if (policy_ == nullptr)
      policy_ = std::make_unique<PolicyThread>([self = caf::actor{self_}](supervisor_event::PassEnded&& ended) {
        caf::anon_send(self, PassMail{std::make_shared<supervisor_event::PassEnded>(std::move(ended))});
      });
    policy_->run(std::move(order));
  }

  void reload(const supervisor_action::ReloadPolicy& order) {
    Result<PolicyConfig> config =
        read_policy_
            ? read_policy_()
            : Result<PolicyConfig>{Error{ErrorCode::Unsupported, "reload", "there is no configuration file", {}}};
    feed(supervisor_event::PolicyRead{order.client, order.request, std::move(config)});
  }

  void receive(const FromWorkerMail& mail) {
    for (const FromWorker& message : *mail.messages) {
      const auto known = workers_.find(mail.worker);
      if (const auto* description = std::get_if<Register>(&message);
          description != nullptr && known == workers_.end()) {
        const WorkerId id = name_worker(mail.worker);
        workers_[mail.worker] = Peer<WorkerId>{id, mail.worker, sender()};
        worker_incarnations_[id] = mail.worker;
        log_line(LogLevel::Info, "worker joined",
                 "worker=" + to_string(id) + " name=" + description->name + " host=" + description->host +
                     (description->reclaims ? " from=\"before a restart\"" : ""));
        apply_said();
        feed(supervisor_event::WorkerJoined{id, mail.worker, *description});
      } else if (known != workers_.end()) {
        said_.push_back(supervisor_event::WorkerSaid{known->second.id, message});
      }
    }
    said_in_.push_back(mail.messages);
    // Mails that have arrived meanwhile belong to the same event; behind the last mail there is no reason to wait.
    if (said_.size() < config_.messages_together_max && !self_->mailbox().empty()) return;
    apply_said();
    carry_out_all();
  }

  /// Comes before anything else is fed: the core hears everything in the order in which it came.
  void apply_said() {
    if (!said_.empty()) feed(supervisor_event::WorkersSaid{said_});
    said_.clear();
    said_in_.clear();
  }

  /// The number that it had before a restart: other workers may know it by that.
  WorkerId name_worker(Incarnation incarnation) {
    const auto known = known_.extract(incarnation);
    return known.empty() ? WorkerId{next_worker_++} : known.mapped();
  }

  void receive(const WorkerLostMail& mail) {
    const auto known = workers_.find(mail.worker);
    if (known == workers_.end()) return;
    const WorkerId id = known->second.id;
    workers_.erase(known);
    worker_incarnations_.erase(id);
    feed(supervisor_event::WorkerLost{id, mail.reason});
  }

  void receive(const WorkerSuspectedMail& mail) {
    const auto known = workers_.find(mail.worker);
    if (known == workers_.end()) return;
    feed(supervisor_event::WorkerSuspected{known->second.id, mail.suspected});
  }

  void receive(const FromClientMail& mail) {
    auto known = clients_.find(mail.client);
    if (known == clients_.end()) {
      known = clients_.emplace(mail.client, Peer<ClientId>{ClientId{next_client_++}, mail.client, sender()}).first;
      client_incarnations_[known->second.id] = mail.client;
    }
    for (FromClient& message : *mail.messages) {
      if (auto* chunk = std::get_if<SubmitChunk>(&message))
        take_chunk(mail.client, std::move(*chunk));
      else
        feed(supervisor_event::ClientSaid{known->second.id, message, random_identity()});
    }
  }

  // Fault F20: the check of a graph runs behind all other actors, and a graph may arrive faster than it is checked.
  // Waiting chunks must not exceed the memory limit.
  void take_chunk(Incarnation client, SubmitChunk chunk) {
    const SubmissionKey key{client, chunk.submission};
    for (const RefusedSubmission& refused : submissions_->take(key, chunk, core_->held_bytes(), monotonic_now()))
      refuse_graph(refused);
    if (!submissions_->contains(key)) return;
    auto intake = intakes_.find(key);
    if (intake == intakes_.end()) {
      const Thread thread = chunk.last ? Thread::Shared : Thread::Own;
      intake = intakes_.emplace(key, spawn_job_intake(self_->system(), config_.graph, client, self_, thread)).first;
      if (intakes_.size() == 1) watch_idle_graphs();
    }
    self_->send(intake->second, ChunkMail{std::make_shared<SubmitChunk>(std::move(chunk))});
  }

  void watch_idle_graphs() {
    const std::optional<Instant> deadline = submissions_->next_deadline();
    if (!deadline) return idle_timer_->cancel();
    idle_timer_->arm(*deadline, [this] {
      apply_said();
      for (const RefusedSubmission& refused : submissions_->take_idle(monotonic_now())) refuse_graph(refused);
      carry_out_all();
      watch_idle_graphs();
    });
  }

  void end_intake(const SubmissionKey& key) {
    const auto intake = intakes_.find(key);
    if (intake == intakes_.end()) return;
    self_->send_exit(intake->second, caf::exit_reason::user_shutdown);
    intakes_.erase(intake);
  }

  void refuse_graph(const RefusedSubmission& graph) {
    end_intake(graph.key);
    supervisor_event::GraphChecked refused;
    refused.client = clients_.at(graph.key.client).id;
    refused.submission = graph.key.number;
    refused.refusal = graph.why;
    log_line(LogLevel::Info, "graph refused", "text=\"" + to_string(graph.why) + "\"");
    feed(std::move(refused));
  }

  void receive(const GraphCheckedMail& mail) {
    const SubmissionKey key{mail.client, mail.checked->submission};
    if (!intakes_.contains(key)) return;  // The graph was refused before its check ended, or its client has left.
    end_intake(key);
    submissions_->end(key);
    mail.checked->client = clients_.at(mail.client).id;
    mail.checked->identity = random_identity();
    log_line(LogLevel::Info, mail.checked->shape == nullptr ? "graph refused" : "graph checked",
             "job=" + mail.checked->spec.name +
                 (mail.checked->shape == nullptr ? " text=\"" + to_string(mail.checked->refusal) + "\""
                                                 : " subtasks=" + std::to_string(mail.checked->shape->size())));
    feed(std::move(*mail.checked));
  }

  void receive(const ClientLostMail& mail) {
    const auto known = clients_.find(mail.client);
    if (known == clients_.end()) return;
    // Graphs that the client was sending go with the client; none of them was accepted.
    for (const SubmissionKey& key : submissions_->end_all_of(mail.client)) end_intake(key);
    const ClientId id = known->second.id;
    clients_.erase(known);
    client_incarnations_.erase(id);
    feed(supervisor_event::ClientGone{id});
  }

  void feed(SupervisorEvent event) { core_->handle(std::move(event), monotonic_now(), actions_); }

  // One for each action: an action without one does not compile.
  void carry_out(supervisor_action::SendToWorker& word) {
    worker_mails_[word.worker].push_back(std::move(word.message));
  }
  void carry_out(supervisor_action::SendToClient& word) {
    client_mails_[word.client].push_back(std::move(word.message));
  }
  void carry_out(const supervisor_action::ReleaseWorker& order) { dismiss(order.worker); }
  void carry_out(supervisor_action::Persist& order) { journal_->write(std::move(order)); }
  void carry_out(supervisor_action::RunPass& order) { run_pass(std::move(order)); }
  void carry_out(const supervisor_action::Alert& alert) { log_error(LogLevel::Warn, "alert", alert.error); }
  // Taken out of the list, which grows meanwhile: the answer is an event of its own, and its actions come behind those
  // ordered before.
  void carry_out(supervisor_action::ReloadPolicy& order) { reload(supervisor_action::ReloadPolicy{std::move(order)}); }

  // One mail for each peer, however many actions.
  void carry_out_all() {
    for (std::size_t i = 0; i < actions_.size(); ++i)
      std::visit([this](auto& concrete) { carry_out(concrete); }, actions_[i]);
    actions_.clear();
    for (auto& [id, messages] : worker_mails_) {
      const auto incarnation = worker_incarnations_.find(id);
      if (incarnation == worker_incarnations_.end()) continue;
      self_->send(
          workers_.at(incarnation->second).route,
          ToWorkerMail{incarnation->second, std::make_shared<const std::vector<ToWorker>>(std::move(messages))});
    }
    worker_mails_.clear();
    for (auto& [id, messages] : client_mails_) {
      const auto incarnation = client_incarnations_.find(id);
      if (incarnation == client_incarnations_.end()) continue;
      self_->send(
          clients_.at(incarnation->second).route,
          ToClientMail{incarnation->second, std::make_shared<const std::vector<ToClient>>(std::move(messages))});
    }
    client_mails_.clear();
    arm();
  }

  void dismiss(WorkerId id) {
    const auto incarnation = worker_incarnations_.find(id);
    if (incarnation == worker_incarnations_.end()) return;
    self_->send(workers_.at(incarnation->second).route, DismissWorkerMail{incarnation->second});
    workers_.erase(incarnation->second);
    worker_incarnations_.erase(incarnation);
  }

  void arm() {
    const std::optional<Instant> deadline = core_->next_deadline();
    if (!deadline) return timer_->cancel();
    if (timer_->armed_for() <= *deadline) return;
    timer_->arm(*deadline, [this] {
      apply_said();
      feed(supervisor_event::Tick{});
      carry_out_all();
    });
  }

  caf::actor sender() const { return caf::actor_cast<caf::actor>(self_->current_sender()); }

  caf::stateful_actor<SupervisorActor>* self_;
  SupervisorConfig config_;
  std::unique_ptr<SupervisorCore> core_;
  std::function<Result<PolicyConfig>()> read_policy_;
  std::unique_ptr<JournalThread> journal_;  ///< Reads graphs of the core, so it ends first.
  std::unique_ptr<PolicyThread> policy_;
  std::unique_ptr<LoopTimer> timer_;
  std::unique_ptr<LoopTimer> idle_timer_;  ///< Of graphs under way.
  Actions<SupervisorAction> actions_;
  std::vector<supervisor_event::WorkerSaid> said_;  ///< To be applied when the mailbox is empty, or this is enough.
  std::vector<std::shared_ptr<const std::vector<FromWorker>>> said_in_;  ///< Owns those messages.
  std::map<Incarnation, Peer<WorkerId>> workers_;
  std::map<WorkerId, Incarnation> worker_incarnations_;
  std::map<Incarnation, WorkerId> known_;  ///< From before the restart, until they come back.
  std::map<Incarnation, Peer<ClientId>> clients_;
  std::map<ClientId, Incarnation> client_incarnations_;
  std::unique_ptr<Submissions> submissions_;
  std::map<SubmissionKey, caf::actor> intakes_;  ///< Of those; each puts one graph together.
  std::map<WorkerId, std::vector<ToWorker>> worker_mails_;
  std::map<ClientId, std::vector<ToClient>> client_mails_;
  std::uint32_t next_worker_ = 1;
  std::uint32_t next_client_ = 1;
};

caf::behavior supervisor_behavior(caf::stateful_actor<SupervisorActor>* self, Loop* loop,
                                  const SupervisorSetup& setup) {
  return self->state.make_behavior(*loop, setup);
}

}  // namespace

void reload_policy(const caf::actor& supervisor) { caf::anon_send(supervisor, ReloadMail{}); }

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

caf::actor spawn_supervisor(caf::actor_system& system, Loop& loop, const SupervisorSetup& setup) {
  return system.spawn(supervisor_behavior, &loop, setup);
}

}  // namespace penstock::supervisor
