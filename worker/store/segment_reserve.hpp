// Pools the memory of freed segments for new ones.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include "worker/store/segment.hpp"

namespace penstock::worker {

struct ReserveLimits {
  std::size_t bytes_max = std::size_t{512} << 20U;  ///< Kept at most; 0: none.
  std::size_t segments_max = 256;                   ///< Each is a descriptor.
};

/// New memory costs as much as filling it: the kernel clears each page and maps it, 0.4 s for a GB, and 2 s in a
/// virtual machine that returns free memory to its host. Recently used memory costs nothing. The reserve takes only
/// segments that no other process has seen, because a seal cannot be removed.
///
/// Any thread may call any member.
class SegmentReserve {
 public:
  explicit SegmentReserve(const ReserveLimits& limits) : limits_(limits) {}

  /// Beyond the limits the oldest segments are freed. REQUIRES: it is not sealed, and has no other user.
  void keep(Segment segment);
  /// A segment of that size, writable, with old bytes; none if all kept segments are smaller, or so large that less
  /// than half would be used.
  std::optional<Segment> take(std::size_t bytes);
  void clear();
  std::size_t bytes() const;

 private:
  const ReserveLimits limits_;
  mutable std::mutex mutex_;  ///< Guards the rest.
  std::deque<Segment> kept_;  ///< In order of arrival.
  std::size_t bytes_ = 0;     ///< Sum of `kept_`.
};

}  // namespace penstock::worker
