#include "tests/simulation/world/supervisor_links.hpp"

#include <string>
#include <utility>

#include "supervisor/shell/graph_check.hpp"
#include "tests/simulation/world/worker_host.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using namespace supervisor;
using std::chrono::microseconds;

SupervisorLinks::SupervisorLinks(SupervisorHost& host) : host_(host), world_(host.world()) {}

void SupervisorLinks::crash() {
  for (const auto& worker : world_.workers()) {
    Endpoint* const endpoint = worker->link().endpoint();
    if (endpoint == nullptr || world_.rng().chance(1, 4)) continue;  // A part only notices the silence.
    world_.timeline().after(world_.latency(),
                            [raw = worker.get(), connection = endpoint->connection(), life = worker->life()] {
                              if (raw->up() && raw->life() == life)
                                raw->deliver([raw, connection] { raw->link().connection_broke(connection); });
                            });
  }
  peers_.clear();
  welcomed_.clear();
  for (const auto& [incarnation, client] : clients_)
    world_.timeline().after(world_.latency(), [to = client.host, connection = client.host->connection()] {
      to->connection_broke(connection);
    });
  clients_.clear();
}

void SupervisorLinks::accept_worker(WorkerHost& worker, std::uint64_t connection, const Hello& hello) {
  if (!host_.up()) return;
  const std::uint64_t life = hello.incarnation.value();
  if (host_.stopped())
    return host_.when_running([this, &worker, connection, hello, life] {
      if (worker.up() && worker.life() == life && worker.link().asks_on(connection))
        accept_worker(worker, connection, hello);
    });
  const auto reply = [&](std::function<void()> what) {
    world_.timeline().after(world_.latency(), [&worker, life, what = std::move(what)] {
      if (worker.up() && worker.life() == life) worker.deliver(what);
    });
  };
  Endpoint* known = endpoint_of(life);
  const HelloAnswer answer = answer_to(hello, host_.incarnation(), known == nullptr ? nullptr : &known->link());
  // A life that was welcomed and has no link was given up as lost.
  const bool is_fenced = known == nullptr && welcomed_.contains(life);
  if (is_fenced || answer == HelloAnswer::Unlinked || answer == HelloAnswer::GivenUp)
    return reply([&worker] { worker.refused(); });
  Welcome welcome;
  welcome.incarnation = host_.incarnation();
  welcome.resumed = answer == HelloAnswer::Resume;
  if (!welcome.resumed) make_peer(worker);
  known = endpoint_of(life);
  welcome.received_through = known->link().received_through();
  welcome.state = 1;
  welcome.branch = host_.branch();
  welcome.life = host_.term();
  if (known->connection() != 0) known->detach(world_.now());
  known->attach(connection, welcome.resumed, hello.received_through, world_.now());
  plan_tick(life);
  reply([&worker, connection, welcome] { worker.link().welcomed(connection, welcome); });
}

void SupervisorLinks::make_peer(WorkerHost& worker) {
  const std::uint64_t life = worker.life();
  welcomed_.insert(life);
  Peer& peer = peers_[life];
  peer.endpoint =
      std::make_unique<Endpoint>(world_.config().link, host_.incarnation(), Incarnation{life}, world_.now());
  peer.endpoint->resends = world_.options().defect != Defect::NoResend;
  peer.endpoint->transmit = [this, &worker, life](const Frame& frame) {
    const bool cut_off = worker.link().cut_off() || worker.link().one_way() == OneWay::Deaf;
    world_.carry(peers_[life].wire, cut_off, [&worker, life, frame] {
      if (!worker.up() || worker.life() != life) return;
      worker.deliver([&worker, frame] { worker.link().arrive(frame); });
    });
  };
  peer.endpoint->deliver = [this, life](const MessagePtr& message) { receive(life, message); };
  // After the link's own event is through, here and below: the loss of a worker destroys its link.
  peer.endpoint->suspected = [this, life](bool suspected) {
    host_.after(Duration{0}, [this, life, suspected] { host_.shell().worker_suspected(Incarnation{life}, suspected); });
  };
  peer.endpoint->lost = [this, life](const char* reason) { lose(life, reason); };
}

void SupervisorLinks::lose(std::uint64_t life, const char* reason) {
  world_.note("supervisor: the link of life % is lost", {life});
  world_.oracle().life_lost(life);
  host_.after(Duration{0}, [this, life, text = std::string{reason}] {
    host_.shell().worker_lost(Incarnation{life}, text);
    peers_.erase(life);
  });
}

void SupervisorLinks::connection_broke(std::uint64_t life, std::uint64_t connection) {
  if (host_.stopped()) return host_.when_running([this, life, connection] { connection_broke(life, connection); });
  Endpoint* const endpoint = endpoint_of(life);
  if (endpoint == nullptr || endpoint->connection() != connection || connection == 0) return;
  endpoint->detach(world_.now());
  plan_tick(life);
}

Endpoint* SupervisorLinks::endpoint_of(std::uint64_t life) {
  const auto found = peers_.find(life);
  return found == peers_.end() ? nullptr : found->second.endpoint.get();
}

void SupervisorLinks::send(std::uint64_t life, std::vector<ToWorker>&& messages) {
  Endpoint* const endpoint = endpoint_of(life);
  if (endpoint == nullptr) return;
  for (ToWorker& message : messages) endpoint->send(std::make_shared<const Message>(std::move(message)), world_.now());
  plan_tick(life);
}

void SupervisorLinks::dismiss(std::uint64_t life) {
  host_.after(Duration{0}, [this, life] { peers_.erase(life); });
}

void SupervisorLinks::receive(std::uint64_t life, const MessagePtr& message) {
  const auto* said = std::get_if<FromWorker>(message.get());
  if (said == nullptr) return world_.oracle().breach("the supervisor received what is not from a worker");
  if (world_.options().defect == Defect::LosesReports && std::holds_alternative<ReportBatch>(*said) &&
      world_.rng().chance(1, 40))
    return world_.note("DEFECT: a report of life % is not applied", {life});
  const auto* claim = std::get_if<WorkerClaim>(said);
  const bool more = claim == nullptr && !std::holds_alternative<Register>(*said) && world_.rng().chance(1, 2);
  host_.shell().receive(Incarnation{life}, std::span{said, 1}, message, more);
  if (more) host_.after(microseconds{world_.rng().between(0, 300)}, [this] { host_.shell().settle(); });
  if (claim != nullptr) host_.take_claim(life, *claim);
}

void SupervisorLinks::plan_tick(std::uint64_t life) {
  Endpoint* const endpoint = endpoint_of(life);
  if (endpoint == nullptr) return;
  const Instant at = endpoint->plan();
  if (at == kNever) return;
  host_.at(at, [this, life, at] {
    Endpoint* const target = endpoint_of(life);
    if (target != nullptr && target->due(at, world_.now())) plan_tick(life);
  });
}

void SupervisorLinks::arrive(std::uint64_t life, const Frame& frame) {
  if (host_.stopped()) return host_.when_running([this, life, frame] { arrive(life, frame); });
  Endpoint* const endpoint = endpoint_of(life);
  if (endpoint == nullptr) return;
  endpoint->arrive(frame, world_.now());
  plan_tick(life);
}

void SupervisorLinks::accept_client(ClientHost& client, std::uint64_t connection) {
  const Incarnation incarnation = client.incarnation();
  ClientPeer& peer = clients_[incarnation];
  peer.host = &client;
  peer.endpoint = std::make_unique<Endpoint>(world_.config().link, host_.incarnation(), incarnation, world_.now());
  peer.endpoint->transmit = [this, incarnation, &client](const Frame& frame) {
    world_.carry(clients_[incarnation].wire, false, [&client, frame] { client.arrive(frame); });
  };
  peer.endpoint->deliver = [this, incarnation](const MessagePtr& message) {
    receive_from_client(incarnation, message);
  };
  peer.endpoint->lost = [this, incarnation](const char*) {
    // A client gives up a supervisor that is stopped for too long, and comes back on a new connection.
    const Faults& faults = world_.options().faults;
    if (!faults.supervisor_stalls && !faults.client_deaths)
      world_.oracle().breach("the client was lost, though nothing happened to it");
    world_.timeline().after(Duration{0}, [this, incarnation] { drop_client(incarnation); });
  };
  peer.endpoint->attach(connection, false, 0, world_.now());
}

void SupervisorLinks::drop_client(Incarnation client) {
  if (host_.stopped()) return host_.when_running([this, client] { drop_client(client); });
  if (clients_.erase(client) == 0 || !host_.up()) return;
  host_.shell().client_lost(client);
  host_.shell().settle();
}

void SupervisorLinks::send_to_client(Incarnation client, std::vector<ToClient>&& messages) {
  const auto found = clients_.find(client);
  // A reply that waited for the disk may be for a connection that is gone.
  if (found == clients_.end()) return;
  for (ToClient& message : messages) {
    if (const auto* reply = std::get_if<SubmitReply>(&message); reply != nullptr && reply->job.valid()) {
      world_.oracle().job_accepted(reply->job, found->second.host->graph_of(reply->submission), reply->identity);
      if (is_nested(reply->submission)) world_.oracle().nested_accepted(reply->job);
    }
    found->second.endpoint->send(std::make_shared<const Message>(std::move(message)), world_.now());
  }
  plan_client_tick(client);
}

void SupervisorLinks::receive_from_client(Incarnation client, const MessagePtr& message) {
  if (const auto* submit = std::get_if<SubmitGraph>(message.get())) {
    SubmitChunk chunk;
    chunk.submission = submit->submission;
    chunk.spec = submit->spec;
    chunk.first = chunk.last = true;
    chunk.graph = *submit->graph;
    GraphCheck check{GraphLimits{}};
    host_.shell().graph_checked(client, std::move(*check.take(std::move(chunk))));
  } else if (const auto* said = std::get_if<FromClient>(message.get())) {
    host_.shell().client_said(client, *said);
  }
  host_.shell().settle();
}

void SupervisorLinks::client_arrive(Incarnation client, const Frame& frame) {
  if (host_.stopped()) return host_.when_running([this, client, frame] { client_arrive(client, frame); });
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  found->second.endpoint->arrive(frame, world_.now());
  plan_client_tick(client);
}

void SupervisorLinks::plan_client_tick(Incarnation client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  const Instant at = found->second.endpoint->plan();
  if (at == kNever) return;
  host_.at(at, [this, client, at] {
    const auto target = clients_.find(client);
    if (target != clients_.end() && target->second.endpoint->due(at, world_.now())) plan_client_tick(client);
  });
}

}  // namespace penstock::simulation
