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
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {
namespace {

/// Ends that an estimate rests on and that are named; the others are counted.
constexpr std::size_t kNamedMax = 3;
/// With fewer ended subtasks, or a smaller part of all, there is no estimate.
constexpr std::uint64_t kEndedLeast = 8;
constexpr std::uint64_t kEndedPart = 10;

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

/// The rest of a job's time from its ended subtasks, if `left` take as long each and `at_once` of them run. None: few
/// have ended, or a small part of all, or nothing runs.
std::optional<Duration> rest_of(const JobCounts& ended, std::uint64_t left, std::uint64_t at_once) {
  if (ended.attempts < kEndedLeast || ended.attempts * kEndedPart < ended.attempts + left || at_once == 0)
    return std::nullopt;
  const double each = static_cast<double>(ended.run_us) / static_cast<double>(ended.attempts);
  const double rest_us = each * static_cast<double>(left) / static_cast<double>(at_once);
  if (rest_us > 1e15) return std::nullopt;  // Thirty years are no estimate.
  return std::chrono::microseconds{static_cast<std::int64_t>(rest_us)};
}

std::string seconds_text(std::uint64_t us) { return decimal_text(us / 1000) + " s"; }

}  // namespace

/// The rest of a job's time: by its time limit, where it or its queue has one or its pool goes by them; else by the
/// ended part of all its subtasks. `basis`: the basis of the estimate, or why there is none.
std::optional<Duration> PolicyAnswers::Explainer::ends_in(const Job& other, std::string& basis) const {
  const KindShare& share = other.shares->kinds[static_cast<std::size_t>(kind_)];
  const policy::Parts& parts = core_.view_.parts_in(other.shares->pool.position);
  const bool has_limit = policy::has_action(parts, policy::Action::Backfill) || core_.view_.has_time_limit(other);
  basis = to_string(other.id);
  if (has_limit && share.since.holds != kNever) {
    const Instant by = core_.view_.ends_by(other, share.since.holds);
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
  const std::optional<Duration> rest = rest_of(counts, other.tally.open, at_once);
  if (!rest.has_value()) {
    basis += " (no time limit, and " + std::to_string(other.total() - other.tally.open) + " of " +
             std::to_string(other.total()) + " subtasks ended)";
    return rest;
  }
  basis += " (progress: " + std::to_string(counts.attempts) + " subtasks took " +
           seconds_text(counts.run_us / counts.attempts) + " each, " + std::to_string(other.tally.open) +
           " are left, " + std::to_string(at_once) + " run at once)";
  return rest;
}

/// One pass after the other, with the ends between them that are known: until the job gets its slots. A job with an
/// unknown end never ends: so an estimate never rests on a guess.
Value::Record PolicyAnswers::Explainer::start_after_ends() {
  struct End {
    Duration at;
    std::uint32_t workload;
    std::string basis;
  };
  const bool backfill = policy::has_action(parts(), policy::Action::Backfill);
  std::vector<End> ends;
  std::vector<std::string> unsure;
  for (const std::uint32_t each : holders()) {
    std::string basis;
    const std::optional<Duration> in = ends_in(job_at(each), basis);
    if (in.has_value())
      ends.push_back({*in, each, std::move(basis)});
    else
      unsure.push_back(std::move(basis));
  }
  const auto sooner = [](const End& a, const End& b) { return a.at < b.at; };
  std::stable_sort(ends.begin(), ends.end(), sooner);
  policy::Snapshot changed = what_if_->next();
  std::vector<End> ended;
  std::size_t started = 0;
  const auto others = [&] {
    return started == 0 ? "" : std::to_string(started) + " that wait before it start first; ";
  };
  for (;;) {
    const std::optional<policy::Plan> plan = what_if_->pass(changed);
    if (!plan.has_value()) return unknown("its pool is too large to compute it");
    if (what_if_->given_at_last(changed, *plan) > 0) break;
    const Duration now = ended.empty() ? Duration{0} : ended.back().at;
    for (const policy::Start& each : plan->starts) {
      const std::uint32_t workload = changed.members[each.member].workload;
      if (changed.workloads[workload].last_start.has_value()) continue;
      changed.workloads[workload].last_start = changed.now;
      ++started;
      if (const Job& job = job_at(workload); backfill || job.spec.time_limit > Duration{0})
        ends.push_back({now + core_.view_.time_limit_of(job), workload, to_string(job.id) + " (time limit)"});
    }
    std::stable_sort(ends.begin(), ends.end(), sooner);
    carry_out(*plan, changed);
    if (ends.empty())
      return unknown(others() + (unsure.empty() ? "the ends that are known do not make room"
                                                : "the ends of these are unknown: " + list_of(unsure)));
    end_workloads({ends.front().workload}, changed);
    changed.now = later(core_.event_.now, std::max(ends.front().at, Duration{0}));
    ended.push_back(std::move(ends.front()));
    ends.erase(ends.begin());
  }
  const bool by_share =
      share_.why.waits.has_value() && shares_slots(parts()) &&
      (share_.why.waits->hold == policy::Hold::AtFairShare || share_.why.waits->hold == policy::Hold::ProjectLimit);
  // The last pass has not found that room, so the pass on trial is no promise.
  if (ended.empty())
    return unknown(by_share ? "its share has grown, and the next pass says whether there is room"
                            : "slots have become free since the last pass, and the next pass decides about them");
  // The last end may be enough without the others.
  if (ended.size() > 1 && started == 0 && what_if_->helps(without({ended.back().workload})))
    ended.erase(ended.begin(), ended.end() - 1);
  std::vector<std::string> bases;
  for (const End& each : ended) bases.push_back(each.basis);
  return known("estimated", ended.back().at,
               others() + (by_share ? "its share is large enough when these end: " : "these end: ") + list_of(bases));
}

std::optional<Value::Record> PolicyAnswers::Explainer::start() {
  if (core_.view_.milli_held(job_, kind_) > 0 || core_.hold_of(job_, kind_).empty()) return std::nullopt;
  if (job_.status.on_hold) return unknown("it is on hold until `release`");
  if (share_.why.starts_by != kNever && share_.why.starts_by > core_.event_.now)
    return known("reserved", share_.why.starts_by - core_.event_.now, "time limits of running jobs");
  if (share_.gang.barrier->waits()) return unknown("its gang begins when workers hold all its slots");
  if (!share_.why.waits.has_value())
    return unknown(job_.place.unschedulable.empty() ? "a limit keeps it from starting" : "no band may have it now");
  const WaitsFor& waits = *share_.why.waits;
  const bool at_owners_limit = waits.hold == policy::Hold::ProjectLimit && shares_slots(parts());
  switch (at_owners_limit ? policy::Hold::AtFairShare : waits.hold) {
    case policy::Hold::NoRoom:
    case policy::Hold::HigherPriority:
    case policy::Hold::BehindReservation:
    case policy::Hold::FirstServed:
    case policy::Hold::AtFairShare:
      if (!what_if_.has_value()) return unknown("the next pass says");
      what_if_->begin();
      return start_after_ends();
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
