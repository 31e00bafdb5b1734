#include "common/net/handshake_pool.hpp"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace penstock {

struct HandshakePool::State {
  State(std::size_t threads, std::size_t most) : pool(threads), steps_max(most) {}
  boost::asio::thread_pool pool;
  const std::size_t steps_max;
  std::atomic<std::size_t> steps{0};
  std::atomic<bool> stopped{false};
};

HandshakePool::HandshakePool(std::size_t threads, std::size_t steps_max)
    : state_(std::make_unique<State>(threads, steps_max)) {}

HandshakePool::~HandshakePool() { stop(); }

void HandshakePool::stop() {
  state_->stopped = true;
  state_->pool.stop();
  state_->pool.join();
}

bool HandshakePool::run(std::function<void()> step) {
  if (state_->steps.fetch_add(1) >= state_->steps_max || state_->stopped) {
    state_->steps.fetch_sub(1);
    return false;
  }
  boost::asio::post(state_->pool, [state = state_.get(), step = std::move(step)] {
    step();
    state->steps.fetch_sub(1);
  });
  return true;
}

}  // namespace penstock
