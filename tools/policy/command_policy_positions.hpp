// Positions in a queue as reference cases write them: decimal numbers of any size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/jobfile/document.hpp"

namespace penstock::tools {

/// A number, exactly as written: 0.`digits` times ten to the power of `point`. Without digits: 0.
struct Decimal {
  bool negative = false;
  std::int64_t point = 0;
  std::string digits;  ///< The first and the last are not 0.

  friend bool operator<(const Decimal& a, const Decimal& b);
};

/// As in `-1640995200000000.125` or `1e-3`; none if the text is no number.
std::optional<Decimal> parse_decimal(std::string_view text);

/// A number as it stands in a file, or a text of one; none if it is neither.
std::optional<Decimal> decimal_of(const cli::DocumentValue& value);

}  // namespace penstock::tools
