#include "common/wire/frame.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace penstock {
namespace {

const LinkHeader kLink{Incarnation{11}, 22, 33, 44};

TEST(Frame, AHeaderComesBackAsItWasAndItsPayloadIsChecked) {
  const FramePayload payload{{1, 2, 3}};
  const FrameHeaderBytes bytes = write_header(FrameKind::Messages, kLink, payload);
  const FrameHeader header = read_header(bytes, WireConfig{}).value();
  EXPECT_EQ(header.kind, FrameKind::Messages);
  EXPECT_EQ(header.payload_bytes, 24U);
  EXPECT_EQ(header.link, kLink);
  EXPECT_TRUE(check_payload(bytes, header, payload.bytes()).has_value());
}

TEST(Frame, EveryFlippedBitIsFound) {
  const FramePayload payload{{1, 2, 3}};
  const FrameHeaderBytes good = write_header(FrameKind::Messages, kLink, payload);
  for (std::size_t bit = 0; bit < kFrameHeaderBytes * 8; ++bit) {
    FrameHeaderBytes bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const Result<FrameHeader> header = read_header(bytes, WireConfig{});
    const bool refused = !header.has_value() || header->payload_bytes != 24 ||
                         !check_payload(bytes, *header, payload.bytes()).has_value();
    EXPECT_TRUE(refused) << "bit " << bit;
  }
  const FrameHeader header = read_header(good, WireConfig{}).value();
  for (std::size_t bit = 0; bit < 24 * 8; ++bit) {
    std::vector<std::byte> bytes{payload.bytes().begin(), payload.bytes().end()};
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(check_payload(good, header, bytes).has_value()) << "bit " << bit;
  }
}

TEST(Frame, ALengthIsRefusedBeforeAnythingIsAllocated) {
  WireConfig config;
  config.frame_bytes_max = 4096;
  FrameHeaderBytes bytes = write_header(FrameKind::Messages, kLink, FramePayload{{1}});
  const auto with_length = [&](std::uint32_t length) {
    std::memcpy(bytes.data() + 8, &length, 4);
    return read_header(bytes, config);
  };
  EXPECT_TRUE(with_length(4096).has_value());
  EXPECT_EQ(with_length(4104).error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(with_length(0xffffffff).error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(with_length(4095).error().code, ErrorCode::MalformedFrame);
  EXPECT_EQ(with_length(0).error().code, ErrorCode::MalformedFrame);
}

TEST(Frame, HeartbeatsHaveNoPayloadAndNoSequence) {
  const FrameHeaderBytes heartbeat = write_header(FrameKind::Heartbeat, {Incarnation{1}, 0, 5}, FramePayload{});
  const FrameHeader header = read_header(heartbeat, WireConfig{}).value();
  EXPECT_TRUE(check_payload(heartbeat, header, {}).has_value());
  EXPECT_FALSE(read_header(write_header(FrameKind::Heartbeat, kLink, FramePayload{}), WireConfig{}).has_value());
  EXPECT_FALSE(read_header(write_header(FrameKind::Messages, {Incarnation{1}, 0, 0}, FramePayload{{1}}), WireConfig{})
                   .has_value());
}

}  // namespace
}  // namespace penstock
