// Frames: the bytes around every message, checked before anything inside them is parsed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/result.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/link_header.hpp"

namespace penstock {

/// DO NOT RENUMBER (wire).
enum class FrameKind : std::uint8_t {
  Introduction = 1,
  Messages = 2,
  Heartbeat = 3,
};

inline constexpr std::size_t kFrameHeaderBytes = 48;
using FrameHeaderBytes = std::array<std::byte, kFrameHeaderBytes>;

/// The encoded message of a frame, ready to be sent any number of times with different headers. Immutable, shared by
/// the link that keeps it for resending and the socket that writes it.
class FramePayload {
 public:
  FramePayload() : FramePayload(std::vector<std::uint64_t>{}) {}
  explicit FramePayload(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span{words_}); }
  /// XXH3 of the bytes, computed by each call.
  std::uint64_t hash() const;

 private:
  std::vector<std::uint64_t> words_;
};
using FramePayloadPtr = std::shared_ptr<const FramePayload>;

struct FrameHeader {
  FrameKind kind = FrameKind::Heartbeat;
  std::uint32_t payload_bytes = 0;
  LinkHeader link;
  std::uint64_t checksum = 0;  ///< As received.
};

/// Finds damage to a frame: its own checksum, or the authenticated records of a secured connection, on which the
/// checksum is 0.
enum class FrameCheck : std::uint8_t { Checksum, Records };
/// The header of a frame that carries `payload`.
FrameHeaderBytes write_header(FrameKind kind, const LinkHeader& link, const FramePayload& payload,
                              FrameCheck check = FrameCheck::Checksum);

/// Checks magic, format, kind and length; the checksum needs the payload. Errors: MalformedFrame, LimitExceeded.
Result<FrameHeader> read_header(const FrameHeaderBytes& bytes, const WireConfig& config);

/// Checks header and payload against the checksum. Error: MalformedFrame. REQUIRES: `payload` has
/// `header.payload_bytes` bytes.
Result<void> check_payload(const FrameHeaderBytes& header_bytes, const FrameHeader& header,
                           std::span<const std::byte> payload);

}  // namespace penstock
