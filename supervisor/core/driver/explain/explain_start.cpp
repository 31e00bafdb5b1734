#include <algorithm>

#include "supervisor/core/decimal_text.hpp"
#include "supervisor/core/driver/explain/explainer.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/policy/choose_parts.hpp"

namespace penstock::supervisor {
namespace {

/// Ends that an estimate rests on and that are named; the others are counted.
constexpr std::size_t kNamedMax = 3;

Value::Record known(const char* kind, Duration within, std::string basis) {
  return {{"kind", kind},
          {"within_s", std::max(std::chrono::duration<double>(within).count(), 0.0)},
          {"basis", std::move(basis)}};
}

Value::Record unknown(std::string why) { return {{"kind", "unknown"}, {"why", std::move(why)}}; }

std::string list_of(const std::vector<std::string>& all) {
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kNamedMax); ++i) text += (i > 0 ? ", " : "") + all[i];
  if (all.size() > kNamedMax) text += " and " + std::to_string(all.size() - kNamedMax) + " more";
  return text;
}

std::string seconds_text(std::uint64_t us) { return decimal_text(us / 1000) + " s"; }

}  // namespace

/// The rest of a job's time: by its time limit, where its queue has one or its pool goes by them; else by the ended
/// part of all its subtasks. `basis`: the basis of the estimate, or why there is none.
std::optional<Duration> PolicyAnswers::Explainer::ends_in(const Job& other, std::string& basis) const {
  const KindShare& share = other.shares->kinds[static_cast<std::size_t>(kind_)];
  const policy::Parts& parts = core_.view_.parts_in(other.shares->pool.position);
  const QueueConfig* queue = find_queue(core_.policy_.config, other.spec.policy.queue);
  const bool has_limit =
      policy::has_action(parts, policy::Action::Backfill) || (queue != nullptr && queue->time_limit > Duration{0});
  basis = to_string(other.id);
  if (has_limit && share.holds_since != kNever) {
    const Instant by = later(share.holds_since, core_.view_.time_limit_of(other));
    basis += by > core_.event_.now ? " (time limit)" : " (past its time limit)";
    return by > core_.event_.now ? by - core_.event_.now : parts.overrun;
  }
  std::uint64_t at_once = 0;
  for (std::uint32_t i = 0; i < core_.workers_.band_slots(); ++i) {
    const BandEntry& band = core_.workers_[BandSlot{i}];
    const BandShare there = other.shares->of(BandSlot{i});
    if (!band.alive || there.planned == 0) continue;
    const AllocationUnit& allocation_unit = other.shares->kinds[static_cast<std::size_t>(band.kind)].allocation_unit;
    const std::uint64_t runs = there.planned / std::max<std::uint64_t>(allocation_unit.run_milli, 1);
    at_once += std::min<std::uint64_t>(runs, there.runnable);
  }
  const JobCounts& counts = other.tally.counts;
  const std::optional<Duration> rest = rest_of({counts.attempts, counts.run_us, other.tally.open, at_once});
  if (!rest.has_value()) {
    basis += " (no time limit, and " + std::to_string(counts.attempts) + " of " + std::to_string(other.total()) +
             " subtasks ended)";
    return rest;
  }
  basis += " (progress: " + std::to_string(counts.attempts) + " subtasks took " +
           seconds_text(counts.run_us / counts.attempts) + " each, " + std::to_string(other.tally.open) +
           " are left, " + std::to_string(at_once) + " run at once)";
  return rest;
}

/// Jobs that wait for room in its pool as well and go before it.
std::vector<const Job*> PolicyAnswers::Explainer::waiting_before() const {
  std::vector<const Job*> before;
  const bool by_order =
      !core_.view_.counts_quotas(job_.shares->pool.position) &&
      !policy::has_action(core_.view_.parts_in(job_.shares->pool.position), policy::Action::StartByShare);
  for (const JobId id : core_.indices_.active) {
    const Job& other = core_.jobs_[id];
    if (&other == &job_ || other.shares == nullptr || other.shares->pool.position != job_.shares->pool.position)
      continue;
    const std::optional<WaitsFor>& waits = other.shares->kinds[static_cast<std::size_t>(kind_)].why.waits;
    if (!waits.has_value() || waits->hold == policy::Hold::NeverFits || waits->hold == policy::Hold::Held ||
        waits->hold == policy::Hold::AtSlotsMax || waits->hold == policy::Hold::AtFairShare)
      continue;
    if (!by_order || core_.view_.goes_before(other, job_)) before.push_back(&other);
  }
  if (by_order)
    std::stable_sort(before.begin(), before.end(),
                     [this](const Job* a, const Job* b) { return core_.view_.goes_before(*a, *b); });
  return before;
}

/// The estimate if all jobs before it start first, and none passes another.
Value::Record PolicyAnswers::Explainer::start_by_room() const {
  const std::vector<const Job*> before = waiting_before();
  const policy::Parts& parts = core_.view_.parts_in(job_.shares->pool.position);
  const bool by_order = !core_.view_.counts_quotas(job_.shares->pool.position) &&
                        !policy::has_action(parts, policy::Action::StartByShare);
  if (!by_order && !before.empty())
    return unknown(std::to_string(before.size()) +
                   " other jobs wait, and the next one depends on the slots of all then");
  const RoomView view = room();
  std::vector<std::optional<Duration>> ends;
  std::vector<std::string> bases;
  for (const RoomView::Holder& holder : view.holders)
    ends.push_back(ends_in(core_.jobs_[holder.job], bases.emplace_back()));
  std::vector<WaitingForRoom> waiting;
  const auto add = [&](const Explainer& each, std::optional<Duration> runs_for) {
    const RoomView of_each = each.empty_room();
    waiting.push_back({each.need(), of_each.whole_bands, of_each.piece, runs_for});
  };
  for (const Job* each : before)
    add(Explainer{core_, *each, kind_}, policy::has_action(parts, policy::Action::Backfill)
                                            ? std::optional{core_.view_.time_limit_of(*each)}
                                            : std::nullopt);
  add(*this, std::nullopt);
  const StartEstimate estimate = estimate_start(view, ends, waiting);
  const std::string others = before.empty() ? "" : std::to_string(before.size()) + " that wait before it start first; ";
  if (!estimate.within.has_value()) {
    std::vector<std::string> unsure;
    for (const std::size_t at : estimate.unsure) unsure.push_back(bases[at]);
    return unknown(others + (unsure.empty() ? "the ends that are known do not make room"
                                            : "the ends of these are unknown: " + list_of(unsure)));
  }
  std::vector<std::string> after;
  for (const std::size_t at : estimate.after) after.push_back(bases[at]);
  return known("estimated", *estimate.within,
               others + (after.empty() ? "there is room now" : "these end: " + list_of(after)));
}

/// When so many have ended that its share is large enough and there is room.
Value::Record PolicyAnswers::Explainer::start_by_share() const {
  const std::optional<ShareView> view = shares();
  if (!view.has_value()) return unknown("its share is not known yet");
  if (view->suffices()) return unknown("its share has grown, and the next pass says whether there is room");
  struct End {
    Duration in;
    std::size_t sharer;
    std::string basis;
  };
  std::vector<End> ends;
  std::vector<std::string> unsure;
  for (std::size_t i = 0; i < view->sharers.size(); ++i) {
    if (i == view->subject || view->sharers[i].group.held == 0) continue;
    std::string basis;
    const std::optional<Duration> in = ends_in(core_.jobs_[view->sharers[i].job], basis);
    if (in.has_value())
      ends.push_back({*in, i, std::move(basis)});
    else
      unsure.push_back(std::move(basis));
  }
  std::stable_sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.in < b.in; });
  std::vector<std::size_t> in_order;
  for (const End& each : ends) in_order.push_back(each.sharer);
  const std::vector<std::vector<std::size_t>> first = ends_that_suffice(*view, in_order, 0, 0);
  if (first.empty())
    return unknown("its share grows when others end" +
                   (unsure.empty() ? std::string{} : ", and the ends of these are unknown: " + list_of(unsure)));
  std::vector<std::string> after;
  Duration in{0};
  for (const End& each : ends) {  // In their order.
    if (after.size() == first.front().size() || each.sharer != first.front()[after.size()]) continue;
    after.push_back(each.basis);
    in = each.in;
  }
  return known("estimated", in, "its share is large enough when these end: " + list_of(after));
}

std::optional<Value::Record> PolicyAnswers::Explainer::start() const {
  if (core_.view_.milli_held(job_, kind_) > 0 || core_.hold_of(job_, kind_).empty()) return std::nullopt;
  if (job_.status.on_hold) return unknown("it is on hold until `release`");
  if (share_.why.starts_by != kNever && share_.why.starts_by > core_.event_.now)
    return known("reserved", share_.why.starts_by - core_.event_.now, "time limits of running jobs");
  if (share_.gang.barrier->waits()) return unknown("its gang begins when workers hold all its slots");
  if (!share_.why.waits.has_value())
    return unknown(job_.place.unschedulable.empty() ? "a limit keeps it from starting" : "no band may have it now");
  const WaitsFor& waits = *share_.why.waits;
  switch (waits.hold) {
    case policy::Hold::NoRoom:
    case policy::Hold::HigherPriority:
    case policy::Hold::BehindReservation:
    case policy::Hold::FirstServed: return start_by_room();
    case policy::Hold::AtFairShare: return start_by_share();
    case policy::Hold::PredecessorsLeave: {
      if (!core_.view_.parts_in(job_.shares->pool.position).preemption)
        return unknown("its place is promised when others have left it");
      const bool one = waits.other.valid() && core_.jobs_.knows(waits.other);
      const Duration grace = one ? core_.view_.grace_of(core_.jobs_[waits.other])
                                 : core_.view_.longest_grace_in(job_.shares->pool.position);
      return known("estimated", grace, "its place is promised, and the jobs that leave it have so much grace");
    }
    case policy::Hold::NeverFits: return unknown("no end makes room: its pool could not hold it if it were empty");
    case policy::Hold::ProjectLimit:
    case policy::Hold::ProjectGuarantee: return unknown("its project may not hold more");
    case policy::Hold::AtSlotsMax: return unknown("its own cap is too low");
    case policy::Hold::Gated:
    case policy::Hold::Held: break;
  }
  return unknown("it is held");
}

}  // namespace penstock::supervisor
