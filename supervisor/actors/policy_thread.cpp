#include "supervisor/actors/policy_thread.hpp"

#include <exception>

#include "supervisor/policy/policy_engine.hpp"

namespace penstock::supervisor {

supervisor_event::PassEnded run_pass(const supervisor_action::RunPass& order) {
  supervisor_event::PassEnded ended;
  ended.number = order.number;
  try {
    const Result<void> good = policy::check_snapshot(order.snapshot);
    if (good)
      ended.plan = policy::PolicyEngine{order.parts}.pass(order.snapshot);
    else
      ended.failure = to_string(good.error());
  } catch (const std::exception& failure) {
    ended.failure = failure.what();
  }
  return ended;
}

PolicyThread::PolicyThread(Done done) : done_(std::move(done)), thread_([this] { serve(); }) {}

PolicyThread::~PolicyThread() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void PolicyThread::run(supervisor_action::RunPass&& order) {
  {
    const std::lock_guard lock{mutex_};
    waiting_ = std::move(order);
  }
  changed_.notify_one();
}

void PolicyThread::serve() {
  while (true) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return ending_ || waiting_.has_value(); });
    if (ending_) return;
    const supervisor_action::RunPass order = std::move(*waiting_);
    waiting_.reset();
    lock.unlock();
    done_(run_pass(order));
  }
}

}  // namespace penstock::supervisor
