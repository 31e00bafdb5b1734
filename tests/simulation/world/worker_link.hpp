// The connection of a simulated worker to its supervisor.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/link/introduction.hpp"
#include "tests/simulation/world/endpoint.hpp"
#include "worker/shell/renewed_link.hpp"

namespace penstock::simulation {

class World;
class WorkerHost;

/// A partition of one direction.
enum class OneWay : std::uint8_t {
  None,
  Mute,  ///< Messages of the worker do not arrive.
  Deaf,  ///< Messages to the worker do not arrive.
};

/// The link of a worker's present life, and the faults of its network.
class WorkerLink {
 public:
  explicit WorkerLink(WorkerHost& host);

  void connect();
  /// The supervisor's answer to a hello.
  void welcomed(std::uint64_t connection, const Welcome& welcome);
  /// Whether this connection is that of its last attempt: a worker closes one before it opens another.
  bool asks_on(std::uint64_t connection) const { return connection == asked_on_; }
  void connection_broke(std::uint64_t connection);
  void arrive(const Frame& frame);
  void send(std::vector<FromWorker>&& messages);
  /// Another life begins.
  void reset();

  void set_cut_off(bool cut_off) { cut_off_ = cut_off; }
  void set_one_way(OneWay one_way) { one_way_ = one_way; }
  bool cut_off() const { return cut_off_; }
  OneWay one_way() const { return one_way_; }
  /// The life of the supervisor that it is linked to.
  Incarnation supervisor() const { return supervisor_.incarnation; }
  Endpoint* endpoint() const { return endpoint_.get(); }

 private:
  /// A connection needs both directions.
  bool can_connect() const { return !cut_off_ && one_way_ == OneWay::None; }
  void make_endpoint();
  void receive(const MessagePtr& message);
  void introduce();
  void supervisor_returned();
  void plan_tick();

  WorkerHost& host_;
  World& world_;
  SupervisorTerm supervisor_;
  std::uint64_t asked_on_ = 0;  ///< The connection of its last attempt to connect.
  Instant wire_{};              ///< When the last frame from here arrives.
  std::unique_ptr<Endpoint> endpoint_;
  worker::RenewedLink renewed_;
  bool cut_off_ = false;
  OneWay one_way_ = OneWay::None;
};

}  // namespace penstock::simulation
