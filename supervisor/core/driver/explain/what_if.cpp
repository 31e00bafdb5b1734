#include "supervisor/core/driver/explain/what_if.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

std::vector<policy::Parts> only(const std::vector<policy::Parts>& parts, std::uint32_t domain) {
  std::vector<policy::Parts> own(domain + 1);
  own.back() = parts[domain];
  return own;
}

void end_member(policy::Member& member) {
  member.state = policy::MemberState::Succeeded;
  member.places.clear();
  member.device_groups.clear();
}

}  // namespace

void carry_out(const policy::Plan& plan, policy::Snapshot& snapshot) {
  std::vector<policy::Member>& members = snapshot.members;
  std::vector<std::uint32_t> waits(members.size());  // By member: the one that waits for its slots.
  std::iota(waits.begin(), waits.end(), 0U);
  for (const policy::Preemption& each : plan.preemptions) {
    waits[each.member] = static_cast<std::uint32_t>(members.size());
    policy::Member again = members[each.member];
    again.state = policy::MemberState::Pending;
    again.places.clear();
    again.device_groups.clear();
    members[each.member].state = policy::MemberState::Leaving;
    members.push_back(std::move(again));
  }
  for (const policy::Start& start : plan.starts) {
    policy::Member& member = members[waits[start.member]];
    member.state = policy::MemberState::Running;
    member.places = start.places;
    member.device_groups = start.device_groups;
    policy::Workload& workload = snapshot.workloads[member.workload];
    workload.waits_since.reset();
    if (workload.last_start.has_value()) continue;
    workload.last_start = snapshot.now;
    if (workload.time_limit.has_value()) workload.ends_by = later(snapshot.now, *workload.time_limit);
  }
  snapshot.carried.clear();
  for (const policy::Reservation& each : plan.reservations)
    if (!each.places.empty()) snapshot.carried.push_back({waits[each.member], each.places});
}

void end_workloads(const std::vector<std::uint32_t>& ended, policy::Snapshot& snapshot) {
  for (policy::Member& member : snapshot.members)
    if (std::find(ended.begin(), ended.end(), member.workload) != ended.end()) end_member(member);
}

WhatIf::WhatIf(const LastPass& last, const std::vector<policy::Parts>& parts, std::uint32_t domain, JobId job,
               Instant now, const std::function<bool(JobId)>& gone)
    : engine_{only(parts, domain)} {
  // A pass that was made elsewhere, in a test, need not give its snapshot back.
  if (last.snapshot.workloads.size() != last.pass.subjects.size()) return;
  policy::Snapshot all = last.snapshot;
  carry_out(last.plan, all);
  next_.now = now;
  next_.bands = std::move(all.bands);
  next_.projects = std::move(all.projects);
  next_.accounts = std::move(all.accounts);
  next_.share_nodes = std::move(all.share_nodes);
  next_.band_lists = std::move(all.band_lists);
  next_.part_lists = std::move(all.part_lists);
  std::vector<std::uint32_t> workloads(all.workloads.size(), policy::kNone);
  for (std::size_t i = 0; i < all.workloads.size(); ++i) {
    const PassUnderWay::Subject& subject = last.pass.subjects[i];
    if (subject.domain != domain || gone(subject.job)) continue;
    workloads[i] = static_cast<std::uint32_t>(subjects_.size());
    subjects_.push_back(subject);
    next_.workloads.push_back(std::move(all.workloads[i]));
    if (subject.job != job) continue;
    subject_ = workloads[i];
    next_.workloads.back().keeps_place = false;  // The job was tried in another pool then, and is here now.
  }
  std::vector<std::uint32_t> members(all.members.size(), policy::kNone);
  for (std::size_t i = 0; i < all.members.size(); ++i) {
    const std::uint32_t workload = workloads[all.members[i].workload];
    if (workload == policy::kNone) continue;
    members[i] = static_cast<std::uint32_t>(next_.members.size());
    next_.members.push_back(std::move(all.members[i]));
    next_.members.back().workload = workload;
  }
  for (policy::CarriedReservation& each : all.carried)
    if (members[each.member] != policy::kNone) next_.carried.push_back({members[each.member], std::move(each.places)});
  begin();
}

std::optional<policy::Plan> WhatIf::pass(const policy::Snapshot& changed) {
  if (left_ == 0) {
    PENSTOCK_COVERAGE_MARK("explain has tried as many passes as it may");
    gave_up_ = true;
    return std::nullopt;
  }
  return count_pass(changed);
}

policy::Plan WhatIf::count_pass(const policy::Snapshot& changed) {
  if (left_ > 0) --left_;
  return engine_.pass(changed);
}

std::int64_t WhatIf::given(const policy::Snapshot& changed, const policy::Plan& plan) const {
  std::int64_t milli = 0;
  for (const policy::Entitlement& each : plan.entitlements)
    if (each.workload == subject_) milli += each.milli_slots;
  for (const policy::Reservation& each : plan.reservations)
    if (changed.members[each.member].workload == subject_ &&
        (each.starts_by == kNever || each.starts_by <= changed.now))
      for (const policy::Place& place : each.places) milli += place.slots * 1000;
  return milli;
}

const policy::Explanation* WhatIf::why(const policy::Plan& plan) const {
  const auto at = std::find_if(plan.explanations.begin(), plan.explanations.end(),
                               [this](const policy::Explanation& each) { return each.workload == subject_; });
  return at == plan.explanations.end() ? nullptr : &*at;
}

std::int64_t WhatIf::given_at_last(policy::Snapshot changed, const policy::Plan& plan) {
  const std::int64_t first = given(changed, plan);
  if (plan.preemptions.empty()) return first;
  carry_out(plan, changed);
  for (policy::Member& member : changed.members)
    if (member.state == policy::MemberState::Leaving) end_member(member);
  return std::max(first, given(changed, count_pass(changed)));
}

bool WhatIf::is_more(const policy::Snapshot& changed, const policy::Plan& plan) {
  if (!unchanged_.has_value()) unchanged_ = given_at_last(next_, count_pass(next_));
  return given_at_last(changed, plan) > *unchanged_;
}

bool WhatIf::helps(const policy::Snapshot& changed) {
  const std::optional<policy::Plan> plan = pass(changed);
  return plan.has_value() && is_more(changed, *plan);
}

}  // namespace penstock::supervisor
