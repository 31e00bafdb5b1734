#include "tests/simulation/world/grace_witness.hpp"

#include <algorithm>

namespace penstock::simulation {

void GraceWitness::told(SubtaskId run, Instant now, Duration grace) {
  if (may_end_.contains(run)) return;
  const Instant ends = later(now, grace);
  const auto [known, fresh] = told_.try_emplace(run, ends);
  if (!fresh) known->second = std::min(known->second, ends);
}

void GraceWitness::may_end(SubtaskId run) {
  told_.erase(run);
  may_end_.insert(run);
}

void GraceWitness::ended(SubtaskId run) {
  told_.erase(run);
  may_end_.erase(run);
}

void GraceWitness::clear() {
  told_.clear();
  may_end_.clear();
}

std::string GraceWitness::killed(SubtaskId run, Instant now) {
  const auto known = told_.find(run);
  if (known == told_.end()) return {};
  const Instant ends = known->second;
  told_.erase(known);
  return now < ends ? to_string(run) + " is ended before its grace is over" : "";
}

std::string GraceWitness::overdue(Instant now, Duration bound) const {
  for (const auto& [run, ends] : told_)
    if (now > later(ends, bound)) return to_string(run) + " is let run, though its grace is over";
  return {};
}

}  // namespace penstock::simulation
