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
struct ExternalDatum {
  SubtaskId producer;
  std::uint16_t output = 0;
  JobIdentity identity{};  ///< Of the producer's job, if the client knows it: no other job may lend.
  friend bool operator==(const ExternalDatum&, const ExternalDatum&) = default;
};

/// The native operator of borrowing subtasks: the output of each is that of another job, without a copy, and the
/// subtask runs where that output is held. Its payload is an `ExternalDatum`: job, subtask and output, little-endian,
/// 32 bits each, and then the identity, unless it is none, its high half first, 64 bits each.
inline constexpr std::string_view kAliasOperator = "alias";

inline bool is_alias(const Template& content) {
  return content.runner == RunnerKind::Native && content.program == kAliasOperator;
}

/// None if the payload is malformed.
std::optional<ExternalDatum> read_external_datum(std::string_view payload);
std::string external_datum_payload(const ExternalDatum& datum);

}  // namespace penstock
