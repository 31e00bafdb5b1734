// Fetches data from servers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/loop/loop.hpp"
#include "common/net/connection.hpp"
#include "worker/store/object_store.hpp"
#include "worker/transfer/compression_choice.hpp"
#include "worker/transfer/handle_client.hpp"
#include "worker/transfer/pace_watch.hpp"

namespace penstock::worker {

struct TransferLimits {
  std::shared_ptr<const TlsClient> tls;   ///< Null: connections are plain; see `own_security`.
  std::uint32_t streams_max = 4;          ///< Connections to one server; more requests wait in order of priority.
  std::uint32_t chunk_bytes = 1U << 20U;  ///< Unit of checking and resuming.
  std::uint32_t cuts_max = 3;             ///< In a row without a whole chunk; then the transfer fails.
  Packing packing = Packing::WherePays;   ///< Whether compressed chunks are asked for.
  bool maps = true;  ///< Data that servers of this host offer are mapped; otherwise everything is copied.
  MappedFor mapped_for = MappedFor::Store;
  /// Limit for the answer of a server of this host to a request for a handle.
  Duration handle_wait_max = std::chrono::seconds{5};
  PaceLimits pace;                                  ///< Of a server that is answering, or being connected to.
  Duration reply_max = std::chrono::seconds{60};    ///< Until an answer begins: the server may read it from its disk.
  Duration idle_max = std::chrono::seconds{60};     ///< Unused connections are closed.
};

/// Keeps a few connections to each server open for a while. A large datum of a server of this host is mapped if the
/// server offers it, and copied otherwise. A transfer that is cut continues after its last whole chunk. A chunk that
/// fails its checksum is requested once more; after a second failure the copy counts as lost. Memory is touched as
/// bytes arrive, whatever size a server claims. When a server cannot be connected to, all requests that wait for it are
/// answered. Lives on its loop's thread.
class DataClient {
 public:
  /// Null and `NotFound`: the server does not have the datum, or no good copy of it. Null and another error: try again
  /// later.
  using OnDone = std::function<void(std::shared_ptr<Blob>, const Error&)>;

  DataClient(Loop& loop, const ObjectStore& store, const TransferLimits& limits);
  ~DataClient();

  /// One transfer for a key: a second one replaces the first. Larger `priority` first. With an identity, a server that
  /// knows another job under that number answers NotFound.
  void fetch(const HostPort& from, const DataKey& key, std::uint64_t priority, OnDone on_done,
             const JobIdentity& identity = {});
  /// The server is gone for good: all requests to it are answered with `NotFound`, now.
  void abandon(const HostPort& server);
  /// The datum is not wanted any more: its transfer ends; `on_done` is not called.
  void cancel(const DataKey& key);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock::worker
