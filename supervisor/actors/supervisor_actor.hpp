// The actor that owns the supervisor's core.
#pragma once

#include <caf/fwd.hpp>
#include <functional>
#include <memory>

#include "common/base/duration_counts.hpp"
#include "common/base/rng.hpp"
#include "common/host/host.hpp"
#include "common/loop/loop.hpp"
#include "common/loop/mail.hpp"
#include "common/protocol/config.hpp"
#include "supervisor/actors/state_directory.hpp"

namespace penstock::supervisor {

/// Whether the parts of these pools go together. Error: that of `parts_of`.
Result<void> check_parts(const std::vector<PoolConfig>& pools);

/// Settings of a policy that are valid and probably not meant, as far as that is known without any worker. REQUIRES:
/// `check_policy` and `check_parts` accept it.
std::vector<std::string> warnings_of(const PolicyConfig& policy);

/// `supervisor.memory_max` where it is not set; not 0.
Bytes default_memory_max(const MemoryBounds& bounds);

struct SupervisorSetup {
  SupervisorConfig config;  ///< REQUIRES: `check_parts` accepts its pools.
  Rng rng;
  std::shared_ptr<OpenJournal> journal;  ///< Null: no state survives the process. The actor takes its contents.
  std::function<Result<PolicyConfig>()> read_policy{};  ///< As the configuration file says now; empty: there is none.
  /// Called on the loop's thread when a part of the supervisor has failed, with the cause; then the actor ends. Empty:
  /// the process ends.
  std::function<void(const Error&)> on_failed{};
};

/// Spawns the actor on the loop's actor system. The actor answers the senders of its mails, which are a `WorkerHandle`
/// or a `ClientHandle`. A `JobActor` beside it puts graphs together and checks them, large ones on a thread of their
/// own; an unfinished submission ends with its client. `loop` must outlive the actor; ends with an exit message.
SupervisorHandle spawn_supervisor(caf::actor_system& system, Loop& loop, const SupervisorSetup& setup);

struct ClusterMetrics;

/// Commits of the journal since the process began.
struct JournalCounters {
  DurationCounts commits;  ///< Tries to write and sync what waits.
  std::uint64_t failed = 0;
  std::uint64_t changes = 0;  ///< Written entries, and removed ones.
};

/// Asks for the numbers of the cluster; `tell` is called on the loop's thread, and not at all if the actor has ended.
/// The core looks at `jobs_max` active jobs at most.
using TellMetrics = std::function<void(ClusterMetrics&&, const JournalCounters&)>;
void ask_for_metrics(const SupervisorHandle& supervisor, std::size_t jobs_max, TellMetrics tell);

/// Lets the supervisor read its configuration again because of a signal; the log and the audit have the result.
void reload_policy(const SupervisorHandle& supervisor);

}  // namespace penstock::supervisor
