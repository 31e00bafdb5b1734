// Results of subtasks as people see them: text as it is, of the rest how large it is.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string>

#include "common/protocol/admin.hpp"

namespace penstock::cli {

inline constexpr std::size_t kResultsShown = 8;                ///< Of a whole job.
inline constexpr std::size_t kResultBytesShown = 64UL * 1024;  ///< Of each.

/// Whether a terminal shows it as it is meant.
bool is_printable(std::span<const std::byte> bytes);

/// `key`, `bytes`, and its beginning as `text` if that is printable.
Value::Record describe_result(const std::string& key, std::uint64_t size, std::span<const std::byte> begin);

/// A headline for each, and its text.
void print_results(std::ostream& out, const Value::List& results);

}  // namespace penstock::cli
