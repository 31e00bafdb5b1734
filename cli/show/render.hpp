// Answers as tables for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/protocol/admin.hpp"

namespace penstock::cli {

struct TableOptions {
  std::uint32_t columns = 0;  ///< Cells are cut so that lines fit; 0: no limit.
};
/// A list of records becomes a table with a row for each, a record becomes a line for each field, with the tables of
/// its fields after it; any other value becomes one line. Every line ends with a line end. Control characters become
/// `?`, so that text from a peer cannot control the terminal.
std::string to_table(const Value& value, const TableOptions& options = {});

/// The text with `?` in place of control characters except those in `kept`, so that output of a program or a peer
/// cannot control the terminal.
std::string harmless(std::string_view text, std::string_view kept = {});

/// Columns that UTF-8 text takes in a terminal; every character counts as one.
std::size_t columns_of(std::string_view text);
/// Cut to `columns`; the last one is `…` if the text was cut.
std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace penstock::cli
