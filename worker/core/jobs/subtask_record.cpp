#include "worker/core/jobs/subtask_record.hpp"

namespace penstock::worker {

std::string_view to_string(SubtaskState state) {
  switch (state) {
    case SubtaskState::Free: return "free";
    case SubtaskState::Cached: return "cached";
    case SubtaskState::Queued: return "queued";
    case SubtaskState::Quota: return "waiting for memory";
    case SubtaskState::Preparing: return "preparing";
    case SubtaskState::Ready: return "ready";
    case SubtaskState::Running: return "running";
    case SubtaskState::Yielded: return "yielded";
    case SubtaskState::Storing: return "storing";
  }
  return "unknown";
}

namespace {

constexpr std::uint16_t to(SubtaskState state) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(state));
}

// The one table of moves: a bit for each state that may follow. Every state may end (become Free): cancel, failure,
// return or success.
using S = SubtaskState;
constexpr std::uint16_t kMoves[] = {
    /* Free */ static_cast<std::uint16_t>(to(S::Cached) | to(S::Queued) | to(S::Ready)),  // Ready: nothing to prepare.
    /* Cached */ static_cast<std::uint16_t>(to(S::Free) | to(S::Queued) | to(S::Ready)),  // Ready: forwarded, or
                                                                                          // nothing to prepare.
    /* Queued */ static_cast<std::uint16_t>(to(S::Free) | to(S::Quota) | to(S::Preparing) | to(S::Ready)),
    /* Quota */ static_cast<std::uint16_t>(to(S::Free) | to(S::Preparing) | to(S::Ready) | to(S::Queued)),
    /* Preparing */ static_cast<std::uint16_t>(to(S::Free) | to(S::Ready) | to(S::Queued)),  // Queued: demoted.
    /* Ready */ static_cast<std::uint16_t>(to(S::Free) | to(S::Running) | to(S::Queued)),
    /* Running */ static_cast<std::uint16_t>(to(S::Free) | to(S::Storing) | to(S::Yielded)),
    /* Yielded */ static_cast<std::uint16_t>(to(S::Free) | to(S::Running) | to(S::Storing)),
    /* Storing */ to(S::Free),
};

constexpr std::size_t kPayloadBytesKept = 4096;

}  // namespace

bool is_legal_move(SubtaskState from, SubtaskState next) {
  return (kMoves[static_cast<std::size_t>(from)] & to(next)) != 0;
}

void SubtaskRecord::reset() {
  static_cast<SubtaskFields&>(*this) = SubtaskFields{};
  inputs.clear();
  pins.clear();
  outputs.clear();
  if (payload.capacity() > kPayloadBytesKept)
    std::string{}.swap(payload);  // A record is used again, and would keep that memory. An assignment keeps it, too.
  else
    payload.clear();
}

}  // namespace penstock::worker
