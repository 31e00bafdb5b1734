#include "client/embedded/embedded_cluster.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <future>
#include <thread>

#include "common/host/host.hpp"
#include "common/host/log.hpp"
#include "common/host/open_files.hpp"
#include "common/loop/actor_host.hpp"
#include "common/loop/mail.hpp"
#include "supervisor/actors/gateway_actor.hpp"
#include "supervisor/actors/supervisor_actor.hpp"
#include "worker/actors/store_server.hpp"

namespace penstock::client {
namespace {

/// A client's transport to the supervisor's actor: mails instead of frames.
class ActorTransport final : public Transport {
 public:
  ActorTransport(SupervisorHandle supervisor, ClientHandle self, Incarnation incarnation)
      : supervisor_(std::move(supervisor)), self_(std::move(self)), incarnation_(incarnation) {}
  ~ActorTransport() override { caf::send_as(self_, supervisor_, ClientLostMail{incarnation_}); }

  void send(FromClient message) override {
    auto messages = std::make_shared<std::vector<FromClient>>();
    messages->push_back(std::move(message));
    caf::send_as(self_, supervisor_, FromClientMail{incarnation_, std::move(messages)});
  }
  std::size_t chunk_bytes() const override { return SIZE_MAX; }

 private:
  const SupervisorHandle supervisor_;
  const ClientHandle self_;
  const Incarnation incarnation_;
};

// Receives the messages of the supervisor. With an argument, because CAF 0.17 dereferences a null pointer when a
// function is spawned without any.
ClientHandle::behavior_type client_behavior(ClientHandle::pointer self, const TransportHandlers& handlers) {
  take_failures(*self, ActorFailure::EndsProcess);
  return {[handlers](const ToClientMail& mail) {
    for (const ToClient& message : *mail.messages) handlers.on_message(message);
  }};
}

}  // namespace

struct EmbeddedCluster::State {
  worker::OperatorRegistry operators;
  std::unique_ptr<worker::ObjectStore> store;
  std::unique_ptr<Loop> loop;
  std::unique_ptr<ActorHost> actors;
  std::unique_ptr<worker::WorkerSurroundings> surroundings;
  std::unique_ptr<supervisor::Gateway> gateway;  ///< For clients in runners and commands.
  std::unique_ptr<worker::StoreServer> results;  ///< The same: where they fetch results.
  SupervisorHandle supervisor;
  WorkerHandle worker;
  ClientHandle client;
  Session session;
  std::thread thread;

  void run(const EmbeddedOptions& options, std::promise<void>& ready);
  Result<void> let_runners_in(const EmbeddedOptions& options);
  void end();
};

EmbeddedCluster::EmbeddedCluster(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<EmbeddedCluster>> EmbeddedCluster::start(const EmbeddedOptions& wanted) {
  EmbeddedOptions options = wanted;
  options.worker.core.store_bytes_max = worker::store_bytes_max(options.worker);
  auto state = std::make_unique<State>();
  state->store = std::make_unique<worker::ObjectStore>(worker::store_options(options.worker, raise_open_files_limit()));
  if (!options.worker.spill.empty()) PENSTOCK_TRY(worker::prepare_directories(options.worker, *state->store));
  for (const std::string& library : options.operator_libraries) PENSTOCK_TRY(state->operators.load(library));
  std::promise<void> ready;
  state->thread = std::thread{[raw = state.get(), &options, &ready] { raw->run(options, ready); }};
  ready.get_future().wait();
  return std::unique_ptr<EmbeddedCluster>{new EmbeddedCluster{std::move(state)}};
}

EmbeddedCluster::~EmbeddedCluster() {
  state_->loop->post([this] { state_->loop->stop(); });
  state_->thread.join();
}

Session& EmbeddedCluster::session() { return state_->session; }
worker::ObjectStore& EmbeddedCluster::store() { return *state_->store; }

// The function of the loop's thread.
void EmbeddedCluster::State::run(const EmbeddedOptions& options, std::promise<void>& ready) {
  loop = std::make_unique<Loop>();
  actors = std::make_unique<ActorHost>(*loop);
  surroundings = std::make_unique<worker::WorkerSurroundings>(worker::WorkerSurroundings{*loop, operators, *store});
  supervisor = supervisor::spawn_supervisor(actors->system(), *loop,
                                            {options.supervisor, Rng{random_incarnation().value()}, nullptr});
  worker::WorkerOptions worker_options = options.worker;
  if (const Result<void> open = let_runners_in(options); open) {
    worker_options.cluster = to_string(gateway->address());
    worker_options.data_address = results->address();
  } else {
    log_error(LogLevel::Warn, "calls cannot submit calls of their own", open.error());
  }
  worker = worker::spawn_embedded_worker(actors->system(), *surroundings, worker_options, supervisor);
  client = actors->system().spawn(client_behavior, session.handlers());
  session.start(std::make_unique<ActorTransport>(supervisor, client, random_incarnation()));
  ready.set_value();
  loop->run();
  end();
}

// Sockets that only processes of this user on this host can connect to, and only by a name that they are told.
Result<void> EmbeddedCluster::State::let_runners_in(const EmbeddedOptions& options) {
  supervisor::GatewayOptions gate;
  gate.locally = true;
  gate.link = options.worker.link;
  gate.wire = options.worker.wire;
  gate.incarnation = random_incarnation();
  Result<std::unique_ptr<supervisor::Gateway>> opened =
      supervisor::Gateway::open(actors->system(), *loop, gate, supervisor);
  if (!opened) return std::move(opened).error();
  Result<std::unique_ptr<worker::StoreServer>> serving = worker::StoreServer::open(*loop, *store, options.worker);
  if (!serving) return std::move(serving).error();
  gateway = std::move(opened).value();
  results = std::move(serving).value();
  return {};
}

void EmbeddedCluster::State::end() {
  session.start(nullptr);
  gateway.reset();
  end_actor(worker);
  results.reset();
  end_actor(client);
  end_actor(supervisor);
  actors.reset();
  surroundings.reset();
  loop.reset();
}

}  // namespace penstock::client
