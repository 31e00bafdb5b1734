#include "tests/support/coverage_marks.hpp"

#include <mutex>

#include "common/base/coverage_mark.hpp"

namespace penstock {
namespace {

/// Shells run cores on several threads, so the counts are shared. The one global of the tests: a mark has no argument
/// through which a registry could be handed in.
struct Registry {
  std::mutex mutex;
  std::map<std::string, std::uint64_t, std::less<>> counts;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

void coverage_mark_hit(std::string_view mark) {
  Registry& marks = registry();
  const std::lock_guard lock(marks.mutex);
  const auto found = marks.counts.find(mark);
  if (found != marks.counts.end()) {
    ++found->second;
  } else {
    marks.counts.emplace(mark, 1);
  }
}

std::uint64_t coverage_mark_count(std::string_view mark) {
  Registry& marks = registry();
  const std::lock_guard lock(marks.mutex);
  const auto found = marks.counts.find(mark);
  return found == marks.counts.end() ? 0 : found->second;
}

std::map<std::string, std::uint64_t, std::less<>> coverage_mark_counts() {
  Registry& marks = registry();
  const std::lock_guard lock(marks.mutex);
  return marks.counts;
}

void reset_coverage_marks() {
  Registry& marks = registry();
  const std::lock_guard lock(marks.mutex);
  marks.counts.clear();
}

}  // namespace penstock
