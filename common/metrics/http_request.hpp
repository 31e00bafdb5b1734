// One request of HTTP/1, out of bytes as they arrive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace penstock {

/// Reads one request without a body. A machine over bytes: never touches a socket.
class HttpRequest {
 public:
  /// `header_bytes_max`: a longer head is refused.
  explicit HttpRequest(std::uint32_t header_bytes_max);
  ~HttpRequest();
  HttpRequest(const HttpRequest&) = delete;
  HttpRequest& operator=(const HttpRequest&) = delete;

  /// Takes what it needs from the front of `bytes`. False: more has to arrive. True: the request is whole, or
  /// `refusal()` says why it is none; then nothing more can be read from this peer.
  bool take(std::string& bytes);
  /// The status of the answer to a request that cannot be read; 0: it can.
  std::uint16_t refusal() const;

  // Of a whole request.

  const std::string& method() const;
  /// Without the query.
  const std::string& path() const;
  bool keeps_alive() const;
  /// Whether the peer takes OpenMetrics, and not only the older text format.
  bool wants_open_metrics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
