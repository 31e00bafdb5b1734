#include "worker/store/spill_thread.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace penstock::worker {

struct SpillThread::State {
  void start();
  void run();

  std::mutex mutex;
  std::condition_variable news;
  std::deque<std::function<void()>> waited;
  std::deque<std::function<void()>> later;
  bool working = false;
  bool ending = false;
  std::thread thread;  // Last: it uses all of the above.
};

SpillThread::SpillThread() : state_(std::make_unique<State>()) {}

SpillThread::~SpillThread() {
  quiesce();
  {
    const std::lock_guard lock{state_->mutex};
    state_->ending = true;
  }
  state_->news.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
}

void SpillThread::add(Turn turn, std::function<void()> work) {
  bool has_thread = false;
  {
    const std::lock_guard lock{state_->mutex};
    if (!state_->thread.joinable()) state_->start();
    has_thread = state_->thread.joinable();
    if (has_thread) (turn == Turn::Waited ? state_->waited : state_->later).push_back(std::move(work));
  }
  if (!has_thread) return work();
  state_->news.notify_all();
}

void SpillThread::State::start() {
  try {
    thread = std::thread{[this] { run(); }};
  } catch (const std::system_error&) {
    // Fault F33: the host has no threads left. The caller does the work.
  }
}

void SpillThread::quiesce() {
  std::unique_lock lock{state_->mutex};
  state_->waited.clear();
  state_->later.clear();
  state_->news.wait(lock, [this] { return !state_->working; });
}

void SpillThread::State::run() {
  std::unique_lock lock{mutex};
  for (;;) {
    news.wait(lock, [this] { return ending || !waited.empty() || !later.empty(); });
    if (ending) return;
    std::deque<std::function<void()>>& queue = waited.empty() ? later : waited;
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    working = true;
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    working = false;
    news.notify_all();
  }
}

}  // namespace penstock::worker
