#include "supervisor/core/driver/gang_parts.hpp"

#include <algorithm>

namespace penstock::supervisor {

GangParts::GangParts(const Job& job, BandKind kind, const PolicyState& policy, const WorkerTable& workers,
                     const std::vector<std::uint32_t>& allowed, const std::vector<PromisedPlace>& held) {
  const std::vector<GroupPart>& groups = job.shares->pool.group->now;
  if (groups.size() < 2) return;
  const std::vector<BandSlot>& bands = policy.pass->bands;
  std::vector<bool> seen(bands.size(), false);  // A worker with several labels may be in several groups.
  for (const GroupPart& group : groups) {
    Part& part = parts_.emplace_back(Part{{}, std::uint64_t{group.slots} * 1000});
    for (std::uint32_t band = 0; band < bands.size(); ++band) {
      const bool is_open = allowed.empty() ? workers[bands[band]].kind == kind &&
                                                 policy.pool_of_band[bands[band].value()] == job.shares->pool.position
                                           : std::binary_search(allowed.begin(), allowed.end(), band);
      if (!is_open || seen[band] || !is_in(group.group, workers.worker_of(bands[band]).description)) continue;
      seen[band] = true;
      part.bands.push_back(band);
      for (const PromisedPlace& place : held)
        if (place.band == bands[band]) part.missing -= std::min(part.missing, place.milli);
    }
    if (part.bands.empty()) part.bands = {policy::kNone};
  }
}

std::uint64_t GangParts::missing() const {
  std::uint64_t milli = 0;
  for (const Part& part : parts_) milli += part.missing;
  return milli;
}

const std::vector<std::uint32_t>& GangParts::bands_of(std::uint32_t band) const {
  const auto has_it = [band](const Part& part) {
    return std::binary_search(part.bands.begin(), part.bands.end(), band);
  };
  const auto at = std::find_if(parts_.begin(), parts_.end(), has_it);
  return at == parts_.end() ? parts_.back().bands : at->bands;
}

const std::vector<std::uint32_t>& GangParts::take(std::uint64_t milli, std::uint32_t band) {
  const auto is_next = [band](const Part& part) {
    return band == policy::kNone ? part.missing > 0 : std::binary_search(part.bands.begin(), part.bands.end(), band);
  };
  auto at = std::find_if(parts_.begin(), parts_.end(), is_next);
  if (at == parts_.end()) at = std::prev(parts_.end());
  at->missing -= std::min(at->missing, milli);
  return at->bands;
}

void GangParts::divide(policy::Member& member, std::uint64_t granularity, policy::BandLists& lists,
                       policy::Snapshot& snapshot) const {
  std::vector<policy::MemberPart> divided;
  std::vector<std::uint32_t> all;
  for (const Part& part : parts_) {
    if (part.missing == 0) continue;
    divided.push_back({lists.name(part.bands, snapshot), static_cast<std::int64_t>(part.missing / granularity)});
    all.insert(all.end(), part.bands.begin(), part.bands.end());
  }
  member.band_list = lists.name(std::move(all), snapshot);
  member.part_list = static_cast<std::uint32_t>(snapshot.part_lists.size());
  snapshot.part_lists.push_back(std::move(divided));
}

}  // namespace penstock::supervisor
