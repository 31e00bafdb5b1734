#include "worker/core/subtask_record.hpp"

#include <utility>

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

// The one table of moves. Every state may end (become Free): cancel, failure, return or success.
bool is_legal_move(SubtaskState from, SubtaskState to) {
  using S = SubtaskState;
  if (to == S::Free) return from != S::Free;
  switch (from) {
    case S::Free: return to == S::Cached || to == S::Queued;
    case S::Cached: return to == S::Queued || to == S::Ready;      // Ready: forwarded.
    case S::Queued: return to == S::Quota || to == S::Preparing || to == S::Ready;
    case S::Quota: return to == S::Preparing || to == S::Ready || to == S::Queued;
    case S::Preparing: return to == S::Ready || to == S::Queued;   // Queued: demoted.
    case S::Ready: return to == S::Running || to == S::Queued;
    case S::Running: return to == S::Storing || to == S::Yielded;
    case S::Yielded: return to == S::Running || to == S::Storing;
    case S::Storing: return false;
  }
  return false;
}

void SubtaskRecord::reset() {
  std::vector<RunInput> kept_inputs = std::move(inputs);
  std::vector<DatumIndex> kept_pins = std::move(pins);
  std::vector<OutputReport> kept_outputs = std::move(outputs);
  std::string kept_payload = std::move(payload);
  kept_inputs.clear();
  kept_pins.clear();
  kept_outputs.clear();
  kept_payload.clear();
  *this = SubtaskRecord{};
  inputs = std::move(kept_inputs);
  pins = std::move(kept_pins);
  outputs = std::move(kept_outputs);
  payload = std::move(kept_payload);
}

}  // namespace penstock::worker
