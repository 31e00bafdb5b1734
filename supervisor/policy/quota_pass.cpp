#include "supervisor/policy/quota_pass.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace penstock::policy {

QuotaPass::QuotaPass(const Snapshot& snapshot, std::uint32_t pool, const Parts& parts)
    : trial_(snapshot, pool, parts),
      order_(trial_),
      has_children_(snapshot.projects.size(), false),
      victim_order_(order_),
      chosen_pieces_(trial_),
      reasons_(snapshot.members.size(), PreemptionReason::Priority),
      beneficiaries_(snapshot.members.size(), kNone),
      refusals_(snapshot.workloads.size()),
      begins_on_carried_(snapshot.workloads.size(), false) {
  for (const Project& project : snapshot.projects)
    if (project.parent != kNone) has_children_[project.parent] = true;
  preemptible_jobs_.resize(snapshot.projects.size());
  jobs_of_.resize(snapshot.projects.size());
  // A job with a member that stays loses no member at all: its pieces go by order, not by which of them may leave.
  std::vector<bool> stays(snapshot.workloads.size(), false);
  for (const Member& member : snapshot.members)
    if (!member.preemptible && !member.places.empty()) stays[member.workload] = true;
  for (std::uint32_t workload = 0; workload < snapshot.workloads.size(); ++workload) {
    if (!is_owned(workload)) continue;
    jobs_of_[snapshot.workloads[workload].project].push_back(workload);
    if (!snapshot.workloads[workload].preemptible || stays[workload]) continue;
    preemptible_jobs_[snapshot.workloads[workload].project].push_back(workload);
  }
}

const std::vector<std::vector<std::uint32_t>>& QuotaPass::victims_in_order() {
  const auto look_at = [this](std::size_t project) {
    std::vector<std::uint32_t>& jobs = victims_[project];
    jobs.clear();
    for (const std::uint32_t job : preemptible_jobs_[project])
      if (holds_anything(job)) jobs.push_back(job);
    const auto before = [this](std::uint32_t a, std::uint32_t b) { return Agenda::taken_before(order_, a, b); };
    // The order is mostly that of before.
    if (!std::is_sorted(jobs.begin(), jobs.end(), before)) std::sort(jobs.begin(), jobs.end(), before);
    victim_order_.project_changed(static_cast<std::uint32_t>(project), jobs);
  };
  if (!victims_mark_) {
    victims_.resize(preemptible_jobs_.size());
    for (std::vector<std::uint32_t>& jobs : preemptible_jobs_)
      std::sort(jobs.begin(), jobs.end(),
                [this](std::uint32_t a, std::uint32_t b) { return Agenda::taken_before(order_, a, b); });
    for (std::size_t project = 0; project < victims_.size(); ++project) look_at(project);
  } else if (*victims_mark_ != trial_.mark()) {
    for (const std::uint32_t project : trial_.projects_changed_since(*victims_mark_)) look_at(project);
  }
  victims_mark_ = trial_.mark();
  return victims_;
}

bool QuotaPass::holds_anything(std::uint32_t workload) const {
  const std::span<const SetCount> sets = trial_.sets_of(workload);
  return std::any_of(sets.begin(), sets.end(), [](const SetCount& set) { return set.active > 0; });
}

bool QuotaPass::is_owned(std::uint32_t workload) const {
  const std::uint32_t project = snapshot().workloads[workload].project;
  return trial_.in_pool(workload) && project != kNone && !has_children_[project];
}

bool QuotaPass::any_waiting(std::uint32_t workload) const {
  const std::vector<std::uint32_t>& members = order_.members(workload);
  return std::any_of(members.begin(), members.end(), [this](std::uint32_t member) { return waits(member); });
}

bool QuotaPass::is_candidate(std::uint32_t workload, PlacesKept places_kept) const {
  const Workload& source = snapshot().workloads[workload];
  if (!is_owned(workload) || source.held) return false;
  if (source.keeps_place && places_kept == PlacesKept::NotThose) return false;
  if (!any_waiting(workload)) return false;
  std::vector<std::int64_t> alive(source.sets.size(), 0);
  for (const std::uint32_t member : order_.members(workload)) {
    const MemberState state = trial_.state(member);
    if (state == MemberState::Pending || is_active(state)) ++alive[snapshot().members[member].set];
  }
  for (std::size_t set = 0; set < alive.size(); ++set)
    if (alive[set] < source.sets[set].min) return false;
  return true;
}

std::vector<std::uint32_t> QuotaPass::candidates(PlacesKept places_kept) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t workload = 0; workload < snapshot().workloads.size(); ++workload)
    if (is_candidate(workload, places_kept)) found.push_back(workload);
  return found;
}

std::vector<std::uint32_t> QuotaPass::candidates_of(std::uint32_t project) const {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t workload : jobs_of_[project])
    if (is_candidate(workload, PlacesKept::NotThose)) found.push_back(workload);
  return found;
}

Resources QuotaPass::amount_of(const std::vector<std::uint32_t>& members) const {
  Resources sum;
  for (const std::uint32_t member : members) sum += trial_.amount(member, kNone);
  return sum;
}

std::optional<Refusal> QuotaPass::refused(std::uint32_t workload, const std::vector<std::uint32_t>& members) const {
  const Workload& source = snapshot().workloads[workload];
  return refuse(trial_.owners(), source.project, amount_of(members), source.preemptible);
}

bool QuotaPass::is_refused_at_best(std::uint32_t workload, const std::vector<std::uint32_t>& members,
                                   Leavers leavers) const {
  const Workload& source = snapshot().workloads[workload];
  return refuse_at_best(trial_.owners(), source.project, amount_of(members), source.preemptible, leavers).has_value();
}

bool QuotaPass::place_all(std::uint32_t workload, const std::vector<std::uint32_t>& members, Trial::When when,
                          const std::vector<bool>& allowed) {
  return place_where(workload, members,
                     [&](std::uint32_t member) { return choose_band(trial_, member, when, allowed); });
}

bool QuotaPass::place_where(std::uint32_t workload, const std::vector<std::uint32_t>& members,
                            const std::function<std::optional<BandChoice>(std::uint32_t member)>& choose) {
  const Workload& source = snapshot().workloads[workload];
  const std::size_t mark = trial_.mark();
  for (const std::uint32_t member : members) {
    const std::optional<BandChoice> choice = choose(member);
    // The amount of a part of a device is only known on its band.
    if (!choice || refuse(trial_.owners(), source.project, trial_.amount(member, choice->band), source.preemptible)) {
      trial_.undo_to(mark);
      return false;
    }
    trial_.place(member, choice->band, choice->fit);
  }
  std::vector<bool> promised(source.sets.size(), false);
  std::vector<std::int64_t> held(source.sets.size(), 0);
  for (const std::uint32_t member : order_.members(workload)) {
    const std::uint32_t set = snapshot().members[member].set;
    promised[set] = promised[set] || trial_.state(member) == MemberState::Promised;
    held[set] += is_held_on_trial(trial_.state(member)) ? 1 : 0;
  }
  for (std::size_t set = 0; set < held.size(); ++set) {
    if (!promised[set] || held[set] >= source.sets[set].min) continue;
    for (const std::uint32_t member : members)
      if (trial_.state(member) == MemberState::Starting) trial_.make_promise(member);
    break;
  }
  return true;
}

bool QuotaPass::all_start(const std::vector<std::uint32_t>& members) const {
  return std::all_of(members.begin(), members.end(),
                     [this](std::uint32_t member) { return trial_.state(member) == MemberState::Starting; });
}

bool QuotaPass::could_start_at_once(std::uint32_t workload, const std::vector<std::uint32_t>& members) {
  const std::size_t mark = trial_.mark();
  const bool starts = place_all(workload, members, Trial::When::NowOrLater, {}) && all_start(members);
  trial_.undo_to(mark);
  return starts;
}

/// The promised place: now, or else when others have left.
std::optional<BandChoice> QuotaPass::carried_place(const CarriedReservation& reservation) const {
  std::optional<BandChoice> later;
  for (const Place& place : reservation.places) {
    if (!band_allowed(snapshot(), snapshot().members[reservation.member], place.band)) continue;
    std::optional<BandFit> fit = trial_.fit(reservation.member, place.band, Trial::When::NowOrLater);
    if (fit && fit->now) return BandChoice{place.band, std::move(*fit)};
    if (fit && !later) later = BandChoice{place.band, std::move(*fit)};
  }
  return later;
}

bool QuotaPass::place_carried(std::uint32_t workload, const std::vector<const CarriedReservation*>& carried) {
  std::vector<std::uint32_t> members;
  for (const CarriedReservation* reservation : carried) members.push_back(reservation->member);
  std::size_t next = 0;
  return !refused(workload, members) &&
         place_where(workload, members, [&](std::uint32_t) { return carried_place(*carried[next++]); });
}

/// All of them, or, where some have come to nothing, those that have not: an elastic job goes on without the others.
std::vector<const CarriedReservation*> QuotaPass::carried_that_hold(
    std::uint32_t workload, const std::vector<const CarriedReservation*>& carried) {
  const std::size_t mark = trial_.mark();
  std::vector<const CarriedReservation*> good;
  if (place_carried(workload, carried)) good = carried;
  for (std::size_t i = 0; i < carried.size() && good.size() < carried.size(); ++i)
    if (place_carried(workload, {carried[i]})) good.push_back(carried[i]);
  trial_.undo_to(mark);
  return good;
}

bool QuotaPass::is_part_of_gang(std::uint32_t workload) const {
  const std::span<const SetCount> sets = trial_.sets_of(workload);
  return std::any_of(sets.begin(), sets.end(),
                     [](const SetCount& set) { return set.active > 0 && set.active < set.min; });
}

/// A gang of which a part has moved is whole again at once where there is room, beside promised places.
void QuotaPass::start_rest(std::uint32_t workload, const std::vector<std::uint32_t>& members) {
  const std::size_t mark = trial_.mark();
  for (const std::uint32_t member : members) trial_.leave(member);
  if (!place_all(workload, members, Trial::When::NowOrLater, {}) || !all_start(members)) trial_.undo_to(mark);
}

void QuotaPass::settle_carried() {
  if (snapshot().carried.empty()) return;
  std::map<std::uint32_t, std::vector<const CarriedReservation*>> carried_of;
  for (const CarriedReservation& reservation : snapshot().carried)
    if (reservation.member < snapshot().members.size() && waits(reservation.member))
      carried_of[snapshot().members[reservation.member].workload].push_back(&reservation);
  std::map<std::uint32_t, std::vector<std::uint32_t>> rests;
  for (const std::uint32_t workload : candidates()) {
    const auto all = carried_of.find(workload);
    if (all == carried_of.end()) continue;
    const std::vector<const CarriedReservation*> carried = carried_that_hold(workload, all->second);
    std::vector<std::uint32_t> members;
    for (const CarriedReservation* reservation : carried) members.push_back(reservation->member);
    const std::size_t mark = trial_.mark();
    const bool is_rest = is_part_of_gang(workload);
    const bool is_fresh = !holds_anything(workload);
    if (carried.empty() || !place_carried(workload, carried)) continue;
    if (!order_.all_at_min(workload)) {
      trial_.undo_to(mark);
    } else if (!all_start(members) && is_rest) {
      // Jobs served before it might take all room, and the gang would stay a part.
      rests.emplace(workload, std::move(members));
    } else if (!all_start(members)) {
      trial_.undo_to(mark);
      // A job that could begin at once waits for none to leave: it is served in order like all others.
      if (!could_start_at_once(workload, members)) place_carried(workload, carried);
    } else {
      begins_on_carried_[workload] = is_fresh;
    }
  }
  for (const auto& [workload, members] : rests) start_rest(workload, members);
}

void QuotaPass::note_victim(std::uint32_t member, PreemptionReason reason, std::uint32_t beneficiary) {
  reasons_[member] = reason;
  beneficiaries_[member] = beneficiary;
}

void QuotaPass::pass_on(std::uint32_t from, std::uint32_t to) {
  std::replace(beneficiaries_.begin(), beneficiaries_.end(), from, to);
}

void QuotaPass::note_refusal(std::uint32_t workload, const Refusal& refusal) { refusals_[workload] = refusal; }

void QuotaPass::explain(std::uint32_t workload, const Resources& roomiest, const Resources& largest, Plan& plan) const {
  const std::vector<std::uint32_t>& members = order_.members(workload);
  const auto waiting =
      std::find_if(members.begin(), members.end(), [this](std::uint32_t member) { return waits(member); });
  if (waiting == members.end()) return;
  Explanation why{workload, *waiting, Hold::NoRoom, amount_of({*waiting}).gpu, 0, kNone};
  if (snapshot().workloads[workload].held) {
    why.hold = Hold::Held;
  } else if (const Member& member = snapshot().members[*waiting];
             !member.request.within(largest) || member.devices * 1000 > largest.gpu) {
    why.hold = Hold::NeverFits;
    why.have = largest.gpu;
  } else if (const std::optional<Refusal>& refusal = refusals_[workload]) {
    const bool limit = trial_.owners()[refusal->owner].of[refusal->resource].limit == refusal->may_hold;
    why.hold = limit ? Hold::ProjectLimit : Hold::ProjectGuarantee;
    why.need = refusal->would_hold;
    why.have = refusal->may_hold;
    why.subject = refusal->owner;
    why.resource = static_cast<Resource>(refusal->resource);
  } else {
    why.have = roomiest.gpu;
    const Resources need = amount_of({*waiting});
    for (const Resource resource : {Resource::Cpu, Resource::Memory}) {
      const auto at = static_cast<std::size_t>(resource);
      if (need.gpu > roomiest.gpu || need.of(at) <= roomiest.of(at)) continue;
      why.resource = resource;
      why.need = need.of(at);
      why.have = roomiest.of(at);
    }
  }
  plan.explanations.push_back(why);
}

void QuotaPass::write(Plan& plan) const {
  for (std::uint32_t member = 0; member < snapshot().members.size(); ++member) {
    const Member& before = snapshot().members[member];
    if (!trial_.in_pool(before.workload)) continue;
    const Holdings& after = trial_.holdings(member);
    const bool leaves = after.state == MemberState::Leaving || after.left_band != kNone;
    if (leaves && before.state != MemberState::Leaving)
      plan.preemptions.push_back({member, reasons_[member], beneficiaries_[member]});
    if (snapshot().workloads[before.workload].keeps_place) {
      if (after.state == MemberState::Starting) plan.reservations.push_back({member, {}, {}, snapshot().now});
      continue;
    }
    const std::vector<Place> places{{after.band, (trial_.amount(member).gpu + 999) / 1000}};
    if (after.state == MemberState::Starting && before.state == MemberState::Pending)
      plan.starts.push_back({member, places, trial_.group_labels(member), false});
    if (after.state == MemberState::Promised && before.state != MemberState::Promised)
      plan.reservations.push_back({member, places, trial_.group_labels(member), kNever});
  }
  Resources roomiest;
  Resources largest;
  for (const std::uint32_t band : trial_.bands()) {
    const BandRoom& room = trial_.room(band);
    const std::int64_t rest = room.device_memory_mib > 0
                                  ? std::max<std::int64_t>(room.shared_memory_mib, 0) * 1000 / room.device_memory_mib
                                  : 0;
    if (!room.open) continue;
    roomiest.gpu = std::max({roomiest.gpu, room.idle.gpu, rest});
    roomiest.cpu = std::max(roomiest.cpu, room.idle.cpu);
    roomiest.memory = std::max(roomiest.memory, room.idle.memory);
    for (std::size_t resource = 0; resource < kResources; ++resource)
      largest.of(resource) = std::max(largest.of(resource), snapshot().bands[band].capacity.of(resource));
  }
  for (std::uint32_t workload = 0; workload < snapshot().workloads.size(); ++workload)
    if (trial_.in_pool(workload)) explain(workload, roomiest, largest, plan);
  for (std::uint32_t owner = 0; owner < trial_.owners().size(); ++owner) {
    const Owner& source = trial_.owners()[owner];
    plan.project_targets.push_back(
        {owner, {source.of[0].fair_share, source.of[1].fair_share, source.of[2].fair_share}});
  }
}

}  // namespace penstock::policy
