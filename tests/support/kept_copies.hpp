// The orders of the supervisor's core to workers to keep outputs safe, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {

/// An order to have a copy of an output, and its receiver.
struct AskedCopy {
  WorkerId to;
  KeepDatum what;
  friend bool operator==(const AskedCopy&, const AskedCopy&) = default;
};

/// The orders since the last call.
inline std::vector<AskedCopy> asked(SupervisorHarness& supervisor) {
  std::vector<AskedCopy> found;
  for (const auto& [worker, batch] : supervisor.take<KeepBatch>())
    for (const KeepDatum& datum : batch.data) found.push_back({worker, datum});
  return found;
}

/// The one of two workers that was given the first subtask; the other is `3 - it`.
inline std::uint32_t holder_of_first(SupervisorHarness& supervisor) {
  const std::vector<std::string> assigned = supervisor.assigned();
  return !assigned.empty() && assigned[0] == "0 to w1" ? 1 : 2;
}

}  // namespace penstock::supervisor
