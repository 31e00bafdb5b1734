#include "supervisor/policy/actions/start_by_class.hpp"

#include <algorithm>

#include "supervisor/policy/ordering/member_order.hpp"

namespace penstock::policy {

StartByClass::StartByClass(SlotPass& pass, const std::vector<Contender>& present, const std::vector<ShareGroup>& groups,
                           const ShareClasses& classes, const std::vector<std::int64_t>& targets)
    : pass_(pass),
      present_(present),
      groups_(groups),
      classes_(classes),
      pool_(classes.pool()),
      targets_(targets),
      flow_(classes.pool()),
      kept_(present.size()) {
  keep_what_may_stay();
  place_the_rest();
  for (const std::vector<std::uint32_t>& rooms : pool_.classes) has_.emplace_back(rooms.size(), 0);
  for (std::uint32_t group = 0; group < present_.size(); ++group) {
    held_.push_back(present_[group].held);
    std::vector<std::int64_t>& due = due_.emplace_back();
    for (std::size_t i = 0; i < pool_.demands[group].size(); ++i)
      due.push_back(static_cast<std::int64_t>(flow_.of_demand(group, i)));
    for (const ClassHolding& each : pool_.holdings[group]) {
      has_[each.kind][position_of(each.kind, each.room)] += each.slots;
      due_of(group, each.kind) -= each.slots;
    }
  }
}

void StartByClass::run() {
  for (std::uint32_t group = 0; group < present_.size() && short_ == kNone; ++group)
    if (held_[group] < targets_[group] && !present_[group].pending.empty()) short_ = present_[group].workload;
  for (std::uint32_t group = 0; group < present_.size(); ++group) release_excess(group);
  release_misplaced();
  for (std::uint32_t group = 0; group < present_.size(); ++group) start_within(group);
}

/// Of each within its share, and of each room within its slots: the youngest, because the oldest leave first.
void StartByClass::keep_what_may_stay() {
  std::vector<std::int64_t> left = pool_.rooms;
  for (std::uint32_t group = 0; group < present_.size(); ++group) {
    const std::vector<ClassHolding>& holdings = pool_.holdings[group];
    std::int64_t share = targets_[group] - groups_[group].pinned;
    for (std::size_t i = holdings.size(); i-- > 0;) {
      if (share < holdings[i].slots || left[holdings[i].room] < holdings[i].slots) continue;
      share -= holdings[i].slots;
      left[holdings[i].room] -= holdings[i].slots;
      kept_[group].push_back(holdings[i]);
    }
  }
}

/// First into what is free: what runs makes way only where that does not do.
void StartByClass::place_the_rest() {
  ClassedPool free = pool_;
  std::vector<std::int64_t> wanted;
  for (std::uint32_t group = 0; group < present_.size(); ++group) {
    wanted.push_back(targets_[group] - groups_[group].pinned);
    for (const ClassHolding& each : kept_[group]) {
      wanted[group] -= each.slots;
      free.rooms[each.room] -= each.slots;
      for (ClassDemand& demand : free.demands[group])
        if (demand.kind == each.kind) demand.slots -= each.slots;
      flow_.place(group, each.kind, each.room, each.slots);
    }
  }
  ShareFlow into_free{free};
  for (std::uint32_t group = 0; group < present_.size(); ++group)
    wanted[group] -= static_cast<std::int64_t>(into_free.push(group, wanted[group]));
  flow_.adopt(into_free);
  for (std::uint32_t group = 0; group < present_.size(); ++group) flow_.push(group, wanted[group]);
}

/// Those of a class that the group has too many of: first where others are to be, then anywhere.
void StartByClass::release_excess(std::uint32_t group) {
  for (const bool anywhere : {false, true})
    for (const std::uint32_t member : present_[group].running) {
      if (!may_preempt(pass_.snapshot(), member) || pass_.is_preempted(member)) continue;
      const std::uint32_t kind = classes_.kind_held(member);
      std::int64_t& due = due_of(group, kind);
      if (due >= 0) continue;
      if (!anywhere && missing(kind, position_of(kind, classes_.room_held(member))) >= 0) continue;
      ++due;
      release(member, group);
    }
}

/// Whose class is to have fewer in its room, and who is to have another place for it. The youngest: it has done least.
void StartByClass::release_misplaced() {
  for (std::uint32_t group = static_cast<std::uint32_t>(present_.size()); group-- > 0;) {
    const std::vector<std::uint32_t>& running = present_[group].running;
    for (std::size_t i = running.size(); i-- > 0;) {
      const std::uint32_t member = running[i];
      if (!may_preempt(pass_.snapshot(), member) || pass_.is_preempted(member)) continue;
      const std::uint32_t kind = classes_.kind_held(member);
      if (missing(kind, position_of(kind, classes_.room_held(member))) >= 0) continue;
      ++due_of(group, kind);  // It, or another that waits.
      release(member, group);
    }
  }
}

void StartByClass::release(std::uint32_t member, std::uint32_t group) {
  const bool above = held_[group]-- > targets_[group];
  const std::uint32_t kind = classes_.kind_held(member);
  --has_[kind][position_of(kind, classes_.room_held(member))];
  if (above)
    pass_.preempt(member, PreemptionReason::AboveShare, kNone);
  else
    pass_.preempt(member, PreemptionReason::Consolidation, short_);
}

void StartByClass::start_within(std::uint32_t group) {
  for (const std::uint32_t member : present_[group].pending) {
    const std::uint32_t kind = classes_.kind_of(member);
    std::int64_t& due = due_of(group, kind);
    if (due <= 0) {
      pass_.explain(member, Hold::AtFairShare, targets_[group], held_[group]);
      continue;
    }
    const std::uint32_t band = best_band(member);
    if (band == kNone) {
      pass_.explain(member, Hold::NoRoom, 1, pass_.trial().roomiest());
      continue;
    }
    --due;
    ++held_[group];
    for (std::size_t i = 0; i < pool_.classes[kind].size(); ++i)
      if (const auto& bands = classes_.bands_of(pool_.classes[kind][i]);
          std::binary_search(bands.begin(), bands.end(), band))
        ++has_[kind][i];
    pass_.trial().take({{band, 1}});
    pass_.start(member, {{band, 1}}, false);
  }
}

/// Of the rooms that are to have more of its class.
std::uint32_t StartByClass::best_band(std::uint32_t member) const {
  const std::uint32_t kind = classes_.kind_of(member);
  std::vector<std::uint32_t> bands;
  for (std::size_t i = 0; i < pool_.classes[kind].size(); ++i)
    if (missing(kind, i) > 0) {
      const std::vector<std::uint32_t>& more = classes_.bands_of(pool_.classes[kind][i]);
      bands.insert(bands.end(), more.begin(), more.end());
    }
  return pass_.trial().best_band(pass_.snapshot().members[member], bands);
}

std::int64_t& StartByClass::due_of(std::uint32_t group, std::uint32_t kind) {
  const std::vector<ClassDemand>& demands = pool_.demands[group];
  const auto of_kind = [kind](const ClassDemand& each) { return each.kind == kind; };
  return due_[group][static_cast<std::size_t>(std::find_if(demands.begin(), demands.end(), of_kind) - demands.begin())];
}

std::size_t StartByClass::position_of(std::uint32_t kind, std::uint32_t room) const {
  const std::vector<std::uint32_t>& rooms = pool_.classes[kind];
  return static_cast<std::size_t>(std::lower_bound(rooms.begin(), rooms.end(), room) - rooms.begin());
}

}  // namespace penstock::policy
