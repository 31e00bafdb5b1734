#include "supervisor/core/driver/colocation.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/feasibility.hpp"
#include "supervisor/core/policy/policy_view.hpp"

namespace penstock::supervisor {
namespace {

/// The slots that the job holds or is promised.
std::vector<PromisedPlace> places_of(const JobShares& shares, const WorkerTable& workers) {
  std::vector<PromisedPlace> all;
  for (std::uint32_t i = 0; i < shares.bands.size() && i < workers.band_slots(); ++i)
    if (workers[BandSlot{i}].alive && shares.bands[i].planned > 0)
      all.push_back({BandSlot{i}, shares.bands[i].planned});
  for (std::size_t kind = 0; kind < kBandKinds; ++kind)
    for (const std::vector<PromisedPlace>& places : shares.kinds[kind].promised)
      for (const PromisedPlace& place : places)
        if (workers[place.band].alive) all.push_back(place);
  return all;
}

bool has_reserved_start(const JobShares& shares) {
  return shares.kinds[0].why.starts_by != kNever || shares.kinds[1].why.starts_by != kNever;
}

bool wants(const Job& job, std::size_t kind) { return job.shares->kinds[kind].unit_milli > 0; }

/// Slots that are placed together: of each group of the gang, or of all of it.
std::uint32_t group_size(const Job& job) { return std::max(job.spec.policy.group_slots(), 1U); }

std::uint32_t slots_of(const std::vector<GroupPart>& parts) {
  std::uint32_t slots = 0;
  for (const GroupPart& each : parts) slots += each.slots;
  return slots;
}

}  // namespace

void Colocation::choose_groups() {
  rooms_.clear();
  for (const JobId id : policy_.agenda.in_sight())
    if (Job& job = jobs_[id]; !job.spec.policy.together.empty() && view_.is_shown(job)) choose(job);
}

void Colocation::choose(Job& job) {
  GroupChoice& choice = job.shares->pool.group.edit();
  const std::vector<PromisedPlace> places = places_of(*job.shares, workers_);
  const bool in_groups = job.spec.policy.gang_groups > 1;
  std::vector<GroupPart> kept;
  if (!places.empty()) {
    kept = in_groups ? parts_of_places(job, places) : part_of_places(job, places);
    // A bound gang takes slots where its work is; bound no more, it comes together.
    const bool is_bound = job.shares->kinds[0].bound || job.shares->kinds[1].bound;
    if ((kept.empty() && is_bound) || slots_of(kept) >= job.spec.policy.gang) {
      choice = {std::move(kept), {}};
      return;
    }
  }
  if (rooms_.empty()) measure_rooms();
  const std::uint32_t missing = (job.spec.policy.gang - slots_of(kept)) / group_size(job);
  std::vector<Candidate> candidates = candidates_for(job, kept);
  const auto sum = [](std::uint32_t groups, const Candidate& each) { return groups + each.could_hold; };
  if (std::accumulate(candidates.begin(), candidates.end(), 0U, sum) < missing) {
    // No worker belongs to it: others would be asked to leave for nothing.
    kept.push_back({WorkerGroup{}, missing * group_size(job)});
    choice = {std::move(kept), {}};
    return;
  }
  const auto was_tried = [](const Candidate& each) { return each.was_tried; };
  if (std::all_of(candidates.begin(), candidates.end(), was_tried)) {
    choice.tried.clear();
    for (Candidate& each : candidates) each.was_tried = false;
  }
  std::sort(candidates.begin(), candidates.end());
  const bool all_free = choose_among(candidates, missing);
  const auto is_there = [&](const GroupPart& part) {
    return std::any_of(candidates.begin(), candidates.end(),
                       [&part](const Candidate& each) { return each.group == part.group; });
  };
  if (!choice.now.empty() && std::all_of(choice.now.begin(), choice.now.end(), is_there) && !all_free &&
      has_reserved_start(*job.shares))
    return;
  settle(job, candidates, std::move(kept), all_free);
}

void Colocation::settle(Job& job, const std::vector<Candidate>& candidates, std::vector<GroupPart> parts,
                        bool all_free) {
  GroupChoice& choice = job.shares->pool.group.edit();
  const std::uint32_t most = std::max(job.spec.policy.gang, job.spec.policy.gang_max);
  for (const Candidate& each : candidates) {
    if (each.chosen == 0) continue;
    const std::uint32_t slots = job.spec.policy.gang_groups > 1 ? each.chosen * group_size(job) : most;
    const auto has_it = [&each](const GroupPart& part) { return part.group == each.group; };
    const auto at = std::find_if(parts.begin(), parts.end(), has_it);
    if (at != parts.end())
      at->slots += slots;
    else
      parts.push_back({each.group, slots});
    if (!each.was_tried) choice.tried.push_back(each.group);
    if (all_free) take_room(each.group, job, each.chosen * std::uint64_t{group_size(job)} * 1000);
  }
  if (!choice.now.empty() && choice.now != parts)
    PENSTOCK_COVERAGE_MARK("a gang that stays together is tried in another group");
  choice.now = std::move(parts);
}

bool Colocation::choose_among(std::vector<Candidate>& candidates, std::uint32_t missing) {
  bool all_free = true;
  for (const bool tried : {false, true})
    for (const auto most : {&Candidate::free, &Candidate::free_or_lost, &Candidate::could_hold})
      for (Candidate& each : candidates) {
        if (each.was_tried != tried || missing == 0) continue;
        const std::uint32_t room = std::min(each.*most, each.could_hold);
        const std::uint32_t more = std::min(missing, room - std::min(room, each.chosen));
        each.chosen += more, missing -= more;
        all_free = all_free && (more == 0 || most == &Candidate::free);
      }
  return all_free;
}

std::vector<Colocation::Candidate> Colocation::candidates_for(const Job& job,
                                                              const std::vector<GroupPart>& kept) const {
  const std::vector<WorkerGroup>& tried = job.shares->pool.group->tried;
  std::vector<Candidate> all;
  for (GroupRoom& room : feasibility_.groups_that_could_hold(job, job.shares->pool.position)) {
    for (const GroupPart& part : kept)
      if (part.group == room.group) room.groups -= std::min(room.groups, part.slots / group_size(job));
    if (room.groups == 0) continue;
    Candidate each;
    each.could_hold = room.groups;
    each.was_tried = std::find(tried.begin(), tried.end(), room.group) != tried.end();
    each.group = std::move(room.group);
    measure(each, job);
    all.push_back(std::move(each));
  }
  return all;
}

void Colocation::measure(Candidate& candidate, const Job& job) const {
  const Sums sums = room_in(candidate.group, job.shares->pool.position);
  const std::uint64_t most = std::uint64_t{std::max(job.spec.policy.gang, job.spec.policy.gang_max)} * 1000;
  const std::uint64_t size = std::uint64_t{group_size(job)} * 1000;
  candidate.free = candidate.free_or_lost = candidate.could_hold;
  for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
    if (!wants(job, kind)) continue;
    const Room& room = sums[kind];
    candidate.free = static_cast<std::uint32_t>(std::min<std::uint64_t>(candidate.free, room.free / size));
    candidate.free_or_lost =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(candidate.free_or_lost, (room.free + room.lost) / size));
    candidate.usable += std::min(room.free, most);
    candidate.all_free += room.free;
  }
}

void Colocation::measure_rooms() {
  rooms_.resize(workers_.band_slots());
  for (std::uint32_t i = 0; i < rooms_.size(); ++i)
    if (const BandEntry& band = workers_[BandSlot{i}]; band.alive && !band.draining)
      rooms_[i].free = std::uint64_t{band.slots} * 1000;
  for (const JobId id : policy_.agenda.in_sight()) {
    const Job& job = jobs_[id];
    if (job.shares == nullptr) continue;
    for (std::uint32_t i = 0; i < job.shares->bands.size() && i < rooms_.size(); ++i) {
      const std::uint64_t held = std::min(rooms_[i].free, job.shares->bands[i].planned);
      rooms_[i].free -= held;
      if (job.spec.policy.may_be_preempted()) rooms_[i].lost += held;
    }
  }
}

Colocation::Sums Colocation::room_in(const WorkerGroup& group, std::uint32_t pool) const {
  Sums sums{};
  for (std::uint32_t i = 0; i < rooms_.size(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || policy_.pool_of_band[i] != pool) continue;
    if (!is_in(group, workers_.worker_of(BandSlot{i}).description)) continue;
    sums[static_cast<std::size_t>(band.kind)].free += rooms_[i].free;
    sums[static_cast<std::size_t>(band.kind)].lost += rooms_[i].lost;
  }
  return sums;
}

void Colocation::take_room(const WorkerGroup& group, const Job& job, std::uint64_t milli) {
  std::array<std::uint64_t, kBandKinds> left{};
  for (std::size_t kind = 0; kind < kBandKinds; ++kind) left[kind] = wants(job, kind) ? milli : 0;
  for (std::uint32_t i = 0; i < rooms_.size(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || policy_.pool_of_band[i] != job.shares->pool.position) continue;
    if (!is_in(group, workers_.worker_of(BandSlot{i}).description)) continue;
    std::uint64_t& of_kind = left[static_cast<std::size_t>(band.kind)];
    const std::uint64_t part = std::min(of_kind, rooms_[i].free);
    rooms_[i].free -= part, of_kind -= part;
  }
}

std::vector<GroupPart> Colocation::part_of_places(const Job& job, const std::vector<PromisedPlace>& places) const {
  std::vector<WorkerGroup> groups;
  for (const GroupPart& part : job.shares->pool.group->now) groups.push_back(part.group);
  for (WorkerGroup& group : groups_of(workers_.worker_of(places.front().band).description, job.spec.policy.together))
    groups.push_back(std::move(group));
  for (const WorkerGroup& group : groups)
    if (std::all_of(places.begin(), places.end(), [&](const PromisedPlace& place) {
          return is_in(group, workers_.worker_of(place.band).description);
        }))
      return {{group, std::max(job.spec.policy.gang, job.spec.policy.gang_max)}};
  return {};
}

std::vector<GroupPart> Colocation::parts_of_places(const Job& job, const std::vector<PromisedPlace>& places) const {
  const std::vector<GroupPart>& before = job.shares->pool.group->now;
  std::vector<GroupPart> parts;
  std::vector<std::array<std::uint64_t, kBandKinds>> held;
  for (const PromisedPlace& place : places) {
    const Register& worker = workers_.worker_of(place.band).description;
    const auto has_it = [&worker](const GroupPart& part) { return is_in(part.group, worker); };
    auto at = std::find_if(parts.begin(), parts.end(), has_it);
    if (at == parts.end()) {
      const auto known = std::find_if(before.begin(), before.end(), has_it);
      const std::vector<WorkerGroup> groups = groups_of(worker, job.spec.policy.together);
      if (known == before.end() && groups.empty()) return {};
      at = parts.insert(parts.end(), {known != before.end() ? known->group : groups.front(), 0});
      held.emplace_back();
    }
    held[static_cast<std::size_t>(at - parts.begin())][static_cast<std::size_t>(workers_[place.band].kind)] +=
        place.milli;
  }
  const std::uint32_t size = group_size(job);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint64_t most = *std::max_element(held[i].begin(), held[i].end());
    parts[i].slots = static_cast<std::uint32_t>((most + size * 1000ULL - 1) / (size * 1000ULL)) * size;
  }
  if (slots_of(parts) > job.spec.policy.gang) return {};
  // A part that has lost slots with a worker gets those again in its group.
  for (GroupPart& part : parts) {
    const auto same = [&part](const GroupPart& other) { return other.group == part.group; };
    const auto known = std::find_if(before.begin(), before.end(), same);
    if (known == before.end() || known->slots <= part.slots) continue;
    part.slots += std::min(known->slots - part.slots, job.spec.policy.gang - slots_of(parts));
  }
  return parts;
}

}  // namespace penstock::supervisor
