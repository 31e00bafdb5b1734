// Memory of segments that are no longer needed, for those that come next.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

#include "worker/store/segment.hpp"

namespace penstock::worker {

struct ReserveLimits {
  std::size_t bytes_max = std::size_t{512} << 20U;  ///< Kept at most; 0: nothing is.
  std::size_t segments_max = 256;                   ///< Each is a descriptor.
};

/// New memory costs as much as filling it: the kernel clears each page and maps it, 0.4 s for a GB, and 2 s in a
/// virtual machine that gives free memory back to its host. Memory that was just in use costs nothing. Only segments
/// that no other process has seen come here, for a seal cannot be taken off.
///
/// Any thread may call any member.
class SegmentReserve {
 public:
  explicit SegmentReserve(const ReserveLimits& limits) : limits_(limits) {}

  /// Beyond the limits those that came first go. REQUIRES: it is not sealed, and nobody has it any more.
  void keep(Segment segment);
  /// One of that size, writable, with the bytes of something older; none if all that are kept are smaller, or so large
  /// that less than half would be used.
  std::optional<Segment> take(std::size_t bytes);
  void clear();
  std::size_t bytes() const;

 private:
  const ReserveLimits limits_;
  mutable std::mutex mutex_;  ///< Guards the rest.
  std::deque<Segment> kept_;  ///< As they came.
  std::size_t bytes_ = 0;     ///< Sum of `kept_`.
};

}  // namespace penstock::worker
