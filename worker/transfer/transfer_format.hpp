// The bytes between a data server and a data client: fixed little-endian structs, as they stand in memory. A request;
// its reply; if the datum is there, its chunks from the offset on, each after its header; then the next request.
// Between processes of a host, handles replace the chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "worker/store/block_hash.hpp"

namespace penstock::worker {

inline constexpr std::uint32_t kTransferMagic = 0x44534e50;  ///< "PNSD"
inline constexpr std::uint32_t kTransferFormat = 2;
/// A request of this format asks for chunks that may be compressed, each after a `PackedChunk`. A server that does not
/// know it refuses, and is asked in the plain format from then on.
inline constexpr std::uint32_t kPackedFormat = 3;
/// A request of this format, from the same host and for a whole datum, may be answered by `Offered`; otherwise it is as
/// in `kTransferFormat`. Servers that do not know it refuse.
inline constexpr std::uint32_t kHandleFormat = 4;

/// Added to one of these: a `TransferIdentity` follows the request, and the reply is `Gone` if the server knows another
/// job under that number. Servers that do not know it refuse.
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

/// Follows a reply `Offered`, in place of the chunks: the client fetches the handle of the datum from that socket,
/// within `worker.handle_wait_max`.
struct HandleOffer {
  std::uint64_t desk = 0;    ///< The name of the server's local socket (common/net/local_socket.hpp).
  std::uint64_t ticket = 0;  ///< Names the datum in the request for its handle.
};

inline constexpr std::uint32_t kHandleMagic = 0x48534e50;  ///< "PNSH"

enum class HandleWish : std::uint32_t { Take = 1, GiveBack = 2 };

/// A request on the local socket. A process that takes a handle counts as having the datum mapped until it gives the
/// ticket back, which has no reply, or the connection ends.
struct HandleRequest {
  std::uint32_t magic = kHandleMagic;
  HandleWish wish = HandleWish::Take;
  std::uint64_t ticket = 0;
};

/// Replies in the order of the requests. The handle of a sealed segment comes along if, and only if, the status is
/// `Here`.
struct HandleReply {
  std::uint32_t magic = kHandleMagic;
  TransferStatus status = TransferStatus::Gone;
  std::uint64_t ticket = 0;
  std::uint64_t bytes = 0;
};

/// Precedes each chunk; all chunks but the last have the requested size.
struct TransferChunk {
  std::uint64_t hash = 0;
};

/// The same for packed chunks. The sent bytes are checked before they are unpacked, and the unpacked ones again.
struct PackedChunk {
  std::uint64_t sent_hash = 0;   ///< Of the bytes that follow.
  std::uint64_t datum_hash = 0;  ///< Of the chunk itself: the same, unless it is compressed.
  std::uint32_t sent_bytes = 0;  ///< Less than the chunk has if it is compressed, else as many.
  std::uint32_t compressed = 0;  ///< 0 or 1.
};

/// Hashed with the offset as seed: chunks cannot change places.
inline std::uint64_t chunk_hash(std::span<const std::byte> chunk, std::uint64_t offset) {
  return block_hash(chunk, offset);
}

}  // namespace penstock::worker
