// An upper bound of the room that a band could get, without trying: most searches for victims fail, and the bound tells
// so at once.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "supervisor/policy/trial.hpp"

namespace penstock::policy {

/// Room of one band: devices by their memory, because members may share them.
struct BandBest {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t device_mib = 0;
};

/// The most room that each band could get if some of its members went. A member that may not be lost and has no room on
/// another band stays in every trial, so its room is never counted. The bound is never too small and may be too large.
class BestCaseRoom {
 public:
  /// As the trial is now, with no member gone. Cost: O(bands).
  explicit BestCaseRoom(const Trial& trial);

  /// `lost`: it may go for good. Otherwise it goes if another band has room for it; `anywhere`: or because others leave
  /// other bands together with it. `together`: how many of its job may be taken from the band because of it.
  void may_go(std::uint32_t member, bool lost, bool anywhere, std::int64_t together = 1);
  /// Whether the band could hold the member when all of those have gone.
  bool might_hold(std::uint32_t member, std::uint32_t band) const { return might_hold_of(member, band, 1) > 0; }
  /// How many of its kind, at most `count`.
  std::int64_t might_hold_of(std::uint32_t member, std::uint32_t band, std::int64_t count) const;
  /// How many may be taken from a band; rather too many than too few.
  std::int64_t takeable(std::uint32_t band) const { return takeable_[band]; }
  /// Whether a member there goes together with others on other bands.
  bool is_tied(std::uint32_t band) const { return tied_[band]; }

 private:
  /// The largest value and the next one, of different bands.
  struct TopTwo {
    std::pair<std::int64_t, std::uint32_t> first{-1, kNone};
    std::int64_t second = -1;
    void offer(std::int64_t value, std::uint32_t band);
    std::int64_t without(std::uint32_t band) const { return band == first.second ? second : first.first; }
  };

  /// Resources beside devices.
  struct Rest {
    TopTwo cpu;
    TopTwo memory;
  };

  void offer_rest(const Resources& later, std::uint32_t band);
  BandBest size_of(std::uint32_t member, std::uint32_t band) const;
  bool has_room_elsewhere(std::uint32_t member, std::uint32_t band) const;

  const Trial& trial_;
  std::vector<BandBest> best_;          ///< By band.
  std::vector<std::int64_t> mib_;       ///< By band: of a device. Rooms of bands are too large to be looked through.
  std::vector<std::int64_t> takeable_;  ///< By band.
  std::vector<bool> tied_;              ///< By band.
  std::vector<Rest> rest_;              ///< By whole devices: of bands that have so many, or more.
  TopTwo whole_;                        ///< Thousandths of whole devices.
  TopTwo shared_mib_;                   ///< Free memory of one shared device,
  TopTwo shared_part_;                  ///< and the same in thousandths of it.
};

/// The members that may be taken, as in `SolveRules`, and whether the waiting job has several members.
struct BestCaseKey {
  std::uint32_t only_project = kNone;
  std::uint32_t not_project = kNone;
  bool several = false;
  friend auto operator<=>(const BestCaseKey&, const BestCaseKey&) = default;
};

/// The bounds of one pass, each made once as long as the trial stays as it is: many jobs ask the same in vain.
class BestCaseRooms {
 public:
  /// How many times as long as the first one a search goes on before it asks: longer where searches that had asked
  /// succeeded, which is no use of the bound, and shorter again where they failed.
  std::size_t patience() const { return patience_; }
  void note_search(bool succeeded) {
    patience_ = succeeded ? std::min(patience_ * 2, kPatienceMax) : std::max<std::size_t>(patience_ / 2, 1);
  }
  bool has(const Trial& trial, const BestCaseKey& key) const { return mark_ == trial.mark() && known_.contains(key); }
  /// REQUIRES: no trial that may be undone is open. `fill` names the members that may go.
  template <class Fill>
  const BestCaseRoom& get(const Trial& trial, const BestCaseKey& key, const Fill& fill) {
    if (mark_ != trial.mark()) known_.clear();
    mark_ = trial.mark();
    auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    known = known_.emplace(key, BestCaseRoom{trial}).first;
    fill(known->second);
    return known->second;
  }

 private:
  static constexpr std::size_t kPatienceMax = 4;

  std::size_t mark_ = 0;
  std::size_t patience_ = 1;
  std::map<BestCaseKey, BestCaseRoom> known_;
};

}  // namespace penstock::policy
