#include "worker/store/segment_reserve.hpp"

#include <utility>

namespace penstock::worker {

void SegmentReserve::keep(Segment segment) {
  std::deque<Segment> gone;  // Unmapping takes time, so it is done without the mutex.
  const std::size_t bytes = segment.bytes().size();
  if (bytes > limits_.bytes_max || limits_.segments_max == 0) return;
  const std::lock_guard lock{mutex_};
  while (bytes_ + bytes > limits_.bytes_max || kept_.size() >= limits_.segments_max) {
    bytes_ -= kept_.front().bytes().size();
    gone.push_back(std::move(kept_.front()));
    kept_.pop_front();
  }
  bytes_ += bytes;
  kept_.push_back(std::move(segment));
}

std::optional<Segment> SegmentReserve::take(std::size_t bytes) {
  std::optional<Segment> found;
  {
    const std::lock_guard lock{mutex_};
    auto best = kept_.end();
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      const std::size_t size = it->bytes().size();
      if (size < bytes || size / 2 > bytes) continue;
      if (best == kept_.end() || size < best->bytes().size()) best = it;
    }
    if (best == kept_.end()) return {};
    bytes_ -= best->bytes().size();
    found = std::move(*best);
    kept_.erase(best);
  }
  if (!found->reopen(bytes)) return {};
  return found;
}

void SegmentReserve::clear() {
  std::deque<Segment> gone;
  const std::lock_guard lock{mutex_};
  gone.swap(kept_);
  bytes_ = 0;
}

std::size_t SegmentReserve::bytes() const {
  const std::lock_guard lock{mutex_};
  return bytes_;
}

}  // namespace penstock::worker
