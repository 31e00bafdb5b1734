// Both ends of transfers as tests want them: data, a loop that is turned by hand, servers that lie.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>

#include "common/base/rng.hpp"
#include "common/host/clock.hpp"
#include "worker/transfer/data_client.hpp"
#include "worker/transfer/data_server.hpp"

namespace penstock::worker {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr std::uint32_t kChunk = 4096;

inline DataKey key(std::uint32_t subtask) { return DataKey{{JobId{3}, SubtaskIndex{subtask}}, 1}; }

inline std::vector<std::byte> content(std::size_t bytes) {
  Rng random{bytes};
  std::vector<std::byte> data(bytes);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random.below(256));
  return data;
}

inline void put(ObjectStore& store, std::uint32_t subtask, const std::vector<std::byte>& data) {
  std::shared_ptr<Blob> blob = store.allocate(data.size());
  std::memcpy(blob->data(), data.data(), data.size());
  store.put(key(subtask), std::move(blob));
}

/// The number of the file that is mapped there; 0: none. Addresses with the same number are the same memory.
inline std::uint64_t file_at(const void* address) {
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words{line};
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uint64_t file = 0;
    char dash = 0;
    std::string skipped;
    words >> std::hex >> begin >> dash >> end >> skipped >> skipped >> skipped >> std::dec >> file;
    if (const auto at = reinterpret_cast<std::uintptr_t>(address); begin <= at && at < end) return file;
  }
  return 0;
}

inline TransferLimits limits() {
  TransferLimits limits;
  limits.chunk_bytes = kChunk;
  limits.streams_max = 2;
  limits.pace.silence_max = limits.reply_max = milliseconds{200};
  limits.maps = false;  // Tests with these limits are about copies; mapped_transfer_test.cpp is about the others.
  return limits;
}

/// A loop that a test turns until something has happened.
struct Turning {
  Loop loop;
  ~Turning() {
    while (loop.turn()) {
    }
  }
  template <class Condition>
  bool until(Condition&& condition) {
    const Instant end = monotonic_now() + seconds{20};
    while (!condition()) {
      if (monotonic_now() > end) return false;
      loop.turn();
    }
    return true;
  }
};

struct Answer {
  bool told = false;
  std::shared_ptr<Blob> blob;
  Error error;
  DataClient::OnDone take() {
    return [this](std::shared_ptr<Blob> got, const Error& why) {
      EXPECT_FALSE(told) << "answered twice";
      told = true;
      blob = std::move(got);
      error = why;
    };
  }
  bool is(const std::vector<std::byte>& data) const {
    return blob != nullptr && blob->bytes().size() == data.size() &&
           std::memcmp(blob->bytes().data(), data.data(), data.size()) == 0;
  }
};

inline HostPort local(std::uint16_t port) { return HostPort{"127.0.0.1", port}; }

/// A server of the test's own, which answers a request at a time as it is told, on its own thread.
class Liar {
 public:
  using Answering = std::function<void(tcp::socket&, const TransferRequest&, int visit)>;
  explicit Liar(Answering answering) : acceptor_(io_, tcp::endpoint{asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::thread{[this, answering = std::move(answering)] {
      for (int visit = 0;; ++visit) {
        boost::system::error_code error;
        tcp::socket socket{io_};
        acceptor_.accept(socket, error);
        const Visit noted{*this, socket};
        if (error || ending_) return;
        TransferRequest request;
        while (!error && asio::read(socket, asio::buffer(&request, sizeof request), error) == sizeof request) {
          note(request);
          answering(socket, request, visit);
          if (!socket.is_open()) break;
        }
      }
    }};
  }
  ~Liar() {
    ending_ = true;
    boost::system::error_code error;
    {
      // A connection that was under way when its client went is closed in the next turn of the loop only.
      const std::lock_guard lock{mutex_};
      if (visitor_ != nullptr) visitor_->shutdown(tcp::socket::shutdown_both, error);
    }
    tcp::socket knock{io_};
    knock.connect(acceptor_.local_endpoint(), error);
    thread_.join();
  }
  HostPort address() const { return local(acceptor_.local_endpoint().port()); }

  /// The offsets asked for so far; all of them, when the client has its answer.
  std::vector<std::uint64_t> offsets() {
    const std::lock_guard lock{mutex_};
    return offsets_;
  }
  std::vector<std::uint32_t> formats() {
    const std::lock_guard lock{mutex_};
    return formats_;
  }

 private:
  void note(const TransferRequest& request) {
    const std::lock_guard lock{mutex_};
    offsets_.push_back(request.offset);
    formats_.push_back(request.format);
  }

  /// While it lives, the visitor may be sent away.
  struct Visit {
    Visit(Liar& of, tcp::socket& socket) : liar(of) { note(&socket); }
    ~Visit() { note(nullptr); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    void note(tcp::socket* socket) {
      const std::lock_guard lock{liar.mutex_};
      liar.visitor_ = socket;
    }
    Liar& liar;
  };

  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint32_t> formats_;
  tcp::socket* visitor_ = nullptr;
  std::thread thread_;
};

inline void say(tcp::socket& socket, const void* data, std::size_t size) {
  boost::system::error_code ignored;
  asio::write(socket, asio::buffer(data, size), ignored);
}

/// The honest answer from the request's offset on, but only so many chunks; the one of number `bad` is damaged.
inline void say_chunks(tcp::socket& socket, const TransferRequest& request, const std::vector<std::byte>& data,
                       std::size_t count, std::size_t bad = ~std::size_t{0}) {
  TransferReply reply;
  reply.status = TransferStatus::Here;
  reply.bytes = data.size();
  say(socket, &reply, sizeof reply);
  for (std::uint64_t at = request.offset; at < data.size() && count > 0; at += kChunk, --count) {
    std::vector<std::byte> part{
        data.begin() + static_cast<std::ptrdiff_t>(at),
        data.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(at + kChunk, data.size()))};
    const TransferChunk chunk{chunk_hash(part, at)};
    if (at / kChunk == bad) part[7] ^= std::byte{1};
    say(socket, &chunk, sizeof chunk);
    say(socket, part.data(), part.size());
  }
}

}  // namespace penstock::worker
