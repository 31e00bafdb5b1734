#include "common/base/nearest_name.hpp"
#include "supervisor/policy/parts.hpp"

namespace penstock::policy {
namespace {

constexpr Parts fair_share_parts(Sharing sharing) {
  Parts parts;
  parts.ordering = Ordering::Fcfs;
  parts.sharing = sharing;
  parts.actions = {Action::StartByShare};
  parts.action_count = 1;
  return parts;
}

constexpr Parts priority_parts() {
  Parts parts;
  parts.actions = {Action::StartByPriority};
  parts.action_count = 1;
  return parts;
}

constexpr Parts quota_parts() {
  Parts parts;
  parts.sharing = Sharing::QuotaTree;
  // The least disruptive first.
  parts.actions = {Action::Allocate, Action::Consolidate, Action::Reclaim, Action::Preempt, Action::BreakStaleGangs};
  parts.action_count = 5;
  // A pool without devices is packed: nothing of it can be lost to work with devices.
  parts.gpu_fitting = Fitting::Fragmentation;
  parts.cpu_fitting = Fitting::Fragmentation;
  return parts;
}

constexpr Parts multifactor_parts() {
  Parts parts;
  parts.ordering = Ordering::Multifactor;
  parts.actions = {Action::Backfill};
  parts.action_count = 1;
  parts.reserve_depth = 1;
  return parts;
}

constexpr Preset kPresets[] = {
    {"fair_share", "slots in proportion to weight and demand", fair_share_parts(Sharing::FairShare)},
    {"fair_share_max_min", "slots by weighted max-min filling", fair_share_parts(Sharing::MaxMin)},
    {"priority", "the more important first, with backfill and optional preemption", priority_parts()},
    {"quota", "projects and departments with guaranteed quotas, the rest by weight", quota_parts()},
    {"multifactor", "by age, fair share, service level, size and user, with backfill", multifactor_parts()},
    {"", "", {}},
};

}  // namespace

const Preset* presets() { return kPresets; }

Result<Parts> preset(std::string_view name) {
  NearestName nearest{name};
  for (const Preset* each = kPresets; !each->name.empty(); ++each) {
    if (each->name == name) return each->parts;
    nearest.offer(each->name);
  }
  return Error{ErrorCode::NotFound, std::string{name}, "no policy has this name",
               nearest.best().empty() ? "use one of fair_share, fair_share_max_min, priority, quota, multifactor"
                                      : nearest.remedy()};
}

}  // namespace penstock::policy
