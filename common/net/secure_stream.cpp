#include "common/net/secure_stream.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstring>

namespace penstock {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// Up to this size records are made and read in memory that all connections of a thread have in common.
constexpr std::size_t kSmallBytes = 64UL << 10U;
/// The content types of TLS (RFC 8446, 5.1), and the size of the head of its records.
constexpr std::byte kFirstOfTls{20};
constexpr std::byte kLastOfTls{24};
constexpr std::size_t kTlsHeadBytes = 5;
constexpr std::uint32_t kHeardMax = 16;  ///< Records of TLS after the handshake: tickets, or a refusal.
/// Memory of a connection that does nothing.
constexpr std::size_t kKeptBytes = 4096;

error_code refused() { return asio::error::access_denied; }

void give_back(std::vector<std::byte>& bytes) {
  bytes.clear();
  if (bytes.capacity() > kKeptBytes) std::vector<std::byte>{}.swap(bytes);
}

}  // namespace

void SecureStream::close() {
  if (state_ == nullptr) return;
  state_->given_up = true;
  error_code ignored;
  state_->socket.close(ignored);
  if (state_->told == nullptr) return;
  asio::post(state_->socket.get_executor(), [told = std::exchange(state_->told, nullptr)] {
    told(Error{ErrorCode::Disconnected, "", "was given up during the handshake", {}});
  });
}

Error SecureStream::reason(const error_code& error) const {
  if (state_->failure.has_value()) return *state_->failure;
  return {ErrorCode::Disconnected, "", error.message(), {}};
}

PeerStanding SecureStream::peer() const {
  PeerStanding standing;
  standing.same_user = is_local(state_->socket);
  if (state_->session == nullptr) return standing;
  standing.secured = true;
  standing.identity = state_->session->peer();
  standing.serial = state_->session->peer_serial();
  return standing;
}

void SecureStream::secure(std::unique_ptr<TlsSession> session, std::shared_ptr<HandshakePool> pool, OnSecured told) {
  error_code ignored;
  state_->socket.non_blocking(true, ignored);
  state_->session = std::move(session);
  state_->pooled = pool != nullptr;
  state_->pool = pool;
  state_->told = std::move(told);
  // The accepting side has nothing to compute before the first bytes have come.
  if (state_->session->is_accepting()) return state_->await_peer();
  state_->shake_hands({});
}

void SecureStream::State::tell(const Result<void>& result) {
  if (!result) failure = result.error();
  if (told) std::exchange(told, nullptr)(result);
}

void SecureStream::State::shake_hands(std::vector<std::byte> arrived) {
  if (!pooled) {
    std::vector<std::byte> to_send;
    const auto result = session->shake_hands(arrived, to_send);
    return shaken(result, std::move(to_send));
  }
  // Nothing else touches the session before the step has come back. The step gives up its part of this stream with
  // that: the last owner is always in the loop's thread.
  const std::shared_ptr<HandshakePool> threads = pool.lock();
  const auto step = std::exchange(shaking, true) ? HandshakePool::Step::Further : HandshakePool::Step::First;
  const bool taken =
      threads != nullptr && threads->run(step, [self = shared_from_this(), arrived = std::move(arrived)]() mutable {
        std::vector<std::byte> to_send;
        // A peer that has gone meanwhile costs nothing more: else those that come too late would make others late.
        Result<TlsSession::Handshake> result = TlsSession::Handshake::GoesOn;
        if (!self->given_up) result = self->session->shake_hands(arrived, to_send);
        const auto home = self->socket.get_executor();
        asio::post(home, [self = std::move(self), result, to_send = std::move(to_send)]() mutable {
          self->shaken(result, std::move(to_send));
        });
      });
  if (!taken) tell(Error{ErrorCode::LimitExceeded, "", "too many handshakes wait", "it tries again by itself"});
}

void SecureStream::State::shaken(const Result<TlsSession::Handshake>& result, std::vector<std::byte> to_send) {
  if (!socket.is_open()) return;
  if (!result) {
    // The peer hears of the reason if its window is open.
    error_code ignored;
    socket.write_some(asio::buffer(to_send), ignored);
    return tell(result.error());
  }
  const bool done = *result == TlsSession::Handshake::Done;
  if (done)
    if (const Result<void> ready = use_records(); !ready) return tell(ready.error());
  if (to_send.empty()) return done ? tell({}) : await_peer();
  sealed = std::move(to_send);
  asio::async_write(socket, asio::buffer(sealed),
                    [self = shared_from_this(), done](const error_code& error, std::size_t) {
                      give_back(self->sealed);
                      if (error) return self->tell(Error{ErrorCode::Disconnected, "", error.message(), {}});
                      if (done) return self->tell({});
                      self->await_peer();
                    });
}

void SecureStream::State::await_peer() {
  socket.async_wait(StreamSocket::wait_read, [self = shared_from_this()](const error_code& error) {
    std::vector<std::byte> arrived;
    const error_code read = error ? error : self->read_handshake(arrived);
    if (read == asio::error::would_block) return self->await_peer();
    if (read)
      return self->tell(Error{ErrorCode::Disconnected, "", "was closed during the handshake: " + read.message(),
                              "does one side run with `--insecure`? both need it"});
    self->shake_hands(std::move(arrived));
  });
}

namespace {

// One buffer for all connections of a thread: ten thousand idle ones have none of their own.
std::span<std::byte> common_buffer() {
  thread_local std::array<std::byte, kSmallBytes> buffer;
  return buffer;
}

}  // namespace

error_code SecureStream::State::read_handshake(std::vector<std::byte>& arrived) {
  const std::span<std::byte> buffer = common_buffer();
  error_code error;
  const std::size_t count = socket.read_some(asio::buffer(buffer.data(), buffer.size()), error);
  if (!error) arrived.assign(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count));
  return error;
}

template <class Byte>
void SecureStream::Pieces<Byte>::cut(std::size_t most) {
  while (bytes > most) {
    std::span<Byte>& last = piece[count - 1];
    const std::size_t beyond = std::min(last.size(), bytes - most);
    last = last.first(last.size() - beyond);
    bytes -= beyond;
    if (last.empty()) --count;
  }
}

template <class Byte>
void SecureStream::Pieces<Byte>::skip(std::size_t most) {
  std::size_t gone = 0;
  bytes -= most;
  for (; most > 0 && most >= piece[gone].size(); ++gone) most -= piece[gone].size();
  if (most > 0) piece[gone] = piece[gone].subspan(most);
  if (gone > 0)
    std::move(piece.begin() + static_cast<std::ptrdiff_t>(gone), piece.begin() + static_cast<std::ptrdiff_t>(count),
              piece.begin());
  count -= gone;
}

Result<void> SecureStream::State::use_records() {
  using Direction = RecordCipher::Direction;
  const bool server = session->is_accepting();
  Result<std::unique_ptr<RecordCipher>> sealer =
      RecordCipher::of(*session, server ? Direction::TowardsClient : Direction::TowardsServer, true);
  Result<std::unique_ptr<RecordCipher>> opener =
      RecordCipher::of(*session, server ? Direction::TowardsServer : Direction::TowardsClient, false);
  if (!sealer) return std::move(sealer).error();
  if (!opener) return std::move(opener).error();
  records.sealer = std::move(sealer).value();
  records.opener = std::move(opener).value();
  if (const std::vector<std::byte> early = session->take_unread(); !early.empty()) {
    records.make_room(early.size());
    std::memcpy(records.arrived.get(), early.data(), early.size());
    records.end = early.size();
  }
  return {};
}

void SecureStream::State::Records::make_room(std::size_t bytes) {
  const std::span<const std::byte> kept = unopened();
  if (bytes > capacity) {
    auto larger = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::copy(kept.begin(), kept.end(), larger.get());
    arrived = std::move(larger);
    capacity = bytes;
  } else if (begin > 0) {
    std::memmove(arrived.get(), kept.data(), kept.size());
  }
  end -= std::exchange(begin, 0);
}

void SecureStream::State::Records::give_back() {
  arrived = nullptr;
  capacity = begin = end = 0;
}

void SecureStream::State::write(Pieces<const std::byte> pieces, OnMoved done) {
  pieces.cut(RecordCipher::kPlainBytesMax);
  const std::size_t size = RecordCipher::sealed_bytes(pieces.bytes);
  std::span<std::byte> record = common_buffer();
  if (size > kSmallBytes) {
    if (sealed.size() < size) sealed.resize(size);  // Kept at its size: new bytes would be cleared each time.
    record = sealed;
    wrote_much = true;
  }
  record = record.first(size);
  error_code error;
  if (Result<void> well = records.sealer->seal(pieces.all(), record); !well) {
    failure = std::move(well).error();
    error = refused();
  }
  // Mostly the socket takes all of it, and the record need not be kept.
  std::size_t written = error ? 0 : socket.write_some(asio::buffer(record.data(), size), error);
  if (error == asio::error::would_block) error = {}, written = 0;
  if (error || written == size)
    return asio::post(socket.get_executor(),
                      [done = std::move(done), error, taken = pieces.bytes] { done(error, error ? 0 : taken); });
  record = record.subspan(written);
  if (size <= kSmallBytes) {
    sealed.assign(record.begin(), record.end());
    record = sealed;
  }
  writing = true;
  asio::async_write(
      socket, asio::buffer(record.data(), record.size()),
      [](const error_code& failed, std::size_t) { return failed ? 0 : std::size_t{1} << 30U; },
      [self = shared_from_this(), taken = pieces.bytes, done = std::move(done)](const error_code& failed, std::size_t) {
        self->writing = false;
        done(failed, failed ? 0 : taken);
      });
}

/// The size of the record that these bytes begin with; 0: more has to arrive first.
Result<std::size_t> SecureStream::State::whole_bytes(std::span<const std::byte> arrived) const {
  if (arrived.size() < RecordCipher::kHeadBytes) return std::size_t{0};
  if (!records.begun && arrived[0] >= kFirstOfTls && arrived[0] <= kLastOfTls) {
    if (arrived.size() < kTlsHeadBytes) return std::size_t{0};
    return kTlsHeadBytes + (std::to_integer<std::size_t>(arrived[3]) << 8U) + std::to_integer<std::size_t>(arrived[4]);
  }
  const Result<std::size_t> plain = RecordCipher::plain_bytes(arrived.first<RecordCipher::kHeadBytes>());
  if (!plain) return plain;
  return RecordCipher::sealed_bytes(*plain);
}

/// Opens a whole record straight into the memory that was asked for; the rest of it is left for the next call.
Result<std::size_t> SecureStream::State::open_record(std::span<const std::byte> record, Pieces<std::byte>& pieces) {
  constexpr std::size_t kHead = RecordCipher::kHeadBytes;
  if (record[0] != RecordCipher::kMarker) {
    if (++records.heard > kHeardMax) return Error{ErrorCode::MalformedFrame, "", "the peer's bytes are no record", {}};
    if (const Result<void> heard = session->hear(record); !heard) return heard.error();
    return std::size_t{0};
  }
  records.begun = true;
  records.expected = record.size();
  const std::size_t size = record.size() - kHead - RecordCipher::kTagBytes;
  Pieces<std::byte> targets = pieces;
  targets.cut(size);
  const std::size_t wanted = targets.bytes;
  records.left.resize(size - wanted);
  records.left_begin = 0;
  std::array<std::span<std::byte>, Pieces<std::byte>::kMost + 1> all;
  std::copy(targets.piece.begin(), targets.piece.begin() + static_cast<std::ptrdiff_t>(targets.count), all.begin());
  all[targets.count] = records.left;
  const Result<void> opened =
      records.opener->open(record.first<kHead>(), record.subspan(kHead), {all.data(), targets.count + 1});
  if (!opened) return opened.error();
  pieces.skip(wanted);
  return wanted;
}

std::size_t SecureStream::State::take_left(Pieces<std::byte>& pieces) {
  std::size_t taken = 0;
  for (const std::span<std::byte> piece : pieces.all()) {
    const std::size_t size = std::min(piece.size(), records.left.size() - records.left_begin);
    std::memcpy(piece.data(), records.left.data() + records.left_begin, size);
    records.left_begin += size;
    taken += size;
  }
  pieces.skip(taken);
  if (records.left_begin < records.left.size()) return taken;
  give_back(records.left);
  records.left_begin = 0;
  return taken;
}

/// Opens what has arrived, as many records as have room; 0: more has to arrive first.
Result<std::size_t> SecureStream::State::open(Pieces<std::byte> pieces) {
  std::size_t taken = records.left.empty() ? 0 : take_left(pieces);
  while (pieces.bytes > 0) {
    const std::span<const std::byte> arrived = records.unopened();
    const Result<std::size_t> whole = whole_bytes(arrived);
    // The records before are good; the next call finds the same mistake.
    if (!whole && taken == 0) return whole;
    if (!whole || *whole == 0 || arrived.size() < *whole) break;
    const Result<std::size_t> opened = open_record(arrived.first(*whole), pieces);
    if (!opened) return opened;
    taken += *opened;
    records.begin += *whole;
  }
  if (records.begin == records.end) records.begin = records.end = 0;
  return taken;
}

void SecureStream::State::make_room() {
  const Result<std::size_t> whole = whole_bytes(records.unopened());
  // With the head of the next record, which tells its size.
  const std::size_t wanted = std::max(whole ? *whole : 0, records.expected) + RecordCipher::kHeadBytes;
  records.make_room(std::max(wanted, kSmallBytes));
}

void SecureStream::State::count_read(std::size_t count) {
  records.drained = count < records.capacity - records.end;
  records.end += count;
  records.came += count;
}

/// Reads behind what has arrived.
error_code SecureStream::State::read_socket() {
  if (std::exchange(records.drained, false)) return asio::error::would_block;
  make_room();
  error_code error;
  count_read(
      socket.read_some(asio::buffer(records.arrived.get() + records.end, records.capacity - records.end), error));
  return error;
}

std::optional<SecureStream::Moved> SecureStream::State::read_some(const Pieces<std::byte>& pieces) {
  for (;;) {
    const Result<std::size_t> opened = open(pieces);
    if (!opened) {
      const bool over = opened.error().code == ErrorCode::Disconnected;
      if (!over) failure = opened.error();
      return Moved{over ? error_code{asio::error::eof} : refused(), 0};
    }
    if (*opened > 0) return Moved{{}, *opened};
    const error_code error = read_socket();
    if (error == asio::error::would_block) return {};
    if (error) return Moved{error, 0};
  }
}

// Memory that a busy connection gave back would be cleared by the kernel for its next record; one that has been idle
// since its last wait keeps little.
void SecureStream::State::await_bytes(const Pieces<std::byte>& pieces, OnMoved done) {
  const bool idle = std::exchange(records.came, 0) < kKeptBytes;
  if (idle && records.begin == records.end && records.capacity > kKeptBytes) records.give_back();
  if (!writing && !std::exchange(wrote_much, false)) give_back(sealed);
  if (records.begin < records.end)
    make_room();
  else if (records.capacity == 0)
    records.make_room(kKeptBytes);
  socket.async_read_some(
      asio::buffer(records.arrived.get() + records.end, records.capacity - records.end),
      [self = shared_from_this(), pieces, done = std::move(done)](const error_code& error, std::size_t count) mutable {
        if (error) return done(error, 0);
        self->count_read(count);
        const std::optional<Moved> moved = self->read_some(pieces);
        if (!moved.has_value()) return self->await_bytes(pieces, std::move(done));
        done(moved->error, moved->count);
      });
}

void SecureStream::State::read(const Pieces<std::byte>& pieces, OnMoved done) {
  const std::optional<Moved> moved = pieces.bytes == 0 ? Moved{} : read_some(pieces);
  if (!moved.has_value()) return await_bytes(pieces, std::move(done));
  // From a turn of its own, as Asio does.
  asio::post(socket.get_executor(), [done = std::move(done), moved = *moved] { done(moved.error, moved.count); });
}

}  // namespace penstock
