// The peak memory of this process.
#pragma once

#include <cstdint>

#include "common/base/time.hpp"
#include "common/host/descriptor.hpp"

namespace penstock::abi {

/// The peak of resident memory of successive runs. The kernel keeps it and resets it on request, here at most once in a
/// `kWindow`: a run that ends such a window gets the peak of all of it, which is never less than its own and, for a run
/// that is longer, its own; the other runs are not measured. For one thread.
/// Cost: some 20 us in a window; only a comparison for the other runs. (getrusage would be cheaper, but counts the
/// memory of the worker, from which this process was forked.)
class MemoryPeak {
 public:
  MemoryPeak();
  /// Peak of the run that has just ended; 0: unknown.
  std::uint64_t take(Instant now);

 private:
  static constexpr Duration kWindow = std::chrono::milliseconds{10};

  Descriptor status_;
  Descriptor restart_;
  Instant restarted_{};
};

}  // namespace penstock::abi
