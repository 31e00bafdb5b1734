#include "worker/store/block_hash.hpp"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <vector>

#include "common/base/rng.hpp"

namespace penstock {
namespace {

// Files and peers of hosts with other processors have hashes that the plain library computes.
TEST(BlockHash, IsThatOfThePlainLibraryForEverySize) {
  Rng random{7};
  std::vector<std::byte> bytes((1U << 20U) + 3);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 7)
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1} << 20U, random.next()})
      for (const std::size_t from : {std::size_t{0}, std::size_t{3}}) {
        const std::size_t length = std::min(size, bytes.size() - from);
        ASSERT_EQ(block_hash({bytes.data() + from, length}, seed),
                  XXH3_64bits_withSeed(bytes.data() + from, length, seed))
            << size << " bytes from " << from;
      }
}

}  // namespace
}  // namespace penstock
