#include "supervisor/core/jobs/retry_timers.hpp"

#include <algorithm>
#include <tuple>

namespace penstock::supervisor {
namespace {

/// For the standard heap functions, which keep the greatest item on top.
bool is_later(const RetryTimer& left, const RetryTimer& right) {
  return std::tie(left.at, left.job, left.subtask) > std::tie(right.at, right.job, right.subtask);
}

}  // namespace

void RetryTimers::add(const RetryTimer& timer) {
  timers_.push_back(timer);
  std::push_heap(timers_.begin(), timers_.end(), is_later);
}

std::optional<RetryTimer> RetryTimers::take_due(Instant now) {
  if (first() > now) return {};
  const RetryTimer timer = timers_.front();
  std::pop_heap(timers_.begin(), timers_.end(), is_later);
  timers_.pop_back();
  return timer;
}

const RetryTimer* RetryTimers::find(JobId job, std::uint32_t subtask, std::uint64_t attempt) const {
  const auto found = std::find_if(timers_.begin(), timers_.end(), [&](const RetryTimer& timer) {
    return timer.job == job && timer.subtask == subtask && timer.attempt == attempt;
  });
  return found == timers_.end() ? nullptr : &*found;
}

}  // namespace penstock::supervisor
