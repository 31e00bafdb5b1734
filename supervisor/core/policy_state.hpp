// The cluster's policy as the supervisor carries it out: the policy in force, and the pass under way.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/labels.hpp"
#include "common/protocol/policy_config.hpp"
#include "supervisor/core/job_shares.hpp"
#include "supervisor/core/policy_agenda.hpp"
#include "supervisor/core/share_nodes.hpp"
#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/plan.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {

/// Instead of a position in the configuration: the whole cluster.
inline constexpr std::uint32_t kAnyPool = ~std::uint32_t{0};

/// Why attempts are preempted, beside the reasons of a plan (`policy::PreemptionReason`), which come first.
struct PreemptedFor {
  static constexpr std::size_t kOnHold = 6;    ///< By an operator.
  static constexpr std::size_t kExcluded = 7;  ///< Its pools or labels exclude the worker now.
  static constexpr std::size_t kLimit = 8;     ///< A limit of its user or account.
  static constexpr std::size_t kAnother = 9;   ///< Its slots belong to another job.
  static constexpr std::size_t kCount = 10;
};

/// Where a job may be: bands of a pool, of workers that all these limits allow, and of one group of them.
struct Reach {
  std::uint32_t pool = kAnyPool;
  std::vector<LabelLimit> labels{};
  std::optional<WorkerGroup> group{};
};

/// The bands of one kind in one pool, as a pass counts them.
struct DomainView {
  std::uint64_t granularity = 1;      ///< Thousandths of a slot in one slot of the snapshot.
  std::uint64_t capacity = 0;         ///< Thousandths of slots.
  bool by_amount = false;             ///< Jobs there ask for memory or processors, which count as well.
  std::vector<ResourceVector> sizes;  ///< Of its bands, each once.
};

/// The place of that kind and pool among `PassUnderWay::domains`, and as a pool of the snapshot.
inline std::uint32_t domain_of(std::uint32_t pool, BandKind kind) {
  return pool * static_cast<std::uint32_t>(kBandKinds) + static_cast<std::uint32_t>(kind);
}

/// The devices of one band in a pass; see `driver/device_places.hpp`.
struct PassDevices {
  bool named = false;                             ///< The band has several: numbers are its devices.
  std::vector<std::uint64_t> parts;               ///< The held part of each, in thousandths of slots.
  std::vector<std::uint64_t> runs;                ///< Of each, what runs hold of jobs that were not shown yet.
  DeviceSet seen = 0;                             ///< Shared ones that were shown to the pass,
  DeviceSet shared = 0;                           ///< and those that its plan opens beside them.
  DeviceSet whole = 0;                            ///< Held as a whole by runs, as far as workers have reported.
  std::map<std::uint32_t, std::uint32_t> opened;  ///< The devices that the plan opens, by its numbers for them.
  JobId shown;                                    ///< The job of which parts were shown last,
  std::vector<std::uint8_t> order;                ///< and the devices of its further ones.
};

/// Positions in a snapshot and their subjects, kept until the plan for it comes.
struct PassUnderWay {
  struct Subject {
    JobId job;
    BandKind kind = BandKind::Cpu;
    bool gang = false;
    std::uint32_t domain = 0;
    bool keeps_place = false;  ///< The job is tried elsewhere; see `policy::Workload`.
    bool holds_only = false;   ///< The job is a bag that holds slots there, and is tried for more in another pool.
  };
  struct Member {
    std::uint32_t subject = 0;
    std::uint64_t milli = 0;            ///< Thousandths of slots.
    std::vector<PromisedPlace> places;  ///< Empty: the member waits.
    bool leaving = false;
    std::uint32_t device = policy::kNone;  ///< On which it was shown, of a band with several.
  };
  std::uint64_t number = 0;
  Instant begun{};
  std::vector<BandSlot> bands;
  std::vector<BandId> band_ids;               ///< A band may be another one when the plan comes.
  std::vector<std::uint32_t> first_projects;  ///< By pool of the snapshot: where its projects begin.
  AccountTree::Charged charged;               ///< The account of the snapshot that each user's use is charged to.
  std::vector<DomainView> domains;
  std::vector<PassDevices> devices;  ///< By band.
  std::vector<Subject> subjects;
  std::uint64_t granularity_of(std::uint32_t subject) const { return domains[subjects[subject].domain].granularity; }
  std::vector<Member> members;
  policy::BandLists band_lists;
  ShareNodes owners;
};

/// A pass that was carried out, for `explain`, which tries changes of it.
struct LastPass {
  PassUnderWay pass;
  policy::Snapshot snapshot;
  policy::Plan plan;
};

struct PolicyState {
  PolicyConfig config;
  ProjectTree tree;                         ///< Of its projects.
  std::vector<policy::Parts> parts;         ///< By pool of a snapshot, see `domain_of`.
  std::vector<std::uint32_t> pool_of_band;  ///< By band slot.
  PolicyAgenda agenda;                      ///< All jobs that have `Job::shares`.
  std::optional<PassUnderWay> pass;
  std::uint64_t passes = 0;
  std::uint64_t given_up = 0;  ///< Passes that failed or came too late.
  std::uint64_t preemptions = 0;
  std::array<std::uint64_t, PreemptedFor::kCount> preempted_for{};  ///< The same by reason.
  std::uint64_t barriers = 0;                                       ///< At which gangs have waited,
  std::uint64_t barriers_opened = 0;
  std::uint64_t barriers_given_up = 0;  ///< and those of which all slots were given back.
  Instant barriers_end = kNever;        ///< No gang that waits at one gives up earlier.
  Instant due = kNever;                 ///< The next pass begins then.
  std::uint64_t version = 0;            ///< Of the entitlements that were sent last.
  UsageTable usage;                     ///< Decayed.
  Instant decayed{};
  Instant kept{};  ///< When usage was written down last.
  /// By project: settings of operators since the configuration was read.
  std::map<std::pair<std::string, ProjectSetting>, std::int64_t> settings;
  std::map<std::string, std::int64_t> shares;  ///< By account: the same.
  std::optional<LastPass> last;
  std::vector<bool> contended;      ///< By pool and kind: the demand exceeds the capacity.
  std::uint32_t preempted_now = 0;  ///< Attempts preempted by the plan at hand.
  std::uint32_t lines_left = 0;     ///< Of the audit history, for changes of admission,
  Instant lines_until{};            ///< until then.
  std::string trouble;              ///< Why the last pass came to nothing.
};

}  // namespace penstock::supervisor
