// Words for tests of a latched queue.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/core/band/latched_queue.hpp"

namespace penstock::worker {

/// The records of the items that can start now, best first; the queue is sound afterwards.
inline std::vector<std::uint32_t> take_all(LatchedQueue& queue) {
  std::vector<Taken> taken;
  queue.take(taken);
  queue.validate();
  std::vector<std::uint32_t> records;
  for (const Taken& item : taken) records.push_back(item.record.value());
  return records;
}

}  // namespace penstock::worker
