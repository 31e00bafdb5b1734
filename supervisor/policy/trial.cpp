#include "supervisor/policy/trial.hpp"

#include <algorithm>
#include <utility>

#include "supervisor/policy/fitting/device_fit.hpp"
#include "supervisor/policy/sharing/quota_division.hpp"

namespace penstock::policy {
namespace {

constexpr std::int64_t kOneDevice = 1000;
/// Device memory is handed out in steps of this, so that the odd rest of a device does not decide.
constexpr std::int64_t kDeviceMemoryStep = 100;

bool shares_devices(const Member& member) { return member.devices > 0; }

/// The amounts that a group takes from the whole devices of its band.
struct GroupLoad {
  std::int64_t idle = 0;
  std::int64_t leaving = 0;
};
GroupLoad load_of(const DeviceGroup& group) {
  if (group.held + group.leaving > 0) return {kOneDevice, group.wholly_leaving() ? kOneDevice : 0};
  return {0, group.promised > 0 ? -kOneDevice : 0};
}

}  // namespace

Trial::Trial(const Snapshot& snapshot, std::uint32_t pool, const Parts& parts)
    : snapshot_(snapshot), parts_(parts), pool_(pool), holdings_(snapshot.members.size()) {
  make_rooms();
  rank_bands();
  for (const Workload& workload : snapshot.workloads) {
    first_set_.push_back(sets_.size());
    for (const MemberSet& set : workload.sets) sets_.push_back({0, set.min});
  }
  first_set_.push_back(sets_.size());
  for (const Project& project : snapshot.projects) {
    Owner& owner = owners_.emplace_back();
    owner.name = project.name;
    owner.parent = project.parent;
    owner.priority = project.priority;
    owner.created = project.created;
    owner.preempt_min_runtime = project.preempt_min_runtime;
    owner.reclaim_min_runtime = project.reclaim_min_runtime;
    for (std::size_t resource = 0; resource < kResources; ++resource) {
      const ResourceShare& share = project.shares[resource];
      owner.of[resource] = {share.guaranteed, share.limit, share.weight, share.usage};
    }
  }
  make_owners();
}

void Trial::make_rooms() {
  rooms_.resize(snapshot_.bands.size());
  for (std::uint32_t band = 0; band < snapshot_.bands.size(); ++band) {
    const Band& source = snapshot_.bands[band];
    BandRoom& room = rooms_[band];
    if (source.pool != pool_) continue;
    bands_.push_back(band);
    room.in_pool = true;
    room.open = source.state == BandState::Enabled;
    room.idle = source.capacity;
    room.places_idle = source.members_max == kUnlimited ? INT64_MAX / 2 : source.members_max;
    room.device_memory_mib = source.device_memory_mib / kDeviceMemoryStep * kDeviceMemoryStep;
    if (source.state == BandState::Enabled) total_ += source.capacity;
    const bool has_devices = source.capacity.gpu > 0 && room.device_memory_mib > 0;
    if (has_devices && (device_memory_min_ == 0 || room.device_memory_mib < device_memory_min_))
      device_memory_min_ = room.device_memory_mib;
  }
}

void Trial::rank_bands() {
  filing_.by_name = bands_;
  std::sort(filing_.by_name.begin(), filing_.by_name.end(), [this](std::uint32_t a, std::uint32_t b) {
    const int names = snapshot_.bands[a].name.compare(snapshot_.bands[b].name);
    return names != 0 ? names < 0 : a < b;
  });
  filing_.ranks.assign(rooms_.size(), kNone);
  filing_.filed.resize(rooms_.size());
  filing_.is_changed.assign(rooms_.size(), true);
  for (std::uint32_t rank = 0; rank < filing_.by_name.size(); ++rank) {
    const std::uint32_t band = filing_.by_name[rank];
    filing_.ranks[band] = rank;
    devices_.later += rooms_[band].idle.gpu;
    if (rooms_[band].open) filing_.changed.push_back(band);
  }
}

const BandsByRoom& Trial::bands_by_room(Index index) const {
  for (const std::uint32_t band : filing_.changed) {
    filing_.is_changed[band] = false;
    const Resources room = rooms_[band].later();
    const Resources& capacity = snapshot_.bands[band].capacity;
    const auto file = [&](Index where, std::int64_t before, std::int64_t now) {
      BandsByRoom& bands = filing_.by_room[static_cast<std::size_t>(where)];
      auto node = bands.extract({before, filing_.ranks[band]});
      if (node.empty()) {
        bands.emplace(now, filing_.ranks[band]);
        return;
      }
      node.value().first = now;
      bands.insert(std::move(node));
    };
    if (capacity.gpu != 0) file(Index::Devices, filing_.filed[band].gpu, room.gpu);
    if (capacity.cpu != 0)
      file(capacity.gpu == 0 ? Index::CpuAlone : Index::CpuBesideDevices, filing_.filed[band].cpu, room.cpu);
    filing_.filed[band] = room;
  }
  filing_.changed.clear();
  return filing_.by_room[static_cast<std::size_t>(index)];
}

void Trial::make_owners() {
  for (std::uint32_t member = 0; member < snapshot_.members.size(); ++member) {
    const Member& source = snapshot_.members[member];
    if (!in_pool(source.workload)) continue;
    Holdings& holdings = holdings_[member];
    holdings.state = source.state;
    holdings.counted = source.state != MemberState::Promised;
    if (!source.places.empty()) holdings.band = source.places.front().band;
    if (holdings.band != kNone) holdings.groups = groups_of(member, holdings.band);
    apply(member, 1);
    const bool wanted = source.state == MemberState::Pending || is_held_on_trial(source.state);
    if (!wanted) continue;
    const Resources all = amount(member, holdings.band);
    // A draining band has only the capacity that is held. Spec: policy-determined 9.3.
    if (holdings.band != kNone && snapshot_.bands[holdings.band].state == BandState::Draining) total_ += all;
    for (const std::uint32_t owner : chain_of(owners_, snapshot_.workloads[source.workload].project))
      for (std::size_t resource = 0; resource < kResources; ++resource)
        owners_[owner].of[resource].request += all.of(resource);
  }
  divide_tree(owners_, total_, parts_.usage_strength);
}

bool Trial::in_pool(std::uint32_t workload) const { return snapshot_.workloads[workload].pool == pool_; }

std::vector<std::uint32_t> Trial::groups_of(std::uint32_t member, std::uint32_t band) {
  std::vector<std::uint32_t> positions;
  std::vector<DeviceGroup>& groups = rooms_[band].groups;
  for (const std::uint32_t label : snapshot_.members[member].device_groups) {
    const auto known =
        std::find_if(groups.begin(), groups.end(), [label](const DeviceGroup& each) { return each.label == label; });
    positions.push_back(static_cast<std::uint32_t>(known - groups.begin()));
    if (known == groups.end()) groups.push_back({label});
  }
  // Its shared devices are not known: it has some of its own.
  if (!positions.empty()) return positions;
  for (std::int64_t i = 0; i < snapshot_.members[member].devices; ++i) {
    std::uint32_t fresh = 0;
    for (const DeviceGroup& group : groups) fresh = std::max(fresh, group.label + 1);
    positions.push_back(static_cast<std::uint32_t>(groups.size()));
    groups.push_back({fresh});
  }
  return positions;
}

std::vector<std::uint32_t> Trial::group_labels(std::uint32_t member) const {
  std::vector<std::uint32_t> labels;
  for (const std::uint32_t group : holdings_[member].groups)
    labels.push_back(rooms_[holdings_[member].band].groups[group].label);
  return labels;
}

std::int64_t Trial::memory_on(std::uint32_t member, std::uint32_t band) const {
  const Member& source = snapshot_.members[member];
  if (source.device_memory_mib > 0) return source.device_memory_mib;
  return source.device_share * rooms_[band].device_memory_mib / 1000;
}

Resources Trial::amount(std::uint32_t member, std::uint32_t band) const {
  const Member& source = snapshot_.members[member];
  Resources all = source.request;
  if (!shares_devices(source)) return all;
  if (source.device_memory_mib == 0)
    all.gpu += source.device_share * source.devices;
  else if (band == kNone)
    all.gpu += device_memory_min_ == 0 ? 0 : source.device_memory_mib * source.devices * 1000 / device_memory_min_;
  else if (const std::int64_t memory = rooms_[band].device_memory_mib; memory > 0)
    all.gpu += (100 * source.device_memory_mib + memory - 1) / memory * 10 * source.devices;
  return all;
}

void Trial::count_shared(const BandRoom& room, const DeviceGroup& group, std::int64_t sign) {
  if (!group.used()) return;
  devices_.shared += sign * kOneDevice;
  if (group.wholly_leaving() || room.device_memory_mib == 0) return;
  devices_.parts +=
      sign * ((room.device_memory_mib - group.held_mib - group.promised_mib) * kOneDevice / room.device_memory_mib);
}

void Trial::apply_group(BandRoom& room, DeviceGroup& group, MemberState state, std::int64_t signed_mib) {
  const GroupLoad before = load_of(group);
  const bool counts = room.in_pool;
  if (counts) count_shared(room, group, -1);
  const std::int32_t sign = signed_mib < 0 ? -1 : 1;
  if (is_held_on_trial(state)) {
    group.held += sign;
    group.held_mib += signed_mib;
  } else if (state == MemberState::Leaving) {
    group.leaving += sign;
    group.leaving_mib += signed_mib;
  } else {
    group.promised += sign;
    group.promised_mib += signed_mib;
  }
  if (counts) count_shared(room, group, 1);
  const GroupLoad after = load_of(group);
  room.idle.gpu -= after.idle - before.idle;
  room.leaving.gpu += after.leaving - before.leaving;
}

void Trial::apply_room(std::uint32_t member, MemberState state, std::uint32_t band,
                       const std::vector<std::uint32_t>& groups, std::int64_t sign) {
  BandRoom& room = rooms_[band];
  const bool counts = room.in_pool;
  ++room.changes;
  if (filing_.scores) filing_.scores->note_change(band);
  if (counts && room.open && !filing_.is_changed[band]) {
    filing_.is_changed[band] = true;
    filing_.changed.push_back(band);
  }
  const std::int64_t later_before = room.later().gpu;
  Resources whole = snapshot_.members[member].request;
  whole = {whole.cpu * sign, whole.memory * sign, whole.gpu * sign};
  if (state == MemberState::Promised) {
    room.leaving -= whole;
    room.places_leaving -= sign;
  } else {
    room.idle -= whole;
    room.places_idle -= sign;
  }
  if (state == MemberState::Leaving) {
    room.leaving += whole;
    room.places_leaving += sign;
  }
  for (const std::uint32_t group : groups)
    apply_group(room, room.groups[group], state, sign * std::max<std::int64_t>(1, memory_on(member, band)));
  if (!groups.empty()) room.shared_memory_mib = most_shared_memory(room);
  if (counts) devices_.later += room.later().gpu - later_before;
}

void Trial::apply(std::uint32_t member, std::int64_t sign) {
  const Holdings& holdings = holdings_[member];
  ++version_;
  if (is_active(holdings.state)) {
    const Member& source = snapshot_.members[member];
    sets_[first_set_[source.workload] + source.set].active += sign;
  }
  if (holdings.left_band != kNone)
    apply_room(member, MemberState::Leaving, holdings.left_band, holdings.left_groups, sign);
  const bool leaving = holdings.state == MemberState::Leaving;
  if (holdings.band == kNone || (!leaving && !is_active(holdings.state))) return;
  apply_room(member, holdings.state, holdings.band, holdings.groups, sign);
  if (leaving || !holdings.counted) return;
  const Resources all = amount(member, holdings.band);
  const Workload& workload = snapshot_.workloads[snapshot_.members[member].workload];
  for (std::uint32_t at = workload.project; at != kNone; at = owners_[at].parent) {
    ++owners_[at].version;
    for (std::size_t resource = 0; resource < kResources; ++resource) {
      owners_[at].of[resource].allocated += sign * all.of(resource);
      if (!workload.preemptible) owners_[at].of[resource].fixed += sign * all.of(resource);
    }
  }
}

void Trial::set(std::uint32_t member, Holdings holdings) {
  apply(member, -1);
  log_.push_back({member, std::exchange(holdings_[member], std::move(holdings))});
  apply(member, 1);
}

std::vector<std::uint32_t> Trial::projects_changed_since(std::size_t mark) const {
  std::vector<std::uint32_t> projects;
  for (std::size_t i = mark; i < log_.size(); ++i) {
    const std::uint32_t project = snapshot_.workloads[snapshot_.members[log_[i].member].workload].project;
    if (project != kNone) projects.push_back(project);
  }
  std::sort(projects.begin(), projects.end());
  projects.erase(std::unique(projects.begin(), projects.end()), projects.end());
  return projects;
}

void Trial::undo_to(std::size_t mark) {
  while (log_.size() > mark) {
    const std::uint32_t member = log_.back().member;
    apply(member, -1);
    holdings_[member] = std::move(log_.back().before);
    apply(member, 1);
    log_.pop_back();
  }
}

std::optional<BandFit> Trial::fit(std::uint32_t member, std::uint32_t band, When when) const {
  const BandRoom& room = rooms_[band];
  const Member& source = snapshot_.members[member];
  if (!room.open || room.places_idle + room.places_leaving <= 0) return std::nullopt;
  if (!source.request.within(room.later())) return std::nullopt;
  if (shares_devices(source)) return fit_shared(member, band, when);
  return BandFit{when == When::NowOrLater && source.request.within(room.idle) && room.places_idle > 0, {}};
}

std::optional<bool> Trial::fits_now_or_later(std::uint32_t member, std::uint32_t band, When when) const {
  const BandRoom& room = rooms_[band];
  const Member& source = snapshot_.members[member];
  if (!room.open || !source.request.within(room.later())) return std::nullopt;
  std::int64_t places = 1;
  bool now = true;
  if (shares_devices(source)) {
    const DeviceRequest request{source.devices, memory_on(member, band), parts_.device_fitting};
    if (room.shared_memory_mib < request.mib && room.later().gpu < kOneDevice) return std::nullopt;
    const std::optional<DevicePreview> devices = look_at_devices(room, request);
    if (!devices) return std::nullopt;
    places += static_cast<std::int64_t>(devices->opened);
    now = devices->now;
  }
  if (room.places_idle + room.places_leaving < places) return std::nullopt;
  return now && when == When::NowOrLater && source.request.within(room.idle) && room.places_idle >= places;
}

std::optional<BandFit> Trial::fit_shared(std::uint32_t member, std::uint32_t band, When when) const {
  const BandRoom& room = rooms_[band];
  const Member& source = snapshot_.members[member];
  const DeviceRequest request{source.devices, memory_on(member, band), parts_.device_fitting};
  const std::optional<DeviceFit> devices = fit_devices(room, request);
  if (!devices) return std::nullopt;
  // A device that is opened for sharing takes a place of its own for the member that reserves it.
  const std::int64_t places = 1 + static_cast<std::int64_t>(devices->opened);
  if (room.places_idle + room.places_leaving < places) return std::nullopt;
  BandFit fit{
      devices->now && when == When::NowOrLater && source.request.within(room.idle) && room.places_idle >= places,
      devices->groups};
  return fit;
}

DeviceFragmentation& Trial::fragmentation() const {
  if (!filing_.scores) filing_.scores.emplace(*this, pool_);
  return *filing_.scores;
}

void Trial::place(std::uint32_t member, std::uint32_t band, const BandFit& fit) {
  Holdings next = holdings_[member];
  BandRoom& room = rooms_[band];
  std::uint32_t fresh = 0;
  for (const DeviceGroup& group : room.groups) fresh = std::max(fresh, group.label + 1);
  for (const std::uint32_t group : fit.groups)
    while (group >= room.groups.size()) room.groups.push_back({fresh++});
  if (next.state == MemberState::Leaving) {
    const bool stays = !fit.now && next.left_band == kNone && next.band == band && next.groups == fit.groups;
    next.left_band = stays ? kNone : next.band;
    next.left_groups = stays ? std::vector<std::uint32_t>{} : next.groups;
    const MemberState before = snapshot_.members[member].state;
    const MemberState held = before == MemberState::Pending ? MemberState::Starting : before;
    next.state = stays ? held : MemberState::Promised;
  } else {
    const bool still_starts = next.lost_start == band && next.lost_groups == fit.groups;
    next.state = fit.now || still_starts ? MemberState::Starting : MemberState::Promised;
  }
  next.lost_start = kNone;
  next.lost_groups.clear();
  next.band = band;
  next.groups = fit.groups;
  next.counted = true;
  set(member, std::move(next));
}

void Trial::leave(std::uint32_t member) {
  Holdings next = holdings_[member];
  if (next.state == MemberState::Promised && next.left_band == kNone) {
    next.state = MemberState::Pending;
    next.band = kNone;
    next.groups.clear();
  } else if (next.state == MemberState::Promised) {
    next.state = MemberState::Leaving;
    next.band = std::exchange(next.left_band, kNone);
    next.groups = std::exchange(next.left_groups, {});
  } else if (snapshot_.members[member].state == MemberState::Pending && parts_.own_rules) {
    // Its start is one of this very pass: no running member needs to leave. By the page the start has been committed.
    next.state = MemberState::Pending;
    next.lost_start = std::exchange(next.band, kNone);
    next.lost_groups = std::exchange(next.groups, {});
  } else {
    next.state = MemberState::Leaving;
  }
  set(member, std::move(next));
}

void Trial::forget_start(std::uint32_t member) {
  if (holdings_[member].lost_start == kNone) return;
  Holdings next = holdings_[member];
  next.lost_start = kNone;
  next.lost_groups.clear();
  set(member, std::move(next));
}

void Trial::make_promise(std::uint32_t member) {
  Holdings next = holdings_[member];
  next.state = MemberState::Promised;
  set(member, std::move(next));
}

bool Trial::sums_are_right() const {
  Trial copy{snapshot_, pool_, parts_};
  for (std::uint32_t member = 0; member < holdings_.size(); ++member) {
    for (const BandRoom& room : rooms_) {
      const std::size_t band = static_cast<std::size_t>(&room - rooms_.data());
      while (copy.rooms_[band].groups.size() < room.groups.size())
        copy.rooms_[band].groups.push_back({room.groups[copy.rooms_[band].groups.size()].label});
    }
    copy.set(member, holdings_[member]);
  }
  if (!(copy.devices_ == devices_) || copy.sets_ != sets_) return false;
  for (const std::uint32_t band : bands_)
    if (!(copy.rooms_[band].idle == rooms_[band].idle && copy.rooms_[band].leaving == rooms_[band].leaving))
      return false;
  for (std::size_t owner = 0; owner < owners_.size(); ++owner)
    for (std::size_t resource = 0; resource < kResources; ++resource)
      if (copy.owners_[owner].of[resource].allocated != owners_[owner].of[resource].allocated ||
          copy.owners_[owner].of[resource].fixed != owners_[owner].of[resource].fixed)
        return false;
  return true;
}

}  // namespace penstock::policy
