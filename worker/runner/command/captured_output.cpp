#include "worker/runner/command/captured_output.hpp"

#include <algorithm>
#include <utility>

namespace penstock::worker {

void OutputHead::add(std::string_view bytes) {
  const std::uint64_t fits = std::min<std::uint64_t>(bytes.size(), bytes_max_ - kept_.size());
  kept_.append(bytes.substr(0, fits));
  dropped_ += bytes.size() - fits;
}

std::string OutputHead::take() {
  if (dropped_ > 0)
    kept_ += "\n[penstock: the output is cut here, " + std::to_string(dropped_) + " bytes more were dropped]\n";
  return std::exchange(kept_, {});
}

void OutputTail::add(std::string_view bytes) {
  if (bytes.size() > bytes_max_) bytes.remove_prefix(bytes.size() - bytes_max_);
  kept_.append(bytes);
  // Not at every call, which would move the tail for each line.
  if (kept_.size() > bytes_max_ * 2) kept_.erase(0, kept_.size() - bytes_max_);
}

std::string OutputTail::take() {
  if (kept_.size() > bytes_max_) kept_.erase(0, kept_.size() - bytes_max_);
  return std::exchange(kept_, {});
}

}  // namespace penstock::worker
