// The more important first; later ones fill gaps; with preemption, the less important leave. Spec: policy-determined 5.
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "supervisor/policy/actions/band_profiles.hpp"
#include "supervisor/policy/actions/give_turn.hpp"
#include "supervisor/policy/actions/victim_search.hpp"
#include "supervisor/policy/eligibility.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {
namespace {

using Members = std::vector<std::uint32_t>;

/// The bands that more important members wait for. A start elsewhere cannot delay those.
class WantedBands {
 public:
  explicit WantedBands(SlotPass& pass) : pass_(pass), is_wanted_(pass.snapshot().bands.size(), false) {}

  void add(std::uint32_t member) {
    const Member& subject = pass_.snapshot().members[member];
    const std::span<const std::uint32_t> listed = pass_.snapshot().bands_of(subject);
    all_ = all_ || listed.empty();
    if (all_) return;
    for (const std::uint32_t band : listed)
      if (band < is_wanted_.size()) is_wanted_[band] = true;
    failed_.clear();
  }

  /// Places for the member on other bands.
  std::vector<Place> find_elsewhere(std::uint32_t member) {
    const Member& subject = pass_.snapshot().members[member];
    if (all_ || failed_.contains(subject)) return {};
    SlotTrial& trial = pass_.trial();
    const std::size_t mark = trial.mark();
    for (std::uint32_t band = 0; band < is_wanted_.size(); ++band) {
      const SlotRoom& room = trial.room(band);
      if (!is_wanted_[band]) continue;
      if (const std::int64_t free = room.free(); free > 0) trial.take({{band, free}});
      for (std::int64_t light = room.light_free(); light > 0; --light) trial.take({{band, 0}});
    }
    std::vector<Place> places = trial.find(subject);
    trial.undo_to(mark);
    if (places.empty()) failed_.add(subject);
    return places;
  }

 private:
  SlotPass& pass_;
  std::vector<bool> is_wanted_;
  bool all_ = false;
  KnownShapes failed_;
};

/// Until when slots are of no use to the more important members that wait: none of them has a start by the time limits
/// of running jobs before. A job that is ended by then delays no such start. EASY backfilling, Lifka 1995.
class Gap {
 public:
  explicit Gap(SlotPass& pass) : pass_(pass) {
    const auto may_fill = [&](std::uint32_t member) { return workload_of(member).limit_is_kept; };
    closed_ = pass.parts().preemption || std::none_of(pass.waiting().begin(), pass.waiting().end(), may_fill);
  }

  /// The member waits. Where its start is not known, the gap is closed.
  void end_before(std::uint32_t member) {
    if (closed_) return;
    const Member& subject = pass_.snapshot().members[member];
    BandProfiles profiles{pass_, Ends::Kept};
    const std::vector<OwnPlace> places = profiles.choose(subject, Duration::max(), pass_.snapshot().now);
    const Instant start = places.empty() ? kNever : places.front().at;
    closed_ = start == kNever || ++members_ > kMembersMax;
    ends_ = std::min(ends_, start);
  }
  /// Whether the job of the member is ended in it, if the member starts now.
  bool has_room_for(std::uint32_t member) const {
    const Workload& job = workload_of(member);
    if (closed_ || ends_ == kNever || !job.limit_is_kept || !job.time_limit.has_value()) return false;
    return job.ends_by.value_or(later(pass_.snapshot().now, *job.time_limit)) <= ends_;
  }

 private:
  /// Members of which starts are looked for. Not a setting: each costs a look at every band, and later ones than these
  /// leave no gap.
  static constexpr std::uint32_t kMembersMax = 64;

  const Workload& workload_of(std::uint32_t member) const {
    return pass_.snapshot().workloads[pass_.snapshot().members[member].workload];
  }

  SlotPass& pass_;
  bool closed_ = false;
  std::uint32_t members_ = 0;
  Instant ends_ = kNever;
};

/// One of the two independent passes: over members with slots, or over those without.
class PriorityPass {
 public:
  PriorityPass(SlotPass& pass, bool light) : pass_(pass), snapshot_(pass.snapshot()), wanted_(pass), gap_(pass) {
    const auto belongs = [&](std::uint32_t member) { return (snapshot_.members[member].slots == 0) == light; };
    std::copy_if(pass.waiting().begin(), pass.waiting().end(), std::back_inserter(pending_), belongs);
    std::copy_if(pass.running().begin(), pass.running().end(), std::back_inserter(running_), belongs);
    const auto before = [&](std::uint32_t a, std::uint32_t b) { return more_important(snapshot_, a, b); };
    std::sort(pending_.begin(), pending_.end(), before);
    std::sort(running_.begin(), running_.end(), before);
  }

  void run() {
    for (std::size_t begin = 0; begin < pending_.size();) {
      std::size_t end = begin;
      while (end < pending_.size() && priority(pending_[end]) == priority(pending_[begin])) ++end;
      level(
          {pending_.begin() + static_cast<std::ptrdiff_t>(begin), pending_.begin() + static_cast<std::ptrdiff_t>(end)});
      begin = end;
    }
  }

 private:
  const Workload& workload_of(std::uint32_t member) const {
    return snapshot_.workloads[snapshot_.members[member].workload];
  }
  std::int64_t priority(std::uint32_t member) const { return workload_of(member).priority; }

  /// All members of one priority: first those that fit, then those for which others make room.
  void level(const Members& members) {
    Members unplaced;
    const bool filling_gaps = filling_gaps_;
    for (const std::uint32_t member : members) {
      if (pass_.has_carried(member)) continue;
      if (place(member, filling_gaps)) continue;
      if (!competes(member))
        pass_.explain(member, Hold::NeverFits, snapshot_.members[member].slots, pass_.trial().capacity());
      else if (!has_turn(member))
        unplaced.push_back(member);
    }
    for (const std::uint32_t member : std::exchange(held_back_, {})) wait_for(member);
    if (unplaced.empty()) return;
    if (!filling_gaps_) first_unplaced_ = snapshot_.members[unplaced.front()].workload;
    filling_gaps_ = true;
    for (const std::uint32_t member : unplaced) {
      wait_for(member);
      if (pass_.parts().preemption)
        make_room(member, filling_gaps);
      else
        explain_no_room(member);
    }
  }

  /// Whether others wait for it. A member that wants more than the whole pool has would have them wait for ever.
  bool competes(std::uint32_t member) {
    if (pass_.parts().waits_for_absent_bands) return true;
    if (!eligibility_) eligibility_.emplace(pass_, Gone::Everybody);
    return eligibility_->admits(member);
  }

  /// Starts of later ones must not delay it.
  void wait_for(std::uint32_t member) {
    wanted_.add(member);
    gap_.end_before(member);
  }

  /// True if the member starts, is reserved, or does not compete at all.
  bool place(std::uint32_t member, bool filling_gaps) {
    const Member& subject = snapshot_.members[member];
    if (pass_.is_over_cap(member)) {
      const Workload& owner = snapshot_.workloads[subject.workload];
      pass_.explain(member, Hold::AtSlotsMax, owner.slots_max, pass_.held(subject.workload));
      return true;
    }
    // A member that may not be preempted must not start in a gap, and must not make others leave either. Spec: 5.7 R1.
    if (filling_gaps && !(pass_.parts().preemption && may_preempt(snapshot_, member))) {
      std::vector<Place> elsewhere = wanted_.find_elsewhere(member);
      if (elsewhere.empty() && gap_.has_room_for(member)) elsewhere = pass_.find(member);
      if (elsewhere.empty()) {
        pass_.explain(member, Hold::HigherPriority, subject.slots, pass_.trial().roomiest(), first_unplaced_);
        held_back_.push_back(member);
      } else {
        take(member, std::move(elsewhere), false);
      }
      return true;
    }
    std::vector<Place> places = pass_.find(member);
    if (places.empty() && pass_.drop_carried_below(member)) places = pass_.find(member);
    if (places.empty()) return false;
    take(member, std::move(places), filling_gaps);
    return true;
  }

  void take(std::uint32_t member, std::vector<Place> places, bool backfilled) {
    pass_.trial().take(places);
    if (victims_chosen_) return pass_.reserve(member, std::move(places));
    pass_.start(member, std::move(places), backfilled);
  }

  /// Whether others have to leave for the member at once, or slots are kept for it as they become free, because it has
  /// waited for too long: then no later one passes it. One member has its turn in a pass.
  bool has_turn(std::uint32_t member) {
    const Member& subject = snapshot_.members[member];
    if (turn_taken_ || subject.slots == 0 || !has_starved(pass_, subject.workload) || pass_.keeps_place(member))
      return false;
    turn_taken_ = true;
    if (!filling_gaps_) first_unplaced_ = subject.workload;
    filling_gaps_ = true;
    wait_for(member);
    if (pass_.parts().preemption && finds_victims(member)) return true;
    pass_.explain(member, Hold::NoRoom, subject.slots, pass_.trial().roomiest());
    keep_slots(member);
    return true;
  }

  /// Keeps what is free on the bands where the member is first to have room, by the ends that time limits tell.
  void keep_slots(std::uint32_t member) {
    const Member& subject = snapshot_.members[member];
    BandProfiles profiles{pass_};
    kept_for_ = subject.workload;
    for (const OwnPlace& each : profiles.choose(subject, Duration::max(), snapshot_.now)) {
      kept_ = std::max(kept_, pass_.trial().room(each.band).free());
      profiles.keep_from_searches(each.band);
    }
  }

  /// Says that there is no room, or that it is kept.
  void explain_no_room(std::uint32_t member) {
    const std::int64_t slots = snapshot_.members[member].slots;
    if (slots > 0 && slots <= kept_)
      pass_.explain(member, Hold::BehindReservation, slots, kept_, kept_for_);
    else
      pass_.explain(member, Hold::NoRoom, slots, pass_.trial().roomiest());
  }

  void make_room(std::uint32_t member, bool filling_gaps) {
    if (std::vector<Place> places = pass_.find(member); !places.empty())
      return take(member, std::move(places), filling_gaps);
    if (!finds_victims(member)) explain_no_room(member);
  }

  /// Whether members leave for that one, which has their places then.
  bool finds_victims(std::uint32_t member) {
    const Member& subject = snapshot_.members[member];
    KnownShapes& hopeless = hopeless_[snapshot_.workloads[subject.workload].level];
    if (hopeless.contains(subject) || pass_.keeps_place(member)) return false;
    const Members victims = find_victims(snapshot_, pass_.trial(), subject, candidates(member));
    if (!victims.empty()) {
      settle(member, victims);
      return true;
    }
    hopeless.add(subject);  // Later ones of this shape and level have fewer victims to choose from.
    return false;
  }

  /// Members that may leave for `member`, least important first. Spec: 5.3.
  Members candidates(std::uint32_t member) const {
    Members all;
    for (auto each = running_.rbegin(); each != running_.rend(); ++each) {
      if (priority(*each) > priority(member)) break;
      // Among equals only members behind it in an explicit order.
      if (priority(*each) == priority(member) && position_of(snapshot_, *each) <= position_of(snapshot_, member)) break;
      if (may_preempt(snapshot_, *each) && !pass_.is_preempted(*each) && !snapshot_.members[*each].places.empty() &&
          snapshot_.may_take(workload_of(member), workload_of(*each)))
        all.push_back(*each);
    }
    return all;
  }

  void settle(std::uint32_t member, const Members& victims) {
    for (const std::uint32_t victim : victims)
      pass_.preempt(victim, PreemptionReason::Priority, snapshot_.members[member].workload);
    pass_.failed().clear();  // There is room again that this pass may not start anything in.
    victims_chosen_ = true;
    std::vector<Place> places = pass_.trial().find(snapshot_.members[member]);
    pass_.trial().take(places);
    pass_.reserve(member, std::move(places), snapshot_.members[victims.front()].workload);
  }

  SlotPass& pass_;
  const Snapshot& snapshot_;
  Members pending_;
  Members running_;
  std::map<std::uint32_t, KnownShapes> hopeless_;  ///< By level of service.
  std::optional<Eligibility> eligibility_;         ///< Made when a member finds no place.
  bool filling_gaps_ = false;                      ///< Something more important waits,
  std::uint32_t first_unplaced_ = kNone;           ///< first of all this workload.
  bool victims_chosen_ = false;
  bool turn_taken_ = false;
  WantedBands wanted_;
  Gap gap_;
  Members held_back_;               ///< Members of the level at hand that might delay a more important one.
  std::uint32_t kept_for_ = kNone;  ///< The workload that has its turn, and
  std::int64_t kept_ = 0;           ///< the most slots of one band that are kept for it.
};

}  // namespace

void start_by_priority(SlotPass& pass) {
  PriorityPass{pass, false}.run();
  PriorityPass{pass, true}.run();
}

}  // namespace penstock::policy
