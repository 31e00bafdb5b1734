// The event loop of a process: sockets, timers and actors on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/base/time.hpp"

namespace boost::asio {
class io_context;
}

namespace penstock {

/// One thread that waits for everything: sockets and timers (Boost.Asio) and runnable CAF actors.
///
/// After work it spins for `spin` before it sleeps: waking a sleeping thread costs some 30 us, spinning costs one. A
/// process that has one processor (`usable_processors`) does not spin: what it waits for needs that processor. An idle
/// loop sleeps in the kernel and uses no processor. All members are for the loop's own thread except `post` and
/// `stop`.
class Loop {
 public:
  explicit Loop(Duration spin = std::chrono::microseconds{20});
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs on the calling thread until `stop`.
  void run();
  /// One turn, without waiting; true if there was something to do. For cleaning up after a loop that has stopped.
  bool turn();
  /// From any thread: makes `run` return after the present turn.
  void stop();
  /// From any thread: runs `work` on the loop's thread.
  void post(std::function<void()> work);
  bool in_loop_thread() const;
  /// Runs `work` after the next turn of the actors. Sockets are read until none is ready: a handler with long work
  /// posts its rest here.
  void next_turn(std::function<void()> work);
  /// Turns begun so far.
  std::uint64_t turns() const;

  /// Called in each turn until it returns false; each call does one piece of work. One hook, for the actor scheduler.
  void set_worker(std::function<bool()> worker);

  /// For the folder's own sockets and those of `worker/transfer`.
  boost::asio::io_context& io();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A one-shot timer of a loop; arming it again moves it, destroying it cancels it.
class LoopTimer {
 public:
  explicit LoopTimer(Loop& loop);
  ~LoopTimer();
  LoopTimer(const LoopTimer&) = delete;
  LoopTimer& operator=(const LoopTimer&) = delete;

  /// Does nothing if it is armed for `at` already.
  void arm(Instant at, std::function<void()> work);
  void cancel();
  /// `kNever` if it is not armed.
  Instant armed_for() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace penstock
