// The links of a simulated supervisor to its workers and clients.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "common/link/introduction.hpp"
#include "tests/simulation/world/endpoint.hpp"

namespace penstock::simulation {

class ClientHost;
class SupervisorHost;
class World;
class WorkerHost;

/// The gateway of one life of the supervisor: admits peers, resumes their links, and loses them. Peers are named by
/// their incarnations.
class SupervisorLinks {
 public:
  explicit SupervisorLinks(SupervisorHost& host);

  /// A worker's hello has arrived on a new connection.
  void accept_worker(WorkerHost& worker, std::uint64_t connection, const Hello& hello);
  void connection_broke(std::uint64_t life, std::uint64_t connection);
  void arrive(std::uint64_t life, const Frame& frame);
  /// Null: there is no link to that life of a worker.
  Endpoint* endpoint_of(std::uint64_t life);
  void send(std::uint64_t life, std::vector<ToWorker>&& messages);
  /// Not at once: its link may be on the stack.
  void dismiss(std::uint64_t life);

  void accept_client(ClientHost& client, std::uint64_t connection);
  /// Its connection is closed, or silent for too long. Nothing if that is known.
  void drop_client(Incarnation client);
  void client_arrive(Incarnation client, const Frame& frame);
  void plan_client_tick(Incarnation client);
  void send_to_client(Incarnation client, std::vector<ToClient>&& messages);

  /// The process dies: most peers notice that at once.
  void crash();

 private:
  struct Peer {
    std::unique_ptr<Endpoint> endpoint;
    Instant wire{};  ///< When the last frame to it arrives.
  };
  struct ClientPeer {
    std::unique_ptr<Endpoint> endpoint;
    ClientHost* host = nullptr;
    Instant wire{};
  };
  void make_peer(WorkerHost& worker);
  void plan_tick(std::uint64_t life);
  void lose(std::uint64_t life, const char* reason);
  void receive(std::uint64_t life, const MessagePtr& message);
  void receive_from_client(Incarnation client, const MessagePtr& message);

  SupervisorHost& host_;
  World& world_;
  std::map<std::uint64_t, Peer> peers_;  ///< By their lives.
  std::set<std::uint64_t> welcomed_;     ///< Lives that were ever welcomed.
  std::map<Incarnation, ClientPeer> clients_;
};

}  // namespace penstock::simulation
