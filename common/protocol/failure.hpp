// The classes of failure, and the one table of reactions to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error_code.hpp"
#include "common/base/ids.hpp"
#include "common/base/rng.hpp"
#include "common/base/time.hpp"

namespace penstock {

/// Classes of failure. DO NOT RENUMBER (wire, journal).
enum class FailureClass : std::uint8_t {
  None = 0,
  UserError = 1,    ///< The program reported it: exit code, exception, error return.
  RunnerCrash = 2,  ///< The runner died during the attempt.
  OutOfMemory = 3,  ///< The attempt exceeded its memory limit.
  Timeout = 4,      ///< The attempt exceeded its time limit.
  InputLost = 5,    ///< An input could not be brought here.
  Transport = 6,    ///< A transfer or store operation failed for a passing reason; see `is_unreachable_input`.
  WorkerLost = 7,   ///< The worker vanished.
  Refused = 8,      ///< The worker can never run it: unknown operator, missing program, request above hard limit.
  Exhausted = 9,    ///< The host has no processes, threads or descriptors left.
};

/// The reaction to a failure.
enum class FailureResponse : std::uint8_t {
  FailSubtask = 0,      ///< Final; `OnFailure` decides about the job.
  RetryAnywhere = 1,    ///< Again after a back-off, on any band with room.
  Reschedule = 2,       ///< Again at once, on a band that was not tried.
  RecomputeInputs = 3,  ///< First the missing inputs by lineage, then again.
};

/// One row of the retry table (spec worker 9).
struct FailurePolicy {
  FailureResponse response = FailureResponse::FailSubtask;
  bool charged = true;  ///< Counts against `attempts_max`: the subtask may be to blame.
  Duration backoff{0};  ///< Before the second attempt; doubles with each, up to `kBackoffMax`.
};

/// Delays between attempts to get an input from a holder that lives and cannot be reached: the first, and the longest.
/// Each delay is drawn between half of it and the whole, so that the readers do not all return at once with the holder.
inline constexpr Duration kTransferBackoff = std::chrono::milliseconds{50};
inline constexpr Duration kTransferBackoffMax = std::chrono::seconds{5};

inline constexpr Duration kBackoffMax = std::chrono::seconds{10};

/// The retry table. Worker and supervisor both use it; no other place decides.
constexpr FailurePolicy failure_policy(FailureClass failure) {
  using std::chrono::milliseconds;
  switch (failure) {
    case FailureClass::None: return {FailureResponse::FailSubtask, false, Duration{0}};
    case FailureClass::UserError: return {FailureResponse::RetryAnywhere, true, milliseconds{100}};
    case FailureClass::RunnerCrash: return {FailureResponse::RetryAnywhere, true, milliseconds{100}};
    case FailureClass::OutOfMemory: return {FailureResponse::Reschedule, true, milliseconds{200}};
    case FailureClass::Timeout: return {FailureResponse::RetryAnywhere, true, milliseconds{100}};
    case FailureClass::InputLost: return {FailureResponse::RecomputeInputs, false, Duration{0}};
    case FailureClass::Transport: return {FailureResponse::RetryAnywhere, false, milliseconds{50}};
    case FailureClass::WorkerLost: return {FailureResponse::Reschedule, false, Duration{0}};
    case FailureClass::Refused: return {FailureResponse::Reschedule, true, Duration{0}};
    case FailureClass::Exhausted: return {FailureResponse::Reschedule, false, milliseconds{100}};
  }
  return {};
}

/// Where another attempt may succeed.
enum class TryAgain : std::uint8_t { Anywhere, OnOtherWorkers, Nowhere };

/// The one list of failures that a repetition on the same worker, or anywhere, does not mend, by error code. For codes
/// that are not listed the retry table decides alone.
constexpr TryAgain where_to_try_again(std::optional<ErrorCode> code) {
  if (!code) return TryAgain::Anywhere;
  switch (*code) {
    case ErrorCode::InvalidArgument: return TryAgain::Nowhere;         // The result cannot be sent.
    case ErrorCode::LimitExceeded: return TryAgain::OnOtherWorkers;    // Outputs larger than the worker's store.
    case ErrorCode::RequestTooLarge: return TryAgain::OnOtherWorkers;  // A request above the band's hard limit.
    case ErrorCode::ProgramNotFound: return TryAgain::OnOtherWorkers;  // Or a module of the program.
    case ErrorCode::UnknownOperator: return TryAgain::OnOtherWorkers;
    case ErrorCode::VersionMismatch: return TryAgain::OnOtherWorkers;
    case ErrorCode::PermissionDenied: return TryAgain::OnOtherWorkers;  // Of a host that knows the user.
    default: return TryAgain::Anywhere;
  }
}

/// The delay before attempt number `next_attempt` (2 is the first retry).
Duration backoff_before(FailureClass failure, std::uint32_t next_attempt);
/// The delay after so many attempts in a row that could not get an input.
Duration backoff_after_transfers(std::uint32_t failed, Rng& rng);

std::string_view to_string(FailureClass failure);

/// Details of one failed attempt, for the user.
struct FailureDetail {
  FailureClass failure = FailureClass::None;
  std::int32_t exit_code = -1;  ///< Of a program that exited; -1: it did not exit.
  std::int32_t signal = 0;      ///< The signal that ended it; 0: none.
  std::int64_t peak_memory_bytes = 0;
  SubtaskIndex lost_producer;  ///< Producer of the missing or, for `Transport`, unreachable input; none: unknown.
  std::string message;
  std::string output_tail;           ///< Last lines of its output.
  std::string detail;                ///< From the runner for its engine, e.g. a pickled exception; opaque here.
  std::optional<ErrorCode> code;     ///< The reason, if known; see `where_to_try_again`.
  std::int64_t outputs_bytes = 0;    ///< Of outputs that exceeded the worker's store.
  friend bool operator==(const FailureDetail&, const FailureDetail&) = default;
};

/// The holder of an input lives and cannot be reached from the worker that wants it: no fault of the subtask, and no
/// loss. The fetch is tried again for `supervisor.transfer_patience` (supervisor/core/transfer_retry.cpp).
inline bool is_unreachable_input(const FailureDetail& detail) {
  return detail.failure == FailureClass::Transport && detail.lost_producer.valid();
}

}  // namespace penstock
