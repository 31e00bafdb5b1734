// The granularity of parts of a slot where policies count slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace penstock::policy {

/// Parts of a slot are counted by the largest of these thousandths that all jobs there are multiples of; a part that is
/// a multiple of none is rounded up to the last. Not a setting: finer ones would only make passes slower.
inline constexpr std::uint64_t kSlotGranularities[] = {1000, 500, 250, 200, 125, 100, 50};

/// The granularity that suits all jobs of `granularity` and one more with runs of `milli`. Begin with 1000.
constexpr std::uint64_t granularity_with(std::uint64_t granularity, std::uint64_t milli) {
  const auto divides = [&](std::uint64_t each) { return milli % each == 0 && granularity % each == 0; };
  const auto* found = std::find_if(std::begin(kSlotGranularities), std::end(kSlotGranularities), divides);
  return found == std::end(kSlotGranularities) ? kSlotGranularities[std::size(kSlotGranularities) - 1] : *found;
}

}  // namespace penstock::policy
