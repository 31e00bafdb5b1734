// Queries about the terminal of our output.
#pragma once

#include <cstdint>

namespace penstock::cli {

/// Whether the file descriptor (1: standard output, 2: standard error) is a terminal.
bool is_terminal(int descriptor);
/// Columns of the terminal; 80 if the descriptor is no terminal or its size is unknown.
std::uint32_t terminal_columns(int descriptor);

}  // namespace penstock::cli
