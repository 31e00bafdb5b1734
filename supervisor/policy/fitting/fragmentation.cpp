#include "supervisor/policy/fitting/fragmentation.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "supervisor/policy/fitting/device_fit.hpp"
#include "supervisor/policy/trial.hpp"

namespace penstock::policy {
namespace {

constexpr std::int64_t kOneDevice = 1000;
/// Beyond this many shapes all scores are made anew.
constexpr std::size_t kRowsMax = 256;

/// Of so many changes for each band the bands are kept; before those each row looks at all bands.
constexpr std::size_t kChangesPerBand = 4;

/// The least that a part of a device takes.
constexpr std::int64_t kLeastMib = 1;

std::int64_t part_of(std::int64_t mib, std::int64_t device_memory_mib) {
  return device_memory_mib > 0 ? mib * kOneDevice / device_memory_mib : 0;
}

FreeDevices::Rest rest_of(std::int64_t mib, std::int64_t device_memory_mib) {
  return {mib, part_of(mib, device_memory_mib)};
}

std::int64_t memory_of(const MemberRequest& request, std::int64_t device_memory_mib) {
  if (request.device_memory_mib > 0) return request.device_memory_mib;
  return request.device_share * device_memory_mib / kOneDevice;
}

/// Today's order where fragmentation does not tell bands apart. Work without devices: bands without devices first, then
/// those where the fewest are free. Parts of devices: where a device is shared already. Whole ones: by room alone.
std::int64_t tie_of(const MemberRequest& request, const Resources& capacity, std::int64_t free_devices, bool shared) {
  if (!request.wants_devices()) return capacity.gpu == 0 ? -1 : free_devices;
  return request.devices > 0 && !shared ? 1 : 0;
}

bool counts(const Member& member) {
  return member.state != MemberState::Succeeded && member.state != MemberState::Failed;
}

}  // namespace

MemberRequest request_of(const Member& member) {
  return {member.request, member.device_share, member.device_memory_mib, member.devices};
}

std::vector<TypicalRequest> typical_requests(const Snapshot& snapshot, std::uint32_t pool) {
  std::vector<TypicalRequest> requests;
  const auto before = [](const TypicalRequest& a, const TypicalRequest& b) {
    return std::pair{a.shape.key(), a.band_list} < std::pair{b.shape.key(), b.band_list};
  };
  std::optional<std::size_t> last;
  for (const Member& member : snapshot.members) {
    if (!counts(member) || snapshot.workloads[member.workload].pool != pool) continue;
    const TypicalRequest request{request_of(member), member.band_list, 1};
    if (!request.shape.wants_devices()) continue;
    // Members of one job are alike and lie together.
    if (last && requests[*last].shape == request.shape && requests[*last].band_list == request.band_list) {
      ++requests[*last].count;
      continue;
    }
    const auto at = std::lower_bound(requests.begin(), requests.end(), request, before);
    last = static_cast<std::size_t>(at - requests.begin());
    if (at != requests.end() && !before(request, *at))
      ++at->count;
    else
      requests.insert(at, request);
  }
  std::stable_sort(requests.begin(), requests.end(),
                   [](const TypicalRequest& a, const TypicalRequest& b) { return a.count > b.count; });
  if (requests.size() > kTypicalRequestsMax) requests.resize(kTypicalRequestsMax);
  return requests;
}

std::int64_t FreeDevices::all() const {
  std::int64_t sum = whole * kOneDevice;
  for (const Rest& rest : rests) sum += rest.part;
  return sum;
}

std::int64_t FreeDevices::unusable(const MemberRequest& request) const {
  const std::int64_t sum = all();
  if (request.amounts.cpu > cpu || request.amounts.memory > memory || request.amounts.gpu > whole * kOneDevice)
    return sum;
  if (request.devices == 0) return places < 1 || !request.wants_devices() ? sum : sum - whole * kOneDevice;
  const std::int64_t mib = memory_of(request, device_memory_mib);
  std::int64_t usable = mib <= device_memory_mib ? whole * kOneDevice : 0;
  std::int64_t shared = 0;
  for (const Rest& rest : rests) {
    if (rest.mib < mib) continue;
    usable += rest.part;
    ++shared;
  }
  // A device that is opened takes a place of its own.
  const std::int64_t opened = std::max<std::int64_t>(0, request.devices - shared);
  if (opened > (mib <= device_memory_mib ? whole : 0) || places < 1 + opened) return sum;
  return sum - usable;
}

void read_room(const BandRoom& room, FreeDevices& free) {
  const Resources later = room.later();
  free.cpu = later.cpu;
  free.memory = later.memory;
  free.places = room.places_idle + room.places_leaving;
  free.whole = std::max<std::int64_t>(0, later.gpu / kOneDevice);
  free.device_memory_mib = room.device_memory_mib;
  free.rests.clear();
  for (const DeviceGroup& group : room.groups) {
    const bool shared = group.used() && !group.wholly_leaving();
    const std::int64_t mib = room.device_memory_mib - group.held_mib - group.promised_mib;
    free.rests.push_back(shared && mib > 0 ? rest_of(mib, room.device_memory_mib) : FreeDevices::Rest{-1, 0});
  }
}

bool grows_less(const BandGrowth& a, const BandGrowth& b) {
  if (a.fits != b.fits) return a.fits > b.fits;
  if (a.growth != b.growth) return a.growth < b.growth;
  if (a.tie != b.tie) return a.tie < b.tie;
  return a.free < b.free;
}

DeviceFragmentation::DeviceFragmentation(const Trial& trial, std::uint32_t pool)
    : typical_(typical_requests(trial.snapshot(), pool)),
      before_(trial.snapshot().bands.size()),
      ranks_(trial.snapshot().bands.size(), kNone) {
  const Snapshot& snapshot = trial.snapshot();
  for (std::uint32_t rank = 0; rank < trial.bands().size(); ++rank) ranks_[trial.band_of_rank(rank)] = rank;
  for (const TypicalRequest& request : typical_) {
    std::vector<bool>& allowed = allowed_.emplace_back();
    if (request.band_list == kNone) continue;
    allowed.assign(snapshot.bands.size(), false);
    for (const std::uint32_t band : snapshot.band_lists[request.band_list])
      if (band < allowed.size()) allowed[band] = true;
  }
}

std::size_t DeviceFragmentation::row_of(const Member& member) {
  const std::array<std::int64_t, 6> key = request_of(member).key();
  const auto known = std::find_if(rows_.begin(), rows_.end(), [&key](const Row& row) { return row.key == key; });
  if (known != rows_.end()) return static_cast<std::size_t>(known - rows_.begin());
  if (rows_.size() >= kRowsMax) rows_.clear();
  rows_.emplace_back();
  rows_.back().key = key;
  rows_.back().scores.resize(before_.size());
  return rows_.size() - 1;
}

std::int64_t DeviceFragmentation::fragmentation(const FreeDevices& free, std::uint32_t band) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < typical_.size(); ++i) {
    const bool allowed = allowed_[i].empty() || allowed_[i][band];
    sum += typical_[i].count * (allowed ? free.unusable(typical_[i].shape) : free.all());
  }
  return sum;
}

const BandGrowth& DeviceFragmentation::growth(const Trial& trial, std::size_t row, std::uint32_t member,
                                              std::uint32_t band) {
  refresh(trial, rows_[row], member, band);
  return rows_[row].scores[band].growth;
}

void DeviceFragmentation::note_change(std::uint32_t band) {
  if (changed_.size() >= kChangesPerBand * before_.size()) {
    forgotten_ += changed_.size();
    changed_.clear();
  }
  changed_.push_back(band);
}

const std::set<RankedGrowth>& DeviceFragmentation::in_order(const Trial& trial, std::size_t row, std::uint32_t member) {
  Row& asked = rows_[row];
  if (!asked.is_complete || asked.seen < forgotten_)
    for (const std::uint32_t band : trial.bands()) refresh(trial, asked, member, band);
  else
    for (std::size_t i = asked.seen - forgotten_; i < changed_.size(); ++i) refresh(trial, asked, member, changed_[i]);
  asked.is_complete = true;
  asked.seen = forgotten_ + changed_.size();
  return asked.order;
}

void DeviceFragmentation::refresh(const Trial& trial, Row& row, std::uint32_t member, std::uint32_t band) {
  Score& score = row.scores[band];
  if (score.changes == trial.room(band).changes) return;
  const RankedGrowth before{score.growth, ranks_[band], band};
  score = {trial.room(band).changes, judge(trial, member, band)};
  if (before.growth == score.growth) return;
  auto node =
      before.growth.fits != BandGrowth::Fits::Not ? row.order.extract(before) : decltype(row.order)::node_type{};
  if (score.growth.fits == BandGrowth::Fits::Not) return;
  if (node.empty()) {
    row.order.insert({score.growth, ranks_[band], band});
    return;
  }
  node.value().growth = score.growth;
  row.order.insert(std::move(node));
}

BandGrowth DeviceFragmentation::judge(const Trial& trial, std::uint32_t member, std::uint32_t band) {
  BandGrowth found;
  const std::optional<bool> now = trial.fits_now_or_later(member, band, Trial::When::NowOrLater);
  if (!now) return found;
  const BandRoom& room = trial.room(band);
  const Resources& capacity = trial.snapshot().bands[band].capacity;
  const MemberRequest request = request_of(trial.snapshot().members[member]);
  const std::int64_t mib = std::max(kLeastMib, trial.memory_on(member, band));
  found.fits = *now ? BandGrowth::Fits::Now : BandGrowth::Fits::Later;
  found.free = request.wants_devices() ? room.later().gpu : capacity.cpu == 0 ? INT64_MAX : room.later().cpu;
  const bool shared = request.devices > 0 && room.shared_memory_mib >= trial.memory_on(member, band);
  if (capacity.gpu == 0) {
    found.tie = tie_of(request, capacity, 0, shared);
    return found;
  }
  read_room(room, free_);
  found.tie = tie_of(request, capacity, free_.all(), shared);
  Before& before = before_[band];
  if (before.changes != room.changes) before = {room.changes, fragmentation(free_, band)};
  if (request.devices == 1 && trial.parts().device_fitting != Fitting::Spread) {
    judge_part(trial, member, band, found);
    found.growth -= before.fragmentation;
    return found;
  }
  free_.cpu -= request.amounts.cpu;
  free_.memory -= request.amounts.memory;
  free_.places -= 1;
  free_.whole -= request.amounts.gpu / kOneDevice;
  if (request.devices > 0) {
    const std::optional<BandFit> fit = trial.fit(member, band, Trial::When::NowOrLater);
    for (const std::uint32_t device : fit->groups) {
      const bool opens = device >= free_.rests.size() || free_.rests[device].mib < 0;
      free_.whole -= opens ? 1 : 0;
      free_.places -= opens ? 1 : 0;
      if (device >= free_.rests.size()) free_.rests.resize(device + 1, {-1, 0});
      const std::int64_t left = (opens ? room.device_memory_mib : free_.rests[device].mib) - mib;
      free_.rests[device] = rest_of(left, room.device_memory_mib);
    }
  }
  found.growth = fragmentation(free_, band) - before.fragmentation;
  return found;
}

/// Each shared device with room for the part, and a whole one, in turn: one that has room now before others, then the
/// one where the least is lost, then the fullest. Leaves in `growth` the fragmentation of the band with the part on it.
void DeviceFragmentation::judge_part(const Trial& trial, std::uint32_t member, std::uint32_t band, BandGrowth& best) {
  const BandRoom& room = trial.room(band);
  const Member& source = trial.snapshot().members[member];
  const std::int64_t mib = trial.memory_on(member, band);
  const std::int64_t taken = std::max(kLeastMib, mib);
  free_.cpu -= source.request.cpu;
  free_.memory -= source.request.memory;
  free_.whole -= source.request.gpu / kOneDevice;
  std::optional<BandGrowth> found;
  std::int64_t rest_of_found = 0;
  const auto look_at = [&](std::uint32_t device, std::int64_t rest, bool device_now) {
    const std::int64_t places = device == kNone ? 2 : 1;
    if (room.places_idle + room.places_leaving < places) return;
    const bool now = device_now && source.request.within(room.idle) && room.places_idle >= places;
    BandGrowth each = best;
    each.fits = now ? BandGrowth::Fits::Now : BandGrowth::Fits::Later;
    each.device = device;
    free_.places -= places;
    each.growth = fragmentation(free_, band);
    free_.places += places;
    const bool better = !found || each.fits > found->fits ||
                        (each.fits == found->fits &&
                         (each.growth < found->growth || (each.growth == found->growth && rest < rest_of_found)));
    if (!better) return;
    found = each;
    rest_of_found = rest;
  };
  for (std::uint32_t device = 0; device < room.groups.size(); ++device) {
    const std::optional<bool> now = shared_part_fits(room, room.groups[device], mib);
    if (!now) continue;
    const FreeDevices::Rest rest = free_.rests[device];
    free_.rests[device] = rest_of(std::max<std::int64_t>(0, rest.mib - taken), room.device_memory_mib);
    look_at(device, rest.mib, *now);
    free_.rests[device] = rest;
  }
  if (free_.whole > 0 && mib <= room.device_memory_mib) {
    free_.whole -= 1;
    free_.rests.push_back(rest_of(std::max<std::int64_t>(0, room.device_memory_mib - taken), room.device_memory_mib));
    look_at(kNone, INT64_MAX, room.idle.gpu >= kOneDevice);
    free_.rests.pop_back();
    free_.whole += 1;
  }
  best = found.value_or(BandGrowth{});
}

}  // namespace penstock::policy
