#include "common/metrics/http_request.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace penstock {

namespace http = boost::beast::http;

struct HttpRequest::State {
  explicit State(std::uint32_t header_bytes_max) : most(header_bytes_max) {}
  http::request_parser<http::empty_body> parser;
  const std::size_t most;
  std::size_t taken = 0;  ///< Bytes of the head.
  std::uint16_t refusal = 0;
  std::string method;
  std::string path;
};

namespace {

std::uint16_t status_of(const boost::system::error_code& error) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit || error == http::error::unexpected_body) return 413;
  if (error == http::error::bad_version) return 505;
  return 400;
}

}  // namespace

HttpRequest::HttpRequest(std::uint32_t header_bytes_max) : state_(std::make_unique<State>(header_bytes_max)) {
  state_->parser.header_limit(header_bytes_max);  // Of its fields; the limit of the whole head is checked here.
  state_->parser.eager(false);
}

HttpRequest::~HttpRequest() = default;

bool HttpRequest::take(std::string& bytes) {
  State& state = *state_;
  boost::system::error_code error;
  while (!state.parser.is_header_done()) {
    const std::size_t taken = state.parser.put(boost::asio::buffer(bytes), error);
    bytes.erase(0, taken);
    state.taken += taken;
    const bool more = error == http::error::need_more;
    if (state.taken + (more ? bytes.size() : 0) > state.most) {
      state.refusal = 431;
      return true;
    }
    if (more) return false;
    if (error) {
      state.refusal = status_of(error);
      return true;
    }
  }
  const auto& head = state.parser.get();
  state.method = std::string{head.method_string()};
  state.path = std::string{head.target().substr(0, head.target().find('?'))};
  const auto length = state.parser.content_length();
  if (state.parser.chunked() || (length && *length > 0)) state.refusal = 413;
  return true;
}

std::uint16_t HttpRequest::refusal() const { return state_->refusal; }
const std::string& HttpRequest::method() const { return state_->method; }
const std::string& HttpRequest::path() const { return state_->path; }
bool HttpRequest::keeps_alive() const { return state_->parser.keep_alive(); }

bool HttpRequest::wants_open_metrics() const {
  const auto accept = state_->parser.get()[http::field::accept];
  return accept.find("application/openmetrics-text") != boost::beast::string_view::npos;
}

}  // namespace penstock
