// The observed memory of runs, remembered from job to job.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/lookup_map.hpp"
#include "common/base/units.hpp"
#include "common/protocol/graph.hpp"

namespace penstock::worker {

/// The observed memory of recent runs of one program.
struct MemoryPeak {
  Bytes bytes;             ///< The peak; an old one decays.
  std::uint32_t runs = 0;  ///< Runs that were measured to their end.
};

/// Names the program that a template runs, in any job: templates of one program with the same memory request share a
/// name. 0: it requests no memory, so nothing is measured. Two programs share a name only by a chance of 2^-64, and
/// would then only count as the larger one.
std::uint64_t program_of(const Template& content);

/// The peaks of programs, at most `programs_max` of them: the least recently run program makes room. Passive.
/// Cost: one look-up.
class PeakTable {
 public:
  /// REQUIRES: programs_max > 0.
  explicit PeakTable(std::uint32_t programs_max) : programs_max_(programs_max) {}

  /// No measurement if the program is unknown.
  MemoryPeak look_up(std::uint64_t program) const;
  /// A run that used `peak` has ended.
  void ended(std::uint64_t program, Bytes peak);
  /// A run has used so much so far. This counts only if other runs are known, because the run may use more later.
  void so_far(std::uint64_t program, Bytes peak);
  std::size_t size() const { return index_.size(); }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Entry {
    std::uint64_t program = 0;
    MemoryPeak peak;
    std::uint32_t newer = kNone;
    std::uint32_t older = kNone;
  };

  Entry& entry_of(std::uint64_t program);
  void unlink(std::uint32_t position);
  void link_as_newest(std::uint32_t position);

  const std::uint32_t programs_max_;
  LookupMap<std::uint64_t, std::uint32_t> index_;  ///< Of `entries_`.
  std::vector<Entry> entries_;
  std::uint32_t newest_ = kNone;
  std::uint32_t oldest_ = kNone;
};

}  // namespace penstock::worker
