#include "common/base/nearest_name.hpp"

#include <algorithm>
#include <vector>

namespace penstock {
namespace {

std::string lower(std::string_view text) {
  std::string made{text};
  for (char& c : made)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return made;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > limit) return limit + 1;
  std::vector<std::size_t> before(a.size() + 1), last(a.size() + 1), row(a.size() + 1);
  for (std::size_t i = 0; i <= a.size(); ++i) last[i] = i;
  for (std::size_t j = 1; j <= b.size(); ++j) {
    row[0] = j;
    std::size_t least = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      row[i] = std::min({last[i] + 1, row[i - 1] + 1, last[i - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[i] = std::min(row[i], before[i - 2] + 1);
      least = std::min(least, row[i]);
    }
    if (least > limit) return limit + 1;
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[a.size()];
}

void NearestName::offer(std::string_view candidate) {
  const std::size_t limit = std::min<std::size_t>(std::max<std::size_t>(wanted_.size() / 3, 1), 8);
  // Names are short; a longer candidate is not worth the square of its length.
  if (wanted_.size() > 256 || candidate.size() > 256 || distance_ == 0) return;
  const std::size_t distance = edit_distance(lower(wanted_), lower(candidate), limit);
  // With every letter changed nothing is left of the wanted name.
  if (distance > limit || distance >= distance_ || distance >= std::max(wanted_.size(), candidate.size())) return;
  distance_ = distance;
  best_ = std::string{candidate};
}

}  // namespace penstock
