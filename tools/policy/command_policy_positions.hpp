// Positions in a queue as reference cases write them: decimal numbers of any size.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cli/jobfile/document.hpp"
#include "supervisor/policy/snapshot.hpp"

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

/// The positions of a case. Only their order matters there, so jobs get ranks; a job without a position has 0.
class CasePositions {
 public:
  /// `value`: a number, or a text of one; null leaves the job unchanged. False: it is none of these.
  bool set(std::uint32_t workload, const cli::DocumentValue& value);
  void set(std::uint32_t workload, std::int64_t value);
  /// A job with a position gets that of its submission.
  void reset(std::uint32_t workload, std::int64_t submitted);
  /// A job with a position gets its rank: below 0 for negative positions.
  void give_to(policy::Snapshot& snapshot) const;

 private:
  std::map<std::uint32_t, Decimal> positions_;  ///< By job.
};

}  // namespace penstock::tools
