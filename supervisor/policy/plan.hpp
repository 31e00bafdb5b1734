// The decisions of a policy pass. Plain values; the core carries them out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// How many slots of a band a workload may hold now.
struct Entitlement {
  std::uint32_t workload = kNone;
  std::uint32_t band = kNone;
  std::int64_t milli_slots = 0;
  friend bool operator==(const Entitlement&, const Entitlement&) = default;
};

/// A member that starts at once, on capacity that is free now.
struct Start {
  std::uint32_t member = kNone;
  std::vector<Place> places;
  std::vector<std::uint32_t> device_groups;
  bool backfilled = false;  ///< Starts while a more important job waits, and may have to leave for that job.
  friend bool operator==(const Start&, const Start&) = default;
};

/// A member that has its place as soon as others have left it.
struct Reservation {
  std::uint32_t member = kNone;
  std::vector<Place> places;
  std::vector<std::uint32_t> device_groups;
  Instant starts_by = kNever;  ///< By time limits.
  friend bool operator==(const Reservation&, const Reservation&) = default;
};

enum class PreemptionReason : std::uint8_t {
  AboveShare,     ///< Its workload holds more than its fair share.
  Priority,       ///< A more important workload needs the place.
  Reclaim,        ///< Another project is below its entitlement.
  Consolidation,  ///< The member gets another place, so that another job fits.
  StaleGang,      ///< Its gang has been below its minimum for too long.
  Turn,           ///< Another job has waited for too long without a slot.
};

struct Preemption {
  std::uint32_t member = kNone;
  PreemptionReason reason = PreemptionReason::Priority;
  std::uint32_t beneficiary = kNone;  ///< The workload that needs the place; none: no particular one.
  friend bool operator==(const Preemption&, const Preemption&) = default;
};

/// The rule that holds a waiting workload.
enum class Hold : std::uint8_t {
  NoRoom,             ///< `need` slots or thousandths of devices; the roomiest place has `have`.
  NeverFits,          ///< No band, or no set of bands, could hold it even if all were empty.
  AtFairShare,        ///< The job holds `have` of the `need` slots of its share; its next gang is larger.
  AtSlotsMax,         ///< Its own cap is `need`; it holds `have`.
  HigherPriority,     ///< A more important job waits, and only preemptible jobs are backfilled.
  PredecessorsLeave,  ///< Its place is promised and is being left.
  ProjectLimit,       ///< With it `subject` would hold `need` and may hold `have`.
  ProjectGuarantee,   ///< Not preemptible, so it must fit the guarantee: `subject` would hold `need` of `have`.
  Gated,              ///< Its gang is not complete.
  Held,               ///< By a limit or by wish.
  BehindReservation,  ///< Starting it would delay a reserved start.
  FirstServed,        ///< A job before it is blocked, and no job passes that one.
};

struct Explanation {
  std::uint32_t workload = kNone;
  std::uint32_t member = kNone;  ///< The first one that waits.
  Hold hold = Hold::NoRoom;
  std::int64_t need = 0;
  std::int64_t have = 0;
  std::uint32_t subject = kNone;      ///< A project, where one is meant.
  std::uint32_t other = kNone;        ///< The workload that it waits for, where there is one.
  Resource resource = Resource::Gpu;  ///< The resource of `need` and `have`; slots count as devices.
  friend bool operator==(const Explanation&, const Explanation&) = default;
};

/// The share of a workload (slots) or a project (each resource), before anything is placed.
struct Target {
  std::uint32_t owner = kNone;
  Resources amount;  ///< Slots count in `gpu`, in thousandths.
  friend bool operator==(const Target&, const Target&) = default;
};

/// The multi-factor priority of a workload, with its terms: wait, fair share, service, level, size, user.
struct WorkloadPriority {
  std::uint32_t workload = kNone;
  std::int64_t priority = 0;
  std::array<double, 6> terms{};
  friend bool operator==(const WorkloadPriority&, const WorkloadPriority&) = default;
};

struct Plan {
  std::vector<Entitlement> entitlements;  ///< By workload, then band; kept places and starts.
  std::vector<Start> starts;
  std::vector<Reservation> reservations;
  std::vector<Preemption> preemptions;
  std::vector<Explanation> explanations;  ///< One for each workload with members that wait, by workload.
  std::vector<Target> workload_targets;
  std::vector<Target> project_targets;
  std::vector<WorkloadPriority> priorities;  ///< Where the order is multi-factor.
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace penstock::policy
