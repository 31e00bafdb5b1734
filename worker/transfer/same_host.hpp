// Detects whether a connection leaves the host.
#pragma once

#include <boost/asio/ip/tcp.hpp>

namespace penstock::worker {

/// True if both ends have one address, or a loopback address. False if the socket has no address.
inline bool same_host(const boost::asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto here = socket.local_endpoint(error).address();
  if (error) return false;
  const auto there = socket.remote_endpoint(error).address();
  return !error && (here == there || there.is_loopback());
}

}  // namespace penstock::worker
