// A part of some bytes.
#pragma once

#include <cstdint>

#include "common/base/units.hpp"

namespace penstock::worker {

/// Without overflow for any amount.
constexpr Bytes percent_of(Bytes whole, std::uint32_t percent) {
  return Bytes{whole.value() / 100 * percent + whole.value() % 100 * percent / 100};
}

}  // namespace penstock::worker
