// What a simulated cluster is like and what goes wrong in it.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/rng.hpp"
#include "common/protocol/config.hpp"

namespace penstock::simulation {

/// The faults of one run. Each switch can be turned off alone, which is how a failing seed is shrunk.
struct Faults {
  bool delays = false;        ///< Messages take a random time instead of a fixed one.
  bool losses = false;        ///< Frames are lost, repeated and overtake each other.
  bool resets = false;        ///< Connections break and come back.
  bool partitions = false;    ///< A worker is cut off for longer than it may be silent.
  bool crashes = false;       ///< Workers die and others take their place.
  bool hangs = false;         ///< Workers stop for a while and go on as if nothing had happened (SIGSTOP).
  bool failures = false;      ///< Runs fail, crash, exceed their time.
  bool fetch_failures = false;
  bool spills = false;
  bool cancels = false;       ///< Subtasks and jobs are cancelled.
  bool operators = false;     ///< Priorities change, workers drain, entitlements move.

  static Faults of_level(std::uint32_t level);
};

/// Everything that defines a run. The same options give the same run, event by event.
struct WorldOptions {
  std::uint64_t seed = 1;
  Faults faults;
  std::uint32_t subtasks_max = 120;
  std::uint32_t jobs_max = 3;
  std::uint32_t workers_max = 5;
  bool keep_trace = false;        ///< Record a line for each event.
  bool validate = true;           ///< Check the cores' invariants after every event.
  Duration horizon = std::chrono::hours{2};  ///< Virtual time after which a run that has not ended has failed.
};

/// How a run ended.
struct WorldResult {
  bool ok = true;
  std::string failure;            ///< What broke, when it did.
  std::uint64_t trace_hash = 0;   ///< Of everything that happened, equal on every machine and compiler.
  std::uint64_t events = 0;
  std::uint64_t subtasks = 0;
  std::uint64_t runs = 0;
  std::uint64_t forward_hits = 0;
  std::uint64_t workers_lost = 0;
  std::uint64_t recomputed = 0;
  std::uint64_t frames_resent = 0;
  std::uint64_t stolen = 0;
  Duration virtual_time{0};
  std::string trace;
};

/// Runs one simulated cluster from start to rest.
WorldResult run_world(const WorldOptions& options);

}  // namespace penstock::simulation
