#include "common/wire/codec_runner.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "common/base/rng.hpp"

namespace penstock {
namespace {

std::span<const std::byte> bytes_of(const std::vector<std::uint64_t>& words) { return std::as_bytes(std::span{words}); }

RunnerDatum segment(std::uint32_t descriptor, std::uint64_t size) { return {{}, descriptor, size}; }

ToRunner full_orders() {
  ToRunner message;
  message.programs = {{7, "function"}, {8, ""}};
  message.runs = {
      {1, 7, {JobId{2}, SubtaskIndex{3}}, Attempt{4}, 5, "payload", {{"inline"}, segment(0, 1U << 20U), {}}},
      {2, 8, {JobId{2}, SubtaskIndex{9}}, Attempt{1}, 1, "", {}},
      {3, 8, {JobId{2}, SubtaskIndex{3}}, Attempt{attempts_begin(1U << 20U).value() + 4}, 1, "", {}, {5, 6}, true}};
  message.forgotten = {1, ~std::uint64_t{0}};
  return message;
}

RunnerEnds full_ends() {
  RunnerEnds ends;
  ends.ends = {{1, true, false, 99, {{0, {"out"}}, {4, segment(1, 77)}}, {}, {}, 1U << 30U},
               {2, false, true, 1, {}, "why", "opaque", 0, ErrorCode::ProgramNotFound}};
  return ends;
}

TEST(RunnerCodec, OrdersComeBackAsTheyWere) {
  const ToRunner message = full_orders();
  const std::vector<std::uint64_t> words = encode_runner(message);
  const Result<ToRunner> decoded = decode_to_runner(bytes_of(words), 1);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(*decoded, message);
}

TEST(RunnerCodec, AnswersComeBackAsTheyWere) {
  for (const FromRunner& message : {FromRunner{full_ends()}, FromRunner{RunnerHello{1, 2, "python", "3.11.2"}},
                                    FromRunner{RunnerSlot{7, true}}, FromRunner{RunnerSlot{8, false}}}) {
    const std::vector<std::uint64_t> words = encode_runner(message);
    const Result<FromRunner> decoded = decode_from_runner(bytes_of(words), 2);
    ASSERT_TRUE(decoded) << to_string(decoded.error());
    EXPECT_EQ(*decoded, message);
  }
}

TEST(RunnerCodec, AnAnswerAboutASlotComesBackAsItWas) {
  for (const RunnerSlotAnswer& answer :
       {RunnerSlotAnswer{7, std::nullopt, {}, {}}, RunnerSlotAnswer{8, ErrorCode::LimitExceeded, "too many", "wait"}}) {
    ToRunner message;
    message.slot = answer;
    const std::vector<std::uint64_t> words = encode_runner(message);
    const Result<ToRunner> decoded = decode_to_runner(bytes_of(words), 0);
    ASSERT_TRUE(decoded) << to_string(decoded.error());
    EXPECT_EQ(*decoded, message);
  }
}

TEST(RunnerCodec, ASegmentThatDidNotComeIsRefused) {
  const std::vector<std::uint64_t> words = encode_runner(FromRunner{full_ends()});
  EXPECT_FALSE(decode_from_runner(bytes_of(words), 1));
  const std::vector<std::uint64_t> orders = encode_runner(full_orders());
  EXPECT_FALSE(decode_to_runner(bytes_of(orders), 0));
}

TEST(RunnerCodec, DamagedBytesAreRefusedOrReadWithoutHarm) {
  Rng rng{7};
  const std::vector<std::uint64_t> good = encode_runner(FromRunner{full_ends()});
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint64_t> bad = good;
    bad.resize(1 + rng.below(good.size()));
    for (int flips = 0; flips < 3; ++flips) bad[rng.below(bad.size())] ^= std::uint64_t{1} << rng.below(64);
    static_cast<void>(decode_from_runner(bytes_of(bad), 2));
    static_cast<void>(decode_to_runner(bytes_of(bad), 2));
  }
}

TEST(RunnerCodec, EqualProgramsHaveEqualHashes) {
  EXPECT_EQ(hash_of_program("f"), hash_of_program(std::string{"f"}));
  EXPECT_NE(hash_of_program("f"), hash_of_program("g"));
}

}  // namespace
}  // namespace penstock
