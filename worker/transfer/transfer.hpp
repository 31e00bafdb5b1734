// Data from worker to worker, and to clients, over connections of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/runtime/connection.hpp"
#include "common/runtime/loop.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

/// Answers requests for data out of a store. Lives on the loop's thread.
class DataServer {
 public:
  /// Errors: AddressInUse, InvalidArgument.
  static Result<std::unique_ptr<DataServer>> open(Loop& loop, const HostPort& address, ObjectStore& store);
  ~DataServer();
  std::uint16_t port() const;

 private:
  struct State;
  explicit DataServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// Brings data from servers: a few connections to each, kept open for a while; requests wait in order. Lives on the
/// loop's thread.
class DataClient {
 public:
  /// Null and `NotFound` in the error: the server does not have it. Null and anything else: try again later.
  using OnDone = std::function<void(std::shared_ptr<Blob>, const Error&)>;

  explicit DataClient(Loop& loop);
  ~DataClient();

  void fetch(const HostPort& from, const DataKey& key, OnDone on_done);
  /// The server is gone for good: everything that is wanted from it is answered with `NotFound`, now.
  void abandon(const HostPort& server);
  /// The caller does not want it any more; `on_done` is not called.
  void cancel(const DataKey& key);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock::worker
