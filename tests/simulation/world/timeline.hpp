// Virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "common/base/time.hpp"

namespace penstock::simulation {

/// The events to come, in order of time and then of planning. Nothing happens in between: time jumps.
class Timeline {
 public:
  Instant now() const { return now_; }

  void at(Instant when, std::function<void()> what) {
    events_.push(Entry{std::max(when, now_), next_++, std::move(what)});
  }
  void after(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  bool empty() const { return events_.empty(); }
  Instant next_time() const { return events_.top().at; }
  void run_next() {
    // The entry is moved out before it runs: it may plan others.
    std::function<void()> what = std::move(const_cast<Entry&>(events_.top()).what);
    now_ = events_.top().at;
    events_.pop();
    what();
  }

 private:
  struct Entry {
    Instant at;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Entry& other) const { return at != other.at ? at > other.at : number > other.number; }
  };

  Instant now_ = instant_at(std::chrono::seconds{1});
  std::uint64_t next_ = 0;
  std::priority_queue<Entry> events_;
};

}  // namespace penstock::simulation
