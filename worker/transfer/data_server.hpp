// Answers requests for data out of a store.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/result.hpp"
#include "common/loop/loop.hpp"
#include "common/net/connection.hpp"
#include "common/net/revoked_serials.hpp"
#include "worker/store/object_store.hpp"
#include "worker/transfer/compression_choice.hpp"
#include "worker/transfer/handle_desk.hpp"
#include "worker/transfer/pace_watch.hpp"

namespace penstock::worker {

struct ServerLimits {
  Packing packing = Packing::WherePays;  ///< Compression for clients that ask for it.
  HandleLimits handles;
  /// Connections that are served. For a further one the longest idle connection is closed, or the new one itself if all
  /// are busy.
  std::size_t visitors_max = 1024;
  std::size_t visitors_of_host_max = 512;           ///< The same, among those from one address.
  Duration idle_max = std::chrono::seconds{60};     ///< A connection without a whole request for so long is closed.
  PaceLimits pace;                                  ///< Of a peer that is being answered.
  ListenSecurity security;  ///< With settings, only workers and users of the cluster are answered.
  std::shared_ptr<const RevokedSerials> revoked;  ///< The owners of these certificates are not answered. Null: none.
};

/// Lives on its loop's thread. A client on this host that asks for handles is offered data that can be mapped. Data on
/// disk are read by the store's thread, and kept in memory only while they are sent.
class DataServer {
 public:
  /// Without a local socket all data are sent. Errors: AddressInUse, InvalidArgument.
  static Result<std::unique_ptr<DataServer>> open(Loop& loop, const HostPort& address, ObjectStore& store,
                                                  const ServerLimits& limits = {});
  /// For processes of this host and user. Errors: as of `listen_locally`.
  static Result<std::unique_ptr<DataServer>> open_locally(Loop& loop, ObjectStore& store,
                                                          const ServerLimits& limits = {});
  ~DataServer();
  /// To be connected to.
  HostPort address() const;
  std::uint16_t port() const { return address().port; }
  /// Null without a local socket.
  const HandleDesk* desk() const;

 private:
  struct State;
  explicit DataServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace penstock::worker
