// A limit for peers that vanish without closing their connection.
#pragma once

#include <chrono>

#include "common/base/time.hpp"
#include "common/net/stream_socket.hpp"

namespace penstock::worker {

/// The kernel ends the connection when the peer has not acknowledged sent bytes for so long: a request over a cut
/// network ends as an error, not as a slow answer.
inline void give_up_after(StreamSocket& socket, Duration silence_max) {
  if (is_local(socket)) return;  // Its end is known at once.
  using Option = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_USER_TIMEOUT>;
  boost::system::error_code ignored;
  socket.set_option(Option{static_cast<int>(silence_max / std::chrono::milliseconds{1})}, ignored);
}

}  // namespace penstock::worker
