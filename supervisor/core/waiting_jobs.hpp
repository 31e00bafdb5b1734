// The jobs that keep subtasks for one band, the next one to be served on top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/ids.hpp"

namespace penstock::supervisor {

/// A binary heap in an array: the highest precedence first, then the job that holds least, then the earliest.
///
/// The attempts of a job change with every subtask, on many bands at once: entries may be out of date. The owner
/// corrects the top before using it, and a few others by rotation (`next_to_correct`), so that no entry stays wrong for
/// ever. Cost: logarithmic for each change; no allocation once the array has grown. Single-threaded.
class WaitingJobs {
 public:
  struct Entry {
    std::int64_t precedence = 0;  ///< `Job::precedence`.
    std::uint32_t held = 0;   ///< `Job::in_flight` when it was last looked at.
    JobId job;
    std::uint32_t epoch = 0;  ///< `Job::waiting_epoch` when it was made; any other value: a later entry replaces it.

    bool goes_before(const Entry& other) const {
      if (precedence != other.precedence) return precedence > other.precedence;
      return held != other.held ? held < other.held : job < other.job;
    }
  };

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  /// In no order but that the first is the top.
  const Entry& operator[](std::size_t at) const { return entries_[at]; }

  void push(const Entry& entry) {
    offered_ = 0;
    entries_.push_back(entry);
    rise(entries_.size() - 1);
  }
  /// REQUIRES, as the others: there is such an entry.
  void erase(std::size_t at) {
    entries_[at] = entries_.back();
    entries_.pop_back();
    if (at < entries_.size()) settle(at);
  }
  void set_held(std::size_t at, std::uint32_t held) {
    entries_[at].held = held;
    settle(at);
  }
  /// The next position in the rotation.
  std::size_t next_to_correct() {
    cursor_ = cursor_ + 1 < entries_.size() ? cursor_ + 1 : 0;
    return cursor_;
  }
  /// The same for bands in need of work, with a count of the offers since the entries changed.
  std::size_t next_to_offer() {
    ++offered_;
    offer_cursor_ = offer_cursor_ + 1 < entries_.size() ? offer_cursor_ + 1 : 0;
    return offer_cursor_;
  }
  void offer_anew() { offered_ = 0; }
  /// Every entry has been offered so often.
  bool all_offered(std::size_t times) const { return offered_ >= entries_.size() * times; }

 private:
  void settle(std::size_t at) { sink(rise(at)); }

  std::size_t rise(std::size_t at) {
    const Entry entry = entries_[at];
    for (; at > 0 && entry.goes_before(entries_[(at - 1) / 2]); at = (at - 1) / 2)
      entries_[at] = entries_[(at - 1) / 2];
    entries_[at] = entry;
    return at;
  }

  void sink(std::size_t at) {
    const Entry entry = entries_[at];
    for (std::size_t child = 2 * at + 1; child < entries_.size(); child = 2 * at + 1) {
      if (child + 1 < entries_.size() && entries_[child + 1].goes_before(entries_[child])) ++child;
      if (!entries_[child].goes_before(entry)) break;
      entries_[at] = entries_[child];
      at = child;
    }
    entries_[at] = entry;
  }

  std::vector<Entry> entries_;
  std::size_t cursor_ = 0;
  std::size_t offer_cursor_ = 0;
  std::size_t offered_ = 0;
};

}  // namespace penstock::supervisor
