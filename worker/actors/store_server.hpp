// The store of an embedded worker, for other processes of its host.
#pragma once

#include <memory>
#include <string>

#include "common/base/result.hpp"
#include "common/loop/loop.hpp"
#include "worker/actors/worker_actor.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// Lets processes of this host and user fetch data, on a thread of its own. Lives on its loop's thread.
class StoreServer {
 public:
  /// Loop and store outlive it. Errors: as of `listen_locally`.
  static Result<std::unique_ptr<StoreServer>> open(Loop& loop, ObjectStore& store, const WorkerOptions& options);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// For `WorkerOptions::data_address`.
  std::string address() const;

 private:
  struct State;
  explicit StoreServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
