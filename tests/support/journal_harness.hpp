// A supervisor's core with a disk that the test holds in its hand.
#pragma once

#include <deque>
#include <memory>

#include "tests/support/record_log.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {

/// A `SupervisorHarness` with a journal. Nothing is on the disk until the test says so; `restart` begins a new life
/// with what is.
class JournalHarness {
 public:
  explicit JournalHarness(SupervisorConfig config = {}) : config_(config) { begin(); }

  SupervisorHarness* operator->() { return life_.get(); }
  SupervisorHarness& life() { return *life_; }

  /// Commits that wait, oldest first.
  std::size_t waiting() {
    collect();
    return waiting_.size();
  }
  /// One commit reaches the disk.
  void write_one() {
    collect();
    ASSERT_FALSE(waiting_.empty());
    for (const Record& record : waiting_.front().records) log_.write(record);
    const std::uint64_t ticket = waiting_.front().ticket;
    waiting_.pop_front();
    life_->handle(supervisor_event::Persisted{ticket});
  }
  /// All of them, and those that follow when a little time passes.
  void write_all() {
    life_->tick_after(std::chrono::milliseconds{10});
    while (waiting() > 0) {
      write_one();
      life_->tick_after(std::chrono::milliseconds{10});
    }
  }
  void fail(ErrorCode code) {
    life_->handle(supervisor_event::StorageFailed{Error{code, "disk", "is in trouble", {}}});
  }
  /// The process dies; the next one finds what was written. No worker comes back in time.
  void restart(Duration down = std::chrono::seconds{0}) {
    restart_for_claims(down);
    if (life_->core().reclaiming()) life_->tick_at_deadline();
    while (waiting() > 0) write_one();
    life_->alerts();
  }
  /// The same; workers are still waited for.
  void restart_for_claims(Duration down = std::chrono::seconds{0}) {
    unix_ms_ += (life_->now() - began_ + down) / std::chrono::milliseconds{1};
    life_->ignore();
    waiting_.clear();
    begin();
  }
  const RecordLog& log() const { return log_; }

 private:
  void begin() {
    life_ = std::make_unique<SupervisorHarness>(config_, Durability::Journal);
    began_ = life_->now();
    life_->handle(supervisor_event::StateRecovered{log_.state(), unix_ms_, ++term_});
  }
  void collect() {
    for (supervisor_action::Persist& persist : life_->take_persists()) waiting_.push_back(std::move(persist));
  }
  const SupervisorConfig config_;
  std::int64_t unix_ms_ = 1'800'000'000'000;
  Instant began_{};
  std::uint64_t term_ = 0;
  std::unique_ptr<SupervisorHarness> life_;
  std::deque<supervisor_action::Persist> waiting_;
  RecordLog log_;
};

}  // namespace penstock::supervisor
