// "Did you mean": the known name that is closest to a mistyped one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

/// Collects candidates one by one and keeps the nearest. Constant memory, also for a graph of a million keys.
class NearestName {
 public:
  explicit NearestName(std::string_view wanted) : wanted_(wanted) {}

  void offer(std::string_view candidate);
  /// Empty if no candidate is near enough: at most a third of the letters may differ, or case alone.
  const std::string& best() const { return best_; }
  /// `did you mean 'x'?`, or empty: the remedy of an error.
  std::string remedy() const { return best_.empty() ? std::string{} : "did you mean '" + best_ + "'?"; }

 private:
  const std::string wanted_;
  std::string best_;
  std::size_t distance_ = static_cast<std::size_t>(-1);
};

/// The number of letters to insert, remove, change, or exchange with their neighbour, to turn one text into the other
/// (Damerau, optimal string alignment). Stops at `limit` + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

}  // namespace penstock
