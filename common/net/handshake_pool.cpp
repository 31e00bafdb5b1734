#include "common/net/handshake_pool.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <deque>
#include <mutex>
#include <vector>

namespace penstock {

struct HandshakePool::State {
  State(std::size_t threads, std::size_t most) : steps_max(most), pool(threads) {}

  std::function<void()> next() {
    const std::lock_guard lock{mutex};
    std::function<void()> step;
    if (begun.empty()) {
      step = std::move(fresh.back());
      fresh.pop_back();
    } else {
      step = std::move(begun.front());
      begun.pop_front();
    }
    return step;
  }

  const std::size_t steps_max;
  std::mutex mutex;  // Of what follows.
  std::deque<std::function<void()>> begun;
  std::vector<std::function<void()>> fresh;
  bool stopped = false;
  boost::asio::thread_pool pool;  ///< Ends first.
};

HandshakePool::HandshakePool(std::size_t threads, std::size_t steps_max)
    : state_(std::make_unique<State>(threads, steps_max)) {}

HandshakePool::~HandshakePool() { stop(); }

void HandshakePool::stop() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->stopped = true;
  }
  state_->pool.stop();
  state_->pool.join();
}

bool HandshakePool::run(Step kind, std::function<void()> step) {
  {
    const std::lock_guard lock{state_->mutex};
    if (state_->stopped || (kind == Step::First && state_->fresh.size() >= state_->steps_max)) return false;
    if (kind == Step::First)
      state_->fresh.push_back(std::move(step));
    else
      state_->begun.push_back(std::move(step));
  }
  boost::asio::post(state_->pool, [state = state_.get()] { state->next()(); });
  return true;
}

}  // namespace penstock
