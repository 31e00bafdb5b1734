// Brings data from servers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/runtime/connection.hpp"
#include "common/runtime/loop.hpp"
#include "worker/store/object_store.hpp"
#include "worker/transfer/compression_choice.hpp"
#include "worker/transfer/handle_client.hpp"
#include "worker/transfer/pace_watch.hpp"

namespace penstock::worker {

struct TransferLimits {
  std::uint32_t streams_max = 4;          ///< Connections to one server; more requests wait in order of priority.
  std::uint32_t chunk_bytes = 1U << 20U;  ///< Checked, and resumed from, in units of this.
  std::uint32_t cuts_max = 3;             ///< In a row without a whole chunk; then it is given up.
  Packing packing = Packing::WherePays;   ///< Whether compressed chunks are asked for.
  bool maps = true;                       ///< What servers of this host offer; else everything is copied.
  MappedFor mapped_for = MappedFor::Store;
  Duration handle_wait_max = std::chrono::seconds{5};  ///< Of a server of this host that was asked for a handle.
  PaceLimits pace;                                  ///< Of a server in the midst of an answer, or to be connected to.
  Duration reply_max = std::chrono::seconds{60};    ///< Until an answer begins: the server may read it from its disk.
  Duration idle_max = std::chrono::seconds{60};     ///< Unused connections are closed.
};

/// A few connections to each server, kept open for a while. A large datum of a server of this host is mapped if it is
/// offered, and copied like others if not. A transfer that is cut goes on from its last whole chunk. A
/// chunk that fails its checksum is asked for once more; then the copy is damaged, which is as good as gone. Memory is
/// touched as bytes come, whatever size a server claims. When a server cannot be connected to, all that waits for it is
/// answered. Lives on its loop's thread.
class DataClient {
 public:
  /// Null and `NotFound` in the error: the server does not have it, or no good copy of it. Null and anything else: try
  /// again later.
  using OnDone = std::function<void(std::shared_ptr<Blob>, const Error&)>;

  DataClient(Loop& loop, const ObjectStore& store, const TransferLimits& limits);
  ~DataClient();

  /// One transfer for a key: a second one takes the place of the first. Larger `priority` first.
  /// With an identity nothing is taken from a server whose job of that number is another one: NotFound.
  void fetch(const HostPort& from, const DataKey& key, std::uint64_t priority, OnDone on_done,
             const JobIdentity& identity = {});
  /// The server is gone for good: everything that is wanted from it is answered with `NotFound`, now.
  void abandon(const HostPort& server);
  /// Nobody wants it any more: its transfer ends; `on_done` is not called.
  void cancel(const DataKey& key);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock::worker
