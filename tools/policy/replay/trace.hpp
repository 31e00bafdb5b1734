// The input of a replay: jobs with arrival time and run time, and the bands for them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// One job of a trace. All its members are alike, start together and end together.
struct ReplayJob {
  std::string name;
  std::uint32_t project = 0;  ///< In `ReplayTrace::projects`.
  std::int64_t arrives_s = 0;
  std::int64_t runs_s = 1;  ///< At least 1.
  std::int64_t members = 1;
  std::int64_t devices = 0;          ///< Of a member; 0: none.
  std::int64_t device_share = 1000;  ///< Thousandths of one device, where `devices` is 1.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t priority = 50;        ///< Any; larger is more important; from 100 never preempted.
  std::vector<std::uint32_t> bands;  ///< Where its members may be; empty: anywhere.
};

/// Oddities of a trace from elsewhere, counted, and how each was read.
struct TraceOddities {
  std::int64_t without_end = 0;       ///< Never deleted: runs to the last time that the trace names.
  std::int64_t without_start = 0;     ///< Never started: runs for as long as it was there.
  std::int64_t without_class = 0;     ///< Belongs to the project `none`.
  std::int64_t ends_early = 0;        ///< Was deleted before it came or started: runs for one second.
  std::int64_t without_arrival = 0;   ///< Does not say when it came: comes at 0.
  std::int64_t without_amount = 0;    ///< Does not say how many devices, processors, or how much memory: wants none.
  std::int64_t share_of_nothing = 0;  ///< A part of 0 of a device, or none said: has a whole one.
  std::int64_t share_of_several = 0;  ///< A part of several devices: has whole ones.
  std::int64_t unknown_models = 0;    ///< No band has one of its models: left out.
  std::int64_t same_name = 0;         ///< Has the name of an earlier one: played like any other.
  friend bool operator==(const TraceOddities&, const TraceOddities&) = default;
};

struct ReplayTrace {
  std::vector<Band> bands;
  std::vector<std::string> projects;
  std::vector<ReplayJob> jobs;  ///< By arrival.
  /// `ReplayJob::priority` is that of the list; otherwise it was made of the service class.
  bool priorities_written = false;
  TraceOddities odd;
};

/// Lines of either list, at most; a longer one is refused with LimitExceeded.
inline constexpr std::size_t kTraceLinesMax = 2'000'000;
/// Devices of one band, or of one member, at most.
inline constexpr std::int64_t kTraceDevicesMax = 1024;

/// Bands, and their positions by the model of their devices.
struct TraceBands {
  TraceBands() = default;
  TraceBands(std::vector<Band> all) : bands(std::move(all)) {}  // NOLINT: bands of no model, implicit by design
  std::vector<Band> bands;
  std::map<std::string, std::vector<std::uint32_t>> by_model;
};

/// Bands from the list `sn,cpu_milli,memory_mib,gpu,model`. Error: ParseError with the line.
Result<TraceBands> read_trace_bands(std::string_view text);
/// `count` equal bands of `devices` devices.
std::vector<Band> equal_trace_bands(std::uint32_t count, std::int64_t devices);

/// Jobs from either of two formats, told apart by the first line. Ours:
/// `name,project,arrives_s,runs_s,members,devices,device_share,cpu_milli,memory_mib,priority`; and the Alibaba GPU 2023
/// list of pods, where the service class is the project. Values may stand in quotes, as RFC 4180 has it; other oddities
/// of such lists are counted. A list may lack times: with `untimed_runs_s` above 0 its jobs all arrive at 0 and run for
/// so long. Error: ParseError with the line, also for a column that is misspelt, missing or there twice.
Result<ReplayTrace> read_trace(std::string_view text, TraceBands bands, std::int64_t untimed_runs_s = 0);

/// How a trace is generated.
struct TraceShape {
  std::uint64_t seed = 1;
  std::uint32_t jobs = 8000;
  std::uint32_t bands = 1200;
  /// The time over which jobs arrive; 0: such that they keep `load_percent` of all devices busy if none waits, if so
  /// few jobs can.
  std::int64_t span_s = 0;
  std::int64_t load_percent = 90;
};
/// The two lists in the Alibaba format, of its shape: 38% with a part of a device, 57% latency-sensitive, lifetimes
/// with a median of 540 s and a heavy tail.
struct TraceText {
  std::string pods;   // tidy: foreign
  std::string nodes;  // tidy: foreign
};
TraceText generate_trace(const TraceShape& shape);

}  // namespace penstock::policy
