// Threads that write outputs into the store.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace penstock::worker {

/// Does pieces of work at the same time, in the order in which they were added as far as there are more than threads. A
/// thread starts when a piece finds none idle; while the host has no thread at all for them, a piece is done at once on
/// the caller's. Any thread may call any member but those of the work itself.
class WriterThreads {
 public:
  explicit WriterThreads(std::size_t threads_max);
  /// As `end`.
  ~WriterThreads();
  WriterThreads(const WriterThreads&) = delete;
  WriterThreads& operator=(const WriterThreads&) = delete;

  void add(std::function<void()> work);
  /// Forgets what waits, and waits for what is being done. Work that is added later is not done.
  void end();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
