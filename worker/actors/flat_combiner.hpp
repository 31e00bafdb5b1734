// One thread at a time works for all that come: docs/decisions/0003.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace penstock::worker {

/// Threads submit news and go on; a thread that finds nobody combining combines, for all of them, round by round.
/// Invariant: the combining thread sets `busy_`, and clears it under the mutex when nothing waits any more, so nothing
/// is ever left behind. (Thread-sanitized by the integration tests.)
template <class News>
class FlatCombiner {
 public:
  /// True: the caller has to combine now.
  bool submit(News news) {
    const std::lock_guard lock{mutex_};
    waiting_.push_back(std::move(news));
    return !std::exchange(busy_, true);
  }
  /// Asks for a round without news, for an idle lane. True: the caller has to combine now.
  bool call() {
    const std::lock_guard lock{mutex_};
    called_ = true;
    return !std::exchange(busy_, true);
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
    news.swap(waiting_);
    return Next::Combine;
  }

 private:
  std::mutex mutex_;  ///< Guards all below.
  bool busy_ = false;
  bool called_ = false;
  std::vector<News> waiting_;
};

}  // namespace penstock::worker
