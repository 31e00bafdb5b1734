// One connection to a metrics server.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/metrics/http_request.hpp"
#include "common/protocol/metrics_config.hpp"
#include "common/security/tls_session.hpp"

namespace penstock {

/// An answer of HTTP.
struct HttpAnswer {
  std::uint16_t status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  bool is_last = false;  ///< The connection ends behind it.
};
/// A sentence for people as the body.
HttpAnswer refusal_of(std::uint16_t status);

/// Reads one request after the other, has each answered, and writes the answers; closes itself when the peer breaks
/// the protocol or is too slow. Lives on the thread of its context; owned by its pending operations.
class MetricsVisitor : public std::enable_shared_from_this<MetricsVisitor> {
 public:
  /// Answers a whole request by `answer`, once, on the same thread.
  using OnRequest = std::function<void(const std::shared_ptr<MetricsVisitor>&, const HttpRequest&)>;
  /// An event that is counted: a word for what the peer has done.
  using OnRefusal = std::function<void(const char* why)>;

  MetricsVisitor(boost::asio::ip::tcp::socket socket, std::unique_ptr<TlsSession> tls, const MetricsConfig& config,
                 OnRequest on_request, OnRefusal on_refusal);

  void start();
  void answer(const HttpAnswer& content);
  void close();
  bool is_open() const { return socket_.is_open(); }
  /// No request of it was whole yet.
  bool is_new() const { return answered_ == 0 && !answering_; }
  /// Null: the connection is plain. Its peer is known when a request is whole.
  const TlsSession* tls() const { return tls_.get(); }
  std::string address() const;

 private:
  void await(Duration timeout);
  void end_late();
  void read();
  void take(std::size_t count);
  void shake_hands(std::span<const std::byte> arrived);
  void take_plain();
  void write(bool closes);
  void linger();
  void fail(const char* why);

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  const std::unique_ptr<TlsSession> tls_;
  const MetricsConfig& config_;
  const OnRequest on_request_;
  const OnRefusal on_refusal_;
  std::array<std::byte, 4096> buffer_;
  std::string plain_;  ///< Arrived, and not read yet.
  std::vector<std::byte> to_send_;
  std::unique_ptr<HttpRequest> request_;
  std::size_t lingered_ = 0;  ///< Bytes that were thrown away after the last answer.
  std::uint64_t answered_ = 0;
  bool secured_ = false;  ///< The handshake is done, or there is none.
  bool begun_ = false;    ///< Something of the request has arrived.
  bool answering_ = false;
};

}  // namespace penstock
