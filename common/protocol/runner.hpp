// Messages between a worker and a runner, its long-lived child process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error_code.hpp"
#include "common/base/ids.hpp"

namespace penstock {

/// Raised with `schema/runner.capnp`; a runner of another major version is refused by name.
inline constexpr std::uint16_t kRunnerMajor = 1;
inline constexpr std::uint16_t kRunnerMinor = 3;

/// The bytes of an input or output: in the message, or in a memory segment that goes with it. Views are borrowed from
/// the maker of the message: the sender's data, or the received bytes.
struct RunnerDatum {
  static constexpr std::uint32_t kInline = ~std::uint32_t{0};
  std::string_view bytes;
  std::uint32_t descriptor = kInline;  ///< Number of the segment among those of the message.
  std::uint64_t size = 0;              ///< Of the segment.
  friend bool operator==(const RunnerDatum&, const RunnerDatum&) = default;
};

/// Content that many runs share: a function, an operator.
struct RunnerProgram {
  std::uint64_t hash = 0;
  std::string_view content;
  friend bool operator==(const RunnerProgram&, const RunnerProgram&) = default;
};

struct RunnerRun {
  std::uint64_t ticket = 0;   ///< Returned with the end.
  std::uint64_t program = 0;  ///< Its hash.
  SubtaskId id;
  Attempt attempt;
  std::uint16_t output_count = 1;
  std::string_view payload;
  std::vector<RunnerDatum> inputs;
  JobIdentity identity{};  ///< Of the job; none: not known.
  bool may_yield = false;  ///< The worker understands `RunnerSlot`.
  friend bool operator==(const RunnerRun&, const RunnerRun&) = default;
};

/// The run that a child has lends its slot to others, or wants it back.
struct RunnerSlot {
  std::uint64_t ticket = 0;
  bool lends = false;
  friend bool operator==(const RunnerSlot&, const RunnerSlot&) = default;
};

struct RunnerSlotAnswer {
  std::uint64_t ticket = 0;
  std::optional<ErrorCode> refused;  ///< None: as it was asked.
  std::string_view message;
  std::string_view remedy;
  friend bool operator==(const RunnerSlotAnswer&, const RunnerSlotAnswer&) = default;
};

struct ToRunner {
  std::vector<RunnerProgram> programs;  ///< Programs that the child does not have yet.
  std::vector<RunnerRun> runs;
  std::vector<std::uint64_t> forgotten;
  std::optional<RunnerSlotAnswer> slot;  ///< Then there are no runs.
  friend bool operator==(const ToRunner&, const ToRunner&) = default;
};

struct RunnerHello {
  std::uint16_t major = kRunnerMajor;
  std::uint16_t minor = kRunnerMinor;
  std::string language;
  std::string version;
  friend bool operator==(const RunnerHello&, const RunnerHello&) = default;
};

struct RunnerOutput {
  std::uint16_t output = 0;
  RunnerDatum datum;
  friend bool operator==(const RunnerOutput&, const RunnerOutput&) = default;
};

struct RunnerEnd {
  std::uint64_t ticket = 0;
  bool succeeded = true;
  bool interrupted = false;  ///< A signal stopped it.
  std::uint64_t run_ns = 0;
  std::vector<RunnerOutput> outputs;
  std::string_view message;      ///< Of a failure: one line for people.
  std::string_view detail;       ///< Of a failure: for the engine that wrote the program.
  std::uint64_t peak_bytes = 0;  ///< Peak of resident memory during the run; 0: unknown.
  std::optional<ErrorCode> code;  ///< Of a failure: the reason, if it decides where to try again.
  friend bool operator==(const RunnerEnd&, const RunnerEnd&) = default;
};

struct RunnerEnds {
  std::vector<RunnerEnd> ends;
  friend bool operator==(const RunnerEnds&, const RunnerEnds&) = default;
};

using FromRunner = std::variant<RunnerHello, RunnerEnds, RunnerSlot>;

}  // namespace penstock
