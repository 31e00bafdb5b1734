// The simulator as a command: `sim`, `penstock-lab sim` and the tests of this folder all call this.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.hpp"
#include "tests/simulation/world/options.hpp"

namespace penstock::simulation {

/// Options of `penstock-lab sim`.
struct SimOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t last_seed = 1;
  std::uint32_t seconds_max = 0;  ///< Begin no further seed after so long; 0: run all of them.
  std::uint32_t fault_level = Faults::kLevelMax;
  std::vector<std::string> without;  ///< Kinds of fault that are left out, by the names of `visit_faults`.
  std::uint32_t subtasks_max = WorldOptions{}.subtasks_max;
  std::uint32_t jobs_max = WorldOptions{}.jobs_max;
  std::uint32_t workers_max = WorldOptions{}.workers_max;
  bool policy = false;             ///< A random policy is in force in each world.
  bool trace = false;              ///< Print a line for each event of every seed.
  bool json = false;               ///< One JSON object instead of text.
  bool shrink = true;              ///< Look for a smaller run that fails as well.
  std::uint32_t failures_max = 5;  ///< Stop after so many failing seeds.
  /// Run these instead of drawn graphs, each with every seed. The caller has parsed them.
  std::vector<std::shared_ptr<const Workflow>> workflows;
  Defect defect = Defect::None;  ///< For tests of the simulator itself.
};

/// Makes the seeds those from a random one on, as many as fit `seconds_max`, or a minute where that is 0.
void take_fresh_seeds(SimOptions& options);

/// The options of one run; an error names what cannot be.
Result<WorldOptions> world_options_of(const SimOptions& options, std::uint64_t seed);

/// Runs every seed and writes a report: what failed, with a minimal case, how to replay it and its last events, and one
/// line of totals with the trace hash over all seeds. Returns the exit code: 0 all passed, 1 some failed, 2 bad
/// options. Cost: a few milliseconds a seed. A failed check inside a core aborts the process; the seed is told before.
int run_simulation(const SimOptions& options, std::ostream& out);

}  // namespace penstock::simulation
