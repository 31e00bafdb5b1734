// A connected socket, secured by TLS or plain.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "common/net/handshake_pool.hpp"
#include "common/net/stream_socket.hpp"
#include "common/security/record_cipher.hpp"
#include "common/security/tls_session.hpp"

namespace penstock {

/// The proof of the identity at the other end of a connection.
struct PeerStanding {
  bool secured = false;                  ///< By TLS.
  bool same_user = false;                ///< A local socket, for which the kernel has told the user.
  std::optional<PeerIdentity> identity;  ///< Of its certificate; none: it has shown none.
  std::string serial;                    ///< Of its certificate.
};

/// A stream in Asio's sense, so that `async_read` and `async_write` work on it; plain until `secure` is called;
/// from then on nothing may be read or written before the handshake is done. After it bytes go in the records of
/// `RecordCipher`. Lives on the thread of its context; one
/// read and one write at a time. Must stay where it is while an operation of Asio's is under way.
class SecureStream {
 public:
  using executor_type = StreamSocket::executor_type;
  using OnSecured = std::function<void(const Result<void>&)>;
  using OnMoved = std::function<void(const boost::system::error_code&, std::size_t)>;

  explicit SecureStream(boost::asio::io_context& io) : SecureStream(StreamSocket{io}) {}
  explicit SecureStream(StreamSocket connected) : state_(std::make_shared<State>(std::move(connected))) {}
  ~SecureStream() {
    if (state_ != nullptr) state_->told = nullptr;
    close();
  }
  SecureStream(SecureStream&& other) noexcept = default;
  SecureStream& operator=(SecureStream&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }

  executor_type get_executor() { return state_->socket.get_executor(); }
  StreamSocket& socket() { return state_->socket; }
  const StreamSocket& socket() const { return state_->socket; }
  bool is_open() const { return state_->socket.is_open(); }
  /// Pending operations end with an error, and so does a handshake, from a turn of its own. The end of the object ends
  /// a handshake without a word.
  void close();

  /// Shakes hands; the steps are computed in `pool`, or here if it is null. `told` is called once. Errors: those of
  /// `TlsSession`; LimitExceeded: the pool is full; Disconnected.
  void secure(std::unique_ptr<TlsSession> session, std::shared_ptr<HandshakePool> pool, OnSecured told);
  PeerStanding peer() const;
  /// Null if the stream is plain. REQUIRES: the handshake is done.
  const TlsSession* session() const { return state_->session.get(); }
  /// The failure of an operation, in words.
  Error reason(const boost::system::error_code& error) const;

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (state_->session == nullptr) return state_->socket.async_read_some(buffers, std::forward<Handler>(handler));
    state_->read(pieces_of<std::byte, boost::asio::mutable_buffer>(buffers), kept(std::forward<Handler>(handler)));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (state_->session == nullptr) return state_->socket.async_write_some(buffers, std::forward<Handler>(handler));
    state_->write(pieces_of<const std::byte, boost::asio::const_buffer>(buffers), kept(std::forward<Handler>(handler)));
  }

 private:
  /// The first buffers of an operation; Asio comes again for the others.
  template <class Byte>
  struct Pieces {
    /// Frames are written together in many buffers; reads have one or two.
    static constexpr std::size_t kMost = std::is_const_v<Byte> ? 64 : 8;
    std::array<std::span<Byte>, kMost> piece{};
    std::size_t count = 0;
    std::size_t bytes = 0;
    std::span<const std::span<Byte>> all() const { return {piece.data(), count}; }
    /// No more than so many bytes.
    void cut(std::size_t most);
    /// The rest behind the first so many bytes, which it has.
    void skip(std::size_t most);
  };

  /// The outcome of an operation.
  struct Moved {
    boost::system::error_code error;
    std::size_t count = 0;
  };

  /// Shared with pending operations, and with handshakes that are being computed.
  struct State : std::enable_shared_from_this<State> {
    explicit State(StreamSocket connected) : socket(std::move(connected)) {}
    void read(const Pieces<std::byte>& pieces, OnMoved done);
    /// The bytes that are there already; none: more has to arrive first.
    std::optional<Moved> read_some(const Pieces<std::byte>& pieces);
    void await_bytes(const Pieces<std::byte>& pieces, OnMoved done);
    void write(Pieces<const std::byte> pieces, OnMoved done);
    void shake_hands(std::vector<std::byte> arrived);
    void shaken(const Result<TlsSession::Handshake>& result, std::vector<std::byte> to_send);
    void await_peer();
    void tell(const Result<void>& result);
    boost::system::error_code read_handshake(std::vector<std::byte>& arrived);
    Result<void> use_records();
    boost::system::error_code read_socket();
    void make_room();
    void count_read(std::size_t count);
    Result<std::size_t> open(Pieces<std::byte> pieces);
    Result<std::size_t> open_record(std::span<const std::byte> record, Pieces<std::byte>& pieces);
    std::size_t take_left(Pieces<std::byte>& pieces);
    Result<std::size_t> whole_bytes(std::span<const std::byte> arrived) const;

    StreamSocket socket;
    std::unique_ptr<TlsSession> session;  ///< In a thread of the pool while a step is computed there.
    std::weak_ptr<HandshakePool> pool;    ///< Its waiting steps own this.
    bool pooled = false;
    bool shaking = false;               ///< The first step of the handshake is taken.
    std::atomic<bool> given_up{false};  ///< The stream is closed.
    OnSecured told;
    std::vector<std::byte> sealed;  ///< To be written.
    bool writing = false;           ///< `sealed` is being written.
    bool wrote_much = false;        ///< By `sealed`, since the last wait for bytes.
    std::optional<Error> failure;   ///< Of the session.

    /// After the handshake.
    struct Records {
      std::unique_ptr<RecordCipher> sealer;
      std::unique_ptr<RecordCipher> opener;
      bool begun = false;        ///< The peer has sent one: no more records of TLS come.
      std::uint32_t heard = 0;   ///< Records of TLS that came after the handshake.
      std::size_t expected = 0;  ///< The size of the last one.
      /// Holds what is not opened yet, from `begin` to `end`. Not a vector, which would clear its bytes first.
      std::unique_ptr<std::byte[]> arrived;
      std::size_t capacity = 0;
      std::size_t begin = 0;
      std::size_t end = 0;
      std::size_t came = 0;         ///< Bytes since the last wait for some.
      bool drained = false;         ///< The last read took all that the socket had.
      std::vector<std::byte> left;  ///< Plain bytes that nobody has asked for yet, from `left_begin` on.
      std::size_t left_begin = 0;
      std::span<const std::byte> unopened() const { return {arrived.get() + begin, end - begin}; }
      /// Makes room for so many bytes in all, and moves what is there to the beginning.
      void make_room(std::size_t bytes);
      void give_back();
    } records;
  };

  template <class Byte, class Buffer, class Buffers>
  static Pieces<Byte> pieces_of(const Buffers& buffers) {
    Pieces<Byte> pieces;
    for (auto at = boost::asio::buffer_sequence_begin(buffers);
         at != boost::asio::buffer_sequence_end(buffers) && pieces.count < pieces.piece.size(); ++at) {
      const Buffer buffer{*at};
      if (buffer.size() == 0) continue;
      pieces.piece[pieces.count++] = {static_cast<Byte*>(buffer.data()), buffer.size()};
      pieces.bytes += buffer.size();
    }
    return pieces;
  }
  /// Asio's handlers may be moved only; a `std::function` wants a copy.
  template <class Handler>
  static OnMoved kept(Handler&& handler) {
    auto shared = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler));
    return [shared](const boost::system::error_code& error, std::size_t count) { (*shared)(error, count); };
  }

  std::shared_ptr<State> state_;
};

}  // namespace penstock
