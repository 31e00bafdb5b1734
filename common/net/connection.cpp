#include "common/net/connection.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <deque>
#include <vector>

#include "common/host/clock.hpp"
#include "common/net/local_acceptor.hpp"
#include "common/net/local_socket.hpp"
#include "common/net/secure_stream.hpp"
#include "common/net/stream_socket.hpp"

namespace penstock {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// The beginning of a secured connection; without a session it is plain.
struct Handshake {
  std::unique_ptr<TlsSession> session;
  std::shared_ptr<HandshakePool> pool;
};

}  // namespace

/// Shared with the handlers of pending operations, which may outlive the `Connection`.
struct Connection::State : std::enable_shared_from_this<State> {
  State(Loop& event_loop, StreamSocket connected, const WireConfig& wire, Handshake agreed = {})
      : loop(event_loop),
        stream(std::move(connected)),
        config(wire),
        timer(loop.io()),
        handshake(std::move(agreed)),
        check(handshake.session != nullptr ? FrameCheck::Records : FrameCheck::Checksum) {
    if (is_local(stream.socket())) {
      address = "local:0";
      return;
    }
    error_code ignored;
    stream.socket().set_option(tcp::no_delay{true}, ignored);
    if (const std::optional<tcp::endpoint> peer = peer_of(stream.socket()))
      address = peer->address().to_string() + ":" + std::to_string(peer->port());
  }

  // Ten thousand idle workers must not cost gigabytes (faults F32, F33): a buffer grows when its peer fills it.
  static constexpr std::size_t kIdleWords = 1024;
  static constexpr std::size_t kBusyWords = 32UL * 1024;
  static constexpr std::size_t kGatherFrames = 256;
  static constexpr std::size_t kSmallFrameBytes = 4096;

  void begin();
  void read();
  bool parse_some();
  void tidy_buffer();
  void take_what_came();
  bool parse_one();
  void watch_frame();
  void write();
  void fail_with(const error_code& error);
  void fail(Error error);
  void fail_as_sent() { fail({ErrorCode::Disconnected, address, "was closed after the last frame", {}}); }
  void tell_closed(Error error);
  void close();

  /// Bytes that were read and are not handled yet.
  struct Incoming {
    std::vector<std::uint64_t> buffer = std::vector<std::uint64_t>(kIdleWords);
    std::size_t begin = 0;   ///< Bytes of the buffer that are parsed.
    std::size_t end = 0;     ///< Bytes of the buffer that are filled.
    bool filled = false;     ///< By the last read.
    std::uint64_t turn = 0;  ///< Of the loop, in which `taken` was handed out.
    std::size_t taken = 0;   ///< Bytes; small frames count as more.
    bool frame_begun = false;
    std::size_t frame_bytes = 0;  ///< Of the frame that is not whole yet.

    std::byte* bytes() { return reinterpret_cast<std::byte*>(buffer.data()); }
    std::size_t capacity() const { return buffer.size() * sizeof(std::uint64_t); }
  };
  struct Outgoing {
    FrameHeaderBytes header;
    FramePayloadPtr payload;
  };
  /// Frames that are to be written.
  struct Outbox {
    std::deque<Outgoing> frames;
    std::size_t writing = 0;  ///< Frames in the write under way.
    std::vector<asio::const_buffer> gather;
    std::uint64_t bytes = 0;  ///< Of all frames.
  };

  Loop& loop;
  SecureStream stream;
  const WireConfig config;
  asio::steady_timer timer;  ///< Of a frame that has begun and is not complete.
  Handshake handshake;       ///< Until it begins.
  const FrameCheck check;    ///< Of frames in both directions.
  bool ready = false;        ///< The handshake is done, or there is none.
  std::string address;
  OnFrame on_frame;
  OnClosed on_closed;
  bool started = false;  ///< A read is under way, or a frame is being handled.
  bool closed = false;
  bool closing = false;  ///< Closes when everything is sent.
  Incoming in;
  Outbox out;
};

Connection::Connection(std::shared_ptr<State> state) : state_(std::move(state)) {}

Connection::~Connection() {
  state_->on_frame = nullptr;
  state_->on_closed = nullptr;
  state_->close();
}

void Connection::start(OnFrame on_frame, OnClosed on_closed) {
  state_->on_frame = std::move(on_frame);
  state_->on_closed = std::move(on_closed);
  if (!std::exchange(state_->started, true))
    state_->begin();
  else if (state_->closed)
    state_->tell_closed({ErrorCode::Disconnected, state_->address, "was closed before it was handed over", {}});
}

void Connection::send(FrameKind kind, const LinkHeader& link, FramePayloadPtr payload) {
  State& state = *state_;
  if (state.closed || state.closing) return;
  static const FramePayloadPtr empty = std::make_shared<const FramePayload>();
  if (payload == nullptr) payload = empty;
  state.out.bytes += kFrameHeaderBytes + payload->bytes().size();
  state.out.frames.push_back({write_header(kind, link, *payload, state.check), std::move(payload)});
  if (state.out.bytes > state.config.send_buffer_bytes_max) {
    state.fail({ErrorCode::LimitExceeded,
                state.address,
                "does not read what it is sent: " + std::to_string(state.out.bytes) + " bytes wait",
                {}});
    return;
  }
  if (state.ready && state.out.writing == 0) state.write();
}

void Connection::weigh(std::size_t bytes) { state_->in.taken += bytes; }

void Connection::close_after_sending() {
  state_->closing = true;
  state_->on_frame = nullptr;
  if (state_->out.frames.empty()) state_->fail_as_sent();
}

std::string Connection::peer_address() const { return state_->address; }

PeerStanding Connection::peer() const { return state_->stream.peer(); }

void Connection::State::begin() {
  if (handshake.session == nullptr) {
    ready = true;
    if (out.writing == 0 && !out.frames.empty()) write();
    return read();
  }
  stream.secure(std::move(handshake.session), std::move(handshake.pool),
                [self = shared_from_this()](const Result<void>& secured) {
                  if (self->closed) return;
                  if (!secured) {
                    Error error = secured.error();
                    if (error.subject.empty()) error.subject = self->address;
                    return self->fail(std::move(error));
                  }
                  self->ready = true;
                  if (!self->out.frames.empty()) self->write();
                  if (!self->closed) self->read();
                });
}

void Connection::State::read() {
  if (closed) return;
  stream.async_read_some(asio::buffer(in.bytes() + in.end, in.capacity() - in.end),
                         [self = shared_from_this()](const error_code& error, std::size_t count) {
                           if (self->closed) return;
                           if (error) return self->fail_with(error);
                           self->in.end += count;
                           self->in.filled = self->in.end == self->in.capacity();
                           self->take_what_came();
                         });
}

// A connection that has used its share waits for the loop's next turn and reads nothing meanwhile, so that actors and
// further connections get their turn (fault F20).
void Connection::State::take_what_came() {
  if (closed) return;
  if (parse_some()) {
    loop.next_turn([self = shared_from_this()] { self->take_what_came(); });
    return;
  }
  if (closed) return;
  tidy_buffer();
  if (in.filled && in.buffer.size() < kBusyWords) in.buffer.resize(in.buffer.size() * 2);
  read();
}

/// True if the buffer may hold more frames, but not for this turn.
bool Connection::State::parse_some() {
  if (std::exchange(in.turn, loop.turns()) != loop.turns()) in.taken = 0;
  while (!closed && in.taken < config.turn_bytes_max) {
    const std::size_t before = in.begin;
    if (!parse_one()) return false;
    // A small frame costs more than its bytes.
    in.taken += std::max(in.begin - before, kSmallFrameBytes);
  }
  return !closed;
}

void Connection::State::tidy_buffer() {
  if (in.begin == in.end) {
    in.begin = in.end = 0;
    if (in.buffer.size() > 2 * kBusyWords)
      in.buffer = std::vector<std::uint64_t>(kBusyWords);  // A large frame has passed.
  } else if (in.begin > 0) {
    std::memmove(in.bytes(), in.bytes() + in.begin, in.end - in.begin);
    in.end -= in.begin;
    in.begin = 0;
  }
  // Grown by doubling, as bytes arrive: a size that a header only claims takes no memory.
  if (in.end == in.capacity())
    in.buffer.resize(std::min(in.frame_bytes, in.capacity() * 2) / sizeof(std::uint64_t) + 1);
  watch_frame();
}

// True if a whole frame was there.
bool Connection::State::parse_one() {
  if (in.end - in.begin < kFrameHeaderBytes) return false;
  FrameHeaderBytes header_bytes;
  std::memcpy(header_bytes.data(), in.bytes() + in.begin, kFrameHeaderBytes);
  const Result<FrameHeader> header = read_header(header_bytes, config);
  if (!header) {
    Error error = header.error();
    error.subject = address;
    fail(std::move(error));
    return false;
  }
  const std::size_t whole = kFrameHeaderBytes + header->payload_bytes;
  if (in.end - in.begin < whole) {
    in.frame_bytes = whole;
    return false;
  }
  const std::span<const std::byte> payload{in.bytes() + in.begin + kFrameHeaderBytes, header->payload_bytes};
  in.begin += whole;
  if (std::exchange(in.frame_begun, false)) timer.cancel();  // The next frame has a time limit of its own.
  if (const Result<void> checked =
          check == FrameCheck::Records ? Result<void>{} : check_payload(header_bytes, *header, payload);
      !checked) {
    Error error = checked.error();
    error.subject = address;
    fail(std::move(error));
    return false;
  }
  if (on_frame) {
    // The handler may end the connection, and itself with it.
    const std::shared_ptr<State> self = shared_from_this();
    const OnFrame handler = on_frame;
    handler(*header, payload);
  }
  return true;
}

// Faults F17, F19: a frame that has begun must become whole in time.
void Connection::State::watch_frame() {
  const bool begun = in.end > in.begin;
  if (begun == in.frame_begun) return;
  in.frame_begun = begun;
  timer.cancel();
  if (!begun) return;
  timer.expires_after(config.frame_timeout);
  timer.async_wait([self = shared_from_this()](const error_code& error) {
    // The timer may have expired for a frame that was completed meanwhile.
    if (!error && self->in.frame_begun && self->timer.expiry() <= asio::steady_timer::clock_type::now())
      self->fail({ErrorCode::MalformedFrame, self->address, "sent half a frame and then nothing", {}});
  });
}

void Connection::State::write() {
  out.gather.clear();
  out.writing = std::min(out.frames.size(), kGatherFrames);
  for (std::size_t i = 0; i < out.writing; ++i) {
    out.gather.emplace_back(out.frames[i].header.data(), kFrameHeaderBytes);
    const auto payload = out.frames[i].payload->bytes();
    if (!payload.empty()) out.gather.emplace_back(payload.data(), payload.size());
  }
  // With as few calls as the socket allows, instead of 64 KiB at a time.
  const auto at_once = [](const error_code& error, std::size_t) { return error ? 0 : std::size_t{1} << 30U; };
  asio::async_write(stream, out.gather, at_once,
                    [self = shared_from_this()](const error_code& error, std::size_t count) {
                      if (self->closed) return;
                      if (error) return self->fail_with(error);
                      self->out.bytes -= count;
                      self->out.frames.erase(self->out.frames.begin(),
                                             self->out.frames.begin() + static_cast<std::ptrdiff_t>(self->out.writing));
                      self->out.writing = 0;
                      if (!self->out.frames.empty())
                        self->write();
                      else if (self->closing)
                        self->fail_as_sent();
                    });
}

void Connection::State::fail_with(const error_code& error) {
  Error why = stream.reason(error);
  why.subject = address;
  fail(std::move(why));
}

void Connection::State::fail(Error error) {
  if (closed) return;
  close();
  tell_closed(std::move(error));
}

// From a turn of its own: the caller may be in the middle of something.
void Connection::State::tell_closed(Error error) {
  asio::post(stream.get_executor(), [self = shared_from_this(), error = std::move(error)] {
    if (self->on_closed) std::exchange(self->on_closed, nullptr)(error);
  });
}

void Connection::State::close() {
  if (closed) return;
  closed = true;
  timer.cancel();
  error_code ignored;
  stream.socket().shutdown(StreamSocket::shutdown_both, ignored);
  stream.close();
}

struct Listener::State : std::enable_shared_from_this<State> {
  State(Loop& event_loop, const WireConfig& wire, ListenSecurity listen_security, OnConnection handler)
      : loop(event_loop),
        acceptor(loop.io()),
        retry(loop.io()),
        config(wire),
        security(std::move(listen_security)),
        on_connection(std::move(handler)) {}
  void accept();
  void take(StreamSocket socket) {
    if (!on_connection) return;
    Handshake handshake;
    if (security.settings) {
      const std::shared_ptr<const TlsServer> settings = security.settings();
      if (settings == nullptr) return;
      Result<std::unique_ptr<TlsSession>> session = TlsSession::accept(settings);
      if (!session) return;  // No memory: the peer tries again.
      handshake = {std::move(session).value(), security.pool};
    }
    on_connection(std::unique_ptr<Connection>{
        new Connection{std::make_shared<Connection::State>(loop, std::move(socket), config, std::move(handshake))}});
  }

  Loop& loop;
  tcp::acceptor acceptor;
  std::unique_ptr<LocalAcceptor> local;  ///< In place of the other.
  asio::steady_timer retry;
  const WireConfig config;
  const ListenSecurity security;
  OnConnection on_connection;
  bool closed = false;
};

Listener::Listener(std::shared_ptr<State> state) : state_(std::move(state)) {}
Listener::~Listener() {
  state_->closed = true;
  state_->on_connection = nullptr;
  state_->local.reset();
  error_code ignored;
  state_->acceptor.close(ignored);
  state_->retry.cancel();
}

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, const WireConfig& config, const HostPort& address,
                                                 const ListenSecurity& security, OnConnection on_connection) {
  const std::string text = to_string(address);
  error_code error;
  const auto ip = asio::ip::make_address(address.host == "localhost" ? "127.0.0.1" : address.host, error);
  if (error)
    return Error{ErrorCode::InvalidArgument, text, "is no numeric address to listen on",
                 "use e.g. 127.0.0.1 or 0.0.0.0"};
  auto state = std::make_shared<State>(loop, config, security, std::move(on_connection));
  const tcp::endpoint endpoint{ip, address.port};
  state->acceptor.open(endpoint.protocol(), error);
  if (!error) state->acceptor.set_option(tcp::acceptor::reuse_address{true}, error);
  if (!error) state->acceptor.bind(endpoint, error);
  if (!error) state->acceptor.listen(4096, error);
  if (error == asio::error::address_in_use)
    return Error{ErrorCode::AddressInUse, text, "another process listens there already",
                 "choose another port, or stop that process (ss -ltnp shows it)"};
  if (error) return Error{ErrorCode::InvalidArgument, text, "cannot be listened on: " + error.message(), {}};
  state->accept();
  return std::unique_ptr<Listener>{new Listener{std::move(state)}};
}

Result<std::unique_ptr<Listener>> Listener::open_locally(Loop& loop, const WireConfig& config,
                                                         OnConnection on_connection) {
  auto state = std::make_shared<State>(loop, config, ListenSecurity{}, std::move(on_connection));
  Result<std::unique_ptr<LocalAcceptor>> local = LocalAcceptor::open(
      loop, [raw = state.get()](Descriptor socket) { raw->take(adopt_local(raw->loop.io(), std::move(socket))); });
  if (!local) return std::move(local).error();
  state->local = std::move(local).value();
  return std::unique_ptr<Listener>{new Listener{std::move(state)}};
}

HostPort Listener::address() const {
  if (state_->local != nullptr) return {"", 0, "", state_->local->name()};
  error_code ignored;
  const tcp::endpoint here = state_->acceptor.local_endpoint(ignored);
  return {here.address().to_string(), here.port()};
}

void Listener::State::accept() {
  acceptor.async_accept([self = shared_from_this()](const error_code& error, tcp::socket socket) {
    if (self->closed) return;
    if (error) {
      // Fault F33: without descriptors, accepting fails at once and again; the listener waits a while and serves its
      // connections meanwhile.
      self->retry.expires_after(std::chrono::milliseconds{50});
      self->retry.async_wait([self](const error_code& cancelled) {
        if (!cancelled && !self->closed) self->accept();
      });
      return;
    }
    self->take(std::move(socket));
    if (!self->closed) self->accept();
  });
}

struct Connector::State : std::enable_shared_from_this<State> {
  State(Loop& event_loop, const WireConfig& wire, const HostPort& target, std::shared_ptr<const TlsClient> security,
        OnDone handler, std::shared_ptr<HandshakePool> handshakes)
      : loop(event_loop),
        resolver(loop.io()),
        socket(loop.io()),
        timer(loop.io()),
        config(wire),
        address(target),
        tls(std::move(security)),
        pool(std::move(handshakes)),
        on_done(std::move(handler)) {}

  void start(Duration timeout);
  void connect_within_host();
  void finish(const error_code& error, const char* step);

  Loop& loop;
  tcp::resolver resolver;
  tcp::socket socket;
  asio::steady_timer timer;
  const WireConfig config;
  const HostPort address;
  const std::shared_ptr<const TlsClient> tls;
  const std::shared_ptr<HandshakePool> pool;
  OnDone on_done;
};

Connector::Connector(Loop& loop, const WireConfig& config, const HostPort& address,
                     std::shared_ptr<const TlsClient> tls, Duration timeout, OnDone on_done,
                     std::shared_ptr<HandshakePool> pool)
    : state_(std::make_shared<State>(loop, config, address, std::move(tls), std::move(on_done), std::move(pool))) {
  state_->start(timeout);
}

Connector::~Connector() {
  state_->on_done = nullptr;
  state_->resolver.cancel();
  error_code ignored;
  state_->socket.close(ignored);
  state_->timer.cancel();
}

void Connector::State::start(Duration timeout) {
  timer.expires_after(timeout);
  timer.async_wait([self = shared_from_this()](const error_code& cancelled) {
    if (!cancelled) self->finish(asio::error::timed_out, "connect");
  });
  if (address.local != 0) return asio::post(loop.io(), [self = shared_from_this()] { self->connect_within_host(); });
  resolver.async_resolve(
      address.host, std::to_string(address.port),
      [self = shared_from_this()](const error_code& error, const tcp::resolver::results_type& results) {
        if (!self->on_done) return;
        if (error) {
          self->finish(error, "look up the host");
          return;
        }
        asio::async_connect(self->socket, results, [self](const error_code& failed, const tcp::endpoint&) {
          self->finish(failed, "connect");
        });
      });
}

void Connector::State::connect_within_host() {
  if (!on_done) return;
  Result<Descriptor> connected = connect_local(address.local, present_user());
  if (!connected) return finish(asio::error::connection_refused, "connect");
  timer.cancel();
  std::exchange(on_done, nullptr)(std::unique_ptr<Connection>{new Connection{
      std::make_shared<Connection::State>(loop, adopt_local(loop.io(), std::move(connected).value()), config)}});
}

void Connector::State::finish(const error_code& error, const char* step) {
  if (!on_done) return;
  const OnDone done = std::exchange(on_done, nullptr);
  timer.cancel();
  if (error) {
    error_code ignored;
    socket.close(ignored);
    done(Error{ErrorCode::Unreachable, to_string(address), std::string{"cannot "} + step + ": " + error.message(),
               "check that a supervisor runs there: `penstock supervisor --listen " + to_string(address) + "`"});
    return;
  }
  Handshake handshake;
  if (tls != nullptr) {
    Result<std::unique_ptr<TlsSession>> session = TlsSession::connect(tls);
    if (!session) return done(std::move(session).error());
    handshake = {std::move(session).value(), pool};
  }
  done(std::unique_ptr<Connection>{
      new Connection{std::make_shared<Connection::State>(loop, std::move(socket), config, std::move(handshake))}});
}

}  // namespace penstock
