#include "supervisor/policy/actions/share_limits.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "supervisor/policy/ordering/member_order.hpp"

namespace penstock::policy {
namespace {

using Bands = std::vector<std::uint32_t>;  ///< Ascending.

/// A set of bands, for lists that contain one another: that is asked for each pair of them.
class BandSet {
 public:
  explicit BandSet(std::size_t bands) : words_((bands + 63) / 64, 0) {}
  void add(const Bands& bands) {
    for (const std::uint32_t band : bands) words_[band / 64] |= bit(band);
  }
  void clear() { std::fill(words_.begin(), words_.end(), 0); }
  bool contains(std::uint32_t band) const { return (words_[band / 64] & bit(band)) != 0; }
  /// `bands` as a list and as a set.
  bool contains(const Bands& bands, const BandSet& same) const {
    if (!contains(bands.front())) return false;
    for (std::size_t word = bands.front() / 64; word <= bands.back() / 64; ++word)
      if ((same.words_[word] & ~words_[word]) != 0) return false;
    return true;
  }

 private:
  static std::uint64_t bit(std::uint32_t band) { return std::uint64_t{1} << band % 64; }
  std::vector<std::uint64_t> words_;
};

/// Up to this many overlapping lists, none of which contains another, have all their unions examined; of more, only the
/// union of all. Like the next one not a setting: an omitted limit leaves a share that cannot be used, and its slots go
/// to jobs that can.
constexpr std::size_t kUnitedMax = 6;
/// With more lists only those that overlap, all together, are limits.
constexpr std::size_t kListsMax = 2048;

class LimitsOfLists {
 public:
  LimitsOfLists(SlotPass& pass, const std::vector<Contender>& present)
      : pass_(pass),
        snapshot_(pass.snapshot()),
        present_(present),
        list_of_(present.size(), kNone),
        inside_(snapshot_.bands.size()),
        fixed_(snapshot_.bands.size(), 0),
        resting_(snapshot_.bands.size()) {}

  ShareLimits make() {
    if (!find_lists()) return {};
    count_running();
    made_.reach.assign(present_.size(), usable_.size());
    for (std::size_t i = 0; i < present_.size(); ++i)
      if (list_of_[i] != kNone) made_.reach[i] = lists_[list_of_[i]].size();
    for (const Bands& list : lists_) sets_.emplace_back(snapshot_.bands.size()).add(list);
    for (const Bands& bands : candidates()) made_.limits.push_back(limit_of(bands));
    return std::move(made_);
  }

 private:
  /// The bands that such a member may use whatever its size, ascending; all if empty.
  Bands bands_of(const Member& member) {
    Member probe;
    probe.slots = 1;
    probe.band_list = member.band_list;
    Bands bands;
    const std::span<const std::uint32_t> listed = snapshot_.bands_of(member);
    for (const std::uint32_t band : listed.empty() ? std::span<const std::uint32_t>{usable_} : listed)
      if (pass_.trial().could_hold(probe, band)) bands.push_back(band);
    if (bands.size() == usable_.size()) bands.clear();
    return bands;
  }

  /// The list of each contender; false if all members may use everything.
  bool find_lists() {
    bool any = false;
    for (const std::uint32_t member : pass_.waiting()) any = any || snapshot_.members[member].band_list != kNone;
    for (std::uint32_t band = 0; band < snapshot_.bands.size(); ++band) {
      if (snapshot_.bands[band].pool != pass_.pool()) continue;
      if (pass_.trial().room(band).open && pass_.trial().room(band).slots > 0) usable_.push_back(band);
    }
    if (!any) return false;
    std::map<std::uint32_t, Bands> by_wish;
    KnownLists known;
    for (std::size_t i = 0; i < present_.size(); ++i) {
      const std::uint32_t list = list_for(present_[i], by_wish, known);
      if (list == kNone) continue;
      list_of_[i] = list;
      waiting_for_[list].push_back(static_cast<std::uint32_t>(i));
    }
    // Members that fit nowhere count, too: the slots that others give back must not depend on them.
    for (const std::uint32_t member : pass_.waiting()) {
      const Member& subject = snapshot_.members[member];
      if (subject.slots == 0) continue;
      const auto [at, added] = by_wish.try_emplace(subject.band_list);
      if (added) at->second = bands_of(subject);
    }
    for (const auto& [wish, bands] : by_wish)
      if (!bands.empty()) made_.narrow.insert(wish);
    return !made_.narrow.empty();
  }

  struct KnownLists {
    std::map<const Bands*, std::uint32_t> of_one_wish;
    std::map<Bands, std::uint32_t> all;
  };

  /// The list of bands that its waiting members may use together, and that the others hold or are promised: it is the
  /// same whichever of them wait. None if that is all bands.
  std::uint32_t list_for(const Contender& contender, std::map<std::uint32_t, Bands>& by_wish, KnownLists& known) {
    std::set<const Bands*> wishes;
    std::vector<std::uint32_t> members = contender.pending;
    members.insert(members.end(), contender.promised.begin(), contender.promised.end());
    for (const std::uint32_t member : members) {
      const Member& subject = snapshot_.members[member];
      const auto [at, added] = by_wish.try_emplace(subject.band_list);
      if (added) at->second = bands_of(subject);
      wishes.insert(&at->second);
    }
    if (wishes.empty() || std::any_of(wishes.begin(), wishes.end(), [](const Bands* each) { return each->empty(); }))
      return kNone;
    const Bands& first = **wishes.begin();
    Bands more;
    for (const std::uint32_t member : contender.running)
      for (const Place& place : snapshot_.members[member].places)
        if (!std::binary_search(first.begin(), first.end(), place.band)) more.push_back(place.band);
    // Thousands of jobs have one and the same.
    const bool alone = wishes.size() == 1 && more.empty();
    if (const auto at = known.of_one_wish.find(&first); alone && at != known.of_one_wish.end()) return at->second;
    for (const Bands* each : wishes) more.insert(more.end(), each->begin(), each->end());
    std::sort(more.begin(), more.end());
    more.erase(std::unique(more.begin(), more.end()), more.end());
    if (more.size() == usable_.size()) return kNone;
    const auto [at, added] = known.all.try_emplace(std::move(more), static_cast<std::uint32_t>(lists_.size()));
    if (added) lists_.push_back(at->first), waiting_for_.emplace_back();
    if (alone) known.of_one_wish.emplace(&first, at->second);
    return at->second;
  }

  void count_running() {
    for (std::uint32_t i = 0; i < present_.size(); ++i) {
      for (const std::uint32_t member : present_[i].running) {
        if (may_preempt(snapshot_, member)) continue;
        for (const Place& place : snapshot_.members[member].places) fixed_[place.band] += place.slots;
      }
      const bool waits = !present_[i].pending.empty() || !present_[i].promised.empty();
      if (waits || present_[i].running.empty()) continue;
      const std::vector<Place>& places = snapshot_.members[present_[i].running.front()].places;
      if (!places.empty()) resting_[places.front().band].push_back(i);
    }
  }

  /// The lists in components of overlapping ones: of each list the number of its component.
  std::vector<std::uint32_t> components() const {
    std::vector<std::uint32_t> parent(lists_.size());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto root = [&](std::uint32_t list) {
      while (parent[list] != list) list = parent[list] = parent[parent[list]];
      return list;
    };
    std::vector<std::uint32_t> first(snapshot_.bands.size(), kNone);
    for (std::uint32_t list = 0; list < lists_.size(); ++list)
      for (const std::uint32_t band : lists_[list]) {
        if (first[band] == kNone)
          first[band] = list;
        else
          parent[root(list)] = root(first[band]);
      }
    for (std::uint32_t list = 0; list < lists_.size(); ++list) parent[list] = root(list);
    return parent;
  }

  std::set<Bands> candidates() {
    std::set<Bands> found;
    const bool few = lists_.size() <= kListsMax;
    if (few) found.insert(lists_.begin(), lists_.end());
    std::map<std::uint32_t, std::vector<std::uint32_t>> overlapping;
    const std::vector<std::uint32_t> component = components();
    const std::vector<bool> is_part = few ? parts_of_others() : std::vector<bool>(lists_.size(), false);
    for (std::uint32_t list = 0; list < lists_.size(); ++list)
      if (!is_part[list]) overlapping[component[list]].push_back(list);
    for (const auto& [of, members] : overlapping) {
      found.insert(united(members, ~std::size_t{0}));
      if (!few || members.size() > kUnitedMax) continue;
      for (std::size_t chosen = 1; chosen + 1 < std::size_t{1} << members.size(); ++chosen)
        found.insert(united(members, chosen));
    }
    return found;
  }

  /// By list: whether another one contains it.
  std::vector<bool> parts_of_others() {
    std::vector<bool> is_part(lists_.size(), false);
    for (std::uint32_t outer = 0; outer < lists_.size(); ++outer) {
      for (std::uint32_t list = 0; list < lists_.size(); ++list)
        if (list != outer && sets_[outer].contains(lists_[list], sets_[list])) is_part[list] = true;
    }
    return is_part;
  }

  Bands united(const std::vector<std::uint32_t>& members, std::size_t chosen) const {
    std::vector<bool> is_there(snapshot_.bands.size(), false);
    for (std::size_t i = 0; i < members.size(); ++i)
      for (const std::uint32_t band : lists_[members[i]])
        if (i >= kUnitedMax || (chosen >> i & 1U) != 0) is_there[band] = true;
    Bands all;
    for (std::uint32_t band = 0; band < is_there.size(); ++band)
      if (is_there[band]) all.push_back(band);
    return all;
  }

  ShareLimit limit_of(const Bands& bands) {
    inside_.clear();
    inside_.add(bands);
    ShareLimit limit;
    for (std::size_t list = 0; list < lists_.size(); ++list)
      if (inside_.contains(lists_[list], sets_[list]))
        limit.groups.insert(limit.groups.end(), waiting_for_[list].begin(), waiting_for_[list].end());
    for (const std::uint32_t band : bands) {
      limit.slots += pass_.trial().room(band).slots - fixed_[band];
      for (const std::uint32_t i : resting_[band])
        if (holds_nothing_outside(present_[i])) limit.groups.push_back(i);
    }
    std::sort(limit.groups.begin(), limit.groups.end());
    for (const std::uint32_t group : limit.groups) limit.slots += own_of(present_[group]);
    return limit;
  }

  bool holds_nothing_outside(const Contender& each) const {
    for (const std::uint32_t member : each.running)
      for (const Place& place : snapshot_.members[member].places)
        if (!inside_.contains(place.band)) return false;
    return true;
  }

  /// The slots that a contender inside the limit holds outside, and those inside that are its own and may not be
  /// preempted.
  std::int64_t own_of(const Contender& each) const {
    std::int64_t slots = 0;
    for (const std::uint32_t member : each.running)
      for (const Place& place : snapshot_.members[member].places)
        if (!inside_.contains(place.band) || !may_preempt(snapshot_, member)) slots += place.slots;
    return slots;
  }

  SlotPass& pass_;
  const Snapshot& snapshot_;
  const std::vector<Contender>& present_;
  ShareLimits made_;
  Bands usable_;
  std::vector<Bands> lists_;
  std::vector<std::vector<std::uint32_t>> waiting_for_;  ///< By list: contenders.
  std::vector<std::uint32_t> list_of_;                   ///< By contender; none: all bands, or it does not wait.
  std::vector<BandSet> sets_;                            ///< The same as `lists_`.
  BandSet inside_;                                       ///< The set that is looked at.
  // By band.
  std::vector<std::int64_t> fixed_;                  ///< Slots that may not be preempted.
  std::vector<std::vector<std::uint32_t>> resting_;  ///< Members that wait for nothing, by their first band.
};

}  // namespace

OwnedSlots slots_of_owners(const Snapshot& snapshot, const std::vector<Contender>& present) {
  OwnedSlots owned{snapshot};
  for (const Contender& each : present) owned.add(each.workload, each.held + each.leaving);
  return owned;
}

std::vector<ShareLimit> limits_of_users(const Snapshot& snapshot, const std::vector<Contender>& present) {
  std::vector<ShareLimit> limits;
  if (snapshot.slot_limits.empty()) return limits;
  std::vector<std::uint32_t> contender_of(snapshot.workloads.size(), kNone);
  for (std::uint32_t i = 0; i < present.size(); ++i) contender_of[present[i].workload] = i;
  for (const SlotLimit& each : snapshot.slot_limits) {
    ShareLimit limit{{}, each.slots};
    for (const std::uint32_t workload : each.workloads)
      if (contender_of[workload] != kNone) limit.groups.push_back(contender_of[workload]);
    std::sort(limit.groups.begin(), limit.groups.end());
    if (!limit.groups.empty()) limits.push_back(std::move(limit));
  }
  return limits;
}

ShareLimits share_limits(SlotPass& pass, const std::vector<Contender>& present) {
  return LimitsOfLists{pass, present}.make();
}

}  // namespace penstock::policy
