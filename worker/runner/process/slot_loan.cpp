#include "worker/runner/process/slot_loan.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace penstock::worker {
namespace {

Error stopped() {
  return {ErrorCode::Cancelled, "slot", "the run was told to stop, and does not wait for its slot", "return soon"};
}

}  // namespace

void SlotLoan::serve(const TellSlotWish* tell, const std::atomic<std::uint64_t>* cancelled_ticket,
                     const std::atomic<bool>* ending) {
  tell_ = tell;
  cancelled_ticket_ = cancelled_ticket;
  ending_ = ending;
}

Result<void> SlotLoan::lend(std::uint64_t ticket, Attempt attempt) {
  if (tell_ == nullptr || !*tell_)
    return Error{ErrorCode::Unsupported, "slot", "nobody here could use it meanwhile", {}};
  {
    const std::lock_guard lock{mutex_};
    if (place_ == Place::Without) return stopped();
    if (place_ != Place::Held)
      return Error{ErrorCode::WrongState, "slot", "is lent already", "take it back before it is lent again"};
    used_ = true;
    place_ = Place::Asked;
    ticket_ = ticket;
    attempt_ = attempt;
  }
  (*tell_)(ticket, attempt, SlotWish::Lend);
  std::unique_lock lock{mutex_};
  news_.wait(lock, [this] { return place_ != Place::Asked || *ending_; });
  if (place_ == Place::Lent) return {};
  if (place_ == Place::Held)
    return Error{ErrorCode::LimitExceeded, "slot", "as many runs of this band as may have lent theirs",
                 "raise `worker.yields_max`, or let fewer runs wait for nested ones"};
  place_ = Place::Without;  // No answer need come any more.
  return stopped();
}

Result<void> SlotLoan::want() {
  {
    const std::lock_guard lock{mutex_};
    if (place_ == Place::Without) return stopped();
    if (place_ != Place::Lent) return Error{ErrorCode::WrongState, "slot", "is not lent", "lend it first"};
    if (is_stopped()) {
      place_ = Place::Without;
      return stopped();
    }
    place_ = Place::Wanted;
  }
  (*tell_)(ticket_, attempt_, SlotWish::TakeBack);
  return {};
}

std::optional<Result<void>> SlotLoan::look() {
  const std::lock_guard lock{mutex_};
  std::uint64_t rung = 0;
  if (bell_) static_cast<void>(::read(bell_.get(), &rung, sizeof rung) > 0);
  if (place_ == Place::Held) return Result<void>{};
  if (!is_stopped()) return std::nullopt;
  place_ = Place::Without;
  return Result<void>{stopped()};
}

Result<void> SlotLoan::take_back() {
  if (Result<void> asked = want(); !asked) return asked;
  std::unique_lock lock{mutex_};
  news_.wait(lock, [this] { return place_ == Place::Held || is_stopped(); });
  if (place_ == Place::Held) return {};
  place_ = Place::Without;
  return stopped();
}

int SlotLoan::bell() {
  const std::lock_guard lock{mutex_};
  if (!bell_) bell_ = Descriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  return bell_.get();
}

void SlotLoan::reset() {
  const std::lock_guard lock{mutex_};
  used_ = false;
  place_ = Place::Held;
  ticket_ = ~std::uint64_t{0};
}

void SlotLoan::answer(std::uint64_t ticket, bool lent) {
  const std::lock_guard lock{mutex_};
  if (ticket_ != ticket || place_ != Place::Asked) return;
  place_ = lent ? Place::Lent : Place::Held;
  ring_locked();
}

// A run that does not wait any longer has its slot all the same, until it ends.
void SlotLoan::grant(std::uint64_t ticket) {
  const std::lock_guard lock{mutex_};
  if (ticket_ != ticket || (place_ != Place::Wanted && place_ != Place::Without)) return;
  place_ = Place::Held;
  ring_locked();
}

void SlotLoan::ring() {
  const std::lock_guard lock{mutex_};
  ring_locked();
}

bool SlotLoan::is_stopped() const { return *ending_ || *cancelled_ticket_ == ticket_; }

void SlotLoan::ring_locked() {
  news_.notify_all();
  const std::uint64_t one = 1;
  if (bell_) static_cast<void>(::write(bell_.get(), &one, sizeof one) > 0);
}

}  // namespace penstock::worker
