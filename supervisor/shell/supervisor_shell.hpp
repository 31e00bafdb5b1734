// The way of events into a supervisor's core and of actions out, whatever the world around it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/actions.hpp"
#include "common/base/time.hpp"
#include "supervisor/core/actions.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/shell/peer_numbers.hpp"

namespace penstock::supervisor {

/// One incarnation of a supervisor's core in a world: the gateway, journal and threads of a process, or simulated ones.
///
/// Messages of workers are gathered, and the core hears them together; any other event comes behind those that came
/// before it. Peers are named by their incarnations here, and get their numbers here. Messages to a peer leave together
/// when all that has come is applied. Owned by one actor, or by the simulator. `World` is a class with
///
///     using Mail = ...;                                                        // owns messages of a worker
///     Instant now();
///     JobIdentity draw_identity();                                             // random
///     void joined(Incarnation worker, WorkerId number, const Register& from);  // for the first time
///     void send(Incarnation worker, std::vector<ToWorker> messages);
///     void send_to_client(Incarnation client, std::vector<ToClient> messages);
///     void dismiss(Incarnation worker);                                        // closes its link
///     void write(supervisor_action::Persist order);                            // answered by `Persisted`
///     void run_pass(supervisor_action::RunPass order);                         // answered by `PassEnded`
///     Result<PolicyConfig> read_policy();
///     void alert(const Error& error);
///     void arm(std::optional<Instant> at);                                     // calls `tick` then; none: never
///
/// `Core` is a `SupervisorCore`, or a class that observes one.
template <class World, class Core>
class SupervisorShell {
 public:
  /// `together_max`: messages of workers that the core hears together at most (supervisor.messages_together_max).
  SupervisorShell(Core& core, World& world, std::uint32_t together_max)
      : core_(core), world_(world), together_max_(together_max) {}

  /// The first event of a core with a journal: the workers of before may come back by their numbers.
  void recovered(RecoveredState&& state, std::int64_t unix_ms, std::uint64_t term) {
    workers_.go_on_from(state.next_worker);
    for (const record::WorkerJoined& worker : state.workers) workers_.expect(worker.incarnation, worker.worker);
    handle(supervisor_event::StateRecovered{std::move(state), unix_ms, term});
  }

  /// `owner` keeps `messages` alive. `more`: another call comes before anything has to happen.
  void receive(Incarnation worker, std::span<const FromWorker> messages, typename World::Mail owner, bool more) {
    for (const FromWorker& message : messages) {
      const WorkerId number = workers_.find(worker);
      if (number.valid())
        said_.push_back(supervisor_event::WorkerSaid{number, message});
      else if (const auto* description = std::get_if<Register>(&message))
        join(worker, *description);
    }
    owners_.push_back(std::move(owner));
    if (said_.size() >= together_max_ || !more) settle();
  }
  void worker_lost(Incarnation worker, std::string reason) {
    apply_said();
    if (const WorkerId number = workers_.remove(worker); number.valid())
      feed(supervisor_event::WorkerLost{number, std::move(reason)});
    settle();
  }
  void worker_suspected(Incarnation worker, bool suspected) {
    apply_said();
    if (const WorkerId number = workers_.find(worker); number.valid())
      feed(supervisor_event::WorkerSuspected{number, suspected});
    settle();
  }

  // News of clients; `settle` follows when all that came together is said.

  /// The client has its number from now on; it gets one with its first message.
  ClientId number_of_client(Incarnation client) {
    const ClientId known = clients_.find(client);
    return known.valid() ? known : clients_.add(client);
  }
  void client_said(Incarnation client, const FromClient& message) {
    apply_said();
    feed(supervisor_event::ClientSaid{number_of_client(client), message, world_.draw_identity()});
  }
  void graph_checked(Incarnation client, supervisor_event::GraphChecked&& checked) {
    checked.client = number_of_client(client);
    checked.identity = world_.draw_identity();
    apply_said();
    feed(std::move(checked));
  }
  void client_lost(Incarnation client) {
    apply_said();
    if (const ClientId number = clients_.remove(client); number.valid()) feed(supervisor_event::ClientGone{number});
  }

  void tick() {
    armed_ = kNever;
    handle(supervisor_event::Tick{});
  }
  /// Reads the policy again because an operator of this host wants it.
  void reload(AdminRequest request) {
    apply_said();
    read_policy({ClientId::none(), std::move(request)});
    settle();
  }

  /// Any other event, behind the messages that workers sent before.
  void handle(SupervisorEvent&& event) {
    apply_said();
    feed(std::move(event));
    settle();
  }

  /// Applies all that has come, and sends what comes of it.
  void settle() {
    apply_said();
    carry_out_all();
    for (auto& [number, messages] : worker_mails_)
      if (const Incarnation worker = workers_.find(number); worker.valid()) world_.send(worker, std::move(messages));
    worker_mails_.clear();
    for (auto& [number, messages] : client_mails_)
      if (const Incarnation client = clients_.find(number); client.valid())
        world_.send_to_client(client, std::move(messages));
    client_mails_.clear();
    arm();
  }

  const PeerNumbers<WorkerId>& workers() const { return workers_; }
  const PeerNumbers<ClientId>& clients() const { return clients_; }

 private:
  void join(Incarnation worker, const Register& description) {
    apply_said();
    const WorkerId number = workers_.add(worker);
    world_.joined(worker, number, description);
    feed(supervisor_event::WorkerJoined{number, worker, description});
  }

  void apply_said() {
    if (!said_.empty()) feed(supervisor_event::WorkersSaid{said_});
    said_.clear();
    owners_.clear();
  }

  // Actions of one event are carried out before the next one is handled.
  void feed(SupervisorEvent&& event) {
    carry_out_all();
    core_.handle(std::move(event), world_.now(), actions_);
  }

  void read_policy(const supervisor_action::ReloadPolicy& order) {
    feed(supervisor_event::PolicyRead{order.client, order.request, world_.read_policy()});
  }

  void carry_out_all() {
    while (!actions_.empty()) {
      std::swap(actions_, ordered_);
      for (SupervisorAction& action : ordered_)
        std::visit([this](auto& concrete) { this->carry_out(concrete); }, action);
      ordered_.clear();
      for (const supervisor_action::ReloadPolicy& order : std::exchange(reloads_, {})) read_policy(order);
    }
  }

  // One for each action: an action without one does not compile.
  void carry_out(supervisor_action::SendToWorker& word) {
    worker_mails_[word.worker].push_back(std::move(word.message));
  }
  void carry_out(supervisor_action::SendToClient& word) {
    client_mails_[word.client].push_back(std::move(word.message));
  }
  void carry_out(const supervisor_action::ReleaseWorker& order) {
    const Incarnation worker = workers_.find(order.worker);
    if (!worker.valid()) return;
    workers_.remove(worker);
    world_.dismiss(worker);
  }
  void carry_out(supervisor_action::Persist& order) { world_.write(std::move(order)); }
  void carry_out(supervisor_action::RunPass& order) { world_.run_pass(std::move(order)); }
  void carry_out(const supervisor_action::Alert& alert) { world_.alert(alert.error); }
  // Its answer is an event of its own, behind this one.
  void carry_out(supervisor_action::ReloadPolicy& order) { reloads_.push_back(std::move(order)); }

  void arm() {
    const std::optional<Instant> deadline = core_.next_deadline();
    if (armed_ <= deadline.value_or(Instant::min())) return;  // The core is asked again at that tick.
    if (!deadline && armed_ == kNever) return;
    armed_ = deadline.value_or(kNever);
    world_.arm(deadline);
  }

  Core& core_;
  World& world_;
  const std::uint32_t together_max_;
  Actions<SupervisorAction> actions_;
  Actions<SupervisorAction> ordered_;  ///< Being carried out.
  std::vector<supervisor_action::ReloadPolicy> reloads_;
  std::vector<supervisor_event::WorkerSaid> said_;  ///< Applied when nothing more comes, or when this is enough.
  std::vector<typename World::Mail> owners_;        ///< Of those messages.
  PeerNumbers<WorkerId> workers_;
  PeerNumbers<ClientId> clients_;
  std::map<WorkerId, std::vector<ToWorker>> worker_mails_;
  std::map<ClientId, std::vector<ToClient>> client_mails_;
  Instant armed_ = kNever;
};

}  // namespace penstock::supervisor
