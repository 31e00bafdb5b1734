#include "worker/transfer/data_server.hpp"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <list>

#include "common/host/clock.hpp"
#include "common/host/log.hpp"
#include "common/net/local_acceptor.hpp"
#include "common/net/secure_stream.hpp"
#include "common/net/stream_socket.hpp"
#include "worker/transfer/chunk_packing.hpp"
#include "worker/transfer/give_up_after.hpp"
#include "worker/transfer/pace_watch.hpp"
#include "worker/transfer/same_host.hpp"
#include "worker/transfer/transfer_format.hpp"

namespace penstock::worker {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::uint32_t kChunkBytesMin = 4096;
constexpr std::uint32_t kChunkBytesMax = 64U << 20U;

/// Whether a peer of that role may read data at all.
bool may_fetch(Role role) { return role != Role::Supervisor && role != Role::Metrics; }

/// Whether peers of that role read the data of jobs of which the supervisor has told them the identity, and no others:
/// a number can be guessed. Operators may read all.
bool reads_by_identity(Role role) { return role != Role::Operator && role != Role::Admin; }

/// How chunks are compressed on their way.
struct Packing {
  CompressionChoice choice;
  PackedChunk chunk;
  std::vector<std::byte> scratch;
};

/// One accepted connection: reads a request, writes the answer, reads the next.
struct Visitor : std::enable_shared_from_this<Visitor> {
  Visitor(Loop& loop, SecureStream accepted, const asio::ip::address& from, ObjectStore& object_store,
          const ServerLimits& server_limits, std::weak_ptr<HandleDesk> handles)
      : socket(std::move(accepted)),
        address(from),
        store(object_store),
        limits(server_limits),
        desk(std::move(handles)),
        watch(loop.io()),
        packing{CompressionChoice{server_limits.packing, same_host(socket.socket())}, {}, {}} {}

  /// Begins to read when the peer has proved that it belongs to the cluster.
  void admit(std::unique_ptr<TlsSession> session, std::shared_ptr<HandshakePool> pool) {
    expect({limits.pace.silence_max, 1});
    socket.secure(std::move(session), std::move(pool), [self = shared_from_this()](const Result<void>& secured) {
      Result<void> welcome = secured;
      const PeerStanding peer = self->socket.peer();
      if (welcome && (!peer.identity.has_value() || !may_fetch(peer.identity->role)))
        welcome = Error{ErrorCode::PermissionDenied, self->address.to_string(), "shows no fitting certificate", {}};
      if (welcome) welcome = self->check_standing();
      if (welcome) return self->read();
      self->refuse(welcome.error());
    });
  }

  Result<void> check_standing() const {
    const TlsSession* const session = socket.session();
    if (session == nullptr || limits.revoked == nullptr || !limits.revoked->contains(session->peer_serial())) return {};
    return Error{ErrorCode::PermissionDenied, to_uri(*session->peer()), "its certificate was revoked", {}};
  }

  void refuse(const Error& why) {
    log_error(LogLevel::Warn, "a reader of data is refused", why);
    close();
  }

  // Part of a request may have arrived: the connection counts as idle until the request is whole.
  void read() {
    idle_since = monotonic_now();
    expect({limits.idle_max, sizeof request});
    asio::async_read(socket, asio::buffer(&request, sizeof request),
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       const bool names_job = !error && self->request.magic == kTransferMagic &&
                                              (self->request.format & kWithIdentity) != 0;
                       if (names_job) return self->read_identity();
                       self->identity = {};
                       self->request_came(error);
                     });
  }

  void read_identity() {
    request.format &= ~kWithIdentity;
    asio::async_read(socket, asio::buffer(&identity, sizeof identity),
                     [self = shared_from_this()](const error_code& error, std::size_t) { self->request_came(error); });
  }

  void request_came(const error_code& error) {
    idle_since = kNever;
    watch.end();
    if (error) return;
    if (const Result<void> still = check_standing(); !still) return refuse(still.error());
    look_up();
  }

  /// Ends the connection of a peer that is slower than `pace`.
  void expect(const PaceLimits& pace) {
    watch.begin(pace, [self = shared_from_this()] { self->close(); });
  }

  // The pending operation fails, and the visitor is destroyed with its last reference.
  void close() {
    socket.close();
    watch.end();
  }

  void look_up() {
    const bool sound = request.magic == kTransferMagic && request.format >= kTransferFormat &&
                       request.format <= kHandleFormat && request.output <= UINT16_MAX &&
                       request.chunk_bytes >= kChunkBytesMin && request.chunk_bytes <= kChunkBytesMax &&
                       request.offset % request.chunk_bytes == 0;
    if (!sound) return answer(TransferStatus::Refused);
    const JobIdentity named{identity.high, identity.low};
    const JobId job{request.job};
    const bool by_identity = socket.session() != nullptr && reads_by_identity(socket.session()->peer()->role);
    if (by_identity ? !store.is_that(job, named) : store.is_another(job, named)) return answer(TransferStatus::Gone);
    store.load(key(), [self = shared_from_this()](BlobPtr loaded) {
      asio::post(self->socket.get_executor(), [self, loaded = std::move(loaded)]() mutable {
        self->blob = std::move(loaded);
        self->found();
      });
    });
  }

  DataKey key() const {
    return {{JobId{request.job}, SubtaskIndex{request.subtask}}, static_cast<std::uint16_t>(request.output)};
  }

  void found() {
    if (blob == nullptr) return answer(TransferStatus::Gone);
    const auto handles = request.format == kHandleFormat && request.offset == 0 ? desk.lock() : nullptr;
    const std::optional<HandleOffer> offered = handles == nullptr ? std::nullopt : handles->offer(key(), blob);
    if (!offered) return answer(TransferStatus::Here);
    offer = *offered;
    reply = TransferReply{.status = TransferStatus::Offered, .bytes = blob->bytes().size()};
    blob.reset();  // The desk keeps the blob.
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(&reply, sizeof reply),
                                                    asio::buffer(&offer, sizeof offer)};
    expect(limits.pace);
    asio::async_write(socket, buffers, [self = shared_from_this()](const error_code& error, std::size_t) {
      self->watch.end();
      if (!error) self->read();
    });
  }

  void answer(TransferStatus status) {
    reply = TransferReply{};
    reply.status = status;
    offset = request.offset;
    if (status == TransferStatus::Here) reply.bytes = blob->bytes().size();
    expect(limits.pace);
    asio::async_write(socket, asio::buffer(&reply, sizeof reply),
                      [self = shared_from_this(), status](const error_code& error, std::size_t) {
                        // The connection closes with its last reference.
                        if (error || status == TransferStatus::Refused) return self->watch.end();
                        self->send_chunk();
                      });
  }

  // One part at a time, so that other connections on this thread have their turn in between.
  void send_chunk() {
    if (blob == nullptr || offset >= blob->bytes().size()) {
      blob.reset();
      packing.scratch = {};  // An idle connection keeps no buffer.
      return read();
    }
    const auto part =
        blob->bytes().subspan(offset, std::min<std::size_t>(request.chunk_bytes, blob->bytes().size() - offset));
    if (request.format == kPackedFormat) return send_packed(part);
    chunk.hash = hash_of(part);
    offset += part.size();
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(&chunk, sizeof chunk),
                                                    asio::buffer(part.data(), part.size())};
    asio::async_write(socket, buffers, watch.at_once(part.size() + sizeof chunk),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        if (error) return self->watch.end();
                        self->send_chunk();
                      });
  }

  /// Records of a secured connection are authenticated, so their bytes need no checksum.
  std::uint64_t hash_of(std::span<const std::byte> bytes) const {
    return socket.session() != nullptr ? 0 : chunk_hash(bytes, offset);
  }

  void send_packed(std::span<const std::byte> part) {
    const std::span<const std::byte> sent = pack(part);
    packing.chunk.compressed = sent.data() == part.data() ? 0 : 1;
    packing.chunk.sent_bytes = static_cast<std::uint32_t>(sent.size());
    packing.chunk.sent_hash = hash_of(sent);
    packing.chunk.datum_hash = packing.chunk.compressed == 0 ? packing.chunk.sent_hash : hash_of(part);
    offset += part.size();
    const std::size_t size = sent.size() + sizeof packing.chunk;
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(&packing.chunk, sizeof packing.chunk),
                                                    asio::buffer(sent.data(), sent.size())};
    asio::async_write(socket, buffers, watch.at_once(size),
                      [self = shared_from_this(), size, begin = monotonic_now()](const error_code& error, std::size_t) {
                        if (error) return self->watch.end();
                        self->packing.choice.sent(size, monotonic_now() - begin);
                        self->send_chunk();
                      });
  }

  /// The chunk itself, or its compressed form.
  std::span<const std::byte> pack(std::span<const std::byte> part) {
    if (!packing.choice.wants_sample(part.size()) || !packing.choice.pays(sample_part(part, packing.scratch)))
      return part;
    const Instant begin = monotonic_now();
    const std::span<const std::byte> packed = pack_chunk(part, packing.scratch);
    packing.choice.packed(part.size(), monotonic_now() - begin);
    return packed.empty() ? part : packed;
  }

  SecureStream socket;
  const asio::ip::address address;  ///< Of a local connection 0.0.0.0.
  ObjectStore& store;
  const ServerLimits limits;
  const std::weak_ptr<HandleDesk> desk;
  PaceWatch watch;
  Instant idle_since = kNever;  ///< Never while it is being answered.
  TransferRequest request;
  TransferIdentity identity;
  TransferReply reply;
  HandleOffer offer;
  TransferChunk chunk;
  Packing packing;
  BlobPtr blob;
  std::uint64_t offset = 0;
};

}  // namespace

struct DataServer::State : std::enable_shared_from_this<State> {
  State(Loop& event_loop, ObjectStore& object_store, const ServerLimits& server_limits)
      : loop(event_loop), acceptor(loop.io()), retry(loop.io()), store(object_store), limits(server_limits) {}

  void accept() {
    acceptor.async_accept([self = shared_from_this()](const error_code& error, tcp::socket socket) {
      if (self->closed) return;
      if (error) return self->accept_later();
      self->welcome(std::move(socket));
      self->accept();
    });
  }

  // The process has no free descriptor; it may have one soon.
  void accept_later() {
    retry.expires_after(std::chrono::milliseconds{50});
    retry.async_wait([self = shared_from_this()](const error_code& cancelled) {
      if (!cancelled && !self->closed) self->accept();
    });
  }

  void welcome(StreamSocket socket) {
    const std::optional<tcp::endpoint> peer = peer_of(socket);
    const asio::ip::address from = peer ? peer->address() : asio::ip::address{};
    if ((!peer && !is_local(socket)) || !make_room(from)) return;
    error_code ignored;
    if (peer) socket.set_option(tcp::no_delay{true}, ignored);
    give_up_after(socket, limits.pace.silence_max);
    std::unique_ptr<TlsSession> session;
    if (limits.security.settings && peer) {
      const std::shared_ptr<const TlsServer> settings = limits.security.settings();
      if (settings == nullptr) return;  // This worker has not joined its cluster yet.
      Result<std::unique_ptr<TlsSession>> begun = TlsSession::accept(settings);
      if (!begun) return;
      session = std::move(begun).value();
    }
    const auto visitor = std::make_shared<Visitor>(loop, SecureStream{std::move(socket)}, from, store, limits, desk);
    visitors.push_back(visitor);
    if (session == nullptr) return visitor->read();
    visitor->admit(std::move(session), limits.security.pool);
  }

  // Makes room among the connections of its host, then among all: a peer that only connects cannot keep others away.
  // False if all of them are busy; those make progress or are closed soon.
  bool make_room(const asio::ip::address& from) {
    std::erase_if(visitors, [](const std::weak_ptr<Visitor>& weak) {
      const auto visitor = weak.lock();
      return visitor == nullptr || !visitor->socket.is_open();
    });
    const auto full = [&](std::size_t most, auto counts) {
      std::size_t count = 0;
      std::shared_ptr<Visitor> longest_idle;
      for (const auto& weak : visitors) {
        const auto visitor = weak.lock();
        if (visitor == nullptr || !visitor->socket.is_open() || !counts(*visitor)) continue;
        ++count;
        if (visitor->idle_since == kNever) continue;
        if (longest_idle == nullptr || visitor->idle_since < longest_idle->idle_since) longest_idle = visitor;
      }
      if (count < most) return false;
      if (longest_idle != nullptr) longest_idle->close();
      return longest_idle == nullptr;
    };
    return !full(limits.visitors_of_host_max, [&](const Visitor& visitor) { return visitor.address == from; }) &&
           !full(limits.visitors_max, [](const Visitor&) { return true; });
  }

  void open_desk() {
    if (limits.handles.bytes_max == 0 || limits.handles.handles_max == 0) return;
    Result<std::shared_ptr<HandleDesk>> opened = HandleDesk::open(loop, limits.handles);
    if (!opened) return log_error(LogLevel::Warn, "data are copied within this host", opened.error());
    desk = std::move(opened).value();
  }

  Loop& loop;
  tcp::acceptor acceptor;
  std::unique_ptr<LocalAcceptor> local;  ///< In place of the other.
  asio::steady_timer retry;
  ObjectStore& store;
  const ServerLimits limits;
  std::shared_ptr<HandleDesk> desk;
  std::list<std::weak_ptr<Visitor>> visitors;
  bool closed = false;
};

DataServer::DataServer(std::shared_ptr<State> state) : state_(std::move(state)) {}

DataServer::~DataServer() {
  state_->closed = true;
  state_->local.reset();
  error_code ignored;
  state_->acceptor.close(ignored);
  state_->retry.cancel();
  state_->desk.reset();
  for (const auto& weak : state_->visitors)
    if (const auto visitor = weak.lock()) visitor->close();
}

Result<std::unique_ptr<DataServer>> DataServer::open(Loop& loop, const HostPort& address, ObjectStore& store,
                                                     const ServerLimits& limits) {
  const std::string text = to_string(address);
  error_code error;
  const auto ip = asio::ip::make_address(address.host == "localhost" ? "127.0.0.1" : address.host, error);
  if (error)
    return Error{ErrorCode::InvalidArgument, text, "is no numeric address to listen on",
                 "use e.g. 127.0.0.1 or 10.0.0.2"};
  if (ip.is_unspecified())
    return Error{ErrorCode::InvalidArgument, text, "is none that the others could fetch data from",
                 "name this host's address in their network, e.g. 10.0.0.2:" + std::to_string(address.port)};
  auto state = std::make_shared<State>(loop, store, limits);
  const tcp::endpoint endpoint{ip, address.port};
  state->acceptor.open(endpoint.protocol(), error);
  if (!error) state->acceptor.set_option(tcp::acceptor::reuse_address{true}, error);
  if (!error) state->acceptor.bind(endpoint, error);
  if (!error) state->acceptor.listen(1024, error);
  if (error == asio::error::address_in_use)
    return Error{ErrorCode::AddressInUse, text, "another process listens there already",
                 "choose another port for data"};
  if (error) return Error{ErrorCode::InvalidArgument, text, "cannot be listened on: " + error.message(), {}};
  state->open_desk();
  state->accept();
  return std::unique_ptr<DataServer>{new DataServer{std::move(state)}};
}

Result<std::unique_ptr<DataServer>> DataServer::open_locally(Loop& loop, ObjectStore& store,
                                                             const ServerLimits& limits) {
  auto state = std::make_shared<State>(loop, store, limits);
  Result<std::unique_ptr<LocalAcceptor>> local = LocalAcceptor::open(
      loop, [raw = state.get()](Descriptor socket) { raw->welcome(adopt_local(raw->loop.io(), std::move(socket))); });
  if (!local) return std::move(local).error();
  state->local = std::move(local).value();
  state->open_desk();
  return std::unique_ptr<DataServer>{new DataServer{std::move(state)}};
}

HostPort DataServer::address() const {
  if (state_->local != nullptr) return {"", 0, "", state_->local->name()};
  error_code ignored;
  const tcp::endpoint here = state_->acceptor.local_endpoint(ignored);
  return {here.address().to_string(), here.port()};
}

const HandleDesk* DataServer::desk() const { return state_->desk.get(); }

}  // namespace penstock::worker
