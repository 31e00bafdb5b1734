// The best of several bands for a member, for policies that count resource vectors.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "supervisor/policy/trial.hpp"

namespace penstock::policy {

/// Points of a whole step in the comparison of bands.
inline constexpr std::int64_t kScoreUnit = 1'000'000'000;

/// From 0 to 9 units: the fuller band gets more. `low` and `high` bound the free amounts over all bands that have the
/// resource. Spec: policy-runai 7.
std::int64_t pack_score(std::int64_t free, std::int64_t low, std::int64_t high);

/// A band and how the member fits it.
struct BandChoice {
  std::uint32_t band = kNone;
  BandFit fit;
};

/// The question: a member, and the bands that it may use.
struct Choice {
  std::uint32_t member = kNone;
  Trial::When when = Trial::When::NowOrLater;
  const std::vector<bool>& allowed;  ///< By band; empty: all.
};

/// The best band of `allowed` (by position; empty: all) for a waiting member;
/// names end ties. Cost: O(log bands), and those passed over, where whole
/// devices or CPU alone are packed, or the bands of a short list; else O(bands),
/// and with `fragmentation` a score for each band that has changed.
std::optional<BandChoice> choose_band(const Trial& trial, std::uint32_t member, Trial::When when,
                                      const std::vector<bool>& allowed);

/// The same by a look at every band. Tests compare the two.
std::optional<BandChoice> choose_band_by_scan(const Trial& trial, const Choice& choice);

/// How a part of one device fits that shared one, by position, or one that is opened (kNone). REQUIRES: it fits there.
BandFit fit_part(const Trial& trial, std::uint32_t member, std::uint32_t band, std::uint32_t device);

/// Whether the member may use the band at all.
bool band_allowed(const Snapshot& snapshot, const Member& member, std::uint32_t band);

}  // namespace penstock::policy
