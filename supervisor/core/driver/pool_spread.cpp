#include "supervisor/core/driver/pool_spread.hpp"

#include <cstddef>

namespace penstock::supervisor {

bool is_bag(const Job& job) {
  return job.spec.policy.gang == 0 && job.total() > 1 && !job.graph.shape->has_edges() &&
         job.graph.shape->external_inputs().empty();
}

std::uint32_t pool_of_stranded_work(const Job& job, const WorkerTable& workers,
                                    const std::vector<std::uint32_t>& pool_of_band) {
  const JobShares& shares = *job.shares;
  if (!shares.pool.spreads) return kAnyPool;
  std::uint32_t found = kAnyPool;
  for (std::uint32_t i = 0; i < shares.bands.size() && i < workers.band_slots(); ++i) {
    if (!workers[BandSlot{i}].alive || shares.bands[i].in_flight == 0 || shares.bands[i].planned > 0) continue;
    if (pool_of_band[i] == shares.pool.position) return kAnyPool;
    if (found == kAnyPool && shares.pool.lists(pool_of_band[i])) found = pool_of_band[i];
  }
  return found;
}

bool holds_in_several_pools(const JobShares& shares, const std::vector<std::uint32_t>& pool_of_band) {
  if (!shares.pool.spreads) return false;
  std::uint32_t first = kAnyPool;
  for (std::uint32_t i = 0; i < shares.bands.size() && i < pool_of_band.size(); ++i) {
    if (shares.bands[i].planned == 0) continue;
    if (first != kAnyPool && pool_of_band[i] != first) return true;
    first = pool_of_band[i];
  }
  return false;
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
