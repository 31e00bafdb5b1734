#include "tests/simulation/world/shrink.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::simulation {
namespace {

/// A smaller world draws differently from the same seed, so that a few others are tried, too.
constexpr std::uint64_t kSeedsTried = 600;
/// Then the case is small enough, or too rare: about ten seconds.
constexpr std::uint32_t kRunsMax = 6000;

class Shrinker {
 public:
  explicit Shrinker(const WorldOptions& failing) : best_(failing) { best_.keep_trace = false; }

  SmallestFailure run() {
    for (bool smaller = true; smaller;) {
      smaller = false;
      smaller |= reduce(&WorldOptions::jobs_max);
      smaller |= reduce(&WorldOptions::subtasks_max);
      smaller |= reduce(&WorldOptions::workers_max);
      smaller |= leave_out_faults();
      smaller |= leave_out_policy();
    }
    best_.keep_trace = true;
    return SmallestFailure{best_, run_world(best_), runs_};
  }

 private:
  bool reduce(std::uint32_t WorldOptions::*limit) {
    bool smaller = false;
    // By half for as long as that works, then by a quarter, then by one.
    for (const std::uint32_t part : {2U, 4U, ~0U})
      while (best_.*limit > 1) {
        WorldOptions candidate = best_;
        candidate.*limit -= std::max(best_.*limit / part, 1U);
        if (!adopt_if_it_fails(candidate)) break;
        smaller = true;
      }
    return smaller;
  }

  bool leave_out_faults() {
    bool smaller = false;
    std::size_t kinds = 0;
    visit_faults(best_.faults, [&](const char*, bool&) { ++kinds; });
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      WorldOptions candidate = best_;
      bool changed = false;
      std::size_t at = 0;
      visit_faults(candidate.faults, [&](const char*, bool& field) {
        if (at++ != kind) return;
        changed = field;
        field = false;
      });
      smaller |= changed && adopt_if_it_fails(candidate);
    }
    return smaller;
  }

  bool leave_out_policy() {
    WorldOptions candidate = best_;
    return std::exchange(candidate.policy, false) && adopt_if_it_fails(candidate);
  }

  bool adopt_if_it_fails(WorldOptions candidate) {
    const std::uint64_t first = candidate.seed;
    for (std::uint64_t i = 0; i <= kSeedsTried && runs_ < kRunsMax; ++i) {
      // Small numbers are easier to type; the seed itself comes first.
      candidate.seed = i == 0 ? first : i;
      ++runs_;
      if (run_world(candidate).ok) continue;
      best_ = candidate;
      return true;
    }
    return false;
  }

  WorldOptions best_;
  std::uint32_t runs_ = 0;
};

}  // namespace

SmallestFailure shrink(const WorldOptions& failing) { return Shrinker{failing}.run(); }

std::string last_lines(const std::string& trace, std::size_t count) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < trace.size();) {
    const std::size_t end = std::min(trace.find('\n', begin), trace.size() - 1) + 1;
    const std::string_view line = std::string_view{trace}.substr(begin, end - begin);
    if (!line.ends_with("tick\n")) lines.push_back(line);
    begin = end;
  }
  std::string text;
  for (std::size_t i = lines.size() - std::min(count, lines.size()); i < lines.size(); ++i) text += lines[i];
  return text;
}

}  // namespace penstock::simulation
