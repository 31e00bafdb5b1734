#include "supervisor/policy/preemption.hpp"

#include <algorithm>

namespace penstock::policy {

void PreemptionFlag::watch(std::uint32_t watcher) {
  if (std::find(watchers_.begin(), watchers_.end(), watcher) == watchers_.end()) watchers_.push_back(watcher);
}

void PreemptionFlag::unwatch(std::uint32_t watcher) { std::erase(watchers_, watcher); }

void PreemptionFlag::raise(Instant now, Duration grace) {
  if (raised_ || closed_) return;
  raised_ = true;
  deadline_ = later(now, grace);
}

void PreemptionFlag::close() {
  closed_ = true;
  deadline_ = kNever;
}

bool PreemptionFlag::is_signalled(std::uint32_t watcher) const {
  return (raised_ || closed_) && std::find(watchers_.begin(), watchers_.end(), watcher) != watchers_.end();
}

void Holding::ask_to_leave(Instant now, Duration grace) {
  if (state_ == HoldingState::Terminated) return;
  if (!started()) return kill();
  if (preemptible_ && ready_)
    flag_.raise(now, grace);
  else
    kill();
}

void Holding::kill() {
  if (state_ == HoldingState::Terminated) return;
  kill_ordered_ = true;
  if (started()) return advance(HoldingState::Terminating);
  // Nothing runs yet: there is nothing to wait for.
  advance(HoldingState::Terminated);
  end_ = HoldingEnd::Preempted;
  flag_.close();
}

void Holding::exited(bool with_error) {
  if (state_ == HoldingState::Terminated) return;
  advance(HoldingState::Terminated);
  const bool gave_way = flag_.raised() && flag_.acknowledged();
  if (kill_ordered_ || (gave_way && !with_error))
    end_ = HoldingEnd::Preempted;
  else
    end_ = with_error ? HoldingEnd::Failed : HoldingEnd::Finished;
  flag_.close();
}

void Holding::tick(Instant now) {
  if (flag_.timed_out(now)) kill();
}

}  // namespace penstock::policy
