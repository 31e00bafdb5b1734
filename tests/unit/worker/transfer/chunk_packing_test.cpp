#include "worker/transfer/chunk_packing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/rng.hpp"

namespace penstock::worker {
namespace {

/// So many bytes, of which a part is noise and the rest repeats.
std::vector<std::byte> bytes_of(std::size_t size, std::uint32_t noisy_percent) {
  Rng random{size + noisy_percent};
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i % 100 < noisy_percent ? random.below(256) : 7);
  return bytes;
}

TEST(ChunkPacking, WhatIsPackedIsUnpackedToTheSame) {
  std::vector<std::byte> scratch;
  for (const std::size_t size : {std::size_t{64}, std::size_t{16} << 10U, std::size_t{1'000'003}}) {
    const auto chunk = bytes_of(size, 20);
    const auto packed = pack_chunk(chunk, scratch);
    ASSERT_FALSE(packed.empty()) << size;
    EXPECT_LE(packed.size(), size / 8 * 7);
    std::vector<std::byte> again(size);
    EXPECT_TRUE(unpack_chunk(packed, again));
    EXPECT_EQ(again, chunk);
  }
}

TEST(ChunkPacking, WhatDoesNotShrinkIsNotPacked) {
  std::vector<std::byte> scratch;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{1} << 20U})
    EXPECT_TRUE(pack_chunk(bytes_of(size, 100), scratch).empty()) << size;
}

TEST(ChunkPacking, ASampleTellsWhatAllShrinksTo) {
  std::vector<std::byte> scratch;
  for (const std::size_t size : {std::size_t{20} << 10U, std::size_t{1} << 20U}) {
    EXPECT_LT(sample_part(bytes_of(size, 0), scratch), 0.1);
    EXPECT_EQ(sample_part(bytes_of(size, 100), scratch), 1.0);
    const auto mixed = bytes_of(size, 40);
    const double whole = static_cast<double>(pack_chunk(mixed, scratch).size()) / static_cast<double>(size);
    EXPECT_NEAR(sample_part(mixed, scratch), whole, 0.1);
  }
}

TEST(ChunkPacking, NothingHostileIsWrittenBeyondTheChunk) {
  std::vector<std::byte> scratch;
  const auto chunk = bytes_of(8192, 20);
  const auto packed = pack_chunk(chunk, scratch);
  const std::vector<std::byte> good{packed.begin(), packed.end()};
  std::vector<std::byte> memory(chunk.size() + 64, std::byte{0x5a});
  const auto unpack_into = [&](std::span<const std::byte> bytes, std::size_t room) {
    const bool whole = unpack_chunk(bytes, std::span{memory}.first(room));
    EXPECT_TRUE(std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(room), memory.end(),
                            [](std::byte byte) { return byte == std::byte{0x5a}; }));
    std::fill(memory.begin(), memory.end(), std::byte{0x5a});
    return whole;
  };
  EXPECT_TRUE(unpack_into(good, chunk.size()));
  EXPECT_FALSE(unpack_into(good, chunk.size() - 1));
  EXPECT_FALSE(unpack_into(good, chunk.size() + 1));
  EXPECT_FALSE(unpack_into(std::span{good}.first(good.size() - 1), chunk.size()));
  EXPECT_FALSE(unpack_into({}, chunk.size()));
  Rng random{5};
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bad = good;
    for (int flips = 0; flips < 3; ++flips)
      bad[random.below(bad.size())] ^= static_cast<std::byte>(1U << random.below(8));
    unpack_into(bad, chunk.size());
    for (std::byte& byte : bad) byte = static_cast<std::byte>(random.below(256));
    unpack_into(bad, chunk.size());
  }
}

}  // namespace
}  // namespace penstock::worker
