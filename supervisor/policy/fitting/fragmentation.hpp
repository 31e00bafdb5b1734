// The free devices of a band that typical requests cannot use, and how much of them a placement adds: the fitting
// `fragmentation`. After Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
// Gradient Descent", USENIX ATC 2023, with counts of requests in place of their probabilities, so that all is exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

struct BandRoom;
class Trial;

/// The amounts that decide where a member fits.
struct MemberRequest {
  Resources amounts;  ///< `gpu` counts devices given whole.
  std::int64_t device_share = 0;
  std::int64_t device_memory_mib = 0;
  std::int64_t devices = 0;

  bool wants_devices() const { return amounts.gpu > 0 || devices > 0; }
  /// For orders: all of it.
  std::array<std::int64_t, 6> key() const {
    return {amounts.gpu, devices, device_share, device_memory_mib, amounts.cpu, amounts.memory};
  }
  friend bool operator==(const MemberRequest&, const MemberRequest&) = default;
};
MemberRequest request_of(const Member& member);

/// A shape that `count` members of a pool have, with the bands that these may use.
struct TypicalRequest {
  MemberRequest shape;
  std::uint32_t band_list = kNone;
  std::int64_t count = 0;
};

/// Rarer shapes than the first so many count for nothing: a bound for the cost of a score.
inline constexpr std::size_t kTypicalRequestsMax = 96;

/// The shapes of the members of a pool that want devices, the most frequent first: waiting ones and those that have a
/// place. Work without devices can use no device at all, wherever it is, and does not count.
std::vector<TypicalRequest> typical_requests(const Snapshot& snapshot, std::uint32_t pool);

/// The room of a band, now or later, as fragmentation sees it.
struct FreeDevices {
  /// The rest of a shared device.
  struct Rest {
    std::int64_t mib = 0;   ///< -1: none, or one that is wholly left and counts as a whole device.
    std::int64_t part = 0;  ///< The same in thousandths.
  };
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t places = 0;
  std::int64_t whole = 0;
  std::int64_t device_memory_mib = 0;
  std::vector<Rest> rests;  ///< As `BandRoom::groups`.

  /// In thousandths.
  std::int64_t all() const;
  /// Thousandths of it that a request of that shape cannot use: all, if the request does not fit the band.
  std::int64_t unusable(const MemberRequest& request) const;
};
void read_room(const BandRoom& room, FreeDevices& free);

/// How a member would fit a band, and how much the band is the worse for it.
struct BandGrowth {
  enum class Fits : std::uint8_t { Not, Later, Now };
  Fits fits = Fits::Not;
  std::uint32_t device = kNone;  ///< For a part of one device: the shared one, by position; kNone: one more is opened.
  /// Thousandths of devices that typical requests cannot use any more, summed over all requests.
  std::int64_t growth = 0;
  std::int64_t tie = 0;   ///< Among equal growth, the smaller first: see `tie_of`;
  std::int64_t free = 0;  ///< then the fuller band.

  friend bool operator==(const BandGrowth&, const BandGrowth&) = default;
};
/// Whether `a` comes before `b`; neither, if both have all in common. Room now comes first of all.
bool grows_less(const BandGrowth& a, const BandGrowth& b);

/// A band at its place in the order of choice; names end ties.
struct RankedGrowth {
  BandGrowth growth;
  std::uint32_t rank = 0;  ///< Of its name.
  std::uint32_t band = kNone;

  friend bool operator<(const RankedGrowth& a, const RankedGrowth& b) {
    if (grows_less(a.growth, b.growth)) return true;
    return !grows_less(b.growth, a.growth) && a.rank < b.rank;
  }
};

/// Scores of bands, kept until the room of a band changes. Owned by one trial.
/// Cost: O(shapes x bands) of memory; a score is O(typical requests x devices of the band).
class DeviceFragmentation {
 public:
  DeviceFragmentation(const Trial& trial, std::uint32_t pool);

  /// The room of the band has changed: to be told of each change.
  void note_change(std::uint32_t band);

  /// A row of scores: for one shape.
  std::size_t row_of(const Member& member);
  /// REQUIRES: `row` is that of the member, found after the last change of rows; `trial` is over the same snapshot.
  const BandGrowth& growth(const Trial& trial, std::size_t row, std::uint32_t member, std::uint32_t band);
  /// The bands that the member fits, the best first. REQUIRES: as above. Cost: a score and O(log bands) for each change
  /// of a band since the row was asked last.
  const std::set<RankedGrowth>& in_order(const Trial& trial, std::size_t row, std::uint32_t member);
  /// Thousandths of free devices of the band that typical requests cannot use, summed over all requests.
  std::int64_t fragmentation(const FreeDevices& free, std::uint32_t band) const;

 private:
  struct Score {
    std::uint64_t changes = UINT64_MAX;  ///< Of the band, when it was made.
    BandGrowth growth;
  };
  struct Row {
    std::array<std::int64_t, 6> key{};
    std::vector<Score> scores;  ///< By band.
    std::set<RankedGrowth> order;
    bool is_complete = false;
    std::uint64_t seen = 0;  ///< So many changes are in it, if it is complete.
  };
  struct Before {
    std::uint64_t changes = UINT64_MAX;
    std::int64_t fragmentation = 0;
  };

  void refresh(const Trial& trial, Row& row, std::uint32_t member, std::uint32_t band);
  BandGrowth judge(const Trial& trial, std::uint32_t member, std::uint32_t band);
  void judge_part(const Trial& trial, std::uint32_t member, std::uint32_t band, BandGrowth& best);

  std::vector<TypicalRequest> typical_;
  std::vector<std::vector<bool>> allowed_;  ///< By request, by band; empty: all bands.
  std::vector<Row> rows_;
  std::vector<Before> before_;          ///< By band.
  std::vector<std::uint32_t> ranks_;    ///< By band.
  std::vector<std::uint32_t> changed_;  ///< The bands of the latest changes;
  std::uint64_t forgotten_ = 0;         ///< of so many before them only the count is known.
  FreeDevices free_;                    ///< Room on trial: kept for its memory.
};

}  // namespace penstock::policy
