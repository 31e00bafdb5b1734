// What travels between a data server and a data client: fixed little-endian structs, as they stand in memory. A
// request, its reply, and if the datum is there its chunks from the offset on, each after its head; then the next
// request. Between processes of a host, handles in place of the chunks.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::worker {

inline constexpr std::uint32_t kTransferMagic = 0x44534e50;  ///< "PNSD"
inline constexpr std::uint32_t kTransferFormat = 2;
/// A request of this format asks for chunks that may be compressed, each after a `PackedChunk`. A server that does not
/// know it refuses, and is asked in the other one from then on.
inline constexpr std::uint32_t kPackedFormat = 3;
/// A request of this format, from its host and for a whole datum, may be answered by `Offered`; otherwise it is as in
/// `kTransferFormat`. Servers that do not know it refuse.
inline constexpr std::uint32_t kHandleFormat = 4;

/// Added to one of these: a `TransferIdentity` follows the request, and the datum is `Gone` if the server knows another job
/// under that number. Servers that do not know it refuse.
inline constexpr std::uint32_t kWithIdentity = 16;

/// The bytes of a datum from `offset` on, which is a multiple of the chunk size.
struct TransferRequest {
  std::uint32_t magic = kTransferMagic;
  std::uint32_t format = kTransferFormat;
  std::uint32_t job = 0;
  std::uint32_t subtask = 0;
  std::uint32_t output = 0;
  std::uint32_t chunk_bytes = 0;
  std::uint64_t offset = 0;
};

struct TransferIdentity {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

enum class TransferStatus : std::uint32_t { Here = 0, Gone = 1, Refused = 2, Offered = 3 };

struct TransferReply {
  std::uint32_t magic = kTransferMagic;
  TransferStatus status = TransferStatus::Gone;
  std::uint64_t bytes = 0;  ///< Of the whole datum; the chunks from the offset on follow.
};

/// After a reply `Offered`, in place of the chunks: the handle of the datum is fetched from there, within
/// `worker.handle_wait_max`.
struct HandleOffer {
  std::uint64_t desk = 0;    ///< The name of the server's local socket (common/runtime/local_socket.hpp).
  std::uint64_t ticket = 0;  ///< What to ask for.
};

inline constexpr std::uint32_t kHandleMagic = 0x48534e50;  ///< "PNSH"

enum class HandleWish : std::uint32_t { Take = 1, GiveBack = 2 };

/// On the local socket. Who takes a handle has the datum mapped, as its worker counts, until it gives the ticket back,
/// which is not answered, or the connection ends.
struct HandleRequest {
  std::uint32_t magic = kHandleMagic;
  HandleWish wish = HandleWish::Take;
  std::uint64_t ticket = 0;
};

/// Those that were asked for, in order. The handle of a sealed segment comes along if, and only if, it is `Here`.
struct HandleReply {
  std::uint32_t magic = kHandleMagic;
  TransferStatus status = TransferStatus::Gone;
  std::uint64_t ticket = 0;
  std::uint64_t bytes = 0;
};

/// Before each chunk; all but the last have the size that was asked for.
struct TransferChunk {
  std::uint64_t hash = 0;
};

/// The same in the other format. What is sent is checked before anything is done with it, what has become of it again.
struct PackedChunk {
  std::uint64_t sent_hash = 0;   ///< Of the bytes that follow.
  std::uint64_t datum_hash = 0;  ///< Of the chunk itself: the same, unless it is compressed.
  std::uint32_t sent_bytes = 0;  ///< Less than the chunk has if it is compressed, else as many.
  std::uint32_t compressed = 0;  ///< 0 or 1.
};

/// With its place as seed: chunks cannot change places.
inline std::uint64_t chunk_hash(std::span<const std::byte> chunk, std::uint64_t offset) {
  return XXH3_64bits_withSeed(chunk.data(), chunk.size(), offset);
}

}  // namespace penstock::worker
