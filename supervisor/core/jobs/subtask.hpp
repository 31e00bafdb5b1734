// The supervisor's knowledge of one subtask.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/time.hpp"
#include "common/protocol/report.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

enum class SubtaskPhase : std::uint8_t {
  Waiting,    ///< A predecessor is neither finished nor assigned.
  Placeable,  ///< Kept here for a tentative band; ready if nothing is missing, else a lookahead candidate.
  Assigned,   ///< Sent to a worker: runnable there, or cached as a successor.
  Backoff,    ///< Failed and waits before the next attempt.
  Succeeded,
  Failed,
  Cancelled,
};
constexpr bool is_final(SubtaskPhase phase) { return phase >= SubtaskPhase::Succeeded; }

/// The hot part of a subtask: everything that a report or an assignment touches. 24 bytes.
struct SubtaskHot {
  std::uint32_t missing = 0;    ///< Edges from predecessors that have not succeeded.
  std::uint32_t unplaced = 0;   ///< Edges from predecessors that have neither succeeded nor been assigned.
  std::uint64_t attempt = 0;    ///< The last `Attempt`; 0: none yet.
  BandSlot band;  ///< The tentative band, then the one where it is assigned, then the one that holds its outputs.
  SubtaskPhase phase = SubtaskPhase::Waiting;
  std::uint16_t flags = 0;
};
static_assert(sizeof(SubtaskHot) <= 32, "the design allows 32 bytes");

/// Bits of `SubtaskHot::flags`.
struct SubtaskFlag {
  static constexpr std::uint8_t kVisible = 1;       ///< The client has been told that it succeeded.
  static constexpr std::uint8_t kWanted = 2;        ///< Its outputs are kept for the client.
  static constexpr std::uint8_t kStarted = 4;       ///< This attempt has been running for a while.
  static constexpr std::uint8_t kStealAsked = 8;    ///< The worker was asked to give this attempt back.
  static constexpr std::uint8_t kTroubled = 16;     ///< The subtask is in `Job::histories`.
  static constexpr std::uint8_t kCancelAsked = 32;  ///< Its worker was asked to cancel it: it never runs again.
  static constexpr std::uint8_t kOutrun = 64;       ///< The subtask is in `Job::outrun`.
  static constexpr std::uint8_t kAdopted = 128;     ///< This attempt was given out by an earlier life.
  static constexpr std::uint16_t kLent = 256;       ///< The run has lent its slot: its job holds nothing for it.
  static constexpr std::uint16_t kForAttempt = kStarted | kStealAsked | kAdopted | kLent;
};

/// The troubles of a subtask so far.
struct SubtaskHistory {
  std::uint16_t charged = 0;            ///< Failures that it is to blame for.
  std::uint16_t lost_workers = 0;       ///< Workers that died while holding it.
  std::uint16_t failures = 0;           ///< All failed attempts, whatever the cause.
  std::uint64_t last_attempt = 0;       ///< The highest number of those: none up to it is under way any more.
  std::vector<BandSlot> tried;          ///< Bands not to be tried again.
  std::uint64_t tried_epoch = 0;        ///< Of the worker table when the list was begun.
  std::uint32_t transfers = 0;          ///< Attempts in a row that got no input from a worker that lives,
  Instant unreachable_since{};          ///< since then.
  Instant overlap_until{};              ///< Its lost worker may run it until then; only with `overlap = "never"`.
  TemplateIndex larger;                 ///< Its template with more memory; none: it is run by its own.
  std::vector<std::string> lines;       ///< One for each failed attempt, newest last, bounded.
  FailureDetail last;
};

/// Measured facts of one template of a job; they begin with those of earlier jobs of the same graph.
struct TemplateFacts {
  std::uint64_t runs = 0;
  std::uint64_t mean_ns = 0;            ///< Moving average of measured durations.
};

/// One of the graph's templates, with more memory than it requests.
struct LargerTemplate {
  std::uint32_t of = 0;
  Bytes memory;
  friend auto operator<=>(const LargerTemplate&, const LargerTemplate&) = default;
};

}  // namespace penstock::supervisor
