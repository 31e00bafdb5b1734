#include "supervisor/actors/lease_keeper.hpp"

#include <utility>

namespace penstock::supervisor {
namespace {

constexpr int kRenewalsInLease = 10;

}  // namespace

LeaseKeeper::LeaseKeeper(std::unique_ptr<FileLease> lease, Duration duration)
    : lease_(std::move(lease)), every_(duration / kRenewalsInLease), thread_([this] { run(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock{mutex_};
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LeaseKeeper::expect_beats() {
  const std::lock_guard lock{mutex_};
  beats_expected_ = has_beaten_ = true;
}

void LeaseKeeper::beat() {
  const std::lock_guard lock{mutex_};
  has_beaten_ = true;
}

void LeaseKeeper::when_lost(OnLost on_lost) {
  const std::lock_guard lock{mutex_};
  on_lost_ = std::move(on_lost);
  if (on_lost_ && lost_.has_value()) on_lost_(*lost_);
}

Result<void> LeaseKeeper::check() {
  Result<void> held = lease_->check();
  if (!held) lose(held.error());
  return held;
}

void LeaseKeeper::lose(const Error& error) {
  const std::lock_guard lock{mutex_};
  if (lost_.has_value()) return;
  lost_ = error;
  if (on_lost_) on_lost_(error);
}

void LeaseKeeper::run() {
  std::unique_lock lock{mutex_};
  while (!changed_.wait_for(lock, every_, [this] { return ending_; })) {
    const bool alive = !beats_expected_ || std::exchange(has_beaten_, false);
    lock.unlock();
    const Result<void> held = alive ? lease_->renew() : lease_->check();
    if (!held) lose(held.error());
    lock.lock();
  }
}

}  // namespace penstock::supervisor
