#include "worker/runner/process/runner_lane.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace penstock::worker {

bool same_kind(const Template& a, const Template& b) {
  return a.program == b.program && a.arguments == b.arguments && a.environment == b.environment &&
         a.working_directory == b.working_directory && a.user == b.user;
}

Template kind_of(const Template& program) {
  Template kind;
  kind.runner = RunnerKind::Process;
  kind.program = program.program;
  kind.arguments = program.arguments;
  kind.environment = program.environment;
  kind.working_directory = program.working_directory;
  kind.user = program.user;
  return kind;
}

std::vector<Kept> RunnerLane::take_idle() {
  ++emptied;
  std::vector<Kept> idle;
  if (ticket == kNobody) {
    idle.swap(kept);
  } else if (current != nullptr) {  // Otherwise it is about to choose one of them.
    const auto others =
        std::stable_partition(kept.begin(), kept.end(), [&](const Kept& one) { return one.child.get() == current; });
    idle.assign(std::make_move_iterator(others), std::make_move_iterator(kept.end()));
    kept.erase(others, kept.end());
  }
  return idle;
}

std::vector<std::size_t> spare_lanes(const std::vector<std::optional<Instant>>& idle, std::size_t kept_max,
                                     Instant before) {
  std::vector<std::size_t> lanes;
  for (std::size_t lane = 0; lane < idle.size(); ++lane)
    if (idle[lane].has_value()) lanes.push_back(lane);
  if (lanes.size() <= kept_max) return {};
  std::stable_sort(lanes.begin(), lanes.end(), [&](std::size_t a, std::size_t b) { return *idle[a] > *idle[b]; });
  lanes.erase(lanes.begin(), lanes.begin() + static_cast<std::ptrdiff_t>(kept_max));
  std::erase_if(lanes, [&](std::size_t lane) { return *idle[lane] > before; });
  return lanes;
}

}  // namespace penstock::worker
