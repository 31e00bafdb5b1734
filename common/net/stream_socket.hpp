// Connected stream sockets of both families: TCP, and sockets within a host.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstring>
#include <optional>

#include "common/host/descriptor.hpp"

namespace penstock {

using StreamSocket = boost::asio::generic::stream_protocol::socket;

/// The socket of a local connection, see `connect_local` and `accept_local`, on a loop's context.
inline StreamSocket adopt_local(boost::asio::io_context& io, Descriptor socket) {
  return StreamSocket{io, boost::asio::generic::stream_protocol{AF_UNIX, 0}, socket.release()};
}

/// An end of a connection as TCP has it. None for a local socket, or one without a connection.
inline std::optional<boost::asio::ip::tcp::endpoint> tcp_end_of(
    const boost::asio::generic::stream_protocol::endpoint& end) {
  const int family = end.protocol().family();
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  boost::asio::ip::tcp::endpoint known;
  known.resize(end.size());
  std::memcpy(known.data(), end.data(), end.size());
  return known;
}
inline std::optional<boost::asio::ip::tcp::endpoint> peer_of(const StreamSocket& socket) {
  boost::system::error_code error;
  const auto end = socket.remote_endpoint(error);
  return error ? std::nullopt : tcp_end_of(end);
}

/// Whether the socket is connected within this host without TCP.
inline bool is_local(const StreamSocket& socket) {
  boost::system::error_code error;
  const auto end = socket.local_endpoint(error);
  return !error && end.protocol().family() == AF_UNIX;
}

}  // namespace penstock
