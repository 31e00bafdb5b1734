// Spreads equal choices over equal bands, the same way on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::policy {

/// The first eight bytes of the MD5 digest (RFC 1321) of a name, as a little-endian number. Only a well-known mixing of
/// names: nothing here is secret. Among bands of equal score the one with the smallest `tie_distance` wins.
std::uint64_t name_hash(std::string_view name);

/// Distance from a band's hash to a member's, around the circle of 64-bit numbers.
constexpr std::uint64_t tie_distance(std::uint64_t member_hash, std::uint64_t band_hash) {
  return member_hash - band_hash;
}

}  // namespace penstock::policy
