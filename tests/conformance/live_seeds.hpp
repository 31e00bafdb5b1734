// The seeds of the random clusters that the tests draw. The environment may ask for more of them, and for others.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "common/host/process.hpp"

namespace penstock::tools {

/// `usual` seeds from 1 on; PENSTOCK_LIVE_SEEDS says another number, PENSTOCK_LIVE_FIRST_SEED another start.
inline std::vector<std::uint64_t> live_seeds(std::uint64_t usual) {
  const auto number_in = [](const char* variable, std::uint64_t otherwise) {
    const std::string said = environment_value(variable);
    return said.empty() ? otherwise : std::strtoull(said.c_str(), nullptr, 10);
  };
  std::vector<std::uint64_t> seeds(number_in("PENSTOCK_LIVE_SEEDS", usual));
  std::iota(seeds.begin(), seeds.end(), number_in("PENSTOCK_LIVE_FIRST_SEED", 1));
  return seeds;
}

}  // namespace penstock::tools
