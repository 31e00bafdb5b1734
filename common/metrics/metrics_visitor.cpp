#include "common/metrics/metrics_visitor.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <span>

namespace penstock {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// A peer that still sends when its last answer is out reads that only if its bytes are taken.
constexpr std::chrono::seconds kLingerMax{1};
constexpr std::size_t kLingerBytesMax = 1U << 20U;

const char* words_of(std::uint16_t status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Error";
  }
}

const char* sentence_of(std::uint16_t status) {
  switch (status) {
    case 400: return "This is no request of HTTP/1.";
    case 403:
      return "This needs a certificate of the role metrics, operator or admin: `penstock token create --role metrics "
             "--user NAME`.";
    case 404: return "There are /metrics and /healthz.";
    case 405: return "Only GET and HEAD are answered.";
    case 408: return "The request took longer than metrics.request_timeout.";
    case 413: return "A request with a body is not taken.";
    case 431: return "The head of the request is longer than metrics.header_bytes_max.";
    case 503: return "The process has not given its numbers within metrics.answer_timeout.";
    case 505: return "Only HTTP/1.0 and HTTP/1.1 are spoken.";
    default: return "";
  }
}

/// Behind such a refusal nothing more of the peer can be read.
bool ends_connection(std::uint16_t status) { return status == 400 || status == 408 || status > 410; }

}  // namespace

HttpAnswer refusal_of(std::uint16_t status) {
  return {status, "text/plain; charset=utf-8", std::string{sentence_of(status)} + "\n"};
}

MetricsVisitor::MetricsVisitor(tcp::socket socket, std::unique_ptr<TlsSession> tls, const MetricsConfig& config,
                               OnRequest on_request, OnRefusal on_refusal)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      tls_(std::move(tls)),
      config_(config),
      on_request_(std::move(on_request)),
      on_refusal_(std::move(on_refusal)),
      request_(std::make_unique<HttpRequest>(config.header_bytes_max)),
      secured_(tls_ == nullptr) {}

std::string MetricsVisitor::address() const {
  error_code ignored;
  return socket_.remote_endpoint(ignored).address().to_string();
}

void MetricsVisitor::start() {
  await(config_.request_timeout);
  begun_ = true;
  read();
}

void MetricsVisitor::close() {
  error_code ignored;
  timer_.cancel();
  socket_.close(ignored);
}

void MetricsVisitor::fail(const char* why) {
  if (!socket_.is_open()) return;
  on_refusal_(why);
  close();
}

/// Ends the connection then, unless the timer is set anew.
void MetricsVisitor::await(Duration timeout) {
  timer_.expires_after(timeout);
  timer_.async_wait([weak = weak_from_this()](const error_code& cancelled) {
    const auto self = weak.lock();
    if (!cancelled && self != nullptr && self->socket_.is_open()) self->end_late();
  });
}

void MetricsVisitor::end_late() {
  if (answering_) return fail("response_timeout");
  if (!begun_) return close();
  if (!secured_) return fail("request_timeout");
  on_refusal_("request_timeout");
  error_code ignored;
  socket_.cancel(ignored);  // The read under way.
  answer(refusal_of(408));
}

void MetricsVisitor::read() {
  socket_.async_read_some(asio::buffer(buffer_.data(), buffer_.size()),
                          [self = shared_from_this()](const error_code& error, std::size_t count) {
                            if (self->answering_) return;  // The request comes too late.
                            if (error) return self->close();
                            self->take(count);
                          });
}

void MetricsVisitor::take(std::size_t count) {
  if (!begun_) {
    begun_ = true;
    await(config_.request_timeout);
  }
  const std::span<const std::byte> arrived{buffer_.data(), count};
  if (tls_ == nullptr) {
    plain_.append(reinterpret_cast<const char*>(arrived.data()), arrived.size());
    return take_plain();
  }
  if (!secured_) return shake_hands(arrived);
  const Result<bool> goes_on = tls_->read_plain(arrived, plain_, to_send_);
  if (!goes_on) return fail("tls");
  if (!*goes_on && plain_.empty()) return close();
  take_plain();
}

void MetricsVisitor::shake_hands(std::span<const std::byte> arrived) {
  const Result<TlsSession::Handshake> step = tls_->shake_hands(arrived, to_send_);
  if (!step) {
    // The peer hears of the reason if its window is open.
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.write_some(asio::buffer(to_send_), ignored);
    return fail("handshake");
  }
  if (*step == TlsSession::Handshake::Done) {
    secured_ = true;
    if (!tls_->read_plain({}, plain_, to_send_)) return fail("tls");
  }
  if (to_send_.empty()) return secured_ ? take_plain() : read();
  asio::async_write(socket_, asio::buffer(to_send_), [self = shared_from_this()](const error_code& error, std::size_t) {
    self->to_send_.clear();
    if (error) return self->close();
    self->secured_ ? self->take_plain() : self->read();
  });
}

void MetricsVisitor::take_plain() {
  if (!request_->take(plain_)) return read();
  answering_ = true;
  timer_.cancel();
  if (request_->refusal() != 0) {
    on_refusal_("request");
    return answer(refusal_of(request_->refusal()));
  }
  on_request_(shared_from_this(), *request_);
}

void MetricsVisitor::answer(const HttpAnswer& content) {
  if (!socket_.is_open()) return;
  const bool late = !answering_;
  answering_ = true;
  const bool closes = content.is_last || ends_connection(content.status) || late || !request_->keeps_alive();
  std::string text = "HTTP/1.1 " + std::to_string(content.status) + " " + words_of(content.status) +
                     "\r\nServer: penstock\r\nCache-Control: no-store\r\nContent-Type: " + content.type +
                     "\r\nContent-Length: " + std::to_string(content.body.size()) +
                     (content.status == 405 ? "\r\nAllow: GET, HEAD" : "") +
                     (closes ? "\r\nConnection: close" : "\r\nConnection: keep-alive") + "\r\n\r\n";
  if (late || request_->refusal() != 0 || request_->method() != "HEAD") text += content.body;
  if (tls_ == nullptr) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
    to_send_.insert(to_send_.end(), bytes, bytes + text.size());
  } else if (!tls_->write_plain(text, to_send_)) {
    return fail("tls");
  } else if (closes) {
    tls_->say_end(to_send_);
  }
  write(closes);
}

void MetricsVisitor::write(bool closes) {
  await(config_.response_timeout);
  asio::async_write(socket_, asio::buffer(to_send_),
                    [self = shared_from_this(), closes](const error_code& error, std::size_t) {
                      if (error) return self->close();
                      std::vector<std::byte>{}.swap(self->to_send_);  // The next scrape may be long in coming.
                      ++self->answered_;
                      if (closes) return self->linger();
                      self->request_ = std::make_unique<HttpRequest>(self->config_.header_bytes_max);
                      self->answering_ = false;
                      self->begun_ = !self->plain_.empty();
                      if (!self->begun_) {
                        self->await(self->config_.idle_timeout);
                        return self->read();
                      }
                      self->await(self->config_.request_timeout);
                      self->take_plain();
                    });
}

void MetricsVisitor::linger() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  if (lingered_ == 0) {
    timer_.expires_after(kLingerMax);
    timer_.async_wait([self = shared_from_this()](const error_code& cancelled) {
      if (!cancelled) self->close();
    });
  }
  ++lingered_;
  socket_.async_read_some(asio::buffer(buffer_.data(), buffer_.size()),
                          [self = shared_from_this()](const error_code& error, std::size_t count) {
                            self->lingered_ += count;
                            if (error || self->lingered_ > kLingerBytesMax) return self->close();
                            self->linger();
                          });
}

}  // namespace penstock
