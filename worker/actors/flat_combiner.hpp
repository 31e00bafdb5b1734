// One thread at a time works for all that come: docs/decisions/0003.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace penstock::worker {

/// Threads submit news and go on; a thread that finds nobody combining combines, for all of them, round by round. A
/// thread may leave its news to one that it expects to combine soon.
/// Invariant: the combining thread sets `busy_`, and clears it under the mutex when nothing waits any more, so nothing
/// is ever left behind but what was left on purpose. (Thread-sanitized by the integration tests.)
template <class News>
class FlatCombiner {
 public:
  /// True: the caller has to combine now.
  bool submit(News news) {
    const std::lock_guard lock{mutex_};
    waiting_.push_back(std::move(news));
    return !std::exchange(busy_, true);
  }
  enum class Submitted { Combine, Left, Taken };
  /// `Combine`: the caller has to combine now. `Left`: nobody combines, and `expects_other()`, asked under the mutex,
  /// says that another thread soon does. The caller sees to it: while `has_left()`, it may `call()` and combine.
  template <class ExpectsOther>
  Submitted submit_or_leave(News news, ExpectsOther&& expects_other) {
    const std::lock_guard lock{mutex_};
    waiting_.push_back(std::move(news));
    return decide(expects_other);
  }
  bool has_left() const { return left_.load(std::memory_order_relaxed); }
  /// Asks for a round without news, for an idle lane. True: the caller has to combine now.
  bool call() {
    const std::lock_guard lock{mutex_};
    called_ = true;
    return !std::exchange(busy_, true);
  }

  /// The same, for an idle lane that may leave the round to another thread.
  template <class ExpectsOther>
  Submitted call_or_leave(ExpectsOther&& expects_other) {
    const std::lock_guard lock{mutex_};
    called_ = true;
    return decide(expects_other);
  }

  enum class Next { Leave, Pause, Combine };
  /// The combining thread asks what to do: it leaves after `at_rest`, which it calls under the mutex; or it has done
  /// `rounds_left` and hands the rest on, still as the combining thread; or it takes what waits into `news` for a
  /// round. `more`: there is a reason for a round even if nothing waits. REQUIRES: `news` is empty.
  template <class AtRest>
  Next next(std::vector<News>& news, bool more, int rounds_left, AtRest&& at_rest) {
    const std::lock_guard lock{mutex_};
    if (!called_ && !more && waiting_.empty()) {
      at_rest();
      busy_ = false;
      return Next::Leave;
    }
    if (rounds_left == 0) return Next::Pause;
    called_ = false;
    left_.store(false, std::memory_order_relaxed);
    news.swap(waiting_);
    return Next::Combine;
  }

 private:
  // REQUIRES: the caller holds the mutex.
  template <class ExpectsOther>
  Submitted decide(ExpectsOther& expects_other) {
    if (busy_) return Submitted::Taken;
    if (expects_other()) {
      left_.store(true, std::memory_order_relaxed);
      return Submitted::Left;
    }
    busy_ = true;
    return Submitted::Combine;
  }

  std::mutex mutex_;  ///< Guards all below.
  bool busy_ = false;
  bool called_ = false;
  std::atomic<bool> left_{false};  ///< Written under the mutex.
  std::vector<News> waiting_;
};

}  // namespace penstock::worker
