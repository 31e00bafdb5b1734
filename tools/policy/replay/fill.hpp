// A cluster that fills up and is left by none: how many of its devices are in use when more work has come than fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/policy/parts.hpp"
#include "tools/policy/replay/trace.hpp"

namespace penstock::policy {

/// The jobs of `trace`, drawn at random with replacement until they ask for `percent` of all devices: one for each
/// second, of one project and one importance, none ever preempted, and none ends while others come. The method of Weng
/// et al., "Beware of Fragmentation", USENIX ATC 2023. REQUIRES: a job that wants devices.
ReplayTrace filling_trace(const ReplayTrace& trace, std::int64_t percent, std::uint64_t seed);

/// The outcome of filling.
struct FillResult {
  std::string name;
  std::int64_t devices = 0;    ///< Thousandths, of all bands;
  std::int64_t asked_for = 0;  ///< by all jobs;
  std::int64_t allocated = 0;  ///< by those that were placed.
  std::int64_t unplaced = 0;   ///< Jobs.

  double percent() const {
    return devices == 0 ? 0 : 100 * static_cast<double>(allocated) / static_cast<double>(devices);
  }
};

/// The policy of the supervisor over snapshots, with a pass for every `period_s` jobs; no pass moves a job. REQUIRES: a
/// trace of `filling_trace` without gangs, and parts that count quotas.
FillResult fill_by_policy(const ReplayTrace& filling, const Parts& parts, std::int64_t period_s);

/// Ways of placing to compare with, which share no code with the policy. A job that fits nowhere is gone.
enum class FillReference : std::uint8_t {
  BestFit,   ///< The band with the least left, as parts of the largest band; of its devices the fullest.
  Packing,   ///< A shared device, then an idle one of a band in use, then an idle band.
  Gradient,  ///< Fragmentation gradient descent by the formula of the paper: the least growth, then the first band.
};
/// `typical`: the trace that the jobs were drawn from. REQUIRES: no gangs.
FillResult fill_by_reference(const ReplayTrace& filling, const ReplayTrace& typical, FillReference reference);

}  // namespace penstock::policy
