// The parts that a pool composes its policy of.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/base/result.hpp"
#include "common/base/time.hpp"

namespace penstock::policy {

enum class Ordering : std::uint8_t {
  Fcfs,         ///< By age.
  Priority,     ///< By priority, position, age.
  Multifactor,  ///< By the six-factor sum.
};

enum class Sharing : std::uint8_t {
  None,
  FairShare,  ///< In proportion to weight and demand.
  MaxMin,     ///< Weighted max-min filling.
  QuotaTree,  ///< Guaranteed amounts of projects and departments, the rest by weight.
};

enum class Action : std::uint8_t {
  StartByShare,
  StartByPriority,
  Backfill,
  Allocate,
  Consolidate,
  Reclaim,
  Preempt,
  BreakStaleGangs,
};

enum class Fitting : std::uint8_t {
  Best,
  Worst,
  BinPack,
  Spread,
  Fragmentation,  ///< Where the fewest free devices are lost to typical requests, then as `BinPack`:
                  ///< `fragmentation.hpp`.
};

/// How many blocked jobs get a reserved start before later ones may pass them.
inline constexpr std::uint32_t kReserveAll = 0xffffffffU;

/// How the multi-factor sum is made. Weights are in priority points for a factor of 1.
struct FactorWeights {
  double wait = 10000;
  double fair_share = 100000;
  double quality = 250000;
  double level = 10000;
  double size = 1000;
  double user = 1000;
};

enum class SizeFavor : std::uint8_t { Large, Small };
enum class FairShareFactor : std::uint8_t { Balanced, Classic, DepthOblivious, FairTree, FluxRank };

struct MultifactorOptions {
  FactorWeights weights;
  Duration wait_max = std::chrono::hours{24 * 7};
  SizeFavor favor = SizeFavor::Large;
  FairShareFactor factor = FairShareFactor::Balanced;
  double lambda = 0.5;  ///< Part of the own usage against the account's, from 0 to 1.
};

/// The policy of a pool.
struct Parts {
  Ordering ordering = Ordering::Priority;
  Sharing sharing = Sharing::None;
  std::array<Action, 5> actions{};
  std::uint32_t action_count = 0;
  Fitting gpu_fitting = Fitting::Best;
  Fitting cpu_fitting = Fitting::Best;
  Fitting device_fitting = Fitting::BinPack;  ///< Of parts of a device: fullest device first, or emptiest.
  bool preemption = false;                    ///< Of less important workloads, in the order by priority.
  bool mixed_sizes = false;                   ///< A gang may spread over bands of different sizes.
  bool waits_for_absent_bands = false;  ///< Jobs that fit no empty pool keep others waiting, as the cases have it.
  std::uint32_t reserve_depth = 0;      ///< Backfill: 0 is first come first served, 1 EASY, `kReserveAll` conservative.
  Duration overrun = std::chrono::seconds{60};  ///< Backfill: the assumed rest of a run past its time limit.
  std::int64_t saturation_multiplier = 1000;    ///< In thousandths, at least 1000; larger reclaims less.
  std::uint32_t consolidate_victims_max = 16;
  bool victims_move = true;  ///< Victims of reclaim or preemption may get another place; else they are lost.
  Duration stale_grace = std::chrono::seconds{60};  ///< Negative: never.
  Duration starvation_after{};  ///< A job that counts slots and has held none for so long gets its turn; 0: never.
  Duration preempt_min_runtime{};
  Duration reclaim_min_runtime{};
  bool reclaim_by_common_ancestor = true;  ///< The level of the tree that sets the minimum runtime: `min_runtime.hpp`.
  bool own_rules = true;                   ///< Also those that no page has: see docs/policy.md, marked with *.
  double usage_strength = 1;               ///< How much past use of a resource weighs in its division.
  MultifactorOptions multifactor;
};

inline bool has_action(const Parts& parts, Action action) {
  for (std::uint32_t i = 0; i < parts.action_count; ++i)
    if (parts.actions[i] == action) return true;
  return false;
}

/// One named combination.
struct Preset {
  std::string_view name;
  std::string_view what;
  Parts parts;
};

/// `fair_share`, `fair_share_max_min`, `priority`, `quota`, `multifactor`. Error: NotFound, with the nearest name.
Result<Parts> preset(std::string_view name);
/// All of them, in the order of the manual; the last has an empty name.
const Preset* presets();

}  // namespace penstock::policy
