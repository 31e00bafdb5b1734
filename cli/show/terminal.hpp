// What stands at the other end of our output.
#pragma once

#include <cstdint>

namespace penstock::cli {

/// Whether the file descriptor (1: standard output, 2: standard error) leads to a person.
bool is_terminal(int descriptor);
/// Its columns; 80 if it is no terminal or does not tell.
std::uint32_t terminal_columns(int descriptor);

}  // namespace penstock::cli
