// Patterns of names, as in shells.
#pragma once

#include <string_view>

namespace penstock {

/// Whether the whole text matches the pattern, in which `*` stands for any characters and `?` for one. Bytes are
/// compared. Time: the product of the lengths at worst.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace penstock
