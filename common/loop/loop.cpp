#include "common/loop/loop.hpp"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "common/host/clock.hpp"
#include "common/host/host.hpp"

namespace penstock {

namespace asio = boost::asio;
namespace {

constexpr Duration kWorkInARow = std::chrono::milliseconds{1};  ///< After so long sockets and timers have their turn.

}  // namespace

struct Loop::State {
  // On one processor, another thread with work for the loop waits for that processor.
  explicit State(Duration spin_duration)
      : spin(usable_processors() > 1 ? spin_duration : Duration{0}), guard(asio::make_work_guard(io)) {}
  const Duration spin;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  std::function<bool()> worker;
  std::atomic<bool> stopped{false};
  std::atomic<std::thread::id> thread;
  std::uint64_t turns = 0;
  std::vector<std::function<void()>> for_next_turn;
};

Loop::Loop(Duration spin) : state_(std::make_unique<State>(spin)) { state_->thread = std::this_thread::get_id(); }
Loop::~Loop() = default;

void Loop::run() {
  State& state = *state_;
  state.thread = std::this_thread::get_id();
  Instant last_work = monotonic_now();
  while (!state.stopped.load(std::memory_order_relaxed)) {
    if (turn()) {
      last_work = monotonic_now();
      continue;
    }
    if (state.spin > Duration{0} && monotonic_now() - last_work < state.spin) continue;
    state.io.run_one();
    last_work = monotonic_now();
  }
  state.stopped = false;
}

bool Loop::turn() {
  ++state_->turns;
  bool worked = false;
  // Starting a thousand programs is seconds of work; heartbeats do not wait for it (fault F02).
  const Instant enough = monotonic_now() + kWorkInARow;
  while (state_->worker && state_->worker()) {
    worked = true;
    if (monotonic_now() >= enough) break;
  }
  for (const std::function<void()>& work : std::exchange(state_->for_next_turn, {})) {
    work();
    worked = true;
  }
  return state_->io.poll() > 0 || worked || !state_->for_next_turn.empty();
}

void Loop::stop() {
  state_->stopped = true;
  asio::post(state_->io, [] {});
}

void Loop::post(std::function<void()> work) { asio::post(state_->io, std::move(work)); }
void Loop::next_turn(std::function<void()> work) { state_->for_next_turn.push_back(std::move(work)); }
std::uint64_t Loop::turns() const { return state_->turns; }
bool Loop::in_loop_thread() const {
  return state_->thread.load(std::memory_order_relaxed) == std::this_thread::get_id();
}
void Loop::set_worker(std::function<bool()> worker) { state_->worker = std::move(worker); }
asio::io_context& Loop::io() { return state_->io; }

struct LoopTimer::State {
  explicit State(Loop& loop) : timer(loop.io()) {}
  asio::steady_timer timer;
  std::uint64_t generation = 0;
  Instant at = kNever;
};

LoopTimer::LoopTimer(Loop& loop) : state_(std::make_shared<State>(loop)) {}
LoopTimer::~LoopTimer() { cancel(); }

void LoopTimer::arm(Instant at, std::function<void()> work) {
  State& state = *state_;
  if (at == state.at) return;
  state.at = at;
  const std::uint64_t generation = ++state.generation;
  // Asio's clock is the same as ours: CLOCK_MONOTONIC.
  state.timer.expires_at(std::chrono::steady_clock::time_point{at.time_since_epoch()});  // tidy: foreign
  // The handler may be called after the timer is destroyed; it holds the state that it uses.
  state.timer.async_wait([held = state_, generation, work = std::move(work)](const boost::system::error_code& error) {
    if (error || generation != held->generation) return;
    held->at = kNever;
    work();
  });
}

void LoopTimer::cancel() {
  ++state_->generation;
  state_->at = kNever;
  state_->timer.cancel();
}

Instant LoopTimer::armed_for() const { return state_->at; }

}  // namespace penstock
