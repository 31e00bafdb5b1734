// Outputs of other jobs as inputs of a graph.
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
  JobIdentity identity{};  ///< Of the producer's job, if the client knows it: no other job may lend.
  friend bool operator==(const LentDatum&, const LentDatum&) = default;
};

/// The native operator of borrowing subtasks: the output of each is that of another job, without a copy, and the
/// subtask runs where that output is held. Its payload is a `LentDatum`: job, subtask and output, little-endian, 32
/// bits each, and then the identity, unless it is none, its high half first, 64 bits each.
inline constexpr std::string_view kBorrowOperator = "alias";

inline bool borrows(const Template& content) {
  return content.runner == RunnerKind::Native && content.program == kBorrowOperator;
}

/// None if the payload is malformed.
std::optional<LentDatum> read_loan(std::string_view payload);
std::string loan_payload(const LentDatum& lent);

}  // namespace penstock
