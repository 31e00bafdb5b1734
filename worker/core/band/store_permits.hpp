// The writes of outputs that a band allows at once.
#pragma once

#include <cstdint>
#include <deque>

#include "worker/core/record_index.hpp"

namespace penstock::worker {

/// Permits to store outputs, handed out in the order of arrival. Bounds the concurrent writes of a band.
class StorePermits {
 public:
  explicit StorePermits(std::uint32_t permits) : free_(permits) {}

  /// True if the record has a permit now. Else it waits in line.
  bool take(RecordIndex index) {
    if (free_ == 0) {
      waiting_.push_back(index);
      return false;
    }
    --free_;
    return true;
  }
  /// A holder gives its permit back. Returns the record that has it now, none if none waits.
  RecordIndex give_back() {
    ++free_;
    if (waiting_.empty()) return RecordIndex::none();
    const RecordIndex next = waiting_.front();
    waiting_.pop_front();
    --free_;
    return next;
  }
  /// The record waits no longer. Idempotent.
  void stop_waiting(RecordIndex index) { std::erase(waiting_, index); }

  std::uint32_t available() const { return free_; }

 private:
  std::uint32_t free_;
  std::deque<RecordIndex> waiting_;
};

}  // namespace penstock::worker
