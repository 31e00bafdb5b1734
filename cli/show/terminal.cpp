#include "cli/show/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace penstock::cli {

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

std::uint32_t terminal_columns(int descriptor) {
  constexpr std::uint32_t kUsual = 80;
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

}  // namespace penstock::cli
