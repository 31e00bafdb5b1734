// Detects whether a connection leaves the host.
#pragma once

#include "common/net/stream_socket.hpp"

namespace penstock::worker {

/// True for a local socket, and if both ends have one address, or a loopback address. False if the socket has no
/// address.
inline bool same_host(const StreamSocket& socket) {
  if (is_local(socket)) return true;
  boost::system::error_code error;
  const auto end = socket.local_endpoint(error);
  const auto here = error ? std::nullopt : tcp_end_of(end);
  const auto there = peer_of(socket);
  return here && there && (here->address() == there->address() || there->address().is_loopback());
}

}  // namespace penstock::worker
