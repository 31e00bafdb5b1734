#include "worker/core/band/runner_kinds.hpp"

#include <algorithm>

#include "common/protocol/graph_hash.hpp"

namespace penstock::worker {

std::uint64_t runner_kind_of(const Template& content) {
  if (content.runner != RunnerKind::Process) return 0;
  Graph one;
  Template& known = one.templates.emplace_back();
  known.runner = content.runner;
  known.program = content.program;
  known.arguments = content.arguments;
  known.environment = content.environment;
  known.working_directory = content.working_directory;
  known.user = content.user;
  return std::max<std::uint64_t>(content_hash(one).low, 1);
}

bool RunnerKinds::order(std::uint64_t kind, std::uint32_t lanes) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) { return known.kind == kind; });
  const std::uint32_t before = found == known_.end() ? 0 : found->lanes;
  if (found != known_.end()) known_.erase(found);
  if (known_.size() == kinds_max_) known_.erase(known_.begin());
  known_.push_back({kind, std::max(before, lanes)});
  return lanes > before;
}

}  // namespace penstock::worker
