// The slots that policy lets one job hold, and those that it holds, band by band.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/lookup_map.hpp"
#include "common/base/seldom.hpp"
#include "common/protocol/policy_rules.hpp"
#include "common/protocol/report.hpp"
#include "supervisor/core/gang_barrier.hpp"
#include "supervisor/core/index_set.hpp"
#include "supervisor/core/job_pool.hpp"
#include "supervisor/core/usage.hpp"

namespace penstock::supervisor {

/// One job on one band.
struct BandShare {
  MilliSlots entitled;          ///< `max()`: policy sets no limit. 0 until the first pass has looked at the job.
  std::uint64_t planned = 0;    ///< Thousandths of slots that the last plan gave it, also where it sets no limit.
  std::uint32_t runs = 0;       ///< Attempts that its entitlement lets run at once, at least.
  std::uint32_t in_flight = 0;  ///< Attempts that the band holds of the job, cached successors included.
  std::uint32_t runnable = 0;   ///< Attempts with complete inputs.
  std::uint32_t started = 0;    ///< Attempts that have been running for a while.
  bool claimed = false;         ///< An attempt was claimed after a restart, and no pass has seen it yet.

  bool limited() const { return entitled != MilliSlots::max(); }
  std::uint32_t slots() const { return static_cast<std::uint32_t>((entitled.value() + 999) / 1000); }
  /// Whether the job could run more there than it has to run.
  bool is_short() const { return limited() && runnable < runs; }
};

/// Thousandths of slots of one job on each device of a band with several; empty: on any.
struct DeviceShare {
  std::vector<std::uint16_t> planned;   ///< By the last plan.
  std::vector<std::uint16_t> entitled;  ///< As its worker was told last.
};

/// A band has left subtasks for another one, where the job is short.
struct LeftForAnother {
  BandSlot band;
  BandSlot other;
  std::uint64_t asked_in = 0;  ///< The round of `WorkSearch` in which the other band was asked to take it.
};

/// A part of a place that is promised to a gang.
struct PromisedPlace {
  BandSlot band;
  std::uint64_t milli = 0;  ///< Thousandths of slots.
};

/// The least that a job takes of a band that gives it anything: one member of a snapshot stands for it.
struct AllocationUnit {
  std::uint64_t milli = 1000;      ///< Thousandths of the band's slots that it counts for.
  std::uint64_t run_milli = 1000;  ///< Thousandths that one of its runs counts for.
  std::uint64_t entitles = 1000;   ///< Thousandths of slots that workers let the job hold for it.
  MilliCpu cpu;                    ///< With it,
  Bytes memory;                    ///< and with it.
};

/// How far the gangs of a job on bands of one kind are from having all their slots.
struct GangShare {
  Instant incomplete_since = kNever;  ///< Since when one of them has had fewer than all.
  bool lost_to_others = false;        ///< Its missing slots went to runs that may not leave.
  Instant promised_since = kNever;    ///< Since when one has been promised places.
  std::string gave_back;              ///< Text about slots given back at `policy.gang_wait`, until it has all.
  Seldom<GangBarrier> barrier;        ///< Where it waits until workers hold all its slots.
};

/// Since when a job has had slots on bands of one kind, or has wanted some without having any; `kNever`: it does not.
struct ShareTimes {
  Instant holds = kNever;
  Instant waits = kNever;
  bool has_turn = false;         ///< Until it had slots it had waited for `policy.starvation_after`.
  std::uint8_t turns = 0;        ///< Turns one after the other, the last one included, without an end of a run.
  std::uint64_t ended_runs = 0;  ///< Runs of the job that had ended well when its last turn began.
};

/// The demand and the slots of a job on bands of one kind, as one pass after the other sees them.
struct KindShare {
  std::uint32_t unit_milli = 0;         ///< Slots of its largest subtask there; 0: it has none for such bands.
  ResourceVector beside;                ///< The most that its subtasks take beside as many slots,
  Seldom<ResourceVector> beside_least;  ///< and the least that each of them takes: of a gang.
  AllocationUnit allocation_unit;       ///< As of the last pass.
  // In thousandths of slots:
  std::uint64_t demand = 0;                          ///< Usable slots, for the last pass.
  std::uint64_t beyond = 0;                          ///< Demand for more than there is: it counts in shares.
  std::uint64_t target = 0;                          ///< The job's share, before anything is placed.
  std::vector<std::vector<PromisedPlace>> promised;  ///< For each gang, or slot, that waits for others to leave.
  bool bound = false;                                ///< Its work must run where it is kept, so slots must be there.
  std::uint32_t misplaced = 0;                       ///< Passes in a row that found its slots apart from its work.
  bool any_stays = false;                            ///< A subtask there is never preempted, as it must not run twice;
  bool all_stay = false;                             ///< no subtask there ever is.
  ShareTimes since;
  GangShare gang;
  ShareReasons why;

  /// With fewer whole slots its largest subtask would never run.
  std::uint32_t least_slots() const {
    return static_cast<std::uint32_t>((std::max<std::uint64_t>(unit_milli, allocation_unit.milli) + 999) / 1000);
  }
  /// Its allocation unit on a band that may be too small for it.
  std::uint64_t unit_on(const BandEntry& band) const {
    return std::min(allocation_unit.milli, std::uint64_t{band.slots} * 1000);
  }
  /// The slots that workers let it hold of a band, for so much in the plan.
  MilliSlots entitled_by(std::uint64_t planned) const {
    return MilliSlots{static_cast<std::int64_t>(planned * allocation_unit.entitles / allocation_unit.milli)};
  }
};

/// The `KindShare`s of one job, by `BandKind`. Most jobs have subtasks for bands of one kind: the other one stays
/// empty. A copy is shared with the original until one of both is written to: equal jobs that no pass has examined yet
/// have one together.
class KindShares {
 public:
  /// References are valid until it is written to.
  const KindShare& operator[](std::size_t kind) const {
    static const KindShare nothing{};
    return kinds_[kind] == nullptr ? nothing : *kinds_[kind];
  }
  /// To write to it. References are valid until a copy is made.
  KindShare& edit(std::size_t kind) {
    std::shared_ptr<KindShare>& share = kinds_[kind];  // tidy: allow call: a copy on write
    if (share == nullptr)
      share = std::make_shared<KindShare>();  // tidy: allow call: a copy on write
    else if (share.use_count() > 1)
      share = std::make_shared<KindShare>(*share);  // tidy: allow call: a copy on write
    return *share;
  }
  KindShare& edit(BandKind kind) { return edit(static_cast<std::size_t>(kind)); }
  /// Whether it is still shared with a copy.
  bool is_shared(BandKind kind) const { return kinds_[static_cast<std::size_t>(kind)].use_count() > 1; }
  /// Visits those that were written to and are not shared.
  template <class Visit>
  void visit_own(Visit visit_it) {
    for (const std::shared_ptr<KindShare>& share : kinds_)  // tidy: allow call: a copy on write
      if (share.use_count() == 1) visit_it(*share);
  }

 private:
  std::array<std::shared_ptr<KindShare>, kBandKinds> kinds_;  // tidy: allow call: jobs that are alike end in any order
};

/// The limit that keeps a job from more.
enum class LimitRule : std::uint8_t {
  None,
  OnHold,
  RunningJobs,
  Slots,
  GpuSlots,
  WaitingJobs,
  WaitingSlots,
  WaitingGpuSlots
};

/// The effect of the site's rules on a job: see `common/protocol/policy_rules.hpp`.
struct JobRules {
  double qos_factor = 0.5;
  std::uint32_t level = policy::kNone;  ///< Of service, by `level_position`,
  std::uint32_t rank = 0;               ///< and its rank.
  double queue_factor = 0;
  double user_factor = 1;
  std::int64_t usage_factor = 1000;  ///< Thousandths of its use that are charged.
  bool exempt = false;               ///< Limits of slots do not hold for it.
  std::vector<LimitedBy> limits;
  bool has_run = false;                    ///< The job counts as running until it holds and wants nothing.
  std::string hold;                        ///< The limit that keeps it from more; empty: none does.
  LimitRule blocked_by = LimitRule::None;  ///< The same,
  std::string blocked_by_whom;             ///< and the user or account that it limits.
  JobId kept_for;                          ///< For which some of it is kept, as that takes more at once; else none.
  std::array<bool, kBandKinds> cut{};      ///< Of which kind it wants more than that allows.
};

/// The running attempts of a job, and its use that is not charged yet.
struct JobUse {
  std::array<double, kUsedKinds> used{};  ///< As `UsedRate`, times microseconds.
  UsedRate started_rate{};                ///< Of attempts that have run for a while.
  Instant accrued{};                      ///< Until when `used` counts these.
};

/// Why attempts of a job were told to leave.
struct PreemptionNote {
  std::string text;
  std::uint8_t kind = 0;  ///< See `PreemptedFor`.
};

/// All policy state of a job. A job has this while a policy is in force; a job without it pays one look at a pointer.
struct JobShares {
  std::vector<BandShare> bands;  ///< By band slot.
  KindShares kinds;
  JobPool pool;
  std::uint32_t project = 0;  ///< Position in the configuration; the number of projects: of none.
  std::uint32_t account = 0;  ///< The same.
  std::int64_t position = 0;  ///< In the order of its priority; smaller is earlier.
  Seldom<JobUse> use;
  JobRules rules;
  std::uint64_t preemptions = 0;
  Seldom<PreemptionNote> preemption_reason;         ///< Of the last one that a plan has ordered.
  Seldom<std::map<BandSlot, DeviceShare>> devices;  ///< Of bands with several devices, where a plan names some.
  std::array<IndexSet, kBandKinds> short_bands;     ///< Of each kind, on which it is short; see `change`.
  std::vector<LeftForAnother> left_for_others;
  std::uint32_t pull_cursor = 0;                              ///< The band where something to move was found last.
  Seldom<LookupMap<SubtaskIndex, std::uint64_t>> preempting;  ///< Attempts that were asked to leave.

  BandShare& at(BandSlot band) {
    if (bands.size() <= band.value()) bands.resize(band.value() + 1);
    return bands[band.value()];
  }
  /// `ready`: the subtasks left could run at once, so the other band may pull them. Returns whether to ask that band:
  /// once in a round is enough. Of two jobs each may leave something on its band for the other's: they would ask for
  /// ever.
  bool leave_for(BandSlot band, BandSlot other, bool ready, std::uint64_t round) {
    const auto is_there = [band](const LeftForAnother& each) { return each.band == band; };
    auto left = std::find_if(left_for_others.begin(), left_for_others.end(), is_there);
    if (left == left_for_others.end()) left = left_for_others.insert(left_for_others.end(), {band, other});
    if (!ready || (left->other == other && left->asked_in == round)) return false;
    *left = {band, other, round};
    return true;
  }
  /// Where a change may make it short there, or no longer: `short_bands` is kept with it.
  template <class Change>
  void change(BandSlot band, BandKind kind, Change change_it) {
    BandShare& share = at(band);
    change_it(share);
    short_bands[static_cast<std::size_t>(kind)].set(band.value(), share.is_short());
  }
  /// A band that was never looked at gives nothing.
  BandShare of(BandSlot band) const { return band.value() < bands.size() ? bands[band.value()] : BandShare{}; }
};

/// By the last plan.
inline bool holds_slots(const JobShares& shares) {
  return std::any_of(shares.bands.begin(), shares.bands.end(), [](const BandShare& band) { return band.planned > 0; });
}

}  // namespace penstock::supervisor
