#include "supervisor/policy/actions/start_by_reach.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/sharing/owned_slots.hpp"
#include "supervisor/policy/wide.hpp"

namespace penstock::policy {
namespace {

/// A waiting member that has not started, and why.
struct Waits {
  std::size_t contender = 0;
  std::uint32_t member = kNone;
  Hold hold = Hold::NoRoom;
  bool settled = false;  ///< The member has started or is promised a place.
};

/// Thousandths of a slot are enough to tell shares apart that grow at several levels.
constexpr std::int64_t kSlopeUnit = 1000;

class PassByReach {
 public:
  PassByReach(SlotPass& pass, const std::vector<Contender>& present, const ShareLimits& limits,
              const ShareTargets& shares)
      : pass_(pass),
        snapshot_(pass.snapshot()),
        present_(present),
        limits_(limits),
        shares_(shares),
        owners_(slots_of_owners(snapshot_, present)) {
    std::vector<std::int64_t> all_wanted;  // Usable slots in an empty pool.
    for (std::size_t i = 0; i < present.size(); ++i) {
      held_.push_back(present[i].held);
      excess_.push_back(present[i].held - std::max(shares.targets[i], shares.at_most[i]));
      // Unlike the demand this does not depend on places that were promised meanwhile.
      const std::int64_t cap = snapshot_.workloads[present[i].workload].slots_max;
      std::int64_t wanted = present[i].held + present[i].blocked;
      wanted += snapshot_.workloads[present[i].workload].beyond + snapshot_.workloads[present[i].workload].elsewhere;
      for (const std::uint32_t member : present[i].pending) wanted += snapshot_.members[member].slots;
      all_wanted.push_back(std::max<std::int64_t>(1, cap == kUnlimited ? wanted : std::min(cap, wanted)));
    }
    for (std::size_t i = 0; i < present.size(); ++i)
      if (excess_[i] > 0) above_.push_back(i);
    find_slopes(all_wanted);
    order_.resize(present.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      const Level left = level_of(a, held_[a]);
      const Level right = level_of(b, held_[b]);
      if (left < right || right < left) return left < right;
      return limits.reach[a] < limits.reach[b];
    });
  }

  void run() {
    for (const std::size_t i : order_) start_within_target(i);
    keep_caps();
    make_room();
    std::stable_sort(waits_.begin(), waits_.end(),
                     [](const Waits& a, const Waits& b) { return a.contender < b.contender; });
    start_on_idle();
    for (const Waits& each : waits_)
      if (!each.settled) explain(each);
  }

 private:
  const Member& member_of(const Waits& each) const { return snapshot_.members[each.member]; }
  std::uint32_t node_of(std::size_t i) const { return snapshot_.workloads[present_[i].workload].share_node; }

  /// The pace at which each contender's part grows: by weight and demand; with owners, its share of the whole pool if
  /// nothing was held or promised yet.
  void find_slopes(const std::vector<std::int64_t>& wanted) {
    std::vector<ShareGroup> emptied = shares_.groups;
    bool has_owners = false;
    for (std::size_t i = 0; i < present_.size(); ++i) {
      slopes_.push_back(Wide{shares_.groups[i].weight} * (shares_.sharing == Sharing::MaxMin ? 1 : wanted[i]));
      emptied[i].demand = wanted[i] * kSlopeUnit;
      emptied[i].pinned = emptied[i].held = emptied[i].elsewhere = emptied[i].smallest_pending = 0;
      has_owners = has_owners || node_of(i) != kNone;
    }
    if (!has_owners) return;
    const std::vector<std::int64_t> due = shares_.divide(emptied, pass_.trial().capacity() * kSlopeUnit);
    for (std::size_t i = 0; i < present_.size(); ++i) slopes_[i] = std::max<std::int64_t>(due[i], 1);
  }

  void hold(std::size_t i, std::int64_t slots) {
    held_[i] += slots;
    owners_.add(present_[i].workload, slots);
  }

  bool start(std::size_t i, std::uint32_t member) {
    std::vector<Place> places = pass_.find(member);
    if (places.empty()) return false;
    pass_.trial().take(places);
    pass_.start(member, std::move(places), false);
    hold(i, snapshot_.members[member].slots);
    return true;
  }

  void start_within_target(std::size_t i) {
    for (const std::uint32_t member : present_[i].pending) {
      const std::int64_t slots = snapshot_.members[member].slots;
      const bool within = held_[i] + slots <= shares_.targets[i] && !owners_.is_beyond(present_[i].workload, slots);
      if (within && start(i, member)) continue;
      waits_.push_back({i, member, within ? Hold::NoRoom : Hold::AtFairShare});
    }
  }

  /// A contender that holds more than its own cap gives the excess back, whether others can use it or not; so does one
  /// above its share of which an owner holds more than it may, the youngest first.
  void keep_caps() {
    OwnedSlots staying{snapshot_};
    for (std::size_t i = 0; i < present_.size(); ++i) staying.add(present_[i].workload, held_[i]);
    for (std::size_t i = present_.size(); i-- > 0;) {
      const std::int64_t cap = snapshot_.workloads[present_[i].workload].slots_max;
      for (const std::uint32_t member : present_[i].running) {
        const bool is_over = cap != kUnlimited && stays_of(i) > cap;
        if (!is_over && !(excess_[i] > 0 && staying.is_beyond(present_[i].workload, 0))) break;
        if (!may_preempt(snapshot_, member)) continue;
        give_up(i, member);
        staying.add(present_[i].workload, -snapshot_.members[member].slots);
      }
    }
  }

  void give_up(std::size_t i, std::uint32_t member) {
    pass_.preempt(member, PreemptionReason::AboveShare, kNone);
    excess_[i] -= snapshot_.members[member].slots;
    given_up_.push_back(member);
  }

  /// Finds the members that have to leave for contenders below their targets, and keeps free slots for these.
  void make_room() {
    SlotTrial& trial = pass_.trial();
    const std::size_t mark = trial.mark();
    for (const Member& member : snapshot_.members)
      if (member.state == MemberState::Leaving) trial.give_back(member.places);
    trial.take(pass_.awaited());
    for (const std::uint32_t member : given_up_) trial.give_back(snapshot_.members[member].places);
    std::vector<Place> kept;
    for (Waits& each : waits_) {
      const Member& subject = member_of(each);
      const bool needs =
          each.hold == Hold::NoRoom && held_[each.contender] + subject.slots <= shares_.targets[each.contender];
      if (!needs || pass_.keeps_place(each.member)) continue;
      std::uint32_t behind = kNone;
      std::vector<Place> places = find_with_victims(each, behind);
      if (places.empty()) continue;
      trial.take(places);
      kept.insert(kept.end(), places.begin(), places.end());
      hold(each.contender, subject.slots);
      each.settled = true;
      pass_.reserve(each.member, std::move(places), behind);
    }
    trial.undo_to(mark);
    for (const Place& place : kept)
      if (const std::int64_t slots = std::min(place.slots, trial.room(place.band).free()); slots > 0)
        trial.take({{place.band, slots}});
  }

  /// The slots of a contender relative to its weight and demand. Compared without rounding.
  struct Level {
    std::int64_t held = 0;
    Wide slope = 1;
    friend bool operator<(const Level& a, const Level& b) { return Wide{a.held} * b.slope < Wide{b.held} * a.slope; }
  };
  Level level_of(std::size_t i, std::int64_t held) const { return {held, slopes_[i]}; }
  std::int64_t stays_of(std::size_t i) const { return excess_[i] + std::max(shares_.targets[i], shares_.at_most[i]); }

  using Victims = std::vector<std::pair<std::size_t, std::uint32_t>>;  ///< Contender and member.

  /// Places for a waiting member once the victims have left; `behind`: a workload that others wait for.
  std::vector<Place> find_with_victims(const Waits& waits, std::uint32_t& behind) {
    SlotTrial& trial = pass_.trial();
    const Member& subject = member_of(waits);
    if (std::vector<Place> places = trial.find(subject); !places.empty()) return places;
    const Level level = level_of(waits.contender, held_[waits.contender]);
    const RequestShape shape = shape_of(subject);
    // A contender that holds more does not succeed where one that holds less has failed.
    const auto failed = failed_at_.find(shape);
    if (failed != failed_at_.end() && !(level < failed->second)) return {};
    const std::size_t mark = trial.mark();
    Victims victims;
    if (collect(waits, level, victims)) {
      spare_needless(subject, victims);
      for (const auto& [owner, victim] : victims)
        pass_.preempt(victim, PreemptionReason::AboveShare, snapshot_.members[waits.member].workload);
      behind = present_[victims.front().first].workload;
      return trial.find(subject);
    }
    trial.undo_to(mark);
    for (const auto& [owner, victim] : victims) excess_[owner] += snapshot_.members[victim].slots;
    failed_at_.insert_or_assign(shape, level);
    return {};
  }

  /// Members that may leave for it until it fits, on trial; false if it does not.
  bool collect(const Waits& waits, const Level& level, Victims& victims) {
    const Member& subject = member_of(waits);
    std::vector<std::size_t>& first_useful = first_useful_[subject.band_list];
    first_useful.resize(above_.size(), 0);
    for (std::size_t k = 0; k < above_.size(); ++k) {
      const std::size_t i = above_[k];
      const std::vector<std::uint32_t>& running = present_[i].running;
      for (std::size_t at = first_useful[k]; at < running.size() && excess_[i] > 0; ++at) {
        const std::uint32_t member = running[at];
        if (!may_preempt(snapshot_, member) || pass_.is_preempted(member) || !helps(subject, member)) {
          if (at == first_useful[k]) ++first_useful[k];
          continue;
        }
        const std::int64_t slots = snapshot_.members[member].slots;
        if (!gains_by(waits, level, i, slots)) break;
        pass_.trial().give_back(snapshot_.members[member].places);
        excess_[i] -= slots;
        victims.emplace_back(i, member);
        if (!pass_.trial().find(subject).empty()) return true;
      }
    }
    return false;
  }

  /// Whether the contender that loses so many slots is left with more than the one that waits has; or with as much,
  /// where both are alike but for their ages: one slot that two may use is of the older.
  bool gains_by(const Waits& waits, const Level& level, std::size_t loser, std::int64_t slots) const {
    const Level left = level_of(loser, stays_of(loser) - slots);
    if (level < left) return true;
    return left.held == level.held && left.slope == level.slope && slots == member_of(waits).slots &&
           waits.contender < loser;
  }

  bool helps(const Member& subject, std::uint32_t victim) const {
    const std::vector<Place>& places = snapshot_.members[victim].places;
    return std::any_of(places.begin(), places.end(),
                       [&](const Place& place) { return pass_.trial().allowed(subject, place.band); });
  }

  /// A member that was passed on the way and does not help stays.
  void spare_needless(const Member& subject, Victims& victims) {
    SlotTrial& trial = pass_.trial();
    for (std::size_t i = victims.size() - 1; i-- > 0;) {
      const std::size_t mark = trial.mark();
      const Member& spared = snapshot_.members[victims[i].second];
      trial.take(spared.places);
      if (trial.find(subject).empty()) {
        trial.undo_to(mark);
        continue;
      }
      excess_[victims[i].first] += spared.slots;
      victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// A slot that no contender can use within its share is better used than idle, by members that can be sent away
  /// again. Of requests for several slots, one with a list goes on waiting: if none did, the next pass would know of no
  /// list, and would send away members above their target whether others can use the slots or not.
  void start_on_idle() {
    const bool single = std::all_of(waits_.begin(), waits_.end(),
                                    [this](const Waits& each) { return each.settled || member_of(each).slots == 1; });
    auto listed = std::count_if(waits_.begin(), waits_.end(),
                                [this](const Waits& each) { return !each.settled && is_listed(member_of(each)); });
    if (listed == 0 && !single) return;  // All with a list have started within their shares: the same.
    for (Waits& each : waits_) {
      if (each.settled || !may_preempt(snapshot_, each.member) || pass_.keeps_place(each.member)) continue;
      const std::int64_t cap = snapshot_.workloads[present_[each.contender].workload].slots_max;
      if (cap != kUnlimited && held_[each.contender] + member_of(each).slots > cap) continue;
      if (owners_.is_beyond(present_[each.contender].workload, member_of(each).slots)) continue;
      const bool is_last = is_listed(member_of(each)) && listed == 1 && !single;
      if (is_last || !start(each.contender, each.member)) continue;
      each.settled = true;
      if (is_listed(member_of(each))) --listed;
    }
  }

  bool is_listed(const Member& member) const { return limits_.narrow.contains(member.band_list); }

  void explain(const Waits& each) {
    if (each.hold == Hold::NoRoom)
      pass_.explain(each.member, each.hold, member_of(each).slots, pass_.trial().roomiest());
    else
      pass_.explain(each.member, each.hold, shares_.targets[each.contender], held_[each.contender]);
  }

  SlotPass& pass_;
  const Snapshot& snapshot_;
  const std::vector<Contender>& present_;
  const ShareLimits& limits_;
  const ShareTargets& shares_;
  OwnedSlots owners_;                 ///< With the starts of this pass, and with members that are leaving.
  std::vector<Wide> slopes_;          ///< By contender.
  std::vector<std::size_t> order_;    ///< Contenders, the one with the lowest level first.
  std::vector<std::int64_t> held_;    ///< By contender: with the starts of this pass.
  std::vector<std::int64_t> excess_;  ///< By contender: slots above its share, without leaving ones.
  std::vector<std::size_t> above_;    ///< Contenders that hold more than their share.
  /// By list of bands: the position in `above_` of the first running member that may still be of use there.
  std::map<std::uint32_t, std::vector<std::size_t>> first_useful_;
  std::vector<std::uint32_t> given_up_;
  std::vector<Waits> waits_;
  std::map<RequestShape, Level> failed_at_;  ///< The level at which no member could be found to leave.
};

}  // namespace

void start_by_reach(SlotPass& pass, const std::vector<Contender>& present, const ShareLimits& limits,
                    const ShareTargets& shares) {
  PassByReach{pass, present, limits, shares}.run();
}

}  // namespace penstock::policy
