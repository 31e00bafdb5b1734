// SupervisorCore: what would free a job that policy holds, for `explain`. Each row is enough by itself, as far as the
// last pass tells; who asks again after something has changed is told anew.
#include <algorithm>
#include <map>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/gang_sizes.hpp"
#include "supervisor/core/supervisor_core.hpp"
#include "supervisor/policy/choose_parts.hpp"

namespace penstock::supervisor {
namespace {

/// So many jobs, and workers, are named as alternatives. Not a setting: more would not be read.
constexpr std::size_t kReliefRowsMax = 3;

std::string whole_slots(std::int64_t milli) { return std::to_string((milli + 999) / 1000); }

Value::Record row(const char* what, std::string of, std::string how) {
  return {{"what", what}, {"of", std::move(of)}, {"how", std::move(how)}};
}

Value within(Duration left) { return Value{std::max(std::chrono::duration<double>(left).count(), 0.0)}; }

}  // namespace

/// What is free on the bands where a job could be, and what each other job holds there, in thousandths of slots.
struct SupervisorCore::RoomView {
  struct Place {
    BandSlot band;
    std::uint64_t all = 0;
    std::uint64_t free = 0;
    bool open = true;
  };
  struct Holder {
    const Job* job = nullptr;
    Instant ends_by = kNever;           ///< As far as a time limit tells.
    std::vector<std::uint64_t> places;  ///< What it holds of each.
  };
  std::vector<Place> places;
  std::vector<Holder> holders;  ///< Who ends first stands first; where nothing tells, who came first.
  bool whole_bands = false;     ///< A gang: also on several that are empty.

  /// Whether there is room for so much at once when so much has come back of each place.
  bool fits(std::uint64_t need, const std::vector<std::uint64_t>& back) const {
    BandSizes empty;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint64_t free = places[i].free + back[i];
      if (!places[i].open) continue;
      if (free >= need) return true;
      if (whole_bands && free == places[i].all) ++empty[places[i].all];
    }
    return holds_gang(empty, need);
  }
};

SupervisorCore::RoomView SupervisorCore::room_for(const Job& job, BandKind kind) const {
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  RoomView view;
  view.whole_bands = job.spec.policy.gang > 0 && !share.bound && !counts_quotas(job.shares->pool);
  for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) {
    const BandEntry& band = workers_[BandSlot{i}];
    if (!band.alive || band.kind != kind || !may_use(job, BandSlot{i})) continue;
    if (share.bound && runnable_for(job, BandSlot{i}) == 0) continue;
    const std::uint64_t all = std::uint64_t{band.slots} * 1000;
    view.places.push_back({BandSlot{i}, all, all, !band.draining});
  }
  const bool limited_in_time = parts_in(job.shares->pool).has(policy::Action::Backfill);
  for (const JobId id : active_) {
    const Job& other = *jobs_[id.value()];
    if (other.shares == nullptr || other.shares->pool != job.shares->pool) continue;
    const KindShare& of_other = other.shares->kinds[static_cast<std::size_t>(kind)];
    RoomView::Holder holder{&other, kNever, std::vector<std::uint64_t>(view.places.size(), 0)};
    std::uint64_t sum = 0;
    for (std::size_t place = 0; place < view.places.size(); ++place) {
      const BandSlot band = view.places[place].band;
      const BandShare of_band = other.shares->of(band);
      // What is to leave is there until it has left.
      const std::uint64_t held = std::max(of_band.planned, milli_run(of_other, of_band, workers_[band]));
      holder.places[place] = held;
      sum += held;
      view.places[place].free -= std::min(held, view.places[place].free);
    }
    if (limited_in_time && of_other.holds_since != kNever) {
      holder.ends_by = later(of_other.holds_since, time_limit_of(other));
      // As backfill takes it.
      if (holder.ends_by <= now_) holder.ends_by = later(now_, parts_in(job.shares->pool).overrun);
    }
    if (sum > 0 && &other != &job) view.holders.push_back(std::move(holder));
  }
  std::stable_sort(view.holders.begin(), view.holders.end(),
                   [](const auto& a, const auto& b) { return a.ends_by < b.ends_by; });
  return view;
}

/// Jobs each of which gives it room when it ends; if there is none, the first that do so together.
void SupervisorCore::add_ends(const RoomView& room, std::uint64_t need, Value::List& rows) const {
  const auto end_of = [&](const std::vector<const RoomView::Holder*>& gone) {
    std::string names;
    for (const RoomView::Holder* each : gone) names += (names.empty() ? "" : ", ") + to_string(each->job->id);
    Value::Record made = row("end", names, gone.size() > 1 ? "together" : "");
    if (gone.back()->ends_by != kNever) made.emplace_back("within_s", within(gone.back()->ends_by - now_));
    rows.emplace_back(std::move(made));
  };
  const std::size_t before = rows.size();
  for (const RoomView::Holder& holder : room.holders)
    if (rows.size() < before + kReliefRowsMax && room.fits(need, holder.places)) end_of({&holder});
  std::vector<const RoomView::Holder*> together;
  std::vector<std::uint64_t> back(room.places.size(), 0);
  for (const RoomView::Holder& holder : room.holders) {
    if (rows.size() > before) return;
    together.push_back(&holder);
    for (std::size_t place = 0; place < back.size(); ++place) back[place] += holder.places[place];
    if (room.fits(need, back)) end_of(together);
  }
}

/// Workers of its pool that take nothing new, or are gone, with a band of that size.
void SupervisorCore::add_workers(const Job& job, BandKind kind, const RoomView& room, std::uint64_t need,
                                 Value::List& rows) const {
  const std::size_t before = rows.size();
  for (const RoomView::Place& place : room.places) {
    if (place.open || place.free < need || rows.size() >= before + kReliefRowsMax) continue;
    const WorkerEntry& worker = workers_.worker_of(place.band);
    const std::string& name = worker.description.name;
    rows.emplace_back(row("worker", name,
                          worker.draining    ? "undrain " + name
                          : worker.suspected ? "it is heard of again"
                                             : "it has said what it holds"));
  }
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = workers_[WorkerSlot{i}];
    const std::string& name = worker.description.name;
    if (worker.alive || rows.size() >= before + kReliefRowsMax || workers_.find(name).valid()) continue;
    if (pool_of_worker(policy_.config, name) != std::int64_t{job.shares->pool}) continue;
    const auto& bands = worker.description.bands;
    if (std::any_of(bands.begin(), bands.end(), [&](const BandDescription& band) {
          return band.kind == kind && static_cast<std::uint64_t>(band.capacity.slots.value()) >= need;
        }))
      rows.emplace_back(row("worker", name, "it comes back"));
  }
}

/// Jobs of a project, and of its parts, which hold something; of a guarantee those that are never preempted.
void SupervisorCore::add_ends_in_project(const Job& job, BandKind kind, std::uint32_t project, bool fixed_only,
                                         Value::List& rows) const {
  const std::size_t before = rows.size();
  for (const JobId id : active_) {
    const Job& other = *jobs_[id.value()];
    if (&other == &job || other.shares == nullptr || milli_held(other, kind) == 0) continue;
    if (fixed_only && other.spec.policy.may_be_preempted()) continue;
    if (rows.size() < before + kReliefRowsMax && is_inside(other, project))
      rows.emplace_back(row("end", to_string(id), ""));
  }
}

bool SupervisorCore::is_inside(const Job& job, std::uint32_t project) const {
  for (std::uint32_t at = job.shares->project; at < policy_.tree.parents.size(); at = policy_.tree.parents[at])
    if (at == project) return true;
  return false;
}

/// Its quota would have to be so large, or its limit.
void SupervisorCore::add_project_rows(const Job& job, BandKind kind, const WaitsFor& waits, Value::List& rows) const {
  if (waits.project >= policy_.config.projects.size()) return;
  const std::string& name = policy_.config.projects[waits.project].name;
  const bool memory = waits.resource == policy::Resource::Memory;
  const bool guarantee = waits.hold == policy::Hold::ProjectGuarantee;
  const std::string amount = memory ? std::to_string(waits.need) : whole_slots(waits.need);
  const bool gpu = kind == BandKind::Gpu;
  if (guarantee)
    rows.emplace_back(row("quota", name,
                          std::string{memory ? "set memory-quota "
                                      : gpu  ? "set gpu-quota "
                                             : "set quota "} +
                              name + " " + amount));
  else
    rows.emplace_back(row("limit", name,
                          std::string{memory ? "memory_max = "
                                      : gpu  ? "gpu_slots_max = "
                                             : "slots_max = "} +
                              amount));
  add_ends_in_project(job, kind, waits.project, guarantee, rows);
}

/// What waits for another job: until it starts, or has left.
void SupervisorCore::add_other(const Job& job, BandKind kind, const WaitsFor& waits, Value::List& rows) const {
  const std::string name = waits.other.valid() ? to_string(waits.other) : "";
  const Job* other = waits.other.valid() && knows(waits.other) ? jobs_[waits.other.value()].get() : nullptr;
  if (waits.hold == policy::Hold::PredecessorsLeave) {
    Value::Record leaves = row("leave", name, "");
    if (parts_in(job.shares->pool).preemption)
      leaves.emplace_back("within_s", within(other == nullptr ? longest_grace_in(job.shares->pool) : grace_of(*other)));
    rows.emplace_back(std::move(leaves));
    return;
  }
  Value::Record starts = row("start", name, "");
  if (other != nullptr && other->shares != nullptr)
    if (const Instant at = other->shares->kinds[static_cast<std::size_t>(kind)].starts_by; at != kNever)
      starts.emplace_back("within_s", within(at - now_));
  rows.emplace_back(std::move(starts));
  if (waits.hold == policy::Hold::HigherPriority && other != nullptr)
    rows.emplace_back(row("priority", to_string(job.id),
                          "set priority " + to_string(job.id) + " " + std::to_string(other->spec.priority + 1)));
}

Value::List SupervisorCore::relief_of(const Job& job, BandKind kind) const {
  PENSTOCK_COVERAGE_MARK("what would free a job is looked for");
  Value::List rows;
  const KindShare& share = job.shares->kinds[static_cast<std::size_t>(kind)];
  const std::string name = to_string(job.id);
  if (job.on_hold) {
    rows.emplace_back(row("release", name, "release " + name));
    return rows;
  }
  const std::uint32_t cap = job.spec.policy.slots_max;
  const auto held = static_cast<std::int64_t>(milli_held(job, kind));
  if (!share.waits.has_value() && !is_at_cap(job, kind)) return relief_of_limit(job, kind);
  const WaitsFor waits = share.waits.value_or(WaitsFor{policy::Hold::AtSlotsMax, std::int64_t{cap} * 1000, held});
  switch (waits.hold) {
    case policy::Hold::NoRoom:
    case policy::Hold::NeverFits: {
      const bool slots = waits.resource == policy::Resource::Gpu;
      const std::uint64_t need = slots ? static_cast<std::uint64_t>(waits.need) : share.portion.milli;
      const RoomView room = room_for(job, kind);
      if (waits.hold == policy::Hold::NoRoom) add_ends(room, need, rows);
      add_workers(job, kind, room, need, rows);
      break;
    }
    case policy::Hold::AtFairShare:
      for (const RoomView::Holder& holder : room_for(job, kind).holders)
        if (rows.size() < kReliefRowsMax) rows.emplace_back(row("end", to_string(holder.job->id), ""));
      rows.emplace_back(row("weight", name, "set weight " + name + " to more than " + decimal_text(own_weight(job))));
      break;
    case policy::Hold::AtSlotsMax:
      rows.emplace_back(
          row("cap", name,
              "set cap " + name + " " + whole_slots(waits.have + static_cast<std::int64_t>(share.portion.milli))));
      break;
    case policy::Hold::ProjectLimit:
    case policy::Hold::ProjectGuarantee: add_project_rows(job, kind, waits, rows); break;
    case policy::Hold::HigherPriority:
    case policy::Hold::PredecessorsLeave:
    case policy::Hold::BehindReservation:
    case policy::Hold::FirstServed: add_other(job, kind, waits, rows); break;
    case policy::Hold::Gated:
    case policy::Hold::Held: break;
  }
  return rows;
}

}  // namespace penstock::supervisor
