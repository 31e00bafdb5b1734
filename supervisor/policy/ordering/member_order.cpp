#include "supervisor/policy/ordering/member_order.hpp"

#include <algorithm>

namespace penstock::policy {

int compare_age(const Age& a, std::string_view a_name, const Age& b, std::string_view b_name) {
  if (a != b) return a < b ? -1 : 1;
  return a_name < b_name ? -1 : a_name > b_name ? 1 : 0;
}

bool older(const Snapshot& snapshot, std::uint32_t a, std::uint32_t b) {
  const Member& left = snapshot.members[a];
  const Member& right = snapshot.members[b];
  const int order =
      compare_age({left.submitted, left.requested}, left.name, {right.submitted, right.requested}, right.name);
  return order != 0 ? order < 0 : a < b;
}

std::int64_t position_of(const Snapshot& snapshot, std::uint32_t member) {
  return snapshot.workloads[snapshot.members[member].workload].position.value_or(0);
}

bool more_important(const Snapshot& snapshot, std::uint32_t a, std::uint32_t b) {
  const std::int64_t left = snapshot.workloads[snapshot.members[a].workload].priority;
  const std::int64_t right = snapshot.workloads[snapshot.members[b].workload].priority;
  if (left != right) return left > right;
  if (position_of(snapshot, a) != position_of(snapshot, b)) return position_of(snapshot, a) < position_of(snapshot, b);
  return older(snapshot, a, b);
}

std::vector<QueueRow> workloads_in_order(const Snapshot& snapshot, std::uint32_t pool) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t member = 0; member < snapshot.members.size(); ++member) {
    const MemberState state = snapshot.members[member].state;
    if (state == MemberState::Succeeded || state == MemberState::Failed) continue;
    if (snapshot.workloads[snapshot.members[member].workload].pool == pool) members.push_back(member);
  }
  std::sort(members.begin(), members.end(),
            [&](std::uint32_t a, std::uint32_t b) { return more_important(snapshot, a, b); });
  std::vector<QueueRow> rows;
  std::vector<bool> seen(snapshot.workloads.size(), false);
  for (const std::uint32_t member : members) {
    const std::uint32_t workload = snapshot.members[member].workload;
    if (!seen[workload]) rows.push_back({workload, static_cast<std::int64_t>(rows.size())});
    seen[workload] = true;
  }
  return rows;
}

}  // namespace penstock::policy
