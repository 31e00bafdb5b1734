// The use of each resource by each user: one tally for each, so that weights may change and the past counts by the new
// ones. Pure. Spec: policy-flux 6.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "common/protocol/graph.hpp"
#include "common/protocol/policy_config.hpp"

namespace penstock::supervisor {

/// Whether its subtasks run on device bands.
inline bool wants_gpu(const Template& wanted) {
  return wanted.request.gpu > MilliGpu{0} || wanted.request.device_memory > Bytes{0};
}

/// The kinds of use that are counted.
enum class Used : std::uint8_t {
  CpuSlots,  ///< Slot-seconds of CPU bands.
  GpuSlots,  ///< Of device bands.
  Memory,    ///< GiB-seconds.
  Most,      ///< The largest weighted kind at the time: counted by `billing = "max"`.
};
inline constexpr std::size_t kUsedKinds = 4;

/// Seconds of each, with a fraction.
using UsedSeconds = std::array<double, kUsedKinds>;
/// The amounts that one attempt takes of each kind, in whole numbers, so that begins and ends cancel out exactly:
/// thousandths of slots, MiB, and thousandths of weighted units.
using UsedRate = std::array<std::uint64_t, kUsedKinds>;

/// The rate of the allocated amounts, whether they are used or not.
UsedRate used_rate(const Template& wanted, const UsageConfig& weights);
void add(UsedRate& sum, const UsedRate& rate);
void subtract(UsedRate& sum, const UsedRate& rate);
/// Of rates times microseconds.
UsedSeconds seconds_of(const std::array<double, kUsedKinds>& rate_us);

/// Decayed use, by the account charged and the user in it, both by name. Users are added when they are charged first;
/// at most `kUsersChargedMax`, those that come later are counted together, as `kUsersTogether` of their account.
class UsageTable {
 public:
  using Key = std::pair<std::string, std::string>;  ///< Account, user.
  using Tallies = std::map<Key, UsedSeconds>;

  /// Also charges accounts that are not in the configuration, or not any more: a file that lacks one for a moment must
  /// not clear the use of its users. Such use decays like all other.
  void charge(const Key& whom, const UsedSeconds& amounts);
  /// Multiplies all use by `left`.
  void fade(double left);

  const Tallies& tallies() const { return tallies_; }

 private:
  Tallies tallies_;
};
/// Not a setting: each takes some hundred bytes, and a small part of a small record every ten seconds.
inline constexpr std::size_t kUsersChargedMax = 10'000;
inline constexpr const char* kUsersTogether = "(others)";

/// The rest of 1 after that time.
double left_after(Duration passed, Duration half_life);

/// The sum of all kinds, weighted. Cost: O(1).
double billed(const UsedSeconds& used, const UsageConfig& weights);

}  // namespace penstock::supervisor
