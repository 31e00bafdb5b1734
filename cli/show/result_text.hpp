// Results of subtasks for people: printable ones as text, others by their size.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string>

#include "common/protocol/admin.hpp"

namespace penstock::cli {

inline constexpr std::size_t kResultsShown = 8;                ///< Of a whole job.
inline constexpr std::size_t kResultBytesShown = 64UL * 1024;  ///< Of each.

/// Whether a terminal shows the bytes as intended.
bool is_printable(std::span<const std::byte> bytes);

/// `key`, `bytes`, and its beginning as `text` if that is printable.
Value::Record describe_result(const std::string& key, std::uint64_t size, std::span<const std::byte> begin);

/// Prints a headline and the text of each result.
void print_results(std::ostream& out, const Value::List& results);

}  // namespace penstock::cli
