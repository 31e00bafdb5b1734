// How much memory this process had at most.
#pragma once

#include <cstdint>

#include "common/base/time.hpp"
#include "common/runtime/descriptor.hpp"

namespace penstock::abi {

/// The peak of resident memory of runs that follow each other. The kernel keeps it and starts anew when it is asked to,
/// here at most once in a `kWindow`: a run that ends such a window is told the peak of all of it, which is never less
/// than its own and, for a run that is longer, its own; the others are not measured. For one thread.
/// Cost: some 20 us in a window; nothing but a comparison for the other runs. (getrusage would be cheaper, but knows
/// the memory of the worker, of which this process was forked, as its own.)
class MemoryPeak {
 public:
  MemoryPeak();
  /// Of the run that has just ended; 0: it is not known.
  std::uint64_t take(Instant now);

 private:
  static constexpr Duration kWindow = std::chrono::milliseconds{10};

  Descriptor status_;
  Descriptor restart_;
  Instant restarted_{};
};

}  // namespace penstock::abi
