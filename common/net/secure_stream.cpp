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

/// The plain bytes of a record of TLS at most.
constexpr std::size_t kRecordBytes = 16384;
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
  error_code ignored;
  state_->socket.close(ignored);
  state_->told = nullptr;
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
  const bool taken =
      threads != nullptr && threads->run([self = shared_from_this(), arrived = std::move(arrived)]() mutable {
        std::vector<std::byte> to_send;
        auto result = self->session->shake_hands(arrived, to_send);
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
  thread_local std::array<std::byte, 64UL << 10U> buffer;
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

error_code SecureStream::State::read_socket() {
  const std::span<std::byte> buffer = records.opener == nullptr ? common_buffer() : room_of_record();
  if (records.early_begin < records.early.size()) {
    const std::size_t count = std::min(buffer.size(), records.early.size() - records.early_begin);
    std::memcpy(buffer.data(), records.early.data() + records.early_begin, count);
    records.early_begin += count;
    records.filled += count;
    return {};
  }
  error_code error;
  const std::size_t count = socket.read_some(asio::buffer(buffer.data(), buffer.size()), error);
  if (error) return error;
  if (records.opener == nullptr)
    session->feed(buffer.first(count));
  else
    records.filled += count;
  return {};
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

Result<void> SecureStream::use_large_records() {
  using Direction = RecordCipher::Direction;
  const bool server = state_->session->is_accepting();
  Result<std::unique_ptr<RecordCipher>> sealer =
      RecordCipher::of(*state_->session, server ? Direction::TowardsClient : Direction::TowardsServer, true);
  Result<std::unique_ptr<RecordCipher>> opener =
      RecordCipher::of(*state_->session, server ? Direction::TowardsServer : Direction::TowardsClient, false);
  if (!sealer) return std::move(sealer).error();
  if (!opener) return std::move(opener).error();
  state_->records.sealer = std::move(sealer).value();
  state_->records.opener = std::move(opener).value();
  state_->records.early = state_->session->take_unread();
  return {};
}

// Small buffers go into one record of TLS: each costs a call of OpenSSL.
void SecureStream::State::seal_gathered(const Pieces<const std::byte>& pieces) {
  const auto seal_plain = [this] {
    if (Result<void> done = session->seal(plain, sealed); !done) failure = std::move(done).error();
    plain.clear();
  };
  for (std::span<const std::byte> piece : pieces.all()) {
    while (!piece.empty() && !failure.has_value()) {
      // Whole records of a large buffer need not be gathered.
      if (const std::size_t whole = piece.size() - piece.size() % kRecordBytes; plain.empty() && whole > 0) {
        if (Result<void> done = session->seal(piece.first(whole), sealed); !done) failure = std::move(done).error();
        piece = piece.subspan(whole);
        continue;
      }
      const std::size_t room = std::min(piece.size(), kRecordBytes - plain.size());
      plain.insert(plain.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(room));
      piece = piece.subspan(room);
      if (plain.size() == kRecordBytes) seal_plain();
    }
  }
  if (!failure.has_value() && !plain.empty()) seal_plain();
  give_back(plain);
}

void SecureStream::State::write(Pieces<const std::byte> pieces, OnMoved done) {
  pieces.cut(RecordCipher::kPlainBytesMax);
  std::size_t size = 0;
  if (records.sealer == nullptr) {
    sealed.clear();
    seal_gathered(pieces);
    size = sealed.size();
  } else {
    // A side that writes is not in the midst of an answer: its memory for one goes.
    if (records.filled == 0) give_back(records.arrived);
    size = RecordCipher::sealed_bytes(pieces.bytes);
    if (sealed.size() < size) sealed.resize(size);  // Kept at its size: new bytes would be cleared each time.
    if (Result<void> well = records.sealer->seal(pieces.all(), std::span{sealed}.first(size)); !well)
      failure = std::move(well).error();
  }
  if (failure.has_value()) return asio::post(socket.get_executor(), [done = std::move(done)] { done(refused(), 0); });
  asio::async_write(
      socket, asio::buffer(sealed.data(), size),
      [](const error_code& error, std::size_t) { return error ? 0 : std::size_t{1} << 30U; },
      [self = shared_from_this(), taken = pieces.bytes, done = std::move(done)](const error_code& error, std::size_t) {
        if (self->records.sealer == nullptr) give_back(self->sealed);
        done(error, error ? 0 : taken);
      });
}

Result<std::size_t> SecureStream::State::open(const Pieces<std::byte>& pieces) {
  if (records.opener == nullptr) return session->open(pieces.piece.front());
  if (records.left_begin == records.left.size()) return open_record(pieces);
  std::size_t taken = 0;
  for (const std::span<std::byte> piece : pieces.all()) {
    const std::size_t size = std::min(piece.size(), records.left.size() - records.left_begin);
    std::memcpy(piece.data(), records.left.data() + records.left_begin, size);
    records.left_begin += size;
    taken += size;
  }
  if (records.left_begin == records.left.size()) {
    give_back(records.left);
    records.left_begin = 0;
  }
  return taken;
}

/// Opens a whole record straight into the memory that was asked for; the rest of it is left for the next call.
Result<std::size_t> SecureStream::State::open_record(const Pieces<std::byte>& pieces) {
  constexpr std::size_t kHead = RecordCipher::kHeadBytes;
  if (records.filled < kHead) return std::size_t{0};
  const std::span head = std::span{std::as_const(records.arrived)}.first<kHead>();
  const Result<std::size_t> size = RecordCipher::plain_bytes(head);
  if (!size) return size.error();
  const std::size_t whole = kHead + *size + RecordCipher::kTagBytes;
  if (records.filled < whole) return std::size_t{0};
  Pieces<std::byte> targets = pieces;
  targets.cut(*size);
  const std::size_t wanted = targets.bytes;
  records.left.resize(*size - wanted);
  records.left_begin = 0;
  std::array<std::span<std::byte>, 65> all;
  std::copy(targets.piece.begin(), targets.piece.begin() + static_cast<std::ptrdiff_t>(targets.count), all.begin());
  all[targets.count] = records.left;
  const std::span sealed_part =
      std::span{std::as_const(records.arrived)}.subspan(kHead, *size + RecordCipher::kTagBytes);
  const Result<void> opened = records.opener->open(head, sealed_part, {all.data(), targets.count + 1});
  if (!opened) return opened.error();
  // The head of the next record may have come with this one.
  std::memmove(records.arrived.data(), records.arrived.data() + whole, records.filled - whole);
  records.filled -= whole;
  return wanted;
}

/// The memory for the next bytes from the socket: of the head of a record first, then of its rest and the next head.
std::span<std::byte> SecureStream::State::room_of_record() {
  constexpr std::size_t kHead = RecordCipher::kHeadBytes;
  std::size_t wanted = kHead;
  if (records.filled >= kHead) {
    const Result<std::size_t> size =
        RecordCipher::plain_bytes(std::span{std::as_const(records.arrived)}.first<kHead>());
    wanted = RecordCipher::sealed_bytes(size ? *size : 0) + kHead;
  }
  if (records.arrived.size() < wanted) records.arrived.resize(wanted);
  return std::span{records.arrived}.subspan(records.filled, wanted - records.filled);
}

void SecureStream::State::read(const Pieces<std::byte>& pieces, OnMoved done) {
  const auto later = [this, &done](const error_code& error, std::size_t count) {
    asio::post(socket.get_executor(), [done = std::move(done), error, count] { done(error, count); });
  };
  if (records.opener != nullptr) give_back(sealed);
  if (pieces.bytes == 0) return later({}, 0);
  for (;;) {
    const Result<std::size_t> opened = open(pieces);
    if (!opened) {
      const bool over = opened.error().code == ErrorCode::Disconnected;
      if (!over) failure = opened.error();
      return later(over ? error_code{asio::error::eof} : refused(), 0);
    }
    if (*opened > 0) return later({}, *opened);
    const error_code error = read_socket();
    if (error == asio::error::would_block) break;
    if (error) return later(error, 0);
  }
  socket.async_wait(StreamSocket::wait_read,
                    [self = shared_from_this(), pieces, done = std::move(done)](const error_code& error) mutable {
                      if (error) return done(error, 0);
                      self->read(pieces, std::move(done));
                    });
}

}  // namespace penstock
