// Work that blocks, for a thread that may.
#pragma once

#include <functional>

namespace penstock::worker {

/// Takes work that blocks from the threads that order it, and runs one piece after the other on a thread of its own:
/// `Waited` work before `Later` work, each kind in order. While the host has no thread for it, a piece runs at once on
/// the caller's. Any thread may call any member, except from within the work itself.
class BlockingWork {
 public:
  enum class Turn { Waited, Later };

  virtual ~BlockingWork() = default;
  /// False: the host has no thread for it at present. Starts the thread.
  virtual bool has_thread() = 0;
  virtual void add(Turn turn, std::function<void()> work) = 0;
  /// Abandons waiting work, and waits for the piece that runs.
  virtual void quiesce() = 0;
};

}  // namespace penstock::worker
