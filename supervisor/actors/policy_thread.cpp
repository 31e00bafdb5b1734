#include "supervisor/actors/policy_thread.hpp"

#include <exception>

#include "supervisor/core/policy_pass.hpp"

namespace penstock::supervisor {
namespace {

/// A pass for which memory is short fails; the cluster goes on with the plan in force.
supervisor_event::PassEnded run_guarded(const supervisor_action::RunPass& order) {
  try {
    return run_pass(order);
  } catch (const std::exception& failure) {
    return {order.number, {}, failure.what()};
  }
}

}  // namespace

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
    done_(run_guarded(order));
  }
}

}  // namespace penstock::supervisor
