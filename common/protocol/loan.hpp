// Outputs of other jobs as inputs: what a graph says of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/ids.hpp"
#include "common/protocol/graph.hpp"

namespace penstock {

/// One output of another job.
struct LentDatum {
  SubtaskId producer;
  std::uint16_t output = 0;
  JobIdentity identity{};  ///< Of the producer's job, if the client knows it: no other job lends.
  friend bool operator==(const LentDatum&, const LentDatum&) = default;
};

/// The native operator whose subtasks borrow: the output of each is that of another job, without a copy, and each is
/// run where that is held. Its payload is a `LentDatum`: job, subtask and output, little-endian, 32 bits each, and
/// then, unless it is none, the identity, its high half first, 64 bits each.
inline constexpr std::string_view kBorrowOperator = "alias";

inline bool borrows(const Template& content) {
  return content.runner == RunnerKind::Native && content.program == kBorrowOperator;
}

/// None if it is no such payload.
std::optional<LentDatum> read_loan(std::string_view payload);
std::string loan_payload(const LentDatum& lent);

}  // namespace penstock
