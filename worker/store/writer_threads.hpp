// Threads that write outputs into the store.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace penstock::worker {

/// Runs pieces of work at the same time; if there are more pieces than threads, in the order of their addition. A
/// thread starts when a piece finds none idle; while the host has no thread for them, a piece runs at once on the
/// caller's. Any thread may call any member, except from within the work itself.
class WriterThreads {
 public:
  explicit WriterThreads(std::size_t threads_max);
  /// As `end`.
  ~WriterThreads();
  WriterThreads(const WriterThreads&) = delete;
  WriterThreads& operator=(const WriterThreads&) = delete;

  void add(std::function<void()> work);
  /// Abandons waiting work, and waits for running work. Work that is added later is not done.
  void end();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
