#include "common/protocol/failure.hpp"

#include <algorithm>

namespace penstock {

Duration backoff_before(FailureClass failure, std::uint32_t next_attempt) {
  Duration delay = failure_policy(failure).backoff;
  for (std::uint32_t attempt = 2; attempt < next_attempt && delay < kBackoffMax; ++attempt) delay *= 2;
  return std::min(delay, kBackoffMax);
}

Duration backoff_after_transfers(std::uint32_t failed, Rng& rng) {
  Duration delay = kTransferBackoff;
  for (std::uint32_t i = 1; i < failed && delay < kTransferBackoffMax; ++i) delay *= 2;
  const std::int64_t most = std::min(delay, kTransferBackoffMax).count();
  return std::max(Duration{rng.between(most / 2, most)}, kTransferBackoff);
}

std::string_view to_string(FailureClass failure) {
  switch (failure) {
    case FailureClass::None: return "none";
    case FailureClass::UserError: return "user error";
    case FailureClass::RunnerCrash: return "runner crash";
    case FailureClass::OutOfMemory: return "out of memory";
    case FailureClass::Timeout: return "timeout";
    case FailureClass::InputLost: return "input lost";
    case FailureClass::Transport: return "transport";
    case FailureClass::WorkerLost: return "worker lost";
    case FailureClass::Refused: return "refused";
    case FailureClass::Exhausted: return "host exhausted";
  }
  return "unknown";
}

}  // namespace penstock
