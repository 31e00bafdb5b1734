#include "supervisor/policy/slot_trial.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "supervisor/policy/fitting/tie_break.hpp"

namespace penstock::policy {
namespace {

// When the bands of a list get an index of their own. None of them is a setting: they only trade one cost for another.
constexpr std::size_t kIndexedFrom = 64;      ///< Bands: fewer are looked through faster.
constexpr std::uint32_t kAskedBefore = 16;    ///< Searches: so many cost as much as to make the index.
constexpr std::size_t kIndexedListsMax = 64;  ///< Each takes some 50 bytes for each of its bands.

}  // namespace

Fraction slot_score(std::int64_t slots, const SlotRoom& room, Fitting fitting) {
  const bool worst = fitting == Fitting::Worst || fitting == Fitting::Spread;
  if (slots == 0 && room.used == 0) {
    if (room.light_places == 0) return {0, 1};
    const std::int64_t free = room.light_places - room.light_used;
    return worst ? Fraction{free, room.light_places} : Fraction{1, 1 + free};
  }
  const std::int64_t free = room.slots - room.used;
  if (worst) return room.slots == 0 ? Fraction{0, 1} : Fraction{free, room.slots};
  return {1, 1 + free};
}

Member part_of(const Member& member, const MemberPart& part) {
  Member one;
  one.name = member.name;
  one.workload = member.workload;
  one.single_band = member.single_band;
  one.slots = part.slots;
  one.band_list = part.band_list;
  return one;
}

SlotTrial::SlotTrial(const Snapshot& snapshot, std::uint32_t pool, const Parts& parts)
    : snapshot_(snapshot), parts_(parts), rooms_(snapshot.bands.size()), is_changed_(snapshot.bands.size(), true) {
  for (std::uint32_t band = 0; band < snapshot.bands.size(); ++band) {
    const Band& source = snapshot.bands[band];
    SlotRoom& room = rooms_[band];
    room.open = source.state == BandState::Enabled && source.pool == pool;
    if (source.pool != pool) continue;
    bands_.push_back(band);
    room.slots = source.slots;
    room.light_places = source.light_places;
    room.hash = name_hash(source.name);
  }
  for (const Member& member : snapshot.members)
    for (const Place& place : member.places) apply(place, 1);
  // A band that drains has the slots that are in use, and none to give. Spec: policy-determined 9.3.
  for (const std::uint32_t band : bands_)
    if (snapshot.bands[band].state == BandState::Draining) rooms_[band].slots = rooms_[band].used;
  rank_bands();
}

void SlotTrial::rank_bands() {
  order_.by_rank = bands_;
  std::sort(order_.by_rank.begin(), order_.by_rank.end(), [this](std::uint32_t a, std::uint32_t b) {
    if (rooms_[a].hash != rooms_[b].hash) return rooms_[a].hash < rooms_[b].hash;
    const int names = snapshot_.bands[a].name.compare(snapshot_.bands[b].name);
    return names != 0 ? names > 0 : a < b;
  });
  order_.ranks.assign(rooms_.size(), kNone);
  for (std::uint32_t rank = 0; rank < order_.by_rank.size(); ++rank) order_.ranks[order_.by_rank[rank]] = rank;
  filed_.resize(rooms_.size());
  for (const std::uint32_t band : bands_) {
    capacity_ += rooms_[band].slots;
    if (rooms_[band].open) changed_.push_back(band);
  }
}

void SlotTrial::file_changes() const {
  for (const std::uint32_t band : changed_) {
    is_changed_[band] = false;
    const SlotRoom& room = rooms_[band];
    const RoomClass next{room.slots, room.used, room.light_places, room.light_used};
    if (!lists_.empty() && next != filed_[band]) refiled_.push_back(band);
    refile(classes_, order_.ranks[band], filed_[band], next);
  }
  changed_.clear();
}

void SlotTrial::refile(Classes& classes, std::uint32_t rank, RoomClass& filed, const RoomClass& next) {
  if (const auto before = classes.find(filed); before != classes.end()) {
    before->second.erase(rank);
    if (before->second.empty()) classes.erase(before);
  }
  classes[next].insert(rank);
  filed = next;
}

/// The classes of the bands that its list names, or of all; none if these have to be looked through.
const SlotTrial::Classes* SlotTrial::classes_of(const Member& member) const {
  if (member.band_list == kNone) return file_changes(), &classes_;
  const std::span<const std::uint32_t> bands = snapshot_.bands_of(member);
  if (bands.size() < kIndexedFrom) return nullptr;
  auto at = lists_.find(member.band_list);
  const bool is_new = at == lists_.end();
  if (is_new) {
    asked_.resize(snapshot_.band_lists.size(), 0);
    if (lists_.size() == kIndexedListsMax || ++asked_[member.band_list] <= kAskedBefore) return nullptr;
  }
  file_changes();
  if (is_new) at = lists_.try_emplace(member.band_list).first;
  catch_up(at->second, bands, is_new);
  return &at->second.classes;
}

void SlotTrial::catch_up(ListIndex& index, std::span<const std::uint32_t> bands, bool is_new) const {
  index.filed.resize(bands.size());
  const auto look_at = [&](std::size_t position) {
    const std::uint32_t band = bands[position];
    if (band >= rooms_.size() || !rooms_[band].open) return;
    if (index.filed[position] != filed_[band])
      refile(index.classes, order_.ranks[band], index.filed[position], filed_[band]);
  };
  if (is_new || refiled_.size() - index.seen >= bands.size()) {
    for (std::size_t position = 0; position < bands.size(); ++position) look_at(position);
  } else {
    for (std::size_t i = index.seen; i < refiled_.size(); ++i) {
      const auto found = std::lower_bound(bands.begin(), bands.end(), refiled_[i]);
      if (found != bands.end() && *found == refiled_[i]) look_at(static_cast<std::size_t>(found - bands.begin()));
    }
  }
  index.seen = refiled_.size();
}

void SlotTrial::apply(const Place& place, std::int64_t sign) {
  SlotRoom& room = rooms_[place.band];
  if (!is_changed_[place.band] && room.open) {
    is_changed_[place.band] = true;
    changed_.push_back(place.band);
  }
  if (place.slots == 0)
    room.light_used += sign;
  else
    room.used += sign * place.slots;
}

void SlotTrial::take(const std::vector<Place>& places) {
  for (const Place& place : places) {
    apply(place, 1);
    log_.push_back({place, 1});
  }
}

void SlotTrial::give_back(const std::vector<Place>& places) {
  for (const Place& place : places) {
    apply(place, -1);
    log_.push_back({place, -1});
  }
}

void SlotTrial::undo_to(std::size_t mark) {
  while (log_.size() > mark) {
    apply(log_.back().place, -log_.back().sign);
    log_.pop_back();
  }
}

std::int64_t SlotTrial::roomiest() const {
  file_changes();
  std::int64_t most = 0;
  for (const auto& [room, ranks] : classes_) most = std::max(most, room.slots - room.used);
  return most;
}

bool SlotTrial::allowed(const Member& member, std::uint32_t band) const {
  const std::span<const std::uint32_t> only = snapshot_.bands_of(member);
  return only.empty() || std::binary_search(only.begin(), only.end(), band);
}

bool SlotTrial::has_room(const Member& member, std::uint32_t band) const {
  if (band >= rooms_.size()) return false;  // A wish for a band that is not here.
  const SlotRoom& room = rooms_[band];
  if (!room.open) return false;
  return member.slots == 0 ? room.light_free() > 0 : room.free() >= member.slots;
}

bool SlotTrial::fits_on(const Member& member, std::uint32_t band) const {
  return member.part_list == kNone && has_room(member, band) && allowed(member, band);
}

bool SlotTrial::could_hold(const Member& member, std::uint32_t band) const {
  return member.part_list == kNone && band < rooms_.size() && rooms_[band].open && rooms_[band].slots >= member.slots &&
         allowed(member, band);
}

Fraction SlotTrial::score(const Member& member, const SlotRoom& room) const {
  return slot_score(member.slots, room, parts_.gpu_fitting);
}

std::uint32_t SlotTrial::rank_of(const Member& member) const {
  const auto after =
      std::upper_bound(order_.by_rank.begin(), order_.by_rank.end(), name_hash(member.name),
                       [this](std::uint64_t hash, std::uint32_t band) { return hash < rooms_[band].hash; });
  const auto count = static_cast<std::uint32_t>(after - order_.by_rank.begin());
  return count > 0 ? count - 1 : static_cast<std::uint32_t>(order_.by_rank.size()) - 1;
}

/// The first band from a rank downwards, and round.
std::uint32_t SlotTrial::nearest(std::uint32_t from, const Ranks& ranks) const {
  const auto after = ranks.upper_bound(from);
  return order_.by_rank[*std::prev(after == ranks.begin() ? ranks.end() : after)];
}

std::uint32_t SlotTrial::best_band(const Member& member) const {
  const Classes* classes = classes_of(member);
  if (classes == nullptr) return best_band(member, snapshot_.bands_of(member), true);
  const std::uint32_t from = rank_of(member);
  std::uint32_t best = kNone;
  Fraction best_score;
  for (const auto& [room, ranks] : *classes) {
    const std::int64_t free = member.slots == 0 ? room.light_places - room.light_used : room.slots - room.used;
    if (ranks.empty() || free < std::max<std::int64_t>(1, member.slots)) continue;
    const Fraction score_here = score(member, rooms_[order_.by_rank[*ranks.begin()]]);
    if (best != kNone && score_here < best_score) continue;
    const std::uint32_t band = nearest(from, ranks);
    if (best != kNone && score_here == best_score &&
        distance(from, order_.ranks[band]) > distance(from, order_.ranks[best]))
      continue;
    best = band;
    best_score = score_here;
  }
  return best;
}

/// By a look at each of these; `listed`: they are those of its list.
std::uint32_t SlotTrial::best_band(const Member& member, std::span<const std::uint32_t> bands, bool listed) const {
  const std::uint64_t hash = name_hash(member.name);
  std::uint32_t best = kNone;
  Fraction best_score;
  for (const std::uint32_t band : bands) {
    if (!has_room(member, band) || !(listed || allowed(member, band))) continue;
    const SlotRoom& room = rooms_[band];
    const Fraction score_here = score(member, room);
    if (best != kNone) {
      if (score_here < best_score) continue;
      if (score_here == best_score) {
        const std::uint64_t here = tie_distance(hash, room.hash);
        const std::uint64_t there = tie_distance(hash, rooms_[best].hash);
        if (here > there || (here == there && snapshot_.bands[band].name > snapshot_.bands[best].name)) continue;
      }
    }
    best = band;
    best_score = score_here;
  }
  return best;
}

std::vector<Place> SlotTrial::find_parts(const Member& member) {
  const std::size_t before = mark();
  std::vector<Place> places;
  for (const MemberPart& part : snapshot_.part_lists[member.part_list]) {
    const std::vector<Place> found = find(part_of(member, part));
    if (found.empty()) {
      places.clear();
      break;
    }
    take(found);
    places.insert(places.end(), found.begin(), found.end());
  }
  undo_to(before);
  return places;
}

std::vector<Place> SlotTrial::find(const Member& member) {
  if (member.part_list != kNone) return find_parts(member);
  if (const std::uint32_t best = best_band(member); best != kNone) return {{best, member.slots}};
  if (member.slots > 1 && !member.single_band) return find_dedicated(member);
  return {};
}

std::vector<Place> SlotTrial::find_by_scan(const Member& member) const {
  if (const std::uint32_t best = best_band(member, bands_, false); best != kNone) return {{best, member.slots}};
  if (member.slots > 1 && !member.single_band) return find_dedicated_by_scan(member);
  return {};
}

std::vector<std::uint32_t> SlotTrial::by_score(const Member& member, std::vector<std::uint32_t> bands) const {
  const std::uint64_t hash = name_hash(member.name);
  std::sort(bands.begin(), bands.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Fraction left = score(member, rooms_[a]);
    const Fraction right = score(member, rooms_[b]);
    if (!(left == right)) return right < left;
    const std::uint64_t here = tie_distance(hash, rooms_[a].hash);
    const std::uint64_t there = tie_distance(hash, rooms_[b].hash);
    return here != there ? here < there : snapshot_.bands[a].name < snapshot_.bands[b].name;
  });
  return bands;
}

std::vector<Place> SlotTrial::find_dedicated(const Member& member) const {
  const Classes* classes_here = classes_of(member);
  if (classes_here == nullptr) return find_dedicated_by_scan(member);
  const std::uint32_t from = rank_of(member);
  // Unused bands by size, the largest first; those of one size may still be of several classes.
  std::map<std::int64_t, std::vector<const Ranks*>, std::greater<>> sizes;
  for (const auto& [room, ranks] : *classes_here)
    if (room.used == 0 && room.slots > 0 && !ranks.empty()) sizes[room.slots].push_back(&ranks);
  std::vector<Place> mixed;
  std::int64_t missing = member.slots;
  for (const auto& [size, classes] : sizes) {
    std::int64_t count = 0;
    for (const Ranks* ranks : classes) count += std::ssize(*ranks);
    const bool equal_sizes = size * count >= member.slots && member.slots % size == 0;
    const std::int64_t wanted = equal_sizes ? member.slots / size : std::min(missing / size, count);
    if (equal_sizes) mixed.clear();
    std::vector<std::uint32_t> nearest_first;
    for (const Ranks* ranks : classes) {
      auto at = ranks->upper_bound(from);
      for (std::int64_t i = 0; i < std::min(wanted, std::ssize(*ranks)); ++i) {
        at = std::prev(at == ranks->begin() ? ranks->end() : at);
        nearest_first.push_back(*at);
      }
    }
    std::sort(nearest_first.begin(), nearest_first.end(),
              [&](std::uint32_t a, std::uint32_t b) { return distance(from, a) < distance(from, b); });
    for (std::int64_t i = 0; i < wanted; ++i)
      mixed.push_back({order_.by_rank[nearest_first[static_cast<std::size_t>(i)]], size});
    if (equal_sizes) return mixed;
    missing -= wanted * size;
  }
  return parts_.mixed_sizes && missing == 0 ? mixed : std::vector<Place>{};
}

// Whole unused bands of one size; of several sizes where the pool allows it. Spec: policy-determined 6.5, 6.6.
std::vector<Place> SlotTrial::find_dedicated_by_scan(const Member& member) const {
  std::vector<std::uint32_t> unused_bands;
  for (const std::uint32_t band : bands_)
    if (unused(band) && rooms_[band].slots > 0 && allowed(member, band)) unused_bands.push_back(band);
  std::stable_sort(unused_bands.begin(), unused_bands.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return rooms_[a].slots > rooms_[b].slots; });
  std::vector<Place> mixed;
  std::int64_t missing = member.slots;
  for (std::size_t begin = 0; begin < unused_bands.size();) {
    const std::int64_t size = rooms_[unused_bands[begin]].slots;
    std::size_t end = begin;
    while (end < unused_bands.size() && rooms_[unused_bands[end]].slots == size) ++end;
    const auto first = unused_bands.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = unused_bands.begin() + static_cast<std::ptrdiff_t>(end);
    const auto count = static_cast<std::int64_t>(end - begin);
    const bool equal_sizes = size * count >= member.slots && member.slots % size == 0;
    const std::int64_t wanted = equal_sizes ? member.slots / size : std::min(missing / size, count);
    if (equal_sizes || wanted > 0) {
      std::vector<std::uint32_t> best = by_score(member, {first, last});
      best.resize(static_cast<std::size_t>(wanted));
      if (equal_sizes) mixed.clear();
      for (const std::uint32_t band : best) mixed.push_back({band, size});
      if (equal_sizes) return mixed;
    }
    missing -= wanted * size;
    begin = end;
  }
  return parts_.mixed_sizes && missing == 0 ? mixed : std::vector<Place>{};
}

}  // namespace penstock::policy
