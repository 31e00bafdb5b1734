// The cluster on trial: members take, leave and are promised places, owners' sums follow, and all of it can be undone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "supervisor/policy/fitting/fragmentation.hpp"
#include "supervisor/policy/parts.hpp"
#include "supervisor/policy/sharing/owner.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// One device that several members share.
struct DeviceGroup {
  std::uint32_t label = 0;  ///< As `Member::device_groups` names it.
  std::int64_t held_mib = 0;
  std::int64_t leaving_mib = 0;
  std::int64_t promised_mib = 0;
  std::int32_t held = 0;
  std::int32_t leaving = 0;
  std::int32_t promised = 0;

  bool used() const { return held + leaving + promised > 0; }
  /// No member stays on it or waits for it: as good as a whole device that is being left.
  bool wholly_leaving() const { return leaving > 0 && held == 0 && promised == 0; }
  std::int64_t used_mib() const { return held_mib + leaving_mib + promised_mib; }
};

/// The free room of a band, and the room that members are leaving.
struct BandRoom {
  bool in_pool = false;
  bool open = false;
  std::int64_t device_memory_mib = 0;  ///< Of one device, as it is handed out.
  Resources idle;
  Resources leaving;  ///< Without the part that is promised already; below 0 where more was promised.
  std::int64_t places_idle = 0;
  std::int64_t places_leaving = 0;
  std::vector<DeviceGroup> groups;
  std::uint64_t changes = 0;            ///< Counts them: a score made at this value holds as long as it stays.
  std::int64_t shared_memory_mib = -1;  ///< Most that is left of one of them, now or later; -1: none is shared.

  Resources later() const { return idle + leaving; }
};

/// The places of a member during a pass. A member that moves has two: the one that it leaves and the one that it is
/// promised.
struct Holdings {
  MemberState state = MemberState::Pending;
  std::uint32_t band = kNone;
  std::vector<std::uint32_t> groups;  ///< Positions in `BandRoom::groups`.
  std::uint32_t left_band = kNone;
  std::vector<std::uint32_t> left_groups;
  bool counted = true;  ///< In the owners' sums; promises of earlier passes are not.
  /// Where this pass was to start it before it was taken: put back there, it still starts.
  std::uint32_t lost_start = kNone;
  std::vector<std::uint32_t> lost_groups;

  friend bool operator==(const Holdings&, const Holdings&) = default;
};

/// How a member would fit a band.
struct BandFit {
  bool now = false;  ///< On idle room; otherwise when others have left.
  std::vector<std::uint32_t> groups;
};

/// Free and future room in all bands of the pool together, in thousandths of devices.
struct DeviceTotals {
  std::int64_t later = 0;   ///< Whole devices.
  std::int64_t parts = 0;   ///< The rest of shared ones.
  std::int64_t shared = 0;  ///< Shared devices, whole.
  friend bool operator==(const DeviceTotals&, const DeviceTotals&) = default;
};

/// Members of one set of a workload.
struct SetCount {
  std::int64_t active = 0;  ///< Members that hold a place or are promised one.
  std::int64_t min = 1;     ///< So many at least, or none.
  friend bool operator==(const SetCount&, const SetCount&) = default;
};

/// Bands by the future free amount of a resource, then by name: the fullest that has room first.
using BandsByRoom = std::set<std::pair<std::int64_t, std::uint32_t>>;

/// The bands of a pool by room. A search files changed bands first, so that a trial that is undone costs little.
struct RoomFiling {
  std::vector<std::uint32_t> by_name;
  std::vector<std::uint32_t> ranks;    ///< By band: its position in `by_name`.
  std::array<BandsByRoom, 3> by_room;  ///< By `Trial::Index`.
  std::vector<Resources> filed;        ///< By band: the room that it is filed under.
  std::vector<std::uint32_t> changed;
  std::vector<bool> is_changed;
  std::optional<DeviceFragmentation> scores;  ///< Made when they are asked for.
};

/// Owned by one pass over one pool. Cost: a change is O(depth of the project tree); undo the same.
class Trial {
 public:
  Trial(const Snapshot& snapshot, std::uint32_t pool, const Parts& parts);

  enum class When : std::uint8_t { NowOrLater, Later };

  /// How the member fits the band, if it does.
  std::optional<BandFit> fit(std::uint32_t member, std::uint32_t band, When when) const;
  /// Whether it does, and whether now, without saying on which devices: much cheaper.
  std::optional<bool> fits_now_or_later(std::uint32_t member, std::uint32_t band, When when) const;
  /// The memory that the member takes of each of its devices.
  std::int64_t memory_on(std::uint32_t member, std::uint32_t band) const;
  /// Puts a waiting or leaving member on a band. `now`: it starts; else it is promised the place. A member that is
  /// promised exactly the place that it was leaving simply stays, and one that this pass was to start there starts.
  void place(std::uint32_t member, std::uint32_t band, const BandFit& fit);
  /// Orders a member to leave its place, or takes back a promise.
  void leave(std::uint32_t member);
  /// The place of its start is free for others from now on.
  void forget_start(std::uint32_t member);
  /// Turns a start of this pass into a promise.
  void make_promise(std::uint32_t member);

  std::size_t mark() const { return log_.size(); }
  /// Positions of the projects with changed jobs since then, each once.
  std::vector<std::uint32_t> projects_changed_since(std::size_t mark) const;
  void undo_to(std::size_t mark);

  const Snapshot& snapshot() const { return snapshot_; }
  const Parts& parts() const { return parts_; }
  const std::vector<std::uint32_t>& bands() const { return bands_; }
  const BandRoom& room(std::uint32_t band) const { return rooms_[band]; }
  const Holdings& holdings(std::uint32_t member) const { return holdings_[member]; }
  MemberState state(std::uint32_t member) const { return holdings_[member].state; }
  const std::vector<Owner>& owners() const { return owners_; }
  const Resources& total() const { return total_; }
  const DeviceTotals& devices() const { return devices_; }
  /// Counts changes: a result found at this value holds as long as it stays.
  std::uint64_t version() const { return version_; }
  /// Of each of its sets.
  std::span<const SetCount> sets_of(std::uint32_t workload) const {
    return std::span{sets_}.subspan(first_set_[workload], first_set_[workload + 1] - first_set_[workload]);
  }

  /// The bands by devices, or by CPU: those with devices, or those without.
  /// Second of a pair: its rank by name.
  enum class Index : std::uint8_t { Devices, CpuBesideDevices, CpuAlone };
  const BandsByRoom& bands_by_room(Index index) const;
  DeviceFragmentation& fragmentation() const;
  std::uint32_t band_of_rank(std::uint32_t rank) const { return filing_.by_name[rank]; }
  bool in_pool(std::uint32_t workload) const;

  /// The amount that a member counts for: on a band, or while it waits (`kNone`).
  Resources amount(std::uint32_t member, std::uint32_t band) const;
  Resources amount(std::uint32_t member) const { return amount(member, holdings_[member].band); }
  /// Labels of the shared devices that it holds.
  std::vector<std::uint32_t> group_labels(std::uint32_t member) const;

  /// Checks that the sums equal a recount; for tests.
  bool sums_are_right() const;

 private:
  struct Change {
    std::uint32_t member = kNone;
    Holdings before;
  };

  void make_rooms();
  void rank_bands();
  void count_shared(const BandRoom& room, const DeviceGroup& group, std::int64_t sign);
  void make_owners();
  std::vector<std::uint32_t> groups_of(std::uint32_t member, std::uint32_t band);
  void set(std::uint32_t member, Holdings holdings);
  void apply(std::uint32_t member, std::int64_t sign);
  void apply_room(std::uint32_t member, MemberState state, std::uint32_t band, const std::vector<std::uint32_t>& groups,
                  std::int64_t sign);
  void apply_group(BandRoom& room, DeviceGroup& group, MemberState state, std::int64_t signed_mib);
  std::optional<BandFit> fit_shared(std::uint32_t member, std::uint32_t band, When when) const;

  const Snapshot& snapshot_;
  const Parts& parts_;
  const std::uint32_t pool_;
  std::vector<std::uint32_t> bands_;
  Resources total_;
  std::int64_t device_memory_min_ = 0;
  std::vector<BandRoom> rooms_;
  std::vector<Owner> owners_;
  std::vector<Holdings> holdings_;
  std::vector<Change> log_;
  DeviceTotals devices_;
  std::uint64_t version_ = 0;
  // Orders ask for these all the time: all that they need lies together.
  std::vector<std::size_t> first_set_;  ///< By workload: where its sets begin; then where the last ones end.
  std::vector<SetCount> sets_;
  mutable RoomFiling filing_;
};

constexpr bool is_held_on_trial(MemberState state) {
  return state == MemberState::Starting || state == MemberState::Running;
}
/// Holds a place, or is promised one.
constexpr bool is_active(MemberState state) { return is_held_on_trial(state) || state == MemberState::Promised; }

}  // namespace penstock::policy
