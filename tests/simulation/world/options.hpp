// A simulated cluster, and the faults in it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "common/base/rng.hpp"
#include "common/protocol/config.hpp"
#include "common/protocol/graph.hpp"

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
  bool supervisor_restarts = false;  ///< The supervisor dies and goes on from its journal.
  bool disk_failures = false;        ///< The journal's disk is full now and then.
  bool supervisor_stalls = false;    ///< The supervisor stops for a while and goes on (SIGSTOP, a suspended machine).
  bool one_way_partitions = false;   ///< Frames of a worker are lost in one direction only.
  bool late_workers = false;         ///< New workers join while jobs run.
  bool yields = false;               ///< Runs lend their slot for a while.
  bool nesting = false;              ///< Runs submit jobs.
  bool client_deaths = false;        ///< Clients die and others take their place.
  bool restores = false;             ///< The supervisor goes on from a backup of its state, or from a torn journal.

  static constexpr std::uint32_t kLevelMax = 3;
  static Faults of_level(std::uint32_t level);
};

/// Calls `visit(name, field)` for every kind of fault, by the name that the command line uses.
template <class AnyFaults, class Visit>
void visit_faults(AnyFaults& faults, Visit&& visit) {
  visit("delays", faults.delays);
  visit("losses", faults.losses);
  visit("resets", faults.resets);
  visit("partitions", faults.partitions);
  visit("crashes", faults.crashes);
  visit("hangs", faults.hangs);
  visit("failures", faults.failures);
  visit("fetch-failures", faults.fetch_failures);
  visit("spills", faults.spills);
  visit("cancels", faults.cancels);
  visit("operators", faults.operators);
  visit("supervisor-restarts", faults.supervisor_restarts);
  visit("disk-failures", faults.disk_failures);
  visit("supervisor-stalls", faults.supervisor_stalls);
  visit("one-way-partitions", faults.one_way_partitions);
  visit("late-workers", faults.late_workers);
  visit("yields", faults.yields);
  visit("nesting", faults.nesting);
  visit("client-deaths", faults.client_deaths);
  visit("restores", faults.restores);
}

/// A real workflow to be run instead of drawn graphs. Runs last `graph.expected_ns`, scaled; where that is 0, and for
/// the sizes of outputs that `output_bytes` leaves out, chance decides.
struct Workflow {
  std::string name;
  Graph graph;
  std::vector<std::int64_t> output_bytes;  ///< Of output 0 of each subtask; empty: drawn.
  std::uint32_t time_permille = 1000;      ///< Durations in thousandths of the recorded ones.
};

/// A wrong world: what the production cores rely on is broken on purpose, so that tests can see the oracle notice.
/// Defects inside the cores are planted by `scripts/plant_defects`, which never leaves them in the tree.
enum class Defect : std::uint8_t {
  None,
  NoResend,      ///< A frame is transmitted once, whatever is acknowledged.
  RunsTwice,     ///< Now and then a host starts a run twice.
  LosesReports,  ///< Now and then a report that was delivered is not applied.
};

/// Everything that defines a run. The same options give the same run, event by event.
struct WorldOptions {
  std::uint64_t seed = 1;
  Faults faults;
  std::uint32_t subtasks_max = 120;
  std::uint32_t jobs_max = 3;
  std::uint32_t workers_max = 5;
  std::shared_ptr<const Workflow> workflow;  ///< Null: graphs are drawn.
  bool policy = false;  ///< A random policy divides the cluster; operators change it.
  bool references = true;  ///< Now and then a job borrows from another one; not where a workflow is replayed.
  Defect defect = Defect::None;
  bool keep_trace = false;        ///< Record a line for each event.
  std::ostream* trace_to = nullptr;  ///< Write each line at once: a failed check of a core ends the process.
  bool validate = true;           ///< Check the cores' invariants after every event.
  Duration horizon = std::chrono::hours{2};  ///< Virtual time after which a run that has not ended has failed.
};

/// How a run ended.
struct WorldResult {
  bool ok = true;
  std::string failure;            ///< The breach, if there is one.
  std::uint64_t trace_hash = 0;   ///< Of everything that happened, equal on every machine and compiler.
  std::uint64_t events = 0;
  std::uint64_t subtasks = 0;
  std::uint64_t runs = 0;
  std::uint64_t forward_hits = 0;
  std::uint64_t workers_lost = 0;
  std::uint64_t recomputed = 0;
  std::uint64_t adopted = 0;  ///< Attempts that a restarted supervisor went on with.
  std::uint64_t frames_resent = 0;
  std::uint64_t stolen = 0;
  std::uint64_t passes = 0;     ///< Of the policy.
  std::uint64_t preempted = 0;  ///< Attempts that it has told to leave.
  Duration virtual_time{0};
  Duration makespan{0};  ///< From the start to the end of the last job.
  std::string trace;
};

/// Runs one simulated cluster from start to rest.
WorldResult run_world(const WorldOptions& options);

}  // namespace penstock::simulation
