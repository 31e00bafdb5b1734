#include <algorithm>
#include <cmath>
#include <string>

#include "supervisor/policy/policy_engine.hpp"

namespace penstock::policy {
namespace {

Error mistake(const std::string& subject, std::string message) {
  return Error{ErrorCode::InvalidArgument, subject, std::move(message), "correct the policy settings"};
}

/// No single amount is larger: sums over all jobs and bands of a cluster still fit their type.
constexpr std::int64_t kAmountMax = std::int64_t{1} << 48;

/// Devices of which one member has parts.
constexpr std::int64_t kMemberDevicesMax = 1024;

bool is_amount(std::int64_t amount) { return amount >= 0 && amount <= kAmountMax; }
bool are_amounts(const Resources& all) { return is_amount(all.cpu) && is_amount(all.memory) && is_amount(all.gpu); }

/// Follows parents upwards; a way longer than there are entries goes round in a circle.
template <class Entry>
Result<void> check_parents(const std::vector<Entry>& entries, const char* what) {
  for (const Entry& entry : entries) {
    std::size_t steps = 0;
    for (std::uint32_t at = entry.parent; at != kNone; at = entries[at].parent) {
      if (at >= entries.size()) return mistake(entry.name, std::string{what} + " has a parent that does not exist");
      if (++steps > entries.size()) return mistake(entry.name, std::string{what} + " is its own ancestor");
    }
  }
  return {};
}

Result<void> check_amounts(const Project& project) {
  for (const ResourceShare& share : project.shares) {
    if (share.guaranteed < kUnlimited || share.limit < kUnlimited)
      return mistake(project.name, "a guaranteed amount or limit is negative");
    if (share.weight < kUnlimited * 1000) return mistake(project.name, "a weight is negative");
    if (std::max({share.guaranteed, share.limit, share.weight}) > kAmountMax)
      return mistake(project.name, "a guaranteed amount, limit or weight is too large");
    if (!std::isfinite(share.usage) || share.usage < 0) return mistake(project.name, "the usage is no amount");
  }
  return {};
}

Result<void> check_share_nodes(const std::vector<ShareNode>& nodes) {
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    const ShareNode& each = nodes[node];
    if (each.parent != kNone && each.parent >= node) return mistake(each.name, "the owner comes before its parent");
    if (each.weight <= 0 || each.weight > kAmountMax)
      return mistake(each.name, "the weight must be above 0, and not too large");
    if (each.slots_max < kUnlimited || each.slots_max > kAmountMax)
      return mistake(each.name, "the limit is negative or too large");
  }
  return {};
}

Result<void> check_slot_limits(const Snapshot& snapshot) {
  for (const SlotLimit& each : snapshot.slot_limits) {
    if (!is_amount(each.slots)) return mistake("a limit of slots", "is negative or too large");
    if (!std::is_sorted(each.workloads.begin(), each.workloads.end()))
      return mistake("a limit of slots", "must name its workloads in ascending order");
    if (!each.workloads.empty() && each.workloads.back() >= snapshot.workloads.size())
      return mistake("a limit of slots", "names a workload that does not exist");
  }
  return {};
}

Result<void> check_band_list(const Snapshot& snapshot, const std::vector<std::uint32_t>& list) {
  if (list.empty() || !std::is_sorted(list.begin(), list.end())) return mistake("a list of bands", "must be ascending");
  // `kNone` stands for a name that is not in the snapshot.
  for (const std::uint32_t band : list)
    if (band >= snapshot.bands.size() && band != kNone)
      return mistake("a list of bands", "has a band that does not exist");
  return {};
}

Result<void> check_parts(const Snapshot& snapshot, const Member& member) {
  if (member.part_list == kNone) return {};
  if (member.part_list >= snapshot.part_lists.size()) return mistake(member.name, "has parts that do not exist");
  if (member.band_list == kNone) return mistake(member.name, "has parts, and names no list of all their bands");
  std::int64_t slots = 0;
  for (const MemberPart& part : snapshot.part_lists[member.part_list]) {
    if (part.band_list >= snapshot.band_lists.size())
      return mistake(member.name, "has a part with a list of bands that does not exist");
    if (part.slots <= 0 || part.slots > kAmountMax) return mistake(member.name, "has a part without slots");
    slots += part.slots;
  }
  if (slots != member.slots) return mistake(member.name, "has parts with other slots than it wants");
  return {};
}

Result<void> check_member(const Snapshot& snapshot, const Member& member) {
  if (member.workload >= snapshot.workloads.size()) return mistake(member.name, "belongs to no job");
  if (member.set >= snapshot.workloads[member.workload].sets.size()) return mistake(member.name, "belongs to no gang");
  if (!is_amount(member.slots) || !are_amounts(member.request))
    return mistake(member.name, "asks for an amount that is negative or too large");
  if (member.device_share < 0 || member.device_memory_mib < 0 || member.devices < 0)
    return mistake(member.name, "asks for a negative part of a device");
  if (member.devices > kMemberDevicesMax || member.device_share > kMemberDevicesMax * 1000 ||
      !is_amount(member.device_memory_mib))
    return mistake(member.name, "asks for parts of too many devices");
  if (member.device_share > 1000 && member.device_share % 1000 != 0)
    return mistake(member.name, "asks for more than one device and a part of another");
  if (member.devices > 0 && member.device_share == 0 && member.device_memory_mib == 0)
    return mistake(member.name, "asks for no part of a device");
  for (const Place& place : member.places) {
    if (place.band >= snapshot.bands.size()) return mistake(member.name, "holds a place on a band that does not exist");
    if (!is_amount(place.slots)) return mistake(member.name, "holds an amount that is negative or too large");
  }
  if (member.band_list != kNone && member.band_list >= snapshot.band_lists.size())
    return mistake(member.name, "names a list of bands that does not exist");
  return check_parts(snapshot, member);
}

}  // namespace

Result<void> check_snapshot(const Snapshot& snapshot) {
  PENSTOCK_TRY(check_parents(snapshot.projects, "the project"));
  PENSTOCK_TRY(check_parents(snapshot.accounts, "the account"));
  for (const Project& project : snapshot.projects) PENSTOCK_TRY(check_amounts(project));
  for (const Account& account : snapshot.accounts)
    if (account.shares < 0 || !std::isfinite(account.usage) || account.usage < 0)
      return mistake(account.name, "shares and usage must be amounts");
  PENSTOCK_TRY(check_share_nodes(snapshot.share_nodes));
  PENSTOCK_TRY(check_slot_limits(snapshot));
  for (const std::vector<bool>& level : snapshot.level_takes)
    if (level.size() != snapshot.level_takes.size()) return mistake("levels of service", "each needs a word on each");
  for (const Band& band : snapshot.bands)
    if (!is_amount(band.slots) || !is_amount(band.light_places) || !are_amounts(band.capacity) ||
        !is_amount(band.device_memory_mib) || band.members_max < kUnlimited || band.members_max > kAmountMax)
      return mistake(band.name, "a capacity is negative or too large");
  for (const Workload& workload : snapshot.workloads) {
    if (workload.project != kNone && workload.project >= snapshot.projects.size())
      return mistake(workload.name, "belongs to a project that does not exist");
    if (!is_amount(workload.beyond) || !is_amount(workload.elsewhere) || !is_amount(workload.core))
      return mistake(workload.name, "wants an amount that is negative or too large");
    if (workload.weight > kAmountMax) return mistake(workload.name, "the weight is too large");
    for (const MemberSet& set : workload.sets)
      if (!is_amount(set.min)) return mistake(workload.name, "the minimum of a gang is negative or too large");
    if (workload.weight <= 0) return mistake(workload.name, "the weight must be above 0");
    if (workload.share_node != kNone && workload.share_node >= snapshot.share_nodes.size())
      return mistake(workload.name, "shares with an owner that does not exist");
    if (workload.account != kNone && workload.account >= snapshot.accounts.size())
      return mistake(workload.name, "is charged to an account that does not exist");
  }
  for (const std::vector<std::uint32_t>& list : snapshot.band_lists) PENSTOCK_TRY(check_band_list(snapshot, list));
  for (const Member& member : snapshot.members) PENSTOCK_TRY(check_member(snapshot, member));
  for (const CarriedReservation& reservation : snapshot.carried)
    for (const Place& place : reservation.places)
      if (place.band >= snapshot.bands.size() || !is_amount(place.slots))
        return mistake("claim", "a promised place is on a band that does not exist, or of no amount");
  return {};
}

}  // namespace penstock::policy
