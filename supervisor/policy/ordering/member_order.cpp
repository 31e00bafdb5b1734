#include "supervisor/policy/ordering/member_order.hpp"

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

}  // namespace penstock::policy
