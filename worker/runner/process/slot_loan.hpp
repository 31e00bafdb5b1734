// The slot of a lane's run, lent to others while the run waits for nested work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/host/descriptor.hpp"

namespace penstock::worker {

enum class SlotWish : std::uint8_t { Lend, TakeBack };
/// Carries the wish of a run to the worker's core; called on the run's thread.
using TellSlotWish = std::function<void(std::uint64_t ticket, Attempt attempt, SlotWish wish)>;

/// Between one lane's run and the worker's core. The run's thread asks; the thread that carries out the core's orders
/// answers. A run that was stopped does not wait for its slot: the run goes on without one and is expected to end soon.
/// Answers name the run's ticket, so that no later run of the lane takes one for its own.
/// Invariant of `mutex_`: guards all members below it. Thread-sanitized by tests/integration/runner.
class SlotLoan {
 public:
  /// REQUIRES: called once, before any run; what is pointed to outlives the loan. `cancelled_ticket` holds the ticket
  /// of a run that is to stop, `ending` says that all are; a thread that sets one of them calls `ring` afterwards.
  void serve(const TellSlotWish* tell, const std::atomic<std::uint64_t>* cancelled_ticket,
             const std::atomic<bool>* ending);

  // On the run's thread:

  /// Waits for the core's answer, which no other run delays. Errors: Unsupported, WrongState (the slot is lent),
  /// LimitExceeded (worker.yields_max), Cancelled.
  Result<void> lend(std::uint64_t ticket, Attempt attempt);
  /// Waits until the run has its slot. Errors: WrongState (the slot is not lent), Cancelled (the run goes on without a
  /// slot).
  Result<void> take_back();
  /// Asks for the slot without waiting for it; `look` tells. Errors as of `take_back`.
  Result<void> want();
  /// Whether the run has its slot, or was stopped before (Cancelled); none: neither yet. REQUIRES: `want` has
  /// succeeded.
  std::optional<Result<void>> look();
  /// Becomes readable when `look` may have news; -1 if the host has no descriptor left.
  int bell();
  /// Whether anything was asked since the last `reset`.
  bool used() const { return used_; }
  /// The run has ended.
  void reset();

  // From any thread:

  void answer(std::uint64_t ticket, bool lent);
  void grant(std::uint64_t ticket);
  /// The run may have been stopped.
  void ring();

 private:
  enum class Place : std::uint8_t {
    Held,
    Asked,  ///< The run has its slot until the answer.
    Lent,
    Wanted,
    Without,  ///< The run was stopped and does not wait for its slot.
  };
  bool is_stopped() const;
  void ring_locked();

  // Constant after `serve`.
  const TellSlotWish* tell_ = nullptr;
  const std::atomic<std::uint64_t>* cancelled_ticket_ = nullptr;
  const std::atomic<bool>* ending_ = nullptr;

  bool used_ = false;  ///< Of the run's thread.

  std::mutex mutex_;
  std::condition_variable news_;
  Place place_ = Place::Held;
  std::uint64_t ticket_ = ~std::uint64_t{0};  ///< Of the run that has asked.
  Attempt attempt_;
  Descriptor bell_;
};

}  // namespace penstock::worker
