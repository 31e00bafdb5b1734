#include "common/wire/frame.hpp"

#include <xxhash.h>

#include <bit>
#include <cstring>

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "headers are written as they stand in memory");

constexpr std::uint32_t kMagic = 0x4b534e50;  // "PNSK"
constexpr std::uint8_t kFormat = 1;
constexpr std::size_t kCheckedBytes = 40;

template <class Number>
void put(FrameHeaderBytes& bytes, std::size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

template <class Number>
Number get(const FrameHeaderBytes& bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

Error malformed(std::string message) {
  return {ErrorCode::MalformedFrame, "frame", std::move(message),
          "the peer is no Penstock process, or the connection is damaged"};
}

std::uint64_t checksum_of(const FrameHeaderBytes& header, std::span<const std::byte> payload) {
  return XXH3_64bits_withSeed(header.data(), kCheckedBytes, XXH3_64bits(payload.data(), payload.size()));
}

}  // namespace

std::uint64_t FramePayload::hash() const { return XXH3_64bits(words_.data(), words_.size() * sizeof(std::uint64_t)); }

FrameHeaderBytes write_header(FrameKind kind, const LinkHeader& link, const FramePayload& payload, FrameCheck check) {
  FrameHeaderBytes bytes{};
  put(bytes, 0, kMagic);
  put(bytes, 4, kFormat);
  put(bytes, 5, kind);
  put(bytes, 8, static_cast<std::uint32_t>(payload.bytes().size()));
  put(bytes, 12, link.stamp);
  put(bytes, 16, link.sender.value());
  put(bytes, 24, link.sequence);
  put(bytes, 32, link.acknowledged);
  if (check == FrameCheck::Checksum) put(bytes, kCheckedBytes, checksum_of(bytes, payload.bytes()));
  return bytes;
}

Result<FrameHeader> read_header(const FrameHeaderBytes& bytes, const WireConfig& config) {
  if (get<std::uint32_t>(bytes, 0) != kMagic) return malformed("does not begin with the magic number");
  if (const auto format = get<std::uint8_t>(bytes, 4); format != kFormat)
    return malformed("has format " + std::to_string(format) + ", this process reads format " + std::to_string(kFormat));
  FrameHeader header;
  const auto kind = get<std::uint8_t>(bytes, 5);
  if (kind < 1 || kind > 3) return malformed("is of unknown kind " + std::to_string(kind));
  header.kind = static_cast<FrameKind>(kind);
  header.payload_bytes = get<std::uint32_t>(bytes, 8);
  if (header.payload_bytes > config.frame_bytes_max)
    return Error{ErrorCode::LimitExceeded, "frame",
                 "announces " + std::to_string(header.payload_bytes) + " bytes; at most " +
                     std::to_string(config.frame_bytes_max) + " are allowed",
                 "raise `wire.frame_bytes_max` on this side if that is wanted"};
  if (header.payload_bytes % 8 != 0) return malformed("is no whole number of words");
  if ((header.payload_bytes == 0) != (header.kind == FrameKind::Heartbeat))
    return malformed("is empty, or a heartbeat that is not");
  header.link = LinkHeader{Incarnation{get<std::uint64_t>(bytes, 16)}, get<std::uint64_t>(bytes, 24),
                           get<std::uint64_t>(bytes, 32), get<std::uint32_t>(bytes, 12)};
  if ((header.link.sequence == 0) != (header.kind != FrameKind::Messages))
    return malformed("has a sequence number that does not fit its kind");
  header.checksum = get<std::uint64_t>(bytes, kCheckedBytes);
  return header;
}

Result<void> check_payload(const FrameHeaderBytes& header_bytes, const FrameHeader& header,
                           std::span<const std::byte> payload) {
  if (checksum_of(header_bytes, payload) == header.checksum) return {};
  return malformed("fails its checksum");
}

}  // namespace penstock
