// The input of a policy pass: the cluster, its owners and all jobs, at one instant. Plain values, never changed by a
// pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/time.hpp"

namespace penstock::policy {

/// Positions in the vectors of `Snapshot`; `kNone` is none. A position is valid within one snapshot only.
inline constexpr std::uint32_t kNone = 0xffffffffU;
/// As a guaranteed amount or a limit: without bound.
inline constexpr std::int64_t kUnlimited = -1;

inline constexpr std::size_t kResources = 3;
enum class Resource : std::uint8_t { Cpu, Memory, Gpu };

/// CPU in thousandths of a core, memory in bytes, GPUs in thousandths of a device.
struct Resources {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t gpu = 0;

  constexpr std::int64_t of(std::size_t resource) const { return resource == 0 ? cpu : resource == 1 ? memory : gpu; }
  constexpr std::int64_t& of(std::size_t resource) { return resource == 0 ? cpu : resource == 1 ? memory : gpu; }
  constexpr Resources& operator+=(const Resources& other) {
    return cpu += other.cpu, memory += other.memory, gpu += other.gpu, *this;
  }
  constexpr Resources& operator-=(const Resources& other) {
    return cpu -= other.cpu, memory -= other.memory, gpu -= other.gpu, *this;
  }
  friend constexpr Resources operator+(Resources a, const Resources& b) { return a += b; }
  friend constexpr Resources operator-(Resources a, const Resources& b) { return a -= b; }
  friend constexpr bool operator==(const Resources&, const Resources&) = default;
  /// Each part fits.
  constexpr bool within(const Resources& room) const {
    return cpu <= room.cpu && memory <= room.memory && gpu <= room.gpu;
  }
};

enum class BandState : std::uint8_t {
  Enabled,
  Draining,  ///< Goes on with its members and takes nothing new.
};

/// The schedulable part of a worker.
struct Band {
  std::string name;  ///< Ends ties.
  std::uint32_t pool = 0;
  BandState state = BandState::Enabled;
  std::int64_t slots = 0;         ///< Whole slots, for the policies that count slots.
  std::int64_t light_places = 0;  ///< How many gangs without slots it takes.
  Resources capacity;
  std::int64_t device_memory_mib = 0;     ///< Of one device.
  std::int64_t members_max = kUnlimited;  ///< How many gang members it holds at once.
};

/// The guarantee and limits of one owner for one resource.
struct ResourceShare {
  std::int64_t guaranteed = 0;
  std::int64_t limit = kUnlimited;
  std::int64_t weight = 0;  ///< In thousandths; of the idle rest beyond all guarantees.
  double usage = 0;         ///< Decayed use of this resource over the window, as part of its capacity; 0: not counted.
};

/// An owner of jobs, or a group of owners: a department is a project with children.
struct Project {
  std::string name;
  std::uint32_t parent = kNone;
  std::int64_t priority = 100;
  std::int64_t created = 0;  ///< Older is smaller; ends ties.
  std::array<ResourceShare, kResources> shares;
  std::optional<Duration> preempt_min_runtime;
  std::optional<Duration> reclaim_min_runtime;
};

enum class WorkloadKind : std::uint8_t { Training, Interactive, Inference };

enum class MemberState : std::uint8_t {
  Pending,
  Gated,     ///< Not ready to start, for reasons of its own.
  Starting,  ///< Given a place, not running yet.
  Running,
  Promised,  ///< Has a place that is still being left by others.
  Leaving,   ///< Asked to give its place back.
  Succeeded,
  Failed,
};

/// Where a gang member is, or a part of it.
struct Place {
  std::uint32_t band = kNone;
  std::int64_t slots = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// So many slots of a member are on bands of one list.
struct MemberPart {
  std::uint32_t band_list = kNone;  ///< Position in `Snapshot::band_lists`.
  std::int64_t slots = 0;
  friend auto operator<=>(const MemberPart&, const MemberPart&) = default;
};

/// The unit that starts as a whole: one attempt, or one gang that spreads over whole bands.
struct Member {
  std::string name;
  std::uint32_t workload = 0;
  std::uint32_t set = 0;  ///< Position in `Workload::sets`.
  MemberState state = MemberState::Pending;
  bool preemptible = true;
  bool single_band = false;  ///< Never spread over several bands.
  // The request, in slots (fair share, priority) and as a vector (quota).
  std::int64_t slots = 0;
  Resources request;                   ///< `gpu` counts devices given whole; 0 where a part of a device is asked for.
  std::int64_t device_share = 0;       ///< Thousandths of each of `devices` devices.
  std::int64_t device_memory_mib = 0;  ///< Or: memory of each of `devices` devices.
  std::int64_t devices = 0;
  std::uint32_t band_list = kNone;  ///< Position in `Snapshot::band_lists` of the bands it may use; none: all.
  /// Position in `Snapshot::part_lists`: each part has its bands, and `band_list` has all of them; none: no parts.
  std::uint32_t part_list = kNone;
  // Its rank.
  std::int64_t submitted = 0;  ///< When its workload was; smaller is older.
  std::int64_t requested = 0;
  std::optional<std::int64_t> order_priority;
  // Places that it holds.
  std::vector<Place> places;
  std::vector<std::uint32_t> device_groups;  ///< Shared devices of its band, by a number that members of one share.
};

/// Members of which some minimum runs together or not at all.
struct MemberSet {
  std::string name;
  std::int64_t min = 1;
};

/// A job as policy sees it.
struct Workload {
  std::string name;
  std::uint32_t project = kNone;
  std::uint32_t account = kNone;     ///< A leaf of `Snapshot::accounts`.
  std::uint32_t share_node = kNone;  ///< In `Snapshot::share_nodes`: its owner where slots are shared fairly.
  std::uint32_t pool = 0;
  WorkloadKind kind = WorkloadKind::Training;
  bool preemptible = true;
  /// Larger is more important. The 1-to-99 priorities of users are turned round at the border.
  std::int64_t priority = 0;
  std::int64_t weight = 1000;  ///< In thousandths, above 0.
  std::int64_t slots_max = kUnlimited;
  std::int64_t beyond = 0;  ///< Slots wanted for further members, for which there is no room: they count in its share.
  /// Of a bag: slots that it holds in other pools. Its share grows by its whole demand, or each pool would change the
  /// shares of the others in turns.
  std::int64_t elsewhere = 0;
  std::int64_t core = 0;  ///< Of an elastic gang: the slots of the member that starts first and leaves last.
  std::optional<std::int64_t> position;  ///< In the order of its priority; smaller is earlier.
  std::int64_t submitted = 0;            ///< Orders workloads by age; smaller is older.
  std::optional<Instant> last_start;
  std::optional<Instant> waits_since;      ///< Since when it has wanted slots and held none.
  std::optional<Instant> protected_until;  ///< Until then it loses nothing to a job that has its turn.
  std::optional<Instant> stale_since;      ///< Since when a gang of it has been below its minimum.
  std::vector<MemberSet> sets{MemberSet{}};
  // For multi-factor order and backfill.
  Instant submitted_at{};
  double quality_factor = 0.5;  ///< Of its level of service: expedite 1, normal 0.5, standby 0.
  std::uint32_t level = kNone;  ///< The same, by its position in `Snapshot::level_takes`.
  std::uint32_t rank = 0;       ///< Of that level: `priority` is larger than that of any job of less rank.
  double level_factor = 0;      ///< Of the named level that it was submitted to.
  double user_factor = 1;
  std::int64_t size = kUnlimited;  ///< In slots, for the size factor; not said: that of its largest member.
  std::optional<Duration> time_limit;
  std::optional<Instant> ends_by;  ///< Of a running one: when its time limit is over.
  bool limit_is_kept = false;      ///< The job is ended then: its time limit is its own, and no guess.
  bool held = false;               ///< By a limit or by wish; never started.
  /// The job is tried in another pool of its list: its place here is kept, but no member leaves for it, and it does not
  /// start.
  bool keeps_place = false;
};

/// A department, a project, or a user in one: slots are divided among these before their jobs divide them. Parents come
/// before their parts.
struct ShareNode {
  std::string name;
  std::uint32_t parent = kNone;
  std::int64_t weight = 1000;           ///< In thousandths, above 0; among the parts of its parent.
  std::int64_t slots_max = kUnlimited;  ///< Of all jobs below it together.
  friend bool operator==(const ShareNode&, const ShareNode&) = default;
};

/// A limit of a user or an account where slots are shared fairly: it counts in the division, whatever owners these
/// workloads have.
struct SlotLimit {
  std::int64_t slots = 0;
  std::vector<std::uint32_t> workloads;  ///< Ascending, of one pool; together they hold at most so many slots.
  friend bool operator==(const SlotLimit&, const SlotLimit&) = default;
};

/// A node of the share tree; its usage is charged at the leaves.
struct Account {
  std::string name;
  std::uint32_t parent = kNone;
  bool user = false;
  std::int64_t shares = 1;
  double usage = 0;  ///< Decayed resource-seconds of this leaf; ignored on inner nodes.
};

/// A place that an earlier pass promised to a member, and that other members are still leaving.
struct CarriedReservation {
  std::uint32_t member = kNone;
  std::vector<Place> places;
};

/// One instant. Members of one workload are in any order; vectors refer to each other by position.
struct Snapshot {
  Instant now{};
  std::vector<Band> bands;
  std::vector<Project> projects;
  std::vector<Account> accounts;
  /// By two levels of service: jobs of the first may take slots from jobs of the second, which has less rank. Empty:
  /// none may.
  std::vector<std::vector<bool>> level_takes;
  std::vector<ShareNode> share_nodes;  ///< Of the pools that share slots fairly among projects.
  std::vector<SlotLimit> slot_limits;
  std::vector<Workload> workloads;
  std::vector<Member> members;
  std::vector<CarriedReservation> carried;
  /// Ascending, none empty. Thousands of members of a job, or of all jobs with the same labels, name one list.
  std::vector<std::vector<std::uint32_t>> band_lists;
  /// Lists of parts, each with at least one; the slots of a list are those of its member.
  std::vector<std::vector<MemberPart>> part_lists;

  /// Whether a more important job may take slots from the other: jobs of one rank may, and a level from those that it
  /// names. So slots only ever go to a larger priority, and never round in a circle.
  bool may_take(const Workload& taker, const Workload& loser) const {
    if (taker.rank == loser.rank) return true;
    return taker.level < level_takes.size() && loser.level < level_takes.size() &&
           level_takes[taker.level][loser.level];
  }
  /// The bands that a member may use; empty: all.
  std::span<const std::uint32_t> bands_of(const Member& member) const {
    return member.band_list == kNone ? std::span<const std::uint32_t>{} : band_lists[member.band_list];
  }
};

/// Fills `Snapshot::band_lists`, each list once. One for each snapshot. Cost: O(bands log lists) for each call.
class BandLists {
 public:
  /// The position of that list in `snapshot`; `kNone` if it is empty.
  std::uint32_t name(std::vector<std::uint32_t> bands, Snapshot& snapshot) {
    if (bands.empty()) return kNone;
    std::sort(bands.begin(), bands.end());
    bands.erase(std::unique(bands.begin(), bands.end()), bands.end());
    const auto position = static_cast<std::uint32_t>(snapshot.band_lists.size());
    const auto [known, added] = known_.try_emplace(std::move(bands), position);
    if (added) snapshot.band_lists.push_back(known->first);
    return known->second;
  }

 private:
  std::map<std::vector<std::uint32_t>, std::uint32_t> known_;
};

}  // namespace penstock::policy
