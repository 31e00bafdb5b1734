#include "supervisor/core/driver/pool_spread.hpp"

#include <cstddef>

namespace penstock::supervisor {

bool is_bag(const Job& job) {
  return job.spec.policy.gang == 0 && job.total() > 1 && !job.graph.shape->has_edges() &&
         job.graph.shape->external_inputs().empty();
}

bool wants_more_pools(const JobShares& shares) {
  bool wants = false;
  for (std::size_t kind = 0; kind < kBandKinds; ++kind)
    wants = wants || (shares.kinds[kind].beyond > 0 && !shares.rules.cut[kind]);
  return wants;
}

std::vector<bool> promised_owners(const PassUnderWay& pass, const policy::Plan& plan,
                                  const std::vector<std::uint32_t>& owner_of, std::size_t owners) {
  std::vector<bool> promised(owners, false);
  for (const policy::Reservation& each : plan.reservations)
    if (!each.places.empty()) promised[owner_of[pass.members[each.member].subject]] = true;
  return promised;
}

std::vector<bool> waiting_owners(const PassUnderWay& pass, const policy::Plan& plan,
                                 const std::vector<std::uint32_t>& owner_of, std::size_t owners) {
  std::vector<bool> starts(pass.members.size(), false);
  for (const policy::Start& each : plan.starts) starts[each.member] = true;
  std::vector<bool> waits(owners, false);
  for (std::size_t i = 0; i < pass.members.size(); ++i)
    if (const PassUnderWay::Member& member = pass.members[i]; member.places.empty() && !starts[i])
      waits[owner_of[member.subject]] = waits[owner_of[member.subject]] || !pass.subjects[member.subject].keeps_place;
  return waits;
}

}  // namespace penstock::supervisor
