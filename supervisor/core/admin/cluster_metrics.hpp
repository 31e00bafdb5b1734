// The state of the cluster in numbers, for metrics.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

struct JobIndices;
class JobTable;

/// The bands of one kind in one pool.
struct PoolMetrics {
  std::string pool;  ///< Empty: of no pool.
  BandKind kind = BandKind::Cpu;
  std::uint64_t bands = 0;
  std::uint64_t slots = 0;
  std::uint64_t running = 0;    ///< Runs with a slot, as workers have told last.
  std::uint64_t yielded = 0;    ///< Runs that have lent theirs.
  std::uint64_t ready = 0;      ///< On workers, with inputs and memory.
  std::uint64_t preparing = 0;  ///< On workers, before that.
  std::uint64_t cached = 0;     ///< On workers, waiting for producers.
  std::uint64_t assigned = 0;   ///< All that was sent to the bands and has not ended.
  std::uint64_t kept = 0;       ///< Ready, and kept at the supervisor.
  std::uint64_t jobs = 0;       ///< Active jobs that are tried there.
  bool contended = false;       ///< More is wanted than there is.
};

/// The active jobs of a project.
struct ProjectMetrics {
  std::string project;  ///< Empty: of none.
  std::uint64_t jobs = 0;
  std::uint64_t waiting_jobs = 0;  ///< Nothing of them is at a worker.
  std::uint64_t wanted_milli = 0;  ///< Thousandths of slots, as the last pass has it.
};

struct ClusterMetrics {
  SupervisorCounters counters;
  std::vector<PoolMetrics> pools;
  std::vector<ProjectMetrics> projects;
  std::uint64_t workers_ready = 0;
  std::uint64_t workers_draining = 0;
  std::uint64_t workers_suspected = 0;
  std::uint64_t jobs_active = 0;
  std::uint64_t jobs_on_hold = 0;
  std::uint64_t jobs_waiting = 0;      ///< Nothing of them is at a worker.
  std::uint64_t jobs_unplaceable = 0;  ///< With subtasks that no present band may have.
  std::uint64_t jobs_not_seen = 0;     ///< Beyond those that were looked at, they count among the active ones only.
  std::uint64_t passes_begun = 0;
  std::uint64_t passes_given_up = 0;
  std::array<std::uint64_t, PreemptedFor::kCount> preempted_for{};
  std::uint64_t barriers = 0;
  std::uint64_t barriers_opened = 0;
  std::uint64_t barriers_given_up = 0;
  std::uint64_t held_bytes = 0;
  bool reclaiming = false;
  bool journal_in_trouble = false;
};

/// Counts what is there now. Cost: linear in the bands and in the jobs looked at.
class ClusterSample {
 public:
  /// Pools and projects with rows of their own; further ones share one.
  static constexpr std::size_t kPoolsMax = 32;
  static constexpr std::size_t kProjectsMax = 100;

  ClusterSample(const WorkerTable& workers, const JobTable& jobs, const JobIndices& indices, const PolicyState& policy)
      : workers_(workers), jobs_(jobs), indices_(indices), policy_(policy) {}

  ClusterMetrics take(std::size_t jobs_max) const;

 private:
  void count_workers(ClusterMetrics& seen) const;
  void count_bands(ClusterMetrics& seen) const;
  void count_jobs(ClusterMetrics& seen, std::size_t jobs_max) const;
  PoolMetrics& pool_row(ClusterMetrics& seen, std::uint32_t pool, BandKind kind) const;

  const WorkerTable& workers_;
  const JobTable& jobs_;
  const JobIndices& indices_;
  const PolicyState& policy_;
};

}  // namespace penstock::supervisor
