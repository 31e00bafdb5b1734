#include "supervisor/core/driver/colocation.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/feasibility.hpp"
#include "supervisor/core/policy/policy_view.hpp"

namespace penstock::supervisor {
namespace {

/// The bands where the job holds slots or is promised some.
std::vector<BandSlot> places_of(const JobShares& shares, const WorkerTable& workers) {
  std::vector<BandSlot> bands;
  for (std::uint32_t i = 0; i < shares.bands.size() && i < workers.band_slots(); ++i)
    if (workers[BandSlot{i}].alive && shares.bands[i].planned > 0) bands.emplace_back(i);
  for (std::size_t kind = 0; kind < kBandKinds; ++kind)
    for (const std::vector<PromisedPlace>& places : shares.kinds[kind].promised)
      for (const PromisedPlace& place : places)
        if (workers[place.band].alive) bands.push_back(place.band);
  return bands;
}

bool has_reserved_start(const JobShares& shares) {
  return shares.kinds[0].why.starts_by != kNever || shares.kinds[1].why.starts_by != kNever;
}

/// Thousandths of slots of a kind that the gang needs at least.
std::uint64_t needed(const Job& job, std::size_t kind) {
  return job.shares->kinds[kind].unit_milli > 0 ? std::uint64_t{job.spec.policy.gang} * 1000 : 0;
}

}  // namespace

void Colocation::choose_groups() {
  rooms_.clear();
  for (const JobId id : policy_.agenda.in_sight())
    if (Job& job = jobs_[id]; !job.spec.policy.together.empty() && view_.is_shown(job)) choose(job);
}

void Colocation::choose(Job& job) {
  JobShares& shares = *job.shares;
  if (!places_of(shares, workers_).empty()) {
    const std::optional<WorkerGroup> group = group_of_places(job);
    if (!shares.pool.group->tried.empty() || shares.pool.group->now != group) shares.pool.group.edit() = {group, {}};
    return;
  }
  if (rooms_.empty()) measure_rooms();
  GroupChoice& choice = shares.pool.group.edit();
  const std::vector<WorkerGroup> groups = feasibility_.groups_that_could_hold(job, shares.pool.position);
  if (groups.empty()) {
    choice = {WorkerGroup{}, {}};  // No worker belongs to it: others would be asked to leave for nothing.
    return;
  }
  const bool is_there = choice.now && std::find(groups.begin(), groups.end(), *choice.now) != groups.end();
  const auto was_tried = [&](const WorkerGroup& group) {
    return std::find(choice.tried.begin(), choice.tried.end(), group) != choice.tried.end();
  };
  if (std::all_of(groups.begin(), groups.end(), was_tried)) choice.tried.clear();
  const WorkerGroup* best = nullptr;
  Rank best_rank;
  for (const WorkerGroup& group : groups) {
    if (was_tried(group)) continue;
    const Rank rank = rank_of(group, job);
    if (best == nullptr || rank < best_rank) best = &group, best_rank = rank;
  }
  if (is_there && has_reserved_start(shares) && best_rank.order != Order::HasRoom) return;
  if (choice.now && *choice.now != *best)
    PENSTOCK_COVERAGE_MARK("a gang that stays together is tried in another group");
  choice.now = *best;
  choice.tried.push_back(*best);
  if (best_rank.order == Order::HasRoom) take_room(*best, job);
}

Colocation::Rank Colocation::rank_of(const WorkerGroup& group, const Job& job) const {
  const Sums sums = room_in(group, job.shares->pool.position);
  const std::uint64_t most = std::uint64_t{std::max(job.spec.policy.gang, job.spec.policy.gang_max)} * 1000;
  bool has_room = true;
  bool could_have = true;
  Rank rank;
  for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
    if (needed(job, kind) == 0) continue;
    has_room = has_room && sums[kind].free >= needed(job, kind);
    could_have = could_have && sums[kind].free + sums[kind].lost >= needed(job, kind);
    rank.usable -= static_cast<std::int64_t>(std::min(sums[kind].free, most));
    rank.free += static_cast<std::int64_t>(sums[kind].free);
  }
  rank.order = has_room ? Order::HasRoom : could_have ? Order::CouldHave : Order::Neither;
  return rank;
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

void Colocation::take_room(const WorkerGroup& group, const Job& job) {
  std::array<std::uint64_t, kBandKinds> left{needed(job, 0), needed(job, 1)};
  for (std::uint32_t i = 0; i < rooms_.size(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || policy_.pool_of_band[i] != job.shares->pool.position) continue;
    if (!is_in(group, workers_.worker_of(BandSlot{i}).description)) continue;
    std::uint64_t& of_kind = left[static_cast<std::size_t>(band.kind)];
    const std::uint64_t part = std::min(of_kind, rooms_[i].free);
    rooms_[i].free -= part, of_kind -= part;
  }
}

std::optional<WorkerGroup> Colocation::group_of_places(const Job& job) const {
  const std::vector<BandSlot> bands = places_of(*job.shares, workers_);
  const std::optional<WorkerGroup>& now = job.shares->pool.group->now;
  std::vector<WorkerGroup> groups = groups_of(workers_.worker_of(bands.front()).description, job.spec.policy.together);
  if (now) groups.insert(groups.begin(), *now);
  for (const WorkerGroup& group : groups)
    if (std::all_of(bands.begin(), bands.end(),
                    [&](BandSlot band) { return is_in(group, workers_.worker_of(band).description); }))
      return group;
  return std::nullopt;
}

}  // namespace penstock::supervisor
