// Why a job has the slots that it has, and what was last told of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/ids.hpp"
#include "common/base/seldom.hpp"
#include "common/base/time.hpp"
#include "supervisor/policy/plan.hpp"

namespace penstock::supervisor {

inline constexpr std::size_t kBandKinds = 2;

/// The admission state of a job on bands of one kind.
enum class AdmissionState : std::uint8_t { Nothing, Blocked, Reserved, Limited, Free };

/// The last line of the audit history about that state, and the number of changes since.
struct ReportedShare {
  AdmissionState admission = AdmissionState::Nothing;
  std::uint64_t milli = 0;
  Instant at{};
  std::uint8_t once = 0;  ///< States that have had a line, by bit.
  AdmissionState seen = AdmissionState::Nothing;
  std::uint64_t seen_milli = 0;
  std::uint32_t changes = 0;  ///< Since the last line.
};

/// The rule that keeps a job from more, as of the last pass. Slots in thousandths, memory in bytes.
struct WaitsFor {
  policy::Hold hold = policy::Hold::NoRoom;
  std::int64_t need = 0;
  std::int64_t have = 0;
  std::uint32_t project = policy::kNone;  ///< Position in the configuration.
  JobId other;
  policy::Resource resource = policy::Resource::Gpu;
};

/// Why a job has the slots that it has on bands of one kind.
struct ShareReasons {
  std::string hold;                ///< The rule that keeps it from more; empty: nothing does.
  std::optional<WaitsFor> waits;   ///< The same, for the remedies.
  Instant starts_by = kNever;      ///< Its reserved start, by time limits.
  Seldom<ReportedShare> reported;  ///< The last line of the audit history.
  std::int64_t priority = 0;       ///< Of the multi-factor sum, with its terms.
  Seldom<std::array<double, 6>> terms;
};

}  // namespace penstock::supervisor
