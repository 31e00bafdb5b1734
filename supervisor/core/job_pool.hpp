// The pools of a job, and the one where it is.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/seldom.hpp"
#include "supervisor/core/share_reasons.hpp"
#include "supervisor/core/worker_group.hpp"
#include "supervisor/policy/pool_choice.hpp"

namespace penstock::supervisor {

/// The rule that held a job when it was last tried in a pool of its list; by kind, for `explain`.
struct TriedPool {
  std::string blocked_by;  ///< Empty: it was not tried, or was placed.
  struct OfKind {
    std::string hold;
    std::optional<WaitsFor> waits;
    Instant starts_by = kNever;
  };
  std::array<OfKind, kBandKinds> kinds;
};

/// Where a gang that stays together is tried, or is, and where it was tried before in vain.
struct GroupChoice {
  std::vector<GroupPart> now;  ///< One for each group of workers; empty: the gang may be anywhere.
  std::vector<WorkerGroup> tried;

  bool holds(const Register& worker) const {
    const auto has_it = [&worker](const GroupPart& part) { return is_in(part.group, worker); };
    return now.empty() || std::any_of(now.begin(), now.end(), has_it);
  }
  /// All of the gang has groups.
  bool is_known() const {
    const auto has_name = [](const GroupPart& part) { return !part.group.name.empty(); };
    return !now.empty() && std::all_of(now.begin(), now.end(), has_name);
  }
};

/// The pool of a job. All that it holds is there, but of a bag: that is tried for more in this one, and holds slots in
/// any of its list.
struct JobPool {
  std::uint32_t position = 0;          ///< In the configuration.
  bool spreads = false;                ///< A bag of independent subtasks with several pools, where it counts alike.
  std::string name;                    ///< Positions change with the configuration.
  Seldom<std::string> kept_name;       ///< The one that is written down.
  policy::PoolFallback fallback{{0}};  ///< Its list of pools, and the one where it is tried.
  std::vector<TriedPool> tried;        ///< By position in that list; empty: there is only one.
  std::uint32_t placed = 0;            ///< Its waiting subtasks have tentative bands in that pool.
  Seldom<GroupChoice> group;           ///< Of a gang that stays together.

  bool lists(std::uint32_t pool) const {
    return std::find(fallback.pools().begin(), fallback.pools().end(), pool) != fallback.pools().end();
  }
  /// Whether the job may hold slots there now.
  bool may_hold_in(std::uint32_t pool) const { return pool == position || (spreads && lists(pool)); }
};

}  // namespace penstock::supervisor
