#include "supervisor/policy/actions/share_classes.hpp"

#include <algorithm>

#include "supervisor/policy/ordering/member_order.hpp"

namespace penstock::policy {

bool is_told_apart(const SlotPass& pass) {
  const Snapshot& snapshot = pass.snapshot();
  const auto wishes = [&](std::uint32_t member) {
    const Member& subject = snapshot.members[member];
    return !subject.label.empty() || subject.band_list != kNone || !subject.blocked_bands.empty();
  };
  return std::any_of(pass.waiting().begin(), pass.waiting().end(), wishes) ||
         std::any_of(pass.running().begin(), pass.running().end(), wishes) ||
         std::any_of(snapshot.bands.begin(), snapshot.bands.end(),
                     [&](const Band& band) { return band.pool == pass.pool() && !band.labels.empty(); });
}

ShareClasses::ShareClasses(SlotPass& pass, const std::vector<Contender>& present)
    : pass_(pass), snapshot_(pass.snapshot()), kinds_(snapshot_.members.size(), kNone) {
  std::vector<std::uint32_t> group_of(snapshot_.workloads.size(), kNone);
  for (std::uint32_t group = 0; group < present.size(); ++group) {
    group_of[present[group].workload] = group;
    for (const std::uint32_t member : present[group].pending) name_kind(member);
    for (const std::uint32_t member : present[group].running) name_kind(member), name_stays(member);
  }
  std::vector<std::uint32_t> leaving;
  for (std::uint32_t member = 0; member < snapshot_.members.size(); ++member)
    if (const Member& each = snapshot_.members[member];
        each.state == MemberState::Leaving && each.slots > 0 && group_of[each.workload] != kNone)
      leaving.push_back(member), name_kind(member);
  make_rooms();
  pool_.demands.resize(present.size());
  pool_.holdings.resize(present.size());
  for (std::uint32_t group = 0; group < present.size(); ++group) count(group, present[group]);
  for (const std::uint32_t member : leaving)
    add_demand(group_of[snapshot_.members[member].workload], kinds_[member], snapshot_.members[member].slots);
}

void ShareClasses::name_kind(std::uint32_t member) {
  const Member& subject = snapshot_.members[member];
  const auto [known, added] = wishes_.try_emplace(Wish{subject.label, subject.band_list, subject.blocked_bands},
                                                  static_cast<std::uint32_t>(class_bands_.size()));
  kinds_[member] = known->second;
  if (!added) return;
  std::vector<std::uint32_t>& bands = class_bands_.emplace_back();
  for (std::uint32_t band = 0; band < snapshot_.bands.size(); ++band)
    if (pass_.trial().room(band).open && pass_.trial().allowed(subject, band)) bands.push_back(band);
}

void ShareClasses::name_stays(std::uint32_t member) {
  for (const Place& place : snapshot_.members[member].places) {
    if (is_in(kinds_[member], place.band)) continue;
    const auto [known, added] = stays_.try_emplace(place.band, static_cast<std::uint32_t>(class_bands_.size()));
    if (added) class_bands_.push_back({place.band});
  }
}

void ShareClasses::make_rooms() {
  std::vector<std::vector<std::uint32_t>> classes_of(snapshot_.bands.size());
  for (std::uint32_t kind = 0; kind < class_bands_.size(); ++kind)
    for (const std::uint32_t band : class_bands_[kind]) classes_of[band].push_back(kind);
  std::map<std::vector<std::uint32_t>, std::uint32_t> rooms;
  room_of_.assign(snapshot_.bands.size(), kNone);
  pool_.classes.resize(class_bands_.size());
  for (std::uint32_t band = 0; band < snapshot_.bands.size(); ++band) {
    if (classes_of[band].empty()) continue;
    const auto [known, added] = rooms.try_emplace(classes_of[band], static_cast<std::uint32_t>(pool_.rooms.size()));
    if (added) {
      pool_.rooms.push_back(0);
      bands_of_.emplace_back();
      for (const std::uint32_t kind : classes_of[band]) pool_.classes[kind].push_back(known->second);
    }
    room_of_[band] = known->second;
    bands_of_[known->second].push_back(band);
    pool_.rooms[known->second] += pass_.trial().room(band).slots;
  }
}

void ShareClasses::count(std::uint32_t group, const Contender& contender) {
  for (const std::uint32_t member : contender.pending)
    add_demand(group, kinds_[member], snapshot_.members[member].slots);
  for (const std::uint32_t member : contender.running) {
    std::int64_t nowhere = snapshot_.members[member].slots;
    for (const Place& place : snapshot_.members[member].places) {
      nowhere -= place.slots;
      const std::uint32_t room = room_of_[place.band];
      if (!may_preempt(snapshot_, member)) {
        pool_.rooms[room] = std::max<std::int64_t>(0, pool_.rooms[room] - place.slots);
        continue;
      }
      const std::uint32_t kind = kind_at(member, place.band);
      add_demand(group, kind, place.slots);
      pool_.holdings[group].push_back({kind, room, place.slots});
    }
    if (nowhere > 0 && may_preempt(snapshot_, member)) add_demand(group, kinds_[member], nowhere);
  }
}

void ShareClasses::add_demand(std::uint32_t group, std::uint32_t kind, std::int64_t slots) {
  for (ClassDemand& each : pool_.demands[group])
    if (each.kind == kind) return void(each.slots += slots);
  pool_.demands[group].push_back({kind, slots});
}

std::uint32_t ShareClasses::kind_at(std::uint32_t member, std::uint32_t band) const {
  return is_in(kinds_[member], band) ? kinds_[member] : stays_.at(band);
}

bool ShareClasses::is_in(std::uint32_t kind, std::uint32_t band) const {
  return std::binary_search(class_bands_[kind].begin(), class_bands_[kind].end(), band);
}

}  // namespace penstock::policy
