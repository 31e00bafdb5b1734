// The thread that moves data between memory and disk.
#pragma once

#include <functional>
#include <memory>

namespace penstock::worker {

/// Does one piece of work after the other on a thread of its own, which starts with the first: what somebody waits for
/// before the rest, each kind in order; while the host has no thread for it, at once on the caller's. Any thread may call any member but those of the work itself.
class SpillThread {
 public:
  SpillThread();
  /// What waits is not done.
  ~SpillThread();
  SpillThread(const SpillThread&) = delete;
  SpillThread& operator=(const SpillThread&) = delete;

  enum class Turn { Waited, Later };
  void add(Turn turn, std::function<void()> work);
  /// Forgets what waits, and waits for what is being done.
  void quiesce();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
