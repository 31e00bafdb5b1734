// The granularity of parts of a slot where policies count slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace penstock::policy {

/// Parts of a slot are counted by the largest of these thousandths that all jobs there are multiples of; a part that is
/// a multiple of none is rounded up to the last. Not a setting: finer ones would only make passes slower.
inline constexpr std::uint64_t kSlotGrains[] = {1000, 500, 250, 200, 125, 100, 50};

/// The granularity that suits all jobs of `grain` and one more with runs of `milli`. Begin with 1000.
constexpr std::uint64_t grain_with(std::uint64_t grain, std::uint64_t milli) {
  const auto divides = [&](std::uint64_t each) { return milli % each == 0 && grain % each == 0; };
  const auto* found = std::find_if(std::begin(kSlotGrains), std::end(kSlotGrains), divides);
  return found == std::end(kSlotGrains) ? kSlotGrains[std::size(kSlotGrains) - 1] : *found;
}

}  // namespace penstock::policy
