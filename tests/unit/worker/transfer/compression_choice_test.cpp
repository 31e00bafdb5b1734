#include "worker/transfer/compression_choice.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kChunk = 1 << 20;

/// Tells of a window's worth of chunks over a link of so many bytes in a second.
void sent_at(CompressionChoice& choice, std::uint64_t rate) {
  for (std::uint64_t bytes = 0; bytes < CompressionChoice::kWindowBytes; bytes += kChunk)
    choice.sent(kChunk, Duration{static_cast<std::int64_t>(kChunk * 1'000'000'000 / rate)});
}

TEST(CompressionChoice, NothingIsCompressedBeforeTheLinkIsMeasured) {
  CompressionChoice choice{Packing::WherePays, false};
  EXPECT_FALSE(choice.wants_sample(kChunk));
  for (std::uint64_t bytes = kChunk; bytes < CompressionChoice::kWindowBytes; bytes += kChunk)
    choice.sent(kChunk, milliseconds{100});
  EXPECT_FALSE(choice.wants_sample(kChunk));
  choice.sent(kChunk, milliseconds{100});
  EXPECT_TRUE(choice.wants_sample(kChunk));
}

TEST(CompressionChoice, ItPaysWhereTheLinkIsSlowerThanBytesVanish) {
  CompressionChoice choice{Packing::WherePays, false};
  sent_at(choice, 100'000'000);  // LZ4 is taken for 400 MB/s at first.
  EXPECT_TRUE(choice.pays(0.5));
  EXPECT_TRUE(choice.pays(0.7));
  EXPECT_FALSE(choice.pays(0.8));
}

TEST(CompressionChoice, AFastLinkIsLeftAlone) {
  CompressionChoice choice{Packing::WherePays, false};
  sent_at(choice, 1'000'000'000);
  EXPECT_FALSE(choice.wants_sample(kChunk));
}

TEST(CompressionChoice, ItFollowsTheLinkAndTheProcessor) {
  CompressionChoice choice{Packing::WherePays, false};
  sent_at(choice, 100'000'000);
  EXPECT_TRUE(choice.pays(0.5));
  for (int i = 0; i < 40; ++i) choice.packed(kChunk, milliseconds{20});  // 50 MB/s: others have the processor.
  EXPECT_FALSE(choice.pays(0.5));
  sent_at(choice, 5'000'000);
  for (int i = 0; i < 6; ++i) sent_at(choice, 5'000'000);
  EXPECT_TRUE(choice.pays(0.5));
}

TEST(CompressionChoice, WithinAHostOnlyIfItIsAskedFor) {
  CompressionChoice choice{Packing::WherePays, true};
  sent_at(choice, 1'000'000);
  EXPECT_FALSE(choice.wants_sample(kChunk));
  CompressionChoice always{Packing::Always, true};
  EXPECT_TRUE(always.wants_sample(kChunk));
  EXPECT_TRUE(always.pays(0.8));
  EXPECT_FALSE(always.pays(0.9));
}

TEST(CompressionChoice, NeverIsNever) {
  CompressionChoice choice{Packing::Never, false};
  sent_at(choice, 1'000'000);
  EXPECT_FALSE(choice.wants_sample(kChunk));
  EXPECT_FALSE(choice.pays(0.1));
}

TEST(CompressionChoice, SmallChunksGoAsTheyAre) {
  CompressionChoice choice{Packing::Always, false};
  EXPECT_FALSE(choice.wants_sample(CompressionChoice::kChunkBytesMin - 1));
  EXPECT_TRUE(choice.wants_sample(CompressionChoice::kChunkBytesMin));
  EXPECT_FALSE(choice.wants_sample(CompressionChoice::kChunkBytesMax + 1));
  EXPECT_TRUE(choice.wants_sample(CompressionChoice::kChunkBytesMax));
}

TEST(CompressionChoice, AfterSamplesThatDoNotShrinkFewerAreLookedAt) {
  CompressionChoice choice{Packing::Always, false};
  std::uint32_t most = 0;
  std::uint32_t samples = 0;
  std::uint32_t passed = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!choice.wants_sample(kChunk)) {
      most = std::max(most, ++passed);
      continue;
    }
    passed = 0;
    ++samples;
    EXPECT_FALSE(choice.pays(1));
  }
  EXPECT_EQ(most, CompressionChoice::kPassedMax);
  EXPECT_LT(samples, 25U);
  while (!choice.wants_sample(kChunk)) {
  }
  EXPECT_TRUE(choice.pays(0.3));
  EXPECT_TRUE(choice.wants_sample(kChunk)) << "one that shrinks makes it look at the next";
}

}  // namespace
}  // namespace penstock::worker
