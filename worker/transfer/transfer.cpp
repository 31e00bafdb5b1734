#include "worker/transfer/transfer.hpp"

#include <xxhash.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <vector>

namespace penstock::worker {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// Format of schema/README.md, "data": fixed little-endian structs, as they stand in memory.
constexpr std::uint32_t kMagic = 0x44534e50;  // "PNSD"
constexpr std::uint32_t kFormat = 1;
struct Request {
  std::uint32_t magic = kMagic;
  std::uint32_t format = kFormat;
  std::uint32_t job = 0;
  std::uint32_t subtask = 0;
  std::uint32_t output = 0;
  std::uint32_t reserved = 0;
};
enum class Status : std::uint32_t { Here = 0, Gone = 1 };
struct Reply {
  std::uint32_t magic = kMagic;
  Status status = Status::Gone;
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
};
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 44U;
constexpr Duration kIdleMax = std::chrono::seconds{60};
constexpr Duration kAnswerMax = std::chrono::seconds{60};
constexpr std::size_t kConnectionsPerServer = 4;

/// One accepted connection: reads a request, writes the answer, reads the next.
struct Visitor : std::enable_shared_from_this<Visitor> {
  Visitor(tcp::socket accepted, ObjectStore& object_store) : socket(std::move(accepted)), store(object_store) {}

  void read() {
    asio::async_read(socket, asio::buffer(&request, sizeof request), [self = shared_from_this()](const error_code& error, std::size_t) {
      if (!error && self->request.magic == kMagic && self->request.format == kFormat && self->request.output <= UINT16_MAX) self->answer();
    });
  }

  void answer() {
    blob = store.find(DataKey{{JobId{request.job}, SubtaskIndex{request.subtask}}, static_cast<std::uint16_t>(request.output)});
    reply = Reply{};
    std::array<asio::const_buffer, 2> buffers{asio::buffer(&reply, sizeof reply), asio::const_buffer{}};
    if (blob != nullptr) {
      reply.status = Status::Here;
      reply.bytes = blob->bytes().size();
      reply.hash = XXH3_64bits(blob->bytes().data(), blob->bytes().size());
      buffers[1] = asio::buffer(blob->bytes().data(), blob->bytes().size());
    }
    asio::async_write(socket, buffers, [self = shared_from_this()](const error_code& error, std::size_t) {
      self->blob.reset();
      if (!error) self->read();
    });
  }

  tcp::socket socket;
  ObjectStore& store;
  Request request;
  Reply reply;
  BlobPtr blob;
};

}  // namespace

struct DataServer::State : std::enable_shared_from_this<State> {
  State(Loop& loop, ObjectStore& object_store) : acceptor(loop.io()), retry(loop.io()), store(object_store) {}
  void accept() {
    acceptor.async_accept([self = shared_from_this()](const error_code& error, tcp::socket socket) {
      if (self->closed) return;
      if (error) {
        self->retry.expires_after(std::chrono::milliseconds{50});
        self->retry.async_wait([self](const error_code& cancelled) {
          if (!cancelled && !self->closed) self->accept();
        });
        return;
      }
      error_code ignored;
      socket.set_option(tcp::no_delay{true}, ignored);
      const auto visitor = std::make_shared<Visitor>(std::move(socket), self->store);
      self->visitors.remove_if([](const std::weak_ptr<Visitor>& gone) { return gone.expired(); });
      self->visitors.push_back(visitor);
      visitor->read();
      self->accept();
    });
  }
  tcp::acceptor acceptor;
  asio::steady_timer retry;
  ObjectStore& store;
  std::list<std::weak_ptr<Visitor>> visitors;
  bool closed = false;
};

DataServer::DataServer(std::shared_ptr<State> state) : state_(std::move(state)) {}

DataServer::~DataServer() {
  state_->closed = true;
  error_code ignored;
  state_->acceptor.close(ignored);
  state_->retry.cancel();
  for (const auto& weak : state_->visitors)
    if (const auto visitor = weak.lock()) visitor->socket.close(ignored);
}

Result<std::unique_ptr<DataServer>> DataServer::open(Loop& loop, const HostPort& address, ObjectStore& store) {
  const std::string text = to_string(address);
  error_code error;
  const auto ip = asio::ip::make_address(address.host == "localhost" ? "127.0.0.1" : address.host, error);
  if (error) return Error{ErrorCode::InvalidArgument, text, "is no numeric address to listen on", "use e.g. 127.0.0.1 or 0.0.0.0"};
  auto state = std::make_shared<State>(loop, store);
  const tcp::endpoint endpoint{ip, address.port};
  state->acceptor.open(endpoint.protocol(), error);
  if (!error) state->acceptor.set_option(tcp::acceptor::reuse_address{true}, error);
  if (!error) state->acceptor.bind(endpoint, error);
  if (!error) state->acceptor.listen(1024, error);
  if (error == asio::error::address_in_use)
    return Error{ErrorCode::AddressInUse, text, "another process listens there already", "choose another port for data"};
  if (error) return Error{ErrorCode::InvalidArgument, text, "cannot be listened on: " + error.message(), {}};
  state->accept();
  return std::unique_ptr<DataServer>{new DataServer{std::move(state)}};
}

std::uint16_t DataServer::port() const {
  error_code ignored;
  return state_->acceptor.local_endpoint(ignored).port();
}

namespace {

struct Wanted {
  DataKey key;
  DataClient::OnDone on_done;
};

/// The way to one server: requests that wait, and connections that serve them.
struct Route : std::enable_shared_from_this<Route> {
  Route(asio::io_context& context, const HostPort& server) : io(context), address(server) {}

  struct Line : std::enable_shared_from_this<Line> {
    explicit Line(asio::io_context& io) : socket(io), timer(io) {}
    tcp::socket socket;
    asio::steady_timer timer;
    bool connected = false;
    bool used = false;       ///< It has served before; a failure may only mean that the server has closed it.
    Wanted wanted;
    Request request;
    Reply reply;
    std::shared_ptr<Blob> blob;
  };

  void serve() {
    while (!waiting.empty()) {
      std::shared_ptr<Line> line;
      if (!idle.empty()) {
        line = idle.back();
        idle.pop_back();
        line->timer.cancel();
      } else if (lines < kConnectionsPerServer) {
        line = std::make_shared<Line>(io);
        ++lines;
      } else {
        return;
      }
      busy.push_back(line);
      line->wanted = std::move(waiting.front());
      waiting.pop_front();
      if (line->connected)
        ask(line);
      else
        connect(line);
    }
  }

  void connect(const std::shared_ptr<Line>& line) {
    watch(line);
    auto resolver = std::make_shared<tcp::resolver>(io);
    resolver->async_resolve(address.host, std::to_string(address.port),
                            [self = shared_from_this(), line, resolver](const error_code& error, tcp::resolver::results_type results) {
                              if (error) return self->fail(line, error.message());
                              asio::async_connect(line->socket, results, [self, line](const error_code& failed, const tcp::endpoint&) {
                                if (failed) return self->fail(line, failed.message());
                                error_code ignored;
                                line->socket.set_option(tcp::no_delay{true}, ignored);
                                line->connected = true;
                                self->ask(line);
                              });
                            });
  }

  void ask(const std::shared_ptr<Line>& line) {
    watch(line);
    line->request = Request{};
    line->request.job = line->wanted.key.producer.job.value();
    line->request.subtask = line->wanted.key.producer.index.value();
    line->request.output = line->wanted.key.output;
    asio::async_write(line->socket, asio::buffer(&line->request, sizeof(Request)),
                      [self = shared_from_this(), line](const error_code& error, std::size_t) {
                        if (error) return self->fail(line, error.message());
                        asio::async_read(line->socket, asio::buffer(&line->reply, sizeof(Reply)), [self, line](const error_code& failed, std::size_t) {
                          if (failed) return self->fail(line, failed.message());
                          self->replied(line);
                        });
                      });
  }

  void replied(const std::shared_ptr<Line>& line) {
    const Reply& reply = line->reply;
    if (reply.magic != kMagic || reply.bytes > kBytesMax) return fail(line, "the server's answer is malformed");
    if (reply.status != Status::Here) return finish(line, nullptr, Error{ErrorCode::NotFound, to_string(line->wanted.key), "is not there", {}});
    line->blob = Blob::allocate(reply.bytes);
    if (line->blob == nullptr) return fail(line, "there is no memory for " + std::to_string(reply.bytes) + " bytes");
    asio::async_read(line->socket, asio::buffer(line->blob->data(), reply.bytes), [self = shared_from_this(), line](const error_code& error, std::size_t) {
      if (error) return self->fail(line, error.message());
      const auto bytes = line->blob->bytes();
      if (XXH3_64bits(bytes.data(), bytes.size()) != line->reply.hash) return self->fail(line, "the data fail their checksum");
      self->finish(line, std::move(line->blob), {});
    });
  }

  void finish(const std::shared_ptr<Line>& line, std::shared_ptr<Blob> blob, const Error& error) {
    if (closed) return;
    line->used = true;
    std::erase(busy, line);
    const Wanted wanted = std::exchange(line->wanted, {});
    idle.push_back(line);
    line->timer.expires_after(kIdleMax);
    line->timer.async_wait([self = shared_from_this(), line](const error_code& cancelled) {
      if (cancelled) return;
      std::erase(self->idle, line);
      --self->lines;
    });
    if (wanted.on_done) wanted.on_done(std::move(blob), error);
    serve();
  }

  void fail(const std::shared_ptr<Line>& line, const std::string& why) {
    if (closed) return;
    line->timer.cancel();
    --lines;
    std::erase(busy, line);
    Wanted wanted = std::exchange(line->wanted, {});
    if (line->used && wanted.on_done) {
      waiting.push_front(std::move(wanted));  // Once more, on a fresh connection.
    } else if (wanted.on_done) {
      wanted.on_done(nullptr, Error{ErrorCode::Unreachable, to_string(address), why, {}});
    }
    serve();
  }

  /// Ends everything; what was wanted.
  std::deque<Wanted> close() {
    closed = true;
    std::deque<Wanted> left = std::exchange(waiting, {});
    for (const auto& lines_of : {busy, idle}) {
      for (const auto& line : lines_of) {
        line->timer.cancel();
        error_code ignored;
        line->socket.close(ignored);
        if (line->wanted.on_done) left.push_back(std::exchange(line->wanted, {}));
      }
    }
    busy.clear();
    idle.clear();
    return left;
  }

  void watch(const std::shared_ptr<Line>& line) {
    line->timer.expires_after(kAnswerMax);
    line->timer.async_wait([line](const error_code& cancelled) {
      error_code ignored;
      if (!cancelled) line->socket.close(ignored);  // The operation under way fails, and tells.
    });
  }

  asio::io_context& io;
  const HostPort address;
  std::deque<Wanted> waiting;
  std::vector<std::shared_ptr<Line>> idle;
  std::vector<std::shared_ptr<Line>> busy;
  std::size_t lines = 0;
  bool closed = false;
};

}  // namespace

struct DataClient::State {
  explicit State(Loop& event_loop) : loop(event_loop) {}
  Loop& loop;
  std::map<std::string, std::shared_ptr<Route>> routes;
  std::map<DataKey, std::shared_ptr<OnDone>> wanted;
};

DataClient::DataClient(Loop& loop) : state_(std::make_shared<State>(loop)) {}

DataClient::~DataClient() {
  for (const auto& [address, route] : state_->routes) route->close();
}

void DataClient::fetch(const HostPort& from, const DataKey& key, OnDone on_done) {
  std::shared_ptr<Route>& route = state_->routes[to_string(from)];
  if (route == nullptr) route = std::make_shared<Route>(state_->loop.io(), from);
  const auto handler = std::make_shared<OnDone>(std::move(on_done));
  state_->wanted[key] = handler;
  route->waiting.push_back({key, [weak = std::weak_ptr<State>{state_}, key, handler](std::shared_ptr<Blob> blob, const Error& error) {
                              const auto alive = weak.lock();
                              if (alive == nullptr) return;
                              const auto found = alive->wanted.find(key);
                              if (found == alive->wanted.end() || found->second != handler) return;  // Cancelled.
                              alive->wanted.erase(found);
                              (*handler)(std::move(blob), error);
                            }});
  route->serve();
}

void DataClient::abandon(const HostPort& server) {
  const auto found = state_->routes.find(to_string(server));
  if (found == state_->routes.end()) return;
  const std::shared_ptr<Route> route = std::move(found->second);
  state_->routes.erase(found);
  const Error gone{ErrorCode::NotFound, to_string(server), "is gone", {}};
  for (const Wanted& wanted : route->close()) wanted.on_done(nullptr, gone);
}

void DataClient::cancel(const DataKey& key) { state_->wanted.erase(key); }

}  // namespace penstock::worker
