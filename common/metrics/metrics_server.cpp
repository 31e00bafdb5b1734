#include "common/metrics/metrics_server.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <thread>
#include <vector>

#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/metrics/metrics_visitor.hpp"

namespace penstock {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

bool may_read_metrics(Role role) { return role == Role::Metrics || role == Role::Operator || role == Role::Admin; }

struct MetricsServer::State : std::enable_shared_from_this<State> {
  explicit State(MetricsServerOptions server_options)
      : options(std::move(server_options)), acceptor(io), retry(io), patience(io) {}

  Result<void> listen();
  void accept();
  void welcome(tcp::socket socket);
  bool make_room();
  void take(const std::shared_ptr<MetricsVisitor>& visitor, const HttpRequest& request);
  Result<void> check(const MetricsVisitor& visitor) const;
  void want_numbers(std::function<void(bool)> told);
  void take_numbers(MetricFamilies&& families);
  void tell_all(bool good);
  void refuse(const char* why) { ++refusals[why]; }
  const std::string& text(MetricFormat format);
  void add_own(MetricFamilies& families) const;

  const MetricsServerOptions options;
  asio::io_context io;
  tcp::acceptor acceptor;
  asio::steady_timer retry;     ///< Of accepting, when the process had no descriptor left.
  asio::steady_timer patience;  ///< With the loop of the process.
  std::vector<std::weak_ptr<MetricsVisitor>> visitors;
  std::vector<std::function<void(bool)>> waiting;  ///< For the numbers.
  bool asked = false;                              ///< An answer is still to come, perhaps too late.
  Instant sampled = Instant::min();
  MetricFamilies families;
  std::array<std::string, 2> texts;  ///< Of those, by format; empty: not written yet.
  std::map<std::string, std::uint64_t> refusals;
  std::map<std::uint16_t, std::uint64_t> answers;  ///< By status.
  std::uint64_t accepted = 0;
  std::thread thread;
};

MetricsServer::MetricsServer(std::shared_ptr<State> state) : state_(std::move(state)) {
  state_->accept();
  state_->thread = std::thread{[state = state_.get()] {
    const auto work = asio::make_work_guard(state->io);
    state->io.run();
  }};
}

MetricsServer::~MetricsServer() {
  state_->io.stop();
  state_->thread.join();
  error_code ignored;
  state_->acceptor.close(ignored);
  for (const auto& weak : state_->visitors)
    if (const auto visitor = weak.lock()) visitor->close();
  state_->waiting.clear();
  state_->retry.cancel();
  state_->patience.cancel();
  // Handlers own visitors and this state; those that were pending end with an error here.
  state_->io.restart();
  while (state_->io.poll() > 0) continue;
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::open(MetricsServerOptions options) {
  const std::string& host = options.listen.host;
  const bool for_this_host = host == "localhost" || host == "::1" || host.starts_with("127.");
  if (!options.tls && !options.open_to_all && !for_this_host)
    return Error{ErrorCode::InvalidArgument, to_string(options.listen),
                 "would show metrics to everybody who reaches it: without certificates they are for this host alone",
                 "listen at 127.0.0.1, or leave `--insecure` out"};
  auto state = std::make_shared<State>(std::move(options));
  PENSTOCK_TRY(state->listen());
  return std::unique_ptr<MetricsServer>{new MetricsServer{std::move(state)}};
}

std::uint16_t MetricsServer::port() const {
  error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

Result<void> MetricsServer::State::listen() {
  const std::string place = to_string(options.listen);
  error_code error;
  tcp::resolver resolver{io};
  const auto found = resolver.resolve(options.listen.host, std::to_string(options.listen.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty())
    return Error{ErrorCode::InvalidArgument, place, "is no address of this host: " + error.message(),
                 "set metrics.supervisor_listen or metrics.worker_listen to HOST:PORT"};
  const tcp::endpoint endpoint = *found.begin();
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address{true}, error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(static_cast<int>(options.config.connections_max), error);
  if (!error) return {};
  return Error{error == asio::error::address_in_use ? ErrorCode::AddressInUse : ErrorCode::InvalidArgument, place,
               "cannot be listened at for metrics: " + error.message(),
               "set metrics.supervisor_listen or metrics.worker_listen to another address"};
}

void MetricsServer::State::accept() {
  acceptor.async_accept([self = shared_from_this()](const error_code& error, tcp::socket socket) {
    if (!self->acceptor.is_open() || error == asio::error::operation_aborted) return;
    if (!error) {
      self->welcome(std::move(socket));
      return self->accept();
    }
    self->retry.expires_after(std::chrono::milliseconds{50});
    self->retry.async_wait([self](const error_code& cancelled) {
      if (!cancelled) self->accept();
    });
  });
}

void MetricsServer::State::welcome(tcp::socket socket) {
  ++accepted;
  if (!make_room()) return refuse("connections");
  std::unique_ptr<TlsSession> session;
  if (options.tls) {
    const std::shared_ptr<const TlsServer> settings = options.tls();
    if (settings == nullptr) return refuse("no_credential");  // This worker has not joined its cluster yet.
    Result<std::unique_ptr<TlsSession>> begun = TlsSession::accept(settings);
    if (!begun) return refuse("tls");
    session = std::move(begun).value();
  }
  const auto visitor = std::make_shared<MetricsVisitor>(
      std::move(socket), std::move(session), options.config,
      [this](const std::shared_ptr<MetricsVisitor>& asking, const HttpRequest& request) { take(asking, request); },
      [this](const char* why) { refuse(why); });
  visitors.push_back(visitor);
  visitor->start();
}

/// A peer that only connects keeps no other one away.
bool MetricsServer::State::make_room() {
  std::erase_if(visitors, [](const std::weak_ptr<MetricsVisitor>& weak) {
    const auto visitor = weak.lock();
    return visitor == nullptr || !visitor->is_open();
  });
  if (visitors.size() < options.config.connections_max) return true;
  for (const auto& weak : visitors) {
    const auto visitor = weak.lock();
    if (visitor == nullptr || !visitor->is_new()) continue;
    refuse("connections");
    visitor->close();
    return true;
  }
  return false;
}

Result<void> MetricsServer::State::check(const MetricsVisitor& visitor) const {
  if (visitor.tls() == nullptr) return {};
  const std::optional<PeerIdentity>& peer = visitor.tls()->peer();
  const Error refused{ErrorCode::PermissionDenied, peer ? to_uri(*peer) : visitor.address(), "may not read metrics",
                      "use a token of that role: `penstock token create --role metrics`"};
  if (!peer || !may_read_metrics(peer->role)) return refused;
  if (options.revoked != nullptr && options.revoked->contains(visitor.tls()->peer_serial())) return refused;
  return {};
}

void MetricsServer::State::take(const std::shared_ptr<MetricsVisitor>& visitor, const HttpRequest& request) {
  const auto answer = [this, visitor](HttpAnswer content) {
    ++answers[content.status];
    // A peer without a right to metrics keeps no connection: it could hold as many as there may be.
    content.is_last = !check(*visitor);
    visitor->answer(content);
  };
  if (request.method() != "GET" && request.method() != "HEAD") return answer(refusal_of(405));
  if (request.path() == "/healthz")
    return want_numbers([answer](bool good) { answer(good ? HttpAnswer{.body = "ok\n"} : refusal_of(503)); });
  if (request.path() != "/metrics") return answer(refusal_of(404));
  const auto is_refused = [this, visitor] {
    const Result<void> allowed = check(*visitor);
    if (allowed) return false;
    log_error(LogLevel::Warn, "metrics refused", allowed.error());
    refuse("certificate");
    return true;
  };
  if (is_refused()) return answer(refusal_of(403));
  const MetricFormat format = request.wants_open_metrics() ? MetricFormat::OpenMetrics : MetricFormat::Plain;
  want_numbers([this, answer, is_refused, format](bool good) {
    // With the numbers comes what is revoked.
    if (good && is_refused()) return answer(refusal_of(403));
    answer(good ? HttpAnswer{200, content_type_of(format), text(format)} : refusal_of(503));
  });
}

/// `told` is called with whether there are numbers that are young enough; at once, or when they have come.
void MetricsServer::State::want_numbers(std::function<void(bool)> told) {
  if (sampled != Instant::min() && monotonic_now() < sampled + options.config.sample_every) return told(true);
  waiting.push_back(std::move(told));
  if (waiting.size() > 1) return;
  patience.expires_after(options.config.answer_timeout);
  patience.async_wait([self = shared_from_this()](const error_code& cancelled) {
    if (!cancelled) self->tell_all(false);
  });
  if (std::exchange(asked, true)) return;  // A loop that hangs is asked once.
  options.ask([weak = weak_from_this()](const MetricsServerOptions::Numbers& numbers) {
    const auto self = weak.lock();
    if (self == nullptr) return;
    asio::post(self->io, [weak, numbers] {
      if (const auto alive = weak.lock()) alive->take_numbers(numbers());
    });
  });
}

void MetricsServer::State::take_numbers(MetricFamilies&& fresh) {
  asked = false;
  families = std::move(fresh);
  add_own(families);
  texts = {};
  sampled = monotonic_now();
  tell_all(true);
}

void MetricsServer::State::tell_all(bool good) {
  patience.cancel();
  for (const std::function<void(bool)>& told : std::exchange(waiting, {})) told(good);
}

const std::string& MetricsServer::State::text(MetricFormat format) {
  std::string& written = texts[static_cast<std::size_t>(format)];
  if (written.empty()) written = to_text(families, format);
  return written;
}

void MetricsServer::State::add_own(MetricFamilies& all) const {
  all.counter("penstock_metrics_connections_total", "Connections that the metrics port has accepted")
      .add(static_cast<double>(accepted));
  MetricFamily& answered = all.counter("penstock_metrics_answers_total", "Answers of the metrics port by status");
  for (const auto& [status, count] : answers)
    answered.add(static_cast<double>(count), {{"status", std::to_string(status)}});
  MetricFamily& refused = all.counter("penstock_metrics_refusals_total",
                                      "Connections and requests that the metrics port refused by reason");
  for (const auto& [why, count] : refusals) refused.add(static_cast<double>(count), {{"reason", why}});
}

}  // namespace penstock
