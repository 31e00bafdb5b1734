// The order in which members wait: by age, and by priority.
#pragma once

#include <cstdint>
#include <string_view>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// When a member came, among all members of all workloads.
struct Age {
  std::int64_t submitted = 0;  ///< Its workload.
  std::int64_t requested = 0;
  friend auto operator<=>(const Age&, const Age&) = default;
};

/// -1 if `a` came first, 1 if `b` did; names end ties. Spec: policy-determined 3.6.
int compare_age(const Age& a, std::string_view a_name, const Age& b, std::string_view b_name);

/// Whether `a` is older than `b`. REQUIRES: positions in `snapshot.members`.
bool older(const Snapshot& snapshot, std::uint32_t a, std::uint32_t b);
/// Whether `a` comes before `b`: by priority, position in the order, age. Spec: policy-determined 5.2.
bool more_important(const Snapshot& snapshot, std::uint32_t a, std::uint32_t b);
/// The position of a member's workload; one without counts as the first.
std::int64_t position_of(const Snapshot& snapshot, std::uint32_t member);

/// Whether it waits for a place, and whether it has one.
constexpr bool is_waiting(MemberState state) { return state == MemberState::Pending; }
constexpr bool is_held(MemberState state) { return state == MemberState::Starting || state == MemberState::Running; }
/// Whether policy may take its places back.
inline bool may_preempt(const Snapshot& snapshot, std::uint32_t member) {
  const Member& subject = snapshot.members[member];
  return subject.preemptible && snapshot.workloads[subject.workload].preemptible;
}

}  // namespace penstock::policy
