#include "worker/transfer/compression_choice.hpp"

#include <algorithm>

namespace penstock::worker {
namespace {

double per_second(std::uint64_t bytes, Duration spent) {
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(std::max<std::int64_t>(spent.count(), 1));
}

}  // namespace

bool CompressionChoice::worth(double part) const {
  if (part > kPartMax || packing_ == Packing::Never) return false;
  if (packing_ == Packing::Always) return true;
  return !same_host_ && link_rate_ > 0 && link_rate_ < packing_rate_ * (1 - part);
}

bool CompressionChoice::wants_sample(std::uint64_t bytes) {
  if (bytes < kChunkBytesMin || bytes > kChunkBytesMax || !worth(0)) return false;
  if (passes_ == 0) return true;
  --passes_;
  return false;
}

bool CompressionChoice::pays(double part) {
  const bool yes = worth(part);
  passes_after_next_ = yes ? 1 : std::min(passes_after_next_ * 2, kPassedMax);
  passes_ = yes ? 0 : passes_after_next_;
  return yes;
}

void CompressionChoice::packed(std::uint64_t bytes, Duration spent) {
  packing_rate_ += (per_second(bytes, spent) - packing_rate_) / 8;
}

// A socket buffers a few megabytes; only many chunks together show the speed of the link.
void CompressionChoice::sent(std::uint64_t bytes, Duration spent) {
  window_bytes_ += bytes;
  window_spent_ += spent;
  if (window_bytes_ < kWindowBytes) return;
  const double rate = per_second(window_bytes_, window_spent_);
  link_rate_ = link_rate_ == 0 ? rate : (link_rate_ + rate) / 2;
  window_bytes_ = 0;
  window_spent_ = Duration{0};
}

}  // namespace penstock::worker
