// Fair share: everybody gets towards his target, who is above it gives back. Spec: policy-determined 3.2 to 3.5.
#include <algorithm>
#include <optional>

#include "supervisor/policy/actions/share_classes.hpp"
#include "supervisor/policy/actions/start_by_class.hpp"
#include "supervisor/policy/eligibility.hpp"
#include "supervisor/policy/ordering/member_order.hpp"
#include "supervisor/policy/sharing/class_targets.hpp"
#include "supervisor/policy/sharing/fair_targets.hpp"
#include "supervisor/policy/slot_pass.hpp"

namespace penstock::policy {
namespace {

/// The workloads that share the pool, oldest first.
std::vector<Contender> contenders(SlotPass& pass) {
  const Snapshot& snapshot = pass.snapshot();
  Eligibility eligibility{pass, Gone::Preemptible};
  std::optional<Eligibility> emptied;  // Made when somebody is not admitted.
  std::vector<Contender> all(snapshot.workloads.size());
  for (const std::uint32_t member : pass.running()) {
    Contender& owner = all[snapshot.members[member].workload];
    if (snapshot.members[member].slots == 0 || pass.is_preempted(member)) continue;
    owner.running.push_back(member);
    owner.held += snapshot.members[member].slots;
  }
  for (const Member& member : snapshot.members)
    if (member.state == MemberState::Leaving) all[member.workload].leaving += member.slots;
  for (const std::uint32_t member : pass.waiting()) {
    const Member& subject = snapshot.members[member];
    if (subject.slots == 0) continue;
    if (eligibility.admits(member)) {
      all[subject.workload].pending.push_back(member);
      continue;
    }
    if (!emptied) emptied.emplace(pass, Gone::Everybody);
    if (emptied->admits(member))  // It waits for who may not be preempted.
      pass.explain(member, Hold::NoRoom, subject.slots, pass.trial().roomiest());
    else
      pass.explain(member, Hold::NeverFits, subject.slots, pass.trial().capacity());
  }
  const auto by_age = [&](std::uint32_t a, std::uint32_t b) { return older(snapshot, a, b); };
  std::vector<Contender> present;
  for (std::uint32_t workload = 0; workload < all.size(); ++workload) {
    Contender& each = all[workload];
    if (each.pending.empty() && each.running.empty()) continue;
    each.workload = workload;
    std::sort(each.pending.begin(), each.pending.end(), by_age);
    std::sort(each.running.begin(), each.running.end(), by_age);
    present.push_back(std::move(each));
  }
  std::sort(present.begin(), present.end(), [&](const Contender& a, const Contender& b) {
    const Workload& left = snapshot.workloads[a.workload];
    const Workload& right = snapshot.workloads[b.workload];
    if (left.submitted != right.submitted) return left.submitted < right.submitted;
    return left.name != right.name ? left.name < right.name : a.workload < b.workload;
  });
  return present;
}

std::vector<ShareGroup> share_groups(const SlotPass& pass, const std::vector<Contender>& present) {
  const Snapshot& snapshot = pass.snapshot();
  std::vector<ShareGroup> groups;
  for (const Contender& each : present) {
    const Workload& workload = snapshot.workloads[each.workload];
    ShareGroup group;
    group.weight = workload.weight;
    group.held = each.held;
    group.demand = each.held + each.leaving;
    for (const std::uint32_t member : each.running)
      if (!may_preempt(snapshot, member)) group.pinned += snapshot.members[member].slots;
    for (const std::uint32_t member : each.pending) {
      const std::int64_t slots = snapshot.members[member].slots;
      group.demand += slots;
      if (group.smallest_pending == 0 || slots < group.smallest_pending) group.smallest_pending = slots;
    }
    if (workload.slots_max != kUnlimited) group.demand = std::min(group.demand, workload.slots_max);
    group.demand = std::max(group.demand, group.pinned);
    groups.push_back(group);
  }
  return groups;
}

/// Oldest first, as the order says, until the rest is within the target.
void release(SlotPass& pass, const Contender& each, std::int64_t target) {
  std::int64_t held = each.held;
  for (const std::uint32_t member : each.running) {
    if (held <= target) return;
    if (!may_preempt(pass.snapshot(), member)) continue;
    pass.preempt(member, PreemptionReason::AboveShare, kNone);
    held -= pass.snapshot().members[member].slots;
  }
}

void start_within(SlotPass& pass, const Contender& each, std::int64_t target) {
  std::int64_t held = each.held;
  for (const std::uint32_t member : each.pending) {
    const std::int64_t slots = pass.snapshot().members[member].slots;
    if (slots > target - held) {
      pass.explain(member, Hold::AtFairShare, target, held);
      continue;
    }
    std::vector<Place> places = pass.find(member);
    if (places.empty()) {
      pass.explain(member, Hold::NoRoom, slots, pass.trial().roomiest());
      continue;
    }
    pass.trial().take(places);
    pass.start(member, std::move(places), false);
    held += slots;
  }
}

/// Members without slots: by age, wherever there is a place for such.
void start_light(SlotPass& pass) {
  std::vector<std::uint32_t> light;
  for (const std::uint32_t member : pass.waiting())
    if (pass.snapshot().members[member].slots == 0) light.push_back(member);
  std::sort(light.begin(), light.end(), [&](std::uint32_t a, std::uint32_t b) { return older(pass.snapshot(), a, b); });
  for (const std::uint32_t member : light) {
    std::vector<Place> places = pass.find(member);
    if (places.empty()) {
      pass.explain(member, Hold::NoRoom, 1, 0);
      continue;
    }
    pass.trial().take(places);
    pass.start(member, std::move(places), false);
  }
}

/// What each is to have: of those who only keep a place as well.
class Division {
 public:
  Division(SlotPass& pass, Sharing sharing, const std::vector<Contender>& present)
      : pass_(pass), sharing_(sharing), present_(present), groups_(share_groups(pass, present)) {
    if (is_told_apart(pass)) classes_.emplace(pass, present);
    targets_ = divide(groups_, classes_ ? &classes_->pool() : nullptr);
    at_most_ = targets_;
    divide_without_places_kept();
  }

  const std::vector<std::int64_t>& targets() const { return targets_; }
  /// Nobody takes what is due to whoever keeps his place, and nobody gives it back to him either.
  std::int64_t at_most(std::size_t i) const { return std::max(targets_[i], at_most_[i]); }

  /// Where best fit would leave somebody short whom other places for others would not: those places are taken, and no
  /// more is to be done.
  bool start_by_class() {
    if (!classes_ || keeps_places_ || !all_are_single() || best_fit_does()) return false;
    StartByClass{pass_, present_, groups_, *classes_, targets_}.run();
    return true;
  }

 private:
  std::vector<std::int64_t> divide(const std::vector<ShareGroup>& groups, const ClassedPool* pool) const {
    const bool by_weight = sharing_ == Sharing::MaxMin;
    const std::int64_t capacity = pass_.trial().capacity();
    const std::vector<std::int64_t> plain =
        by_weight ? max_min_targets(groups, capacity) : fair_targets(groups, capacity);
    if (pool == nullptr || can_be_placed(groups, *pool, plain)) return plain;
    return class_targets(groups, *pool, by_weight ? Slope::Weight : Slope::Demand);
  }
  void divide_without_places_kept() {
    std::vector<ShareGroup> groups = groups_;
    ClassedPool pool = classes_ ? classes_->pool() : ClassedPool{};
    for (std::size_t i = 0; i < present_.size(); ++i) {
      if (!pass_.snapshot().workloads[present_[i].workload].keeps_place) continue;
      keeps_places_ = true;
      groups[i].demand = groups[i].smallest_pending = 0;
      if (classes_) pool.demands[i].clear();
    }
    if (keeps_places_) at_most_ = divide(groups, classes_ ? &pool : nullptr);
  }
  /// Larger ones may not fit where slots are free.
  bool all_are_single() const {
    const auto is_single = [&](std::uint32_t member) {
      const Member& subject = pass_.snapshot().members[member];
      return subject.slots == 1 && (subject.state == MemberState::Pending || subject.places.size() == 1);
    };
    return std::all_of(present_.begin(), present_.end(), [&](const Contender& each) {
      return std::all_of(each.pending.begin(), each.pending.end(), is_single) &&
             std::all_of(each.running.begin(), each.running.end(), is_single);
    });
  }
  /// On trial: whether all that are due find a place as they come.
  bool best_fit_does() {
    const std::size_t mark = pass_.trial().mark();
    bool short_of = false;
    for (std::size_t i = 0; i < present_.size() && !short_of; ++i) {
      std::int64_t due = targets_[i] - present_[i].held;
      bool missed = false;
      for (std::size_t k = 0; k < present_[i].pending.size() && due > 0; ++k) {
        const std::vector<Place> places = pass_.find(present_[i].pending[k]);
        pass_.trial().take(places);
        missed = missed || places.empty();
        due -= std::ssize(places);
      }
      short_of = due > 0 && missed;
    }
    pass_.trial().undo_to(mark);
    pass_.failed().clear();
    return !short_of;
  }

  SlotPass& pass_;
  Sharing sharing_;
  const std::vector<Contender>& present_;
  std::vector<ShareGroup> groups_;
  std::optional<ShareClasses> classes_;  ///< Where not everybody may be everywhere.
  std::vector<std::int64_t> targets_;
  std::vector<std::int64_t> at_most_;
  bool keeps_places_ = false;
};

}  // namespace

void start_by_share(SlotPass& pass, Sharing sharing) {
  const std::vector<Contender> present = contenders(pass);
  Division division{pass, sharing, present};
  const std::vector<std::int64_t>& targets = division.targets();
  for (std::size_t i = 0; i < present.size(); ++i)
    pass.plan().workload_targets.push_back({present[i].workload, {.gpu = targets[i] * 1000}});
  if (!division.start_by_class()) {
    for (std::size_t i = 0; i < present.size(); ++i) {
      if (present[i].held > division.at_most(i))
        release(pass, present[i], division.at_most(i));
      else
        start_within(pass, present[i], targets[i]);
    }
  }
  start_light(pass);
}

}  // namespace penstock::policy
