#include "worker/store/writer_threads.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace penstock::worker {

/// Invariant: all but `threads_max` is touched under the mutex only. Thread-sanitized by unit_worker_store.
struct WriterThreads::State {
  explicit State(std::size_t most) : threads_max(most) {}
  void start();
  void run();

  const std::size_t threads_max;
  std::mutex mutex;
  std::condition_variable news;
  std::deque<std::function<void()>> waiting;
  std::size_t idle = 0;
  bool ending = false;
  std::vector<std::thread> threads;
};

WriterThreads::WriterThreads(std::size_t threads_max) : state_(std::make_unique<State>(threads_max)) {}
WriterThreads::~WriterThreads() { end(); }

void WriterThreads::add(std::function<void()> work) {
  bool has_thread = false;
  {
    const std::lock_guard lock{state_->mutex};
    if (state_->ending) return;
    if (state_->idle <= state_->waiting.size() && state_->threads.size() < state_->threads_max) state_->start();
    has_thread = !state_->threads.empty();
    if (has_thread) state_->waiting.push_back(std::move(work));
  }
  if (!has_thread) return work();
  state_->news.notify_one();
}

void WriterThreads::State::start() {
  try {
    threads.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    // Fault F33: the host has no threads left. The existing threads do the work later.
  }
}

void WriterThreads::end() {
  std::vector<std::thread> ended;
  {
    const std::lock_guard lock{state_->mutex};
    state_->ending = true;
    state_->waiting.clear();
    ended.swap(state_->threads);
  }
  state_->news.notify_all();
  for (std::thread& thread : ended) thread.join();
}

void WriterThreads::State::run() {
  std::unique_lock lock{mutex};
  for (;;) {
    ++idle;
    news.wait(lock, [this] { return ending || !waiting.empty(); });
    --idle;
    if (ending) return;
    std::function<void()> work = std::move(waiting.front());
    waiting.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace penstock::worker
