#include <algorithm>
#include <limits>
#include <map>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/explain/explainer.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/choose_parts.hpp"

namespace penstock::supervisor {
namespace {

std::string whole_slots(std::int64_t milli) { return std::to_string((milli + 999) / 1000); }

Value within(Duration left) { return Value{std::max(std::chrono::duration<double>(left).count(), 0.0)}; }

}  // namespace

Value::Record end_row(const std::vector<const Job*>& ended, Instant by, Instant now) {
  std::string names;
  for (const Job* each : ended) names += (names.empty() ? "" : ", ") + to_string(each->id);
  Value::Record made = remedy_row("end", names, ended.size() > 1 ? "together" : "");
  if (by != kNever) made.emplace_back("within_s", within(by - now));
  return made;
}

/// Bands that are closed to new work, and the remedy that opens them.
struct PolicyAnswers::Explainer::Candidate {
  std::string worker;
  std::string how;
  std::vector<std::size_t> closed;    ///< Places of the room that are closed,
  std::vector<std::uint64_t> absent;  ///< or thousandths of slots of bands that are not among them.
};

PolicyAnswers::Explainer::Explainer(const PolicyAnswers& core, const Job& job, BandKind kind)
    : core_(core), job_(job), kind_(kind), share_(job.shares->kinds[static_cast<std::size_t>(kind)]) {}

/// The least that the job takes next.
std::uint64_t PolicyAnswers::Explainer::step() const {
  if (!is_gang()) return std::max<std::uint64_t>(share_.allocation_unit.milli, 1);
  const std::uint64_t all = std::uint64_t{job_.spec.policy.gang} * 1000;
  const std::uint64_t held = core_.view_.milli_held(job_, kind_);
  return held < all ? all - held : all;
}

/// The same, as of the last pass.
std::uint64_t PolicyAnswers::Explainer::need() const {
  const bool reported =
      share_.why.waits.has_value() && share_.why.waits->resource == policy::Resource::Gpu &&
      (share_.why.waits->hold == policy::Hold::NoRoom || share_.why.waits->hold == policy::Hold::NeverFits);
  // Where quotas count, the last pass has the need of the first member of a gang only.
  const bool of_all = reported && !(is_gang() && core_.view_.counts_quotas(job_.shares->pool.position));
  return of_all ? static_cast<std::uint64_t>(std::max<std::int64_t>(share_.why.waits->need, 1)) : step();
}

RoomView::Holder PolicyAnswers::Explainer::holder_of(const Job& other, const RoomView& room) const {
  const KindShare& share = other.shares->kinds[static_cast<std::size_t>(kind_)];
  const policy::Parts& parts = core_.view_.parts_in(job_.shares->pool.position);
  RoomView::Holder holder{other.id, kNever, {}};
  for (const RoomView::Place& place : room.places) {
    const BandShare of_band = other.shares->of(place.band);
    // A leaving job is there until it has left.
    holder.places.push_back(
        std::max(of_band.planned, core_.demand_.milli_run(share, of_band, core_.workers_[place.band])));
  }
  if (policy::has_action(parts, policy::Action::Backfill) && share.holds_since != kNever) {
    holder.ends_by = later(share.holds_since, core_.view_.time_limit_of(other));
    // As backfill takes it.
    if (holder.ends_by <= core_.event_.now) holder.ends_by = later(core_.event_.now, parts.overrun);
  }
  return holder;
}

/// Room without places, with the way in which the job takes it.
RoomView PolicyAnswers::Explainer::empty_room() const {
  RoomView view;
  const bool quotas = core_.view_.counts_quotas(job_.shares->pool.position);
  view.whole_bands = is_gang() && !quotas;
  view.piece = is_gang() && quotas ? std::max<std::uint64_t>(share_.allocation_unit.milli, 1) : 0;
  return view;
}

RoomView PolicyAnswers::Explainer::room() const {
  RoomView view = empty_room();
  for (std::uint32_t i = 0; i < core_.workers_.band_slots(); ++i) {
    const BandEntry& band = core_.workers_[BandSlot{i}];
    if (!band.alive || band.kind != kind_ || !core_.view_.may_use(job_, BandSlot{i})) continue;
    if (share_.bound && core_.demand_.runnable_for(job_, BandSlot{i}) == 0) continue;
    const std::uint64_t all = std::uint64_t{band.slots} * 1000;
    view.places.push_back({BandSlot{i}, all, all, !band.draining});
  }
  for (const JobId id : core_.indices_.active) {
    const Job& other = core_.jobs_[id];
    if (other.shares == nullptr || other.shares->pool.position != job_.shares->pool.position) continue;
    RoomView::Holder holder = holder_of(other, view);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < holder.places.size(); ++i) {
      sum += holder.places[i];
      view.places[i].free -= std::min(holder.places[i], view.places[i].free);
    }
    if (sum > 0 && &other != &job_) view.holders.push_back(std::move(holder));
  }
  std::stable_sort(view.holders.begin(), view.holders.end(),
                   [](const auto& a, const auto& b) { return a.ends_by < b.ends_by; });
  return view;
}

/// By holder, the slots that would leave for this job if it had that precedence, by the rules of its pool; rather too
/// little.
std::vector<RoomView::Amounts> PolicyAnswers::Explainer::leaving_for(const RoomView& room,
                                                                     std::int64_t precedence) const {
  const policy::Parts& parts = core_.view_.parts_in(job_.shares->pool.position);
  std::vector<RoomView::Amounts> leaving(room.holders.size());
  if (!parts.preemption) return leaving;
  const bool quotas = core_.view_.counts_quotas(job_.shares->pool.position);
  const std::vector<bool> reclaimed = quotas ? reclaimable(room) : std::vector<bool>{};
  for (std::size_t at = 0; at < room.holders.size(); ++at) {
    const RoomView::Holder& holder = room.holders[at];
    const Job& other = core_.jobs_[holder.job];
    const bool leaves = quotas ? reclaimed[at]
                        : policy::has_action(parts, policy::Action::StartByPriority)
                            ? core_.view_.precedence_of(other) < precedence
                            : policy::has_action(parts, policy::Action::StartByShare);
    if (!leaves || !core_.demand_.may_leave(other, kind_)) continue;
    for (std::size_t i = 0; i < holder.places.size(); ++i) {
      const std::uint64_t held = holder.places[i];
      leaving[at].push_back(held - std::min(held, core_.demand_.milli_that_stays(other, room.places[i].band)));
    }
  }
  return leaving;
}

RoomView::Amounts PolicyAnswers::Explainer::may_come_back(const RoomView& room, std::int64_t precedence) const {
  RoomView::Amounts back;
  for (const RoomView::Amounts& each : leaving_for(room, precedence)) add_to(back, each);
  return back;
}

/// Jobs each of which gives it room when it ends; if there is none, the first that do so together.
void PolicyAnswers::Explainer::add_ends(const RoomView& room, Value::List& rows) const {
  const std::uint64_t needed = need();
  const auto job_of = [this](const RoomView::Holder& holder) { return core_.jobs_.find(holder.job); };
  const std::size_t before = rows.size();
  for (const RoomView::Holder& holder : room.holders)
    if (rows.size() < before + kRemedyRowsMax && room.fits(needed, holder.places))
      rows.emplace_back(end_row({job_of(holder)}, holder.ends_by, core_.event_.now));
  Ended together;
  RoomView::Amounts back;
  for (const RoomView::Holder& holder : room.holders) {
    if (rows.size() > before) return;
    together.push_back(job_of(holder));
    add_to(back, holder.places);
    if (room.fits(needed, back)) rows.emplace_back(end_row(together, holder.ends_by, core_.event_.now));
  }
}

/// Of workers of its pool that take nothing new, or are gone.
std::vector<PolicyAnswers::Explainer::Candidate> PolicyAnswers::Explainer::absent_bands(const RoomView& room) const {
  std::vector<Candidate> all;
  std::map<WorkerSlot, std::size_t> of_worker;
  for (std::size_t i = 0; i < room.places.size(); ++i) {
    if (room.places[i].open) continue;
    const WorkerSlot slot = core_.workers_[room.places[i].band].worker;
    const WorkerEntry& worker = core_.workers_[slot];
    const auto [at, is_new] = of_worker.try_emplace(slot, all.size());
    const std::string& name = worker.description.name;
    if (is_new)
      all.push_back({name,
                     worker.draining    ? "undrain " + name
                     : worker.suspected ? "it is heard of again"
                                        : "it has reported its data",
                     {},
                     {}});
    all[at->second].closed.push_back(i);
  }
  for (std::uint32_t i = 0; i < core_.workers_.worker_slots(); ++i) {
    const WorkerEntry& worker = core_.workers_[WorkerSlot{i}];
    const std::string& name = worker.description.name;
    if (worker.alive || core_.workers_.find(name).valid()) continue;
    if (pool_of_worker(core_.policy_.config, name) != std::int64_t{job_.shares->pool.position}) continue;
    if (!job_.place.label_limits.empty() && !allow(job_.place.label_limits, worker.description.labels)) continue;
    Candidate absent{name, "it comes back", {}, {}};
    for (const BandDescription& band : worker.description.bands)
      if (const auto slots = band.capacity.slots.value() / 1000; band.kind == kind_ && slots > 0)
        absent.absent.push_back(static_cast<std::uint64_t>(slots) * 1000);
    if (!absent.absent.empty()) all.push_back(std::move(absent));
  }
  return all;
}

/// Workers each of which would help, as `helps` finds; if there is none, the first that do so together.
void PolicyAnswers::Explainer::add_workers(const RoomView& room, const Helps& helps, Value::List& rows) const {
  const std::vector<Candidate> candidates = absent_bands(room);
  const std::size_t before = rows.size();
  RoomView more = empty_room();
  more.places = room.places;
  const auto then_with = [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      for (const std::size_t place : candidates[i].closed) more.places[place].open = true;
      for (const std::uint64_t slots : candidates[i].absent)
        more.places.push_back({BandSlot::none(), slots, slots, true});
    }
    std::optional<std::string> then = helps(more);
    more.places.resize(room.places.size());
    for (std::size_t i = first; i < first + count; ++i)
      for (const std::size_t place : candidates[i].closed) more.places[place].open = false;
    return then;
  };
  const auto add = [&](std::size_t first, std::size_t count, const std::string& then) {
    std::string names;
    std::string how;
    for (std::size_t i = first; i < first + count; ++i) {
      names += (names.empty() ? "" : ", ") + candidates[i].worker;
      if (count == 1 || candidates[i].how != "it comes back") how += (how.empty() ? "" : "; ") + candidates[i].how;
    }
    if (count > 1) how = "together" + (how.empty() ? "" : "; " + how);
    rows.emplace_back(remedy_row("worker", names, how + then));
  };
  for (std::size_t i = 0; i < std::min(candidates.size(), kLookedAtMax) && rows.size() < before + kRemedyRowsMax; ++i)
    if (const auto then = then_with(i, 1)) add(i, 1, *then);
  if (rows.size() > before || candidates.size() < 2 || !then_with(0, candidates.size())) return;
  std::size_t too_few = 1;
  std::size_t enough = candidates.size();
  while (too_few + 1 < enough) {
    const std::size_t middle = too_few + (enough - too_few) / 2;
    (then_with(0, middle) ? enough : too_few) = middle;
  }
  // Without the last one it is not enough: that one may be, without the others.
  const std::size_t first = then_with(enough - 1, 1) ? enough - 1 : 0;
  add(first, enough - first, *then_with(first, enough - first));
}

/// In a pool by priority: the least priority above all waiting jobs for which enough would leave.
void PolicyAnswers::Explainer::add_priority(const RoomView& room, Value::List& rows) const {
  const policy::Parts& parts = core_.view_.parts_in(job_.shares->pool.position);
  if (!policy::has_action(parts, policy::Action::StartByPriority) || parts.ordering != policy::Ordering::Priority)
    return;
  std::int64_t priority = job_.spec.priority;
  std::vector<std::int64_t> levels;  // A job may leave for one with a higher priority.
  for (const JobId id : core_.indices_.active) {
    const Job& other = core_.jobs_[id];
    if (&other == &job_ || other.shares == nullptr || other.shares->pool.position != job_.shares->pool.position)
      continue;
    const std::optional<WaitsFor>& waits = other.shares->kinds[static_cast<std::size_t>(kind_)].why.waits;
    const bool competes = waits.has_value() && waits->hold != policy::Hold::NeverFits &&
                          waits->hold != policy::Hold::Held && waits->hold != policy::Hold::AtSlotsMax;
    if (competes && other.spec.priority >= priority) priority = std::int64_t{other.spec.priority} + 1;
    levels.push_back(std::int64_t{other.spec.priority} + 1);
  }
  levels.push_back(priority);
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  // By halves: for a higher priority the same jobs leave, and more.
  const auto level = std::partition_point(levels.begin(), levels.end(), [&](std::int64_t each) {
    return each < priority || !room.fits(need(), may_come_back(room, each));
  });
  if (level == levels.end() || *level == job_.spec.priority) return;
  if (*level > std::numeric_limits<std::int32_t>::max()) return;
  const std::int32_t written = job_.scale.written(static_cast<std::int32_t>(*level));
  if (!job_.scale.inside(written)) return;  // Nothing is above the first.
  const std::string name = to_string(job_.id);
  rows.emplace_back(remedy_row("priority", name, "set priority " + name + " " + std::to_string(written)));
}

/// Adds the event that the job waits for: another job starts, or has left.
void PolicyAnswers::Explainer::add_other(const WaitsFor& waits, Value::List& rows) const {
  const std::string name = waits.other.valid() ? to_string(waits.other) : "";
  const bool known = waits.other.valid() && core_.jobs_.knows(waits.other);
  const Job* other = known ? core_.jobs_.find(waits.other) : nullptr;
  if (waits.hold == policy::Hold::PredecessorsLeave) {
    Value::Record leaves = remedy_row("leave", name, "");
    if (core_.view_.parts_in(job_.shares->pool.position).preemption)
      leaves.emplace_back("within_s", within(other == nullptr ? core_.view_.longest_grace_in(job_.shares->pool.position)
                                                              : core_.view_.grace_of(*other)));
    rows.emplace_back(std::move(leaves));
    return;
  }
  Value::Record starts = remedy_row("start", name, "");
  if (other != nullptr && other->shares != nullptr)
    if (const Instant at = other->shares->kinds[static_cast<std::size_t>(kind_)].why.starts_by; at != kNever)
      starts.emplace_back("within_s", within(at - core_.event_.now));
  rows.emplace_back(std::move(starts));
  if (waits.hold == policy::Hold::HigherPriority) add_priority(room(), rows);
}

/// Its fair share would be larger, and there would be room.
bool PolicyAnswers::Explainer::gets_more_without_cap() const {
  std::optional<ShareView> view = shares();
  if (view.has_value()) {
    policy::ShareGroup& own = view->sharers[view->subject].group;
    own.demand = std::max(own.demand, view->need);  // The last pass was shown no more than the cap.
    if (!view->suffices()) return false;
  }
  const RoomView now = room();
  return now.fits(step(), may_come_back(now, core_.view_.precedence_of(job_)));
}

Value::List PolicyAnswers::Explainer::freed_by() const {
  PENSTOCK_COVERAGE_MARK("remedies for a blocked job are searched");
  Value::List rows;
  const std::string name = to_string(job_.id);
  if (job_.status.on_hold) {
    rows.emplace_back(remedy_row("release", name, "release " + name));
    return rows;
  }
  const std::uint32_t cap = job_.spec.policy.slots_max;
  const auto held = static_cast<std::int64_t>(core_.view_.milli_held(job_, kind_));
  if (!share_.why.waits.has_value() && !core_.is_at_cap(job_, kind_)) return remedies_of_limit();
  const WaitsFor waits = share_.why.waits.value_or(WaitsFor{policy::Hold::AtSlotsMax, std::int64_t{cap} * 1000, held});
  switch (waits.hold) {
    case policy::Hold::NoRoom:
    case policy::Hold::NeverFits: {
      const RoomView view = room();
      const bool never = waits.hold == policy::Hold::NeverFits;
      if (!never) add_ends(view, rows);
      if (!never) add_priority(view, rows);
      // A job that no end would free is freed by bands beside all that are held.
      add_workers(
          view,
          [this, never](const RoomView& more) -> std::optional<std::string> {
            if (more.fits(need(), {})) return "";
            if (never && more.fits(need(), more.held())) return "; then others have to leave";
            return std::nullopt;
          },
          rows);
      break;
    }
    case policy::Hold::AtFairShare: add_share_rows(rows); break;
    case policy::Hold::AtSlotsMax:
      if (!gets_more_without_cap()) break;
      rows.emplace_back(remedy_row(
          "cap", name, "set cap " + name + " " + whole_slots(waits.have + static_cast<std::int64_t>(step()))));
      break;
    case policy::Hold::ProjectLimit:
    case policy::Hold::ProjectGuarantee: add_project_rows(rows); break;
    case policy::Hold::HigherPriority:
    case policy::Hold::PredecessorsLeave:
    case policy::Hold::BehindReservation:
    case policy::Hold::FirstServed: add_other(waits, rows); break;
    case policy::Hold::Gated:
    case policy::Hold::Held: break;
  }
  return rows;
}

}  // namespace penstock::supervisor
