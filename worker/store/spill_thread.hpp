// The thread that moves data between memory and disk.
#pragma once

#include <functional>
#include <memory>

namespace penstock::worker {

/// Runs one piece of work after the other on a thread of its own, which starts with the first: `Waited` work before
/// `Later` work, each kind in order. While the host has no thread for it, work runs at once on the caller's. Any thread
/// may call any member, except from within the work itself.
class SpillThread {
 public:
  SpillThread();
  /// Waiting work is abandoned.
  ~SpillThread();
  SpillThread(const SpillThread&) = delete;
  SpillThread& operator=(const SpillThread&) = delete;

  enum class Turn { Waited, Later };
  void add(Turn turn, std::function<void()> work);
  /// Abandons waiting work, and waits for the one that runs.
  void quiesce();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
