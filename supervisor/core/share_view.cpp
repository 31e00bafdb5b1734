#include "supervisor/core/share_view.hpp"

#include <algorithm>

namespace penstock::supervisor {

std::int64_t weight_in_project(std::int64_t project, std::int64_t own, std::int64_t weights) {
  return std::max<std::int64_t>(project * own / std::max<std::int64_t>(weights, 1), 1);
}

std::int64_t ShareView::share() const {
  std::vector<policy::ShareGroup> groups;
  groups.reserve(sharers.size());
  for (const Sharer& each : sharers) {
    groups.push_back(each.group);
    groups.back().weight = each.project < projects.size() ? weight_in_project(projects[each.project].weight,
                                                                              each.weight, projects[each.project].jobs)
                                                          : each.weight;
  }
  policy::DivideSlots divide = policy::fair_targets;
  if (max_min) divide = policy::max_min_targets;
  return policy::limited_targets(groups, limits, capacity, divide)[subject];
}

ShareView ShareView::with_weight(std::int64_t weight) const {
  ShareView changed = *this;
  Sharer& own = changed.sharers[subject];
  if (own.project < projects.size()) changed.projects[own.project].jobs += weight - own.weight;
  own.weight = weight;
  return changed;
}

ShareView ShareView::without(const std::vector<std::size_t>& ended) const {
  ShareView changed = *this;
  for (const std::size_t at : ended) {
    Sharer& gone = changed.sharers[at];
    if (gone.project < projects.size()) changed.projects[gone.project].jobs -= gone.weight;
    gone.group = {};
  }
  return changed;
}

ShareView ShareView::with_more(std::int64_t slots) const {
  ShareView changed = *this;
  changed.capacity += slots;
  for (Sharer& each : changed.sharers)
    if (each.group.demand >= capacity) each.group.demand += slots;
  for (policy::ShareLimit& limit : changed.limits) limit.slots += slots;
  return changed;
}

std::optional<std::int64_t> weight_that_suffices(const ShareView& view, std::int64_t most) {
  std::int64_t too_small = view.sharers[view.subject].weight;
  if (too_small >= most || !view.with_weight(most).suffices()) return std::nullopt;
  std::int64_t enough = too_small;
  do {
    too_small = enough;
    enough = std::min(most, enough * 2);
  } while (enough < most && !view.with_weight(enough).suffices());
  // `enough` has always been tried: the rounded share need not rise with every step.
  while (too_small + 1 < enough) {
    const std::int64_t middle = too_small + (enough - too_small) / 2;
    (view.with_weight(middle).suffices() ? enough : too_small) = middle;
  }
  return enough;
}

std::vector<std::vector<std::size_t>> ends_that_suffice(const ShareView& view,
                                                        const std::vector<std::size_t>& candidates,
                                                        std::size_t rows_max, std::size_t budget_max) {
  std::vector<std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < std::min(candidates.size(), budget_max) && rows.size() < rows_max; ++i)
    if (view.without({candidates[i]}).suffices()) rows.push_back({candidates[i]});
  if (!rows.empty() || candidates.empty() || !view.without(candidates).suffices()) return rows;
  const auto first = [&](std::size_t count) {
    return std::vector<std::size_t>(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count));
  };
  std::size_t too_few = 0;
  std::size_t enough = candidates.size();
  while (too_few + 1 < enough) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    (view.without(first(middle)).suffices() ? enough : too_few) = middle;
  }
  // Without the last one it is not enough: that one may be, without the others.
  const std::size_t last = candidates[enough - 1];
  rows.push_back(view.without({last}).suffices() ? std::vector<std::size_t>{last} : first(enough));
  return rows;
}

}  // namespace penstock::supervisor
