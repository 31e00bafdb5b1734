// Decides whether a chunk is compressed before it is sent.
#pragma once

#include <cstdint>

#include "common/base/time.hpp"

namespace penstock::worker {

/// Chunks that may be compressed.
enum class Packing : std::uint8_t {
  Never,
  WherePays,  ///< Between hosts, if it is quicker.
  Always,     ///< All chunks that shrink.
};

/// Decides for one connection, chunk by chunk, from measurements of the chunks before. A compressed chunk takes the
/// time of LZ4 and then the time of its remaining bytes on the link; so compression pays where the link is slower than
/// LZ4 removes bytes. A sample of a chunk predicts how far it shrinks; after samples that do not shrink, fewer are
/// taken.
///
/// Chunks between processes of one host, where the link is memory, are never compressed. Until the link is measured
/// nothing is compressed, so short transfers are sent plain. Pure: no clock, no bytes. Cost: negligible.
class CompressionChoice {
 public:
  static constexpr std::uint64_t kChunkBytesMin = 16 << 10;  ///< Smaller ones are sent plain.
  /// Larger ones, too: the reader chooses the chunk size, and each connection keeps a buffer for a compressed chunk.
  static constexpr std::uint64_t kChunkBytesMax = 4 << 20;
  static constexpr std::uint64_t kWindowBytes = 8 << 20;     ///< Bytes per measurement of the link.
  static constexpr std::uint32_t kPassedMax = 64;            ///< Chunks in a row without a sample.
  static constexpr double kPartMax = 7.0 / 8;                ///< A chunk that shrinks less is sent plain.

  CompressionChoice(Packing packing, bool same_host) : packing_(packing), same_host_(same_host) {}

  /// Whether the caller should compress a sample of the next chunk, of so many bytes, and call `pays` with the ratio.
  bool wants_sample(std::uint64_t bytes);
  /// Whether to compress a chunk with a sample that has shrunk to the ratio `part`.
  bool pays(double part);
  /// LZ4 took `spent` for chunks of `bytes`.
  void packed(std::uint64_t bytes, Duration spent);
  /// The link took `spent` for `bytes`.
  void sent(std::uint64_t bytes, Duration spent);

 private:
  bool worth(double part) const;

  const Packing packing_;
  const bool same_host_;
  double link_rate_ = 0;         ///< Bytes per second; 0: not measured yet.
  double packing_rate_ = 400e6;  ///< The same for LZ4; an estimate at first.
  std::uint64_t window_bytes_ = 0;
  Duration window_spent_{0};
  std::uint32_t passes_ = 0;  ///< Chunks to send plain before the next sample.
  std::uint32_t passes_after_next_ = 1;
};

}  // namespace penstock::worker
