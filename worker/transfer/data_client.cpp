#include "worker/transfer/data_client.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <vector>

#include "common/net/local_socket.hpp"
#include "common/net/secure_stream.hpp"
#include "common/net/stream_socket.hpp"
#include "worker/store/page_warmer.hpp"
#include "worker/transfer/chunk_packing.hpp"
#include "worker/transfer/give_up_after.hpp"
#include "worker/transfer/same_host.hpp"
#include "worker/transfer/transfer_format.hpp"

namespace penstock::worker {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 44U;

/// Memory of an arriving datum is prefaulted ahead of its bytes: as much as has arrived, within these bounds.
constexpr std::uint64_t kWarmAheadMin = PageWarmer::kBytesMin;
constexpr std::uint64_t kWarmAheadMax = std::uint64_t{64} << 20U;

/// One requested datum, moved from connection to connection if one fails.
struct Wanted {
  DataKey key;
  JobIdentity identity;
  std::uint64_t priority = 0;
  DataClient::OnDone on_done;
  std::shared_ptr<Blob> blob;  ///< Set by the first answer.
  std::uint64_t offset = 0;    ///< Bytes that have arrived and are checked.
  std::uint64_t warmed = 0;    ///< Bytes with memory that is prefaulted or about to be.
  std::uint32_t cuts = 0;      ///< Since the last whole chunk.
  std::uint64_t bad_chunks = 0;
  bool by_copy = false;  ///< Mapping has failed, so the bytes are copied.
};

/// The requests to one server that wait, and the connections that serve them.
class Route : public std::enable_shared_from_this<Route> {
 public:
  Route(asio::io_context& context, const HostPort& server, const ObjectStore& store, const TransferLimits& limits,
        std::shared_ptr<PageWarmer> warmer, std::shared_ptr<HandleClient> handles)
      : io_(context),
        address_(server),
        store_(store),
        limits_(limits),
        warmer_(std::move(warmer)),
        handles_(std::move(handles)) {}

  void add(Wanted wanted) {
    const auto behind = std::find_if(waiting_.begin(), waiting_.end(),
                                     [&](const Wanted& other) { return other.priority < wanted.priority; });
    waiting_.insert(behind, std::move(wanted));
    serve();
  }

  void cancel(const DataKey& key) {
    std::erase_if(waiting_, [&](const Wanted& wanted) { return wanted.key == key; });
    for (const auto& line : busy_) {
      if (line->wanted.key != key) continue;
      line->wanted = {};
      line->socket.close();  // The pending operation fails, and its end is not reported.
    }
  }

  /// Closes all connections; returns the requests.
  std::vector<Wanted> close() {
    closed_ = true;
    std::vector<Wanted> left = std::exchange(waiting_, {});
    for (const auto& lines : {busy_, idle_})
      for (const auto& line : lines) {
        line->watch.end();
        line->socket.close();
        if (line->wanted.on_done) left.push_back(std::exchange(line->wanted, {}));
      }
    busy_.clear();
    idle_.clear();
    return left;
  }

 private:
  struct Line {
    explicit Line(asio::io_context& io) : socket(io), watch(io) {}
    /// Of the request, without the bit that says whether it names the job.
    std::uint32_t format() const { return request.format & ~kWithIdentity; }
    SecureStream socket;
    PaceWatch watch;
    bool connected = false;
    bool used = false;  ///< Has served before; a failure may only mean that the server has closed it.
    Wanted wanted;
    TransferRequest request;
    TransferIdentity identity;
    TransferReply reply;
    HandleOffer offer;
    TransferChunk chunk;
    PackedChunk packed;
    std::vector<std::byte> packed_bytes;
    bool same_host = false;
  };
  using LinePtr = std::shared_ptr<Line>;

  void serve();
  void connect(const LinePtr& line);
  void secure(const LinePtr& line);
  void connected(const LinePtr& line);
  void ask(const LinePtr& line);
  void replied(const LinePtr& line);
  std::uint32_t format_for(const Line& line) const;
  bool refuses_format(const Line& line);
  void map(const LinePtr& line);
  void read_chunk(const LinePtr& line);
  void read_plain(const LinePtr& line, std::span<std::byte> chunk);
  void read_packed(const LinePtr& line);
  void packed_head_came(const LinePtr& line);
  void packed_came(const LinePtr& line);
  void check_chunk(const LinePtr& line, std::size_t bytes);
  static bool is_whole(const Line& line, std::span<const std::byte> bytes, std::uint64_t hash);
  void take_chunk(const LinePtr& line, std::size_t bytes, bool sound);
  std::span<std::byte> next_chunk(const Line& line) const;
  void finish(const LinePtr& line, const Error& error);
  void fail(const LinePtr& line, const std::string& why);
  void not_connected(const LinePtr& line, const std::string& why);
  void warm_ahead(Wanted& wanted);
  void expect(const LinePtr& line, const PaceLimits& pace);
  template <class Next>
  auto then(const LinePtr& line, Next next);

  asio::io_context& io_;
  const HostPort address_;
  const ObjectStore& store_;
  const TransferLimits limits_;
  const std::shared_ptr<PageWarmer> warmer_;
  const std::shared_ptr<HandleClient> handles_;
  std::vector<Wanted> waiting_;  ///< By priority.
  std::vector<LinePtr> idle_;
  std::vector<LinePtr> busy_;
  std::size_t lines_ = 0;
  bool closed_ = false;
  bool understands_packed_ = true;      ///< Until a server has refused.
  bool understands_handles_ = true;     ///< The same.
  bool understands_identities_ = true;  ///< The same.
};

// The next step after a successful operation.
template <class Next>
auto Route::then(const LinePtr& line, Next next) {
  return [self = shared_from_this(), line, next](const error_code& error, std::size_t) {
    if (self->closed_) return;
    if (error) return self->fail(line, error.message());
    ((*self).*next)(line);
  };
}

void Route::serve() {
  while (!waiting_.empty()) {
    LinePtr line;
    if (!idle_.empty()) {
      line = idle_.back();
      idle_.pop_back();
      line->watch.end();
    } else if (lines_ < limits_.streams_max) {
      line = std::make_shared<Line>(io_);
      ++lines_;
    } else {
      return;
    }
    busy_.push_back(line);
    line->wanted = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    if (line->connected)
      ask(line);
    else
      connect(line);
  }
}

void Route::connect(const LinePtr& line) {
  expect(line, {limits_.pace.silence_max, 1});
  if (address_.local != 0)
    return asio::post(io_, [self = shared_from_this(), line] {
      if (self->closed_) return;
      Result<Descriptor> socket = connect_local(self->address_.local, present_user());
      if (!socket) return self->not_connected(line, socket.error().message);
      line->socket = SecureStream{adopt_local(self->io_, std::move(socket).value())};
      self->connected(line);
    });
  auto resolver = std::make_shared<tcp::resolver>(io_);
  resolver->async_resolve(
      address_.host, std::to_string(address_.port),
      [self = shared_from_this(), line, resolver](const error_code& error, tcp::resolver::results_type results) {
        if (self->closed_) return;
        if (error) return self->not_connected(line, error.message());
        std::vector<StreamSocket::endpoint_type> ends;
        for (const auto& result : results) ends.emplace_back(result.endpoint());
        asio::async_connect(line->socket.socket(), ends,
                            [self, line](const error_code& failed, const StreamSocket::endpoint_type&) {
                              if (self->closed_) return;
                              if (failed) return self->not_connected(line, failed.message());
                              error_code ignored;
                              line->socket.socket().set_option(tcp::no_delay{true}, ignored);
                              self->secure(line);
                            });
      });
}

void Route::secure(const LinePtr& line) {
  if (limits_.tls == nullptr) return connected(line);
  Result<std::unique_ptr<TlsSession>> session = TlsSession::connect(limits_.tls);
  if (!session) return not_connected(line, session.error().message);
  line->socket.secure(std::move(session).value(), nullptr,
                      [self = shared_from_this(), line](const Result<void>& secured) {
                        if (self->closed_) return;
                        if (!secured) return self->not_connected(line, to_string(secured.error()));
                        self->connected(line);
                      });
}

void Route::connected(const LinePtr& line) {
  give_up_after(line->socket.socket(), limits_.pace.silence_max);
  line->connected = true;
  line->same_host = same_host(line->socket.socket());
  ask(line);
}

std::uint32_t Route::format_for(const Line& line) const {
  const Wanted& wanted = line.wanted;
  // A datum that has begun to arrive continues in the same way.
  if (limits_.maps && line.same_host && understands_handles_ && !wanted.by_copy && wanted.blob == nullptr)
    return kHandleFormat;
  if (limits_.packing == Packing::Never || !understands_packed_) return kTransferFormat;
  // Within a host compression would only cost, and the plain format takes a call less for each chunk.
  return limits_.packing == Packing::Always || !line.same_host ? kPackedFormat : kTransferFormat;
}

// The server is older: from now on it is asked in a format that it knows.
bool Route::refuses_format(const Line& line) {
  if (line.reply.magic != kTransferMagic || line.reply.status != TransferStatus::Refused) return false;
  if (line.request.format == kTransferFormat) return false;
  if ((line.request.format & kWithIdentity) != 0) {
    understands_identities_ = false;
    return true;
  }
  (line.request.format == kHandleFormat ? understands_handles_ : understands_packed_) = false;
  return true;
}

void Route::ask(const LinePtr& line) {
  expect(line, {limits_.reply_max, 1});
  line->request = TransferRequest{};
  line->request.format = format_for(*line);
  line->request.job = line->wanted.key.producer.job.value();
  line->request.subtask = line->wanted.key.producer.index.value();
  line->request.output = line->wanted.key.output;
  line->request.chunk_bytes = limits_.chunk_bytes;
  line->request.offset = line->wanted.offset;
  if (line->wanted.identity.valid() && understands_identities_) {
    line->request.format |= kWithIdentity;
    line->identity = {line->wanted.identity.high, line->wanted.identity.low};
  }
  const std::size_t identity_bytes = (line->request.format & kWithIdentity) != 0 ? sizeof(TransferIdentity) : 0;
  const std::array<asio::const_buffer, 2> buffers{asio::buffer(&line->request, sizeof(TransferRequest)),
                                                  asio::buffer(&line->identity, identity_bytes)};
  asio::async_write(line->socket, buffers, [self = shared_from_this(), line](const error_code& error, std::size_t) {
    if (self->closed_) return;
    if (error) return self->fail(line, error.message());
    asio::async_read(line->socket, asio::buffer(&line->reply, sizeof(TransferReply)),
                     self->then(line, &Route::replied));
  });
}

void Route::replied(const LinePtr& line) {
  const TransferReply& reply = line->reply;
  Wanted& wanted = line->wanted;
  if (!wanted.on_done) return fail(line, "was cancelled");
  if (refuses_format(*line)) {
    line->used = true;  // The connection is sound; the request is repeated on another one.
    return fail(line, "the server does not know the format");
  }
  if (reply.magic != kTransferMagic || reply.bytes > kBytesMax || reply.status == TransferStatus::Refused)
    return fail(line, "the server's answer is malformed");
  if (reply.status == TransferStatus::Offered && line->format() == kHandleFormat) {
    asio::async_read(line->socket, asio::buffer(&line->offer, sizeof(HandleOffer)), then(line, &Route::map));
    return;
  }
  if (reply.status != TransferStatus::Here || reply.bytes == 0)
    return finish(line, Error{ErrorCode::NotFound, to_string(wanted.key), "is not there", {}});
  if (wanted.blob != nullptr && wanted.blob->bytes().size() != reply.bytes) {
    wanted.blob.reset();  // The server has made the datum again meanwhile, with another size.
    wanted.offset = wanted.warmed = 0;
    return fail(line, "the server's datum has changed");
  }
  if (wanted.blob == nullptr) {
    wanted.blob = store_.allocate(reply.bytes);
    if (wanted.blob == nullptr) return fail(line, "there is no memory for " + std::to_string(reply.bytes) + " bytes");
  }
  expect(line, limits_.pace);
  read_chunk(line);
}

// If mapping fails, the same connection brings a copy.
void Route::map(const LinePtr& line) {
  if (!line->wanted.on_done) return fail(line, "was cancelled");
  handles_->fetch(line->offer, line->reply.bytes, [self = shared_from_this(), line](std::shared_ptr<Blob> blob) {
    if (self->closed_) return;
    Wanted& wanted = line->wanted;
    if (!wanted.on_done) return self->fail(line, "was cancelled");
    if (blob != nullptr) {
      wanted.blob = std::move(blob);
      return self->finish(line, {});
    }
    wanted.by_copy = true;
    self->ask(line);
  });
}

void Route::read_chunk(const LinePtr& line) {
  Wanted& wanted = line->wanted;
  if (!wanted.on_done) return fail(line, "was cancelled");
  if (wanted.offset == wanted.blob->bytes().size()) return finish(line, {});
  if (line->format() == kPackedFormat) return read_packed(line);
  read_plain(line, next_chunk(*line));
}

std::span<std::byte> Route::next_chunk(const Line& line) const {
  const Wanted& wanted = line.wanted;
  return {wanted.blob->data() + wanted.offset,
          std::min<std::size_t>(limits_.chunk_bytes, wanted.blob->bytes().size() - wanted.offset)};
}

void Route::read_plain(const LinePtr& line, std::span<std::byte> chunk) {
  const std::size_t bytes = chunk.size();
  const std::array<asio::mutable_buffer, 2> buffers{asio::buffer(&line->chunk, sizeof(TransferChunk)),
                                                    asio::buffer(chunk.data(), bytes)};
  // The target memory must outlive a cancel.
  asio::async_read(
      line->socket, buffers, line->watch.at_once(bytes + sizeof(TransferChunk)),
      [self = shared_from_this(), line, bytes, held = line->wanted.blob](const error_code& error, std::size_t) {
        if (self->closed_) return;
        if (error) return self->fail(line, error.message());
        self->check_chunk(line, bytes);
      });
}

void Route::read_packed(const LinePtr& line) {
  asio::async_read(line->socket, asio::buffer(&line->packed, sizeof(PackedChunk)),
                   then(line, &Route::packed_head_came));
}

// The header is checked before memory is taken or anything is read for it.
void Route::packed_head_came(const LinePtr& line) {
  if (!line->wanted.on_done) return fail(line, "was cancelled");
  const PackedChunk& head = line->packed;
  const std::span<std::byte> chunk = next_chunk(*line);
  const bool sound = head.compressed == 0
                         ? head.sent_bytes == chunk.size()
                         : head.compressed == 1 && head.sent_bytes > 0 && head.sent_bytes < chunk.size();
  if (!sound) return fail(line, "the server's chunk is malformed");
  if (head.compressed == 1)
    line->packed_bytes.resize(std::max<std::size_t>(line->packed_bytes.size(), head.sent_bytes));
  std::byte* const target = head.compressed == 1 ? line->packed_bytes.data() : chunk.data();
  // As above: a cancel must not free the target memory.
  asio::async_read(line->socket, asio::buffer(target, head.sent_bytes), line->watch.at_once(head.sent_bytes),
                   [self = shared_from_this(), line, held = line->wanted.blob](const error_code& error, std::size_t) {
                     if (self->closed_) return;
                     if (error) return self->fail(line, error.message());
                     self->packed_came(line);
                   });
}

void Route::packed_came(const LinePtr& line) {
  if (!line->wanted.on_done) return fail(line, "was cancelled");
  const PackedChunk& head = line->packed;
  const std::span<std::byte> chunk = next_chunk(*line);
  if (head.compressed == 0) {
    line->chunk.hash = head.datum_hash;
    return check_chunk(line, chunk.size());
  }
  const std::span<const std::byte> packed{line->packed_bytes.data(), head.sent_bytes};
  const bool sound =
      is_whole(*line, packed, head.sent_hash) && unpack_chunk(packed, chunk) && is_whole(*line, chunk, head.datum_hash);
  take_chunk(line, chunk.size(), sound);
}

// Records of a secured connection are authenticated, so their bytes have no checksum.
bool Route::is_whole(const Line& line, std::span<const std::byte> bytes, std::uint64_t hash) {
  return line.socket.session() != nullptr || chunk_hash(bytes, line.wanted.offset) == hash;
}

void Route::check_chunk(const LinePtr& line, std::size_t bytes) {
  Wanted& wanted = line->wanted;
  if (!wanted.on_done) return fail(line, "was cancelled");
  take_chunk(line, bytes, is_whole(*line, wanted.blob->bytes().subspan(wanted.offset, bytes), line->chunk.hash));
}

void Route::take_chunk(const LinePtr& line, std::size_t bytes, bool sound) {
  Wanted& wanted = line->wanted;
  if (!sound) {
    // Fault F41: a copy that is damaged at its holder counts as lost, and is made again.
    if (++wanted.bad_chunks > 1)
      return finish(line, Error{ErrorCode::NotFound, to_string(wanted.key), "fails its checksum", {}});
    return fail(line, "the data fail their checksum");
  }
  wanted.offset += bytes;
  wanted.cuts = 0;
  warm_ahead(wanted);
  read_chunk(line);
}

// In steps, so that a size that the server claims costs memory only as bytes arrive.
void Route::warm_ahead(Wanted& wanted) {
  const std::uint64_t ahead = std::clamp(wanted.offset, kWarmAheadMin, kWarmAheadMax);
  if (wanted.warmed > wanted.offset + ahead / 2) return;
  const std::uint64_t size = wanted.blob->bytes().size();
  const std::uint64_t from = std::max(wanted.warmed, wanted.offset);
  wanted.warmed = std::min(wanted.offset + ahead, size);
  if (from < wanted.warmed) warmer_->warm(wanted.blob, from, wanted.warmed);
}

void Route::finish(const LinePtr& line, const Error& error) {
  line->used = true;
  std::erase(busy_, line);
  Wanted wanted = std::exchange(line->wanted, {});
  const bool whole = error.message.empty();
  if (whole || wanted.bad_chunks == 0) {
    idle_.push_back(line);
    constexpr std::size_t kNothingMoves = 1;
    line->watch.begin({limits_.idle_max, kNothingMoves}, [self = shared_from_this(), line] {
      if (self->closed_) return;
      std::erase(self->idle_, line);
      --self->lines_;
    });
  } else {
    line->watch.end();
    --lines_;  // The rest of a damaged answer is still arriving and will not be read.
  }
  wanted.on_done(whole ? std::move(wanted.blob) : nullptr, error);
  serve();
}

// The connection has failed. Its request continues from the same offset on another one.
void Route::fail(const LinePtr& line, const std::string& why) {
  if (std::find(busy_.begin(), busy_.end(), line) == busy_.end()) return;
  line->watch.end();
  --lines_;
  std::erase(busy_, line);
  Wanted wanted = std::exchange(line->wanted, {});
  if (wanted.on_done && (line->used || (line->connected && ++wanted.cuts <= limits_.cuts_max)))
    waiting_.insert(waiting_.begin(), std::move(wanted));
  else if (wanted.on_done)
    wanted.on_done(nullptr, Error{ErrorCode::Unreachable, to_string(address_), why, {}});
  serve();
}

// The server cannot be reached. Each request that waits for a connection would wait as long again, one after the other.
// From a connection of a cancelled request nothing follows for others.
void Route::not_connected(const LinePtr& line, const std::string& why) {
  if (!closed_ && !line->wanted.on_done) return fail(line, why);
  const auto reached = [](const LinePtr& other) { return other->connected; };
  const bool none = std::none_of(busy_.begin(), busy_.end(), reached) && idle_.empty();
  for (std::size_t left = none ? waiting_.size() : 0; left > 0 && !waiting_.empty(); --left) {
    const Wanted wanted = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    wanted.on_done(nullptr, Error{ErrorCode::Unreachable, to_string(address_), why, {}});
  }
  if (!closed_) fail(line, why);
}

void Route::expect(const LinePtr& line, const PaceLimits& pace) {
  line->watch.begin(pace, [line] {
    line->socket.close();  // The pending operation fails and reports it.
  });
}

}  // namespace

struct DataClient::State {
  State(Loop& event_loop, const ObjectStore& object_store, const TransferLimits& transfer_limits)
      : loop(event_loop), store(object_store), limits(transfer_limits) {}
  Loop& loop;
  const ObjectStore& store;
  const TransferLimits limits;
  const std::shared_ptr<PageWarmer> warmer = std::make_shared<PageWarmer>();
  const std::shared_ptr<HandleClient> handles =
      std::make_shared<HandleClient>(loop, limits.mapped_for, limits.handle_wait_max);
  std::map<std::string, std::shared_ptr<Route>> routes;
};

DataClient::DataClient(Loop& loop, const ObjectStore& store, const TransferLimits& limits)
    : state_(std::make_shared<State>(loop, store, limits)) {}

DataClient::~DataClient() {
  for (const auto& [address, route] : state_->routes) route->close();
}

void DataClient::fetch(const HostPort& from, const DataKey& key, std::uint64_t priority, OnDone on_done,
                       const JobIdentity& identity) {
  cancel(key);
  std::shared_ptr<Route>& route = state_->routes[to_string(from)];
  if (route == nullptr)
    route = std::make_shared<Route>(state_->loop.io(), from, state_->store, state_->limits, state_->warmer,
                                    state_->handles);
  Wanted wanted;
  wanted.key = key;
  wanted.identity = identity;
  wanted.priority = priority;
  wanted.on_done = std::move(on_done);
  std::shared_ptr<Route> { route } -> add(std::move(wanted));
}

void DataClient::abandon(const HostPort& server) {
  const auto found = state_->routes.find(to_string(server));
  if (found == state_->routes.end()) return;
  const std::shared_ptr<Route> route = std::move(found->second);
  state_->routes.erase(found);
  const Error gone{ErrorCode::NotFound, to_string(server), "is gone", {}};
  for (const Wanted& wanted : route->close()) wanted.on_done(nullptr, gone);
}

void DataClient::cancel(const DataKey& key) {
  for (const auto& [address, route] : state_->routes) route->cancel(key);
}

}  // namespace penstock::worker
