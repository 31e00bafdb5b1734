#include <algorithm>

#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/explain/explainer.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"

namespace penstock::supervisor {
namespace {

/// The largest weight that `set weight` takes, in thousandths.
constexpr std::int64_t kWeightMax = 1'000'000'000;

/// The limit with its groups as positions in `sharers`, which are ordered by job; groups that are gone are left out.
policy::ShareLimit limit_in(const std::vector<ShareView::Sharer>& sharers, const ShareDivision& last,
                            const policy::ShareLimit& limit) {
  policy::ShareLimit found{{}, limit.slots};
  for (const std::uint32_t group : limit.groups) {
    const auto at = std::lower_bound(sharers.begin(), sharers.end(), last.jobs[group],
                                     [](const ShareView::Sharer& each, JobId job) { return each.job < job; });
    if (at != sharers.end() && at->job == last.jobs[group])
      found.groups.push_back(static_cast<std::uint32_t>(at - sharers.begin()));
  }
  std::sort(found.groups.begin(), found.groups.end());
  return found;
}

}  // namespace

/// The last pass's division with the present holdings. None: the pool is not shared fairly, or nothing was divided yet.
std::optional<ShareView> PolicyAnswers::Explainer::shares() const {
  const std::uint32_t domain = domain_of(job_.shares->pool.position, kind_);
  const auto last = core_.policy_.divisions.find(domain);
  if (last == core_.policy_.divisions.end()) return std::nullopt;
  const auto slots = [granularity = last->second.granularity](std::uint64_t milli) {
    return static_cast<std::int64_t>((milli + granularity - 1) / granularity);
  };
  ShareView view;
  view.max_min = core_.view_.parts_in(job_.shares->pool.position).sharing == policy::Sharing::MaxMin;
  view.capacity = last->second.capacity;
  for (const ProjectConfig& project : core_.policy_.config.projects)
    view.projects.push_back({project.weight == kNoWeight ? 1000 : project.weight, 0});
  for (const JobId id : core_.indices_.active)
    if (const Job& each = core_.jobs_[id]; each.shares != nullptr && each.shares->project < view.projects.size())
      view.projects[each.shares->project].jobs += core_.view_.own_weight(each);
  const auto add = [&](const Job& each, policy::ShareGroup group) {
    group.held = slots(core_.view_.milli_held(each, kind_));
    if (!core_.demand_.may_leave(each, kind_)) group.pinned = group.held;
    group.demand = std::max({group.demand, group.held, group.pinned});
    if (group.demand == group.held) group.smallest_pending = 0;
    view.sharers.push_back({each.id, group, core_.view_.own_weight(each), each.shares->project});
  };
  for (std::size_t i = 0; i < last->second.jobs.size(); ++i) {
    const JobId id = last->second.jobs[i];
    if (!core_.jobs_.knows(id) || id == job_.id) continue;
    const Job& each = core_.jobs_[id];
    if (each.shares != nullptr && each.shares->pool.position == job_.shares->pool.position)
      add(each, last->second.groups[i]);
  }
  const auto own = std::find(last->second.jobs.begin(), last->second.jobs.end(), job_.id);
  policy::ShareGroup group;
  if (own != last->second.jobs.end()) {
    group = last->second.groups[static_cast<std::size_t>(own - last->second.jobs.begin())];
  } else {  // A limit keeps it out of the pass.
    const std::uint64_t all = static_cast<std::uint64_t>(view.capacity) * last->second.granularity;
    group.demand = std::max(slots(core_.demand_.measure_demand(job_, kind_, all)),
                            slots(core_.view_.milli_held(job_, kind_) + step()));
  }
  if (group.smallest_pending == 0) group.smallest_pending = slots(step());
  const std::int64_t next = group.smallest_pending;
  add(job_, group);
  std::stable_sort(view.sharers.begin(), view.sharers.end(),
                   [](const ShareView::Sharer& a, const ShareView::Sharer& b) { return a.job < b.job; });
  for (const policy::ShareLimit& limit : last->second.limits)
    view.limits.push_back(limit_in(view.sharers, last->second, limit));
  view.subject = static_cast<std::size_t>(
      std::find_if(view.sharers.begin(), view.sharers.end(), [&](const auto& each) { return each.job == job_.id; }) -
      view.sharers.begin());
  view.need = view.sharers[view.subject].group.held + next;
  return view;
}

/// Adds ends, or a weight, that make its share as large as its slots and its next step.
void PolicyAnswers::Explainer::add_share_rows(Value::List& rows) const {
  const std::optional<ShareView> view = shares();
  if (!view.has_value() || view->suffices()) return;
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < view->sharers.size(); ++i)
    if (i != view->subject && view->sharers[i].group.held > 0) candidates.push_back(i);
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
    return view->sharers[a].group.held > view->sharers[b].group.held;
  });
  for (const std::vector<std::size_t>& ended : ends_that_suffice(*view, candidates, kRemedyRowsMax, kLookedAtMax)) {
    Ended jobs;
    for (const std::size_t at : ended) jobs.push_back(core_.jobs_.find(view->sharers[at].job));
    rows.emplace_back(end_row(jobs, kNever, core_.event_.now));
  }
  const std::string name = to_string(job_.id);
  if (const std::optional<std::int64_t> weight = weight_that_suffices(*view, kWeightMax))
    rows.emplace_back(remedy_row("weight", name, "set weight " + name + " " + decimal_text(*weight)));
  const RoomView now = room();
  // Used slots of a band that takes nothing new count as capacity.
  const auto open_slots = [](const RoomView& of) {
    std::uint64_t milli = 0;
    for (const RoomView::Place& place : of.places) milli += place.open ? place.all : place.all - place.free;
    return milli;
  };
  const std::uint64_t granularity =
      core_.policy_.divisions.at(domain_of(job_.shares->pool.position, kind_)).granularity;
  add_workers(
      now,
      [&](const RoomView& more) -> std::optional<std::string> {
        const auto slots = static_cast<std::int64_t>((open_slots(more) - open_slots(now)) / granularity);
        return view->with_more(slots).suffices() ? std::optional<std::string>{""} : std::nullopt;
      },
      rows);
}

}  // namespace penstock::supervisor
