// The records of a secured connection.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "common/security/openssl.hpp"
#include "common/security/tls_session.hpp"

namespace penstock {

/// One direction of a connection after its handshake, in records of AES-128-GCM in place of those of TLS, which are 16
/// KiB each and cost three times as much of the processor. The key is of this connection and this direction: it comes
/// out of the handshake by an exporter of TLS 1.3 (RFC 8446, 7.5). The nonce is the number of the record, so records
/// cannot be left out, repeated or exchanged. The length in front of a record is authenticated with it. One thread at a
/// time.
class RecordCipher {
 public:
  static constexpr std::size_t kHeadBytes = 4;
  /// The first byte of a record: no record of TLS begins so. Three bytes of its length follow, the lowest first.
  static constexpr std::byte kMarker{0x70};
  static constexpr std::size_t kTagBytes = 16;
  /// Plain bytes of a record at most, which fit the second level of a cache. A chunk of 1 MiB with its head is four.
  static constexpr std::size_t kPlainBytesMax = (256UL << 10U) + 64;
  /// Of one key: far below the bound of GCM for nonces that are counted.
  static constexpr std::uint64_t kRecordsMax = std::uint64_t{1} << 40U;

  enum class Direction : std::uint8_t { TowardsServer, TowardsClient };
  /// `seals`: this side sends in that direction. REQUIRES: the handshake is done. Error: Internal.
  static Result<std::unique_ptr<RecordCipher>> of(const TlsSession& session, Direction direction, bool seals);

  /// The size of a record with so many plain bytes.
  static constexpr std::size_t sealed_bytes(std::size_t plain) { return kHeadBytes + plain + kTagBytes; }
  /// Makes a record of the pieces. REQUIRES: they are at most `kPlainBytesMax` together, and `out` has the size of
  /// their record. Errors: Internal; LimitExceeded: the key is used up.
  Result<void> seal(std::span<const std::span<const std::byte>> pieces, std::span<std::byte> out);
  /// The plain bytes of the record with that head. Error: MalformedFrame: it is longer than any, or no record.
  static Result<std::size_t> plain_bytes(std::span<const std::byte, kHeadBytes> head);
  /// Opens the record with that head into the pieces, which have its size together. Error: MalformedFrame: the bytes
  /// are not those that were sealed; the pieces hold nothing of use then.
  Result<void> open(std::span<const std::byte, kHeadBytes> head, std::span<const std::byte> sealed,
                    std::span<const std::span<std::byte>> pieces);

 private:
  using CipherPtr = std::unique_ptr<EVP_CIPHER_CTX, FreedBy<EVP_CIPHER_CTX_free>>;
  explicit RecordCipher(CipherPtr cipher) : cipher_(std::move(cipher)) {}
  std::array<unsigned char, 12> next_nonce();

  CipherPtr cipher_;
  std::uint64_t records_ = 0;
};

}  // namespace penstock
