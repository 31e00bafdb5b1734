// Thousandths as people write and count them. Private to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "common/protocol/admin.hpp"
#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {

/// `1.5`, not `1.500`.
inline std::string decimal_text(std::int64_t thousandths) {
  std::string text = std::to_string(thousandths / 1000);
  if (thousandths % 1000 == 0) return text;
  std::string rest = std::to_string(1000 + thousandths % 1000).substr(1);
  while (rest.back() == '0') rest.pop_back();
  return text + "." + rest;
}

inline std::string decimal_text(std::uint64_t thousandths) {
  return decimal_text(static_cast<std::int64_t>(thousandths));
}

/// A whole number where it is one.
inline Value decimal_value(std::uint64_t thousandths) {
  return thousandths % 1000 == 0 ? Value{thousandths / 1000} : Value{static_cast<double>(thousandths) / 1000};
}

/// Of a project; none where it follows its guarantees.
inline Value weight_value(std::int64_t weight) {
  if (weight == kNoWeight) return {};
  return static_cast<double>(weight) / 1000;
}

}  // namespace penstock::supervisor
