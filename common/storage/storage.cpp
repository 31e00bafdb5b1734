#include "common/storage/storage.hpp"

namespace penstock {

std::optional<std::string> end_of_prefix(std::string_view prefix) {
  std::string end{prefix};
  while (!end.empty()) {
    if (static_cast<unsigned char>(end.back()) < 0xff) {
      end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
      return end;
    }
    end.pop_back();  // 0xff has no successor, so the byte before it is incremented.
  }
  return std::nullopt;
}

}  // namespace penstock
