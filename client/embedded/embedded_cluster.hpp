// A whole cluster in this process: supervisor, worker and client without a port.
#pragma once

#include <memory>

#include "client/src/session.hpp"
#include "common/protocol/config.hpp"
#include "worker/actors/worker_actor.hpp"

namespace penstock::client {

struct EmbeddedOptions {
  SupervisorConfig supervisor;
  worker::WorkerOptions worker;
  std::vector<std::string> operator_libraries;
};

/// The same actors and cores as in processes of their own, on one event loop with a thread of its own. Destroying it
/// ends everything: running commands are killed, native operators are asked to stop and waited for.
class EmbeddedCluster {
 public:
  /// Error: an operator library that cannot be loaded.
  static Result<std::unique_ptr<EmbeddedCluster>> start(const EmbeddedOptions& options);
  ~EmbeddedCluster();
  EmbeddedCluster(const EmbeddedCluster&) = delete;
  EmbeddedCluster& operator=(const EmbeddedCluster&) = delete;

  Session& session();
  worker::ObjectStore& store();

 private:
  struct State;
  explicit EmbeddedCluster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace penstock::client
