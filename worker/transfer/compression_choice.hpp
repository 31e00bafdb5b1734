// Whether a chunk is compressed before it is sent.
#pragma once

#include <cstdint>

#include "common/base/time.hpp"

namespace penstock::worker {

/// Which chunks may be compressed at all.
enum class Packing : std::uint8_t {
  Never,
  WherePays,  ///< To another host, if that is quicker.
  Always,     ///< All that shrink.
};

/// Decides for one connection, chunk by chunk, by what it was told of the chunks before. A compressed chunk takes as
/// long as LZ4 and then the rest of it on the link; so it pays where the link is slower than LZ4 makes bytes vanish.
/// What a chunk shrinks to is known from a sample of it; after samples that do not shrink fewer are looked at.
///
/// Never between processes of one host, whose link is memory. Until the link is measured nothing is compressed: short
/// transfers go as they are. Pure: no clock, no bytes. Cost: nothing.
class CompressionChoice {
 public:
  static constexpr std::uint64_t kChunkBytesMin = 16 << 10;  ///< Smaller ones go as they are.
  /// Larger ones, too: readers choose how large chunks are, and what becomes of one is kept for each of them.
  static constexpr std::uint64_t kChunkBytesMax = 4 << 20;
  static constexpr std::uint64_t kWindowBytes = 8 << 20;     ///< Of the link that are measured together.
  static constexpr std::uint32_t kPassedMax = 64;            ///< Chunks in a row without a sample.
  static constexpr double kPartMax = 7.0 / 8;                ///< What shrinks less is not worth the trouble.

  CompressionChoice(Packing packing, bool same_host) : packing_(packing), same_host_(same_host) {}

  /// Whether a sample of the next chunk, of so many bytes, is to be compressed and told to `pays`.
  bool wants_sample(std::uint64_t bytes);
  /// Whether to compress a chunk whose sample has shrunk to this part of itself.
  bool pays(double part);
  /// LZ4 took so long for chunks of so many bytes.
  void packed(std::uint64_t bytes, Duration spent);
  /// The link took so long for so many bytes.
  void sent(std::uint64_t bytes, Duration spent);

 private:
  bool worth(double part) const;

  const Packing packing_;
  const bool same_host_;
  double link_rate_ = 0;         ///< Bytes in a second; 0: not measured yet.
  double packing_rate_ = 400e6;  ///< The same of LZ4; a guess at first.
  std::uint64_t window_bytes_ = 0;
  Duration window_spent_{0};
  std::uint32_t passes_ = 0;  ///< Chunks that go as they are before the next sample.
  std::uint32_t passes_after_next_ = 1;
};

}  // namespace penstock::worker
