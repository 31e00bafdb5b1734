// A view of the policy in force: jobs, pools and bands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class Eligibility;
struct JobIndices;
class JobTable;

/// Answers questions about the policy in force: which bands a job may use, where it stands, what it may hold. Reads
/// jobs, bands and the policy; keeps nothing and changes nothing.
/// Cost: constant, but for the questions that name a list of bands or jobs.
class PolicyView {
 public:
  PolicyView(const JobTable& jobs, const WorkerTable& workers, const Eligibility& eligibility,
             const PolicyState& policy, const JobIndices& indices)
      : jobs_(jobs), workers_(workers), eligibility_(eligibility), policy_(policy), indices_(indices) {}
  PolicyView(const PolicyView&) = delete;
  PolicyView& operator=(const PolicyView&) = delete;

  /// The limits of the job to some workers: labels, and its user.
  std::vector<LabelLimit> limits_of(const JobSpec& spec) const;
  /// One for each of its pools, by preference.
  std::vector<Reach> reaches_of(const JobSpec& spec) const;
  /// Whether the band is of that pool, on a worker that its labels allow.
  bool is_in(const Reach& reach, BandSlot band) const;
  /// Whether any present band is in it.
  bool has_workers(const Reach& reach) const;
  /// The groups of the present workers in it, by the wish of a gang to stay together; in order, each once.
  std::vector<WorkerGroup> groups_in(const Reach& reach, const std::string& together) const;
  /// Whether a policy is in force.
  bool policed() const { return is_in_force(policy_.config); }
  /// The time in which a preempted attempt of the job may save its state. The site may have lowered its limit since.
  Duration grace_of(const Job& job) const;
  /// The longest grace of preemptible jobs in a pool.
  Duration longest_grace_in(std::uint32_t pool) const;
  /// The first position of a job among those of its priority. Far from 0, which means none, and far apart, so that jobs
  /// can be moved between others.
  std::int64_t first_position(const Job& job) const;
  /// By preference: the pools of the job, or of its project, or the default one. An unknown name counts as unset.
  std::vector<std::uint32_t> pools_of(const JobPolicy& wishes) const;
  /// Sends a job of which no subtask takes a whole slot, and that names no pool nor has one by its project,
  /// to the pool for such jobs. Spec:
  /// policy-determined 9.1.
  void route_light(JobSpec& spec, const GraphShape& shape) const;
  /// All of its pools have the same.
  PriorityScale scale_of(const JobSpec& spec) const;
  /// Whether work of the job may go to that band, apart from the requests of its subtasks: a band of the pool where it
  /// is tried, or one of another pool of a bag, where it has slots.
  bool may_use(const Job& job, BandSlot band) const {
    return job.shares == nullptr ? is_tried_on(job, band) : may_use_shared(job, band);
  }
  /// Whether a plan may give the job more of that band.
  bool is_tried_on(const Job& job, BandSlot band) const {
    if (job.shares != nullptr && policy_.pool_of_band[band.value()] != job.shares->pool.position) return false;
    return job.place.label_limits.empty() || labels_allow(job, band);
  }
  /// Whether the job may have slots there at all.
  bool may_hold(const Job& job, BandSlot band) const {
    if (job.shares != nullptr && !job.shares->pool.may_hold_in(policy_.pool_of_band[band.value()])) return false;
    return job.place.label_limits.empty() || labels_allow(job, band);
  }
  /// The capacity of the bands that the job may use; `all`: that of all bands of its pool.
  std::uint64_t capacity_for(const Job& job, BandKind kind, std::uint64_t all) const;
  /// Positions of the pass's bands that the job may use, by labels and by the requests of its subtasks. Empty: any;
  /// `kNone`: none.
  std::vector<std::uint32_t> bands_allowed(const Job& job, BandKind kind) const;
  /// Larger sums first, then more important ones, then earlier ones; as the last pass has left it.
  bool goes_before(const Job& left, const Job& right) const;
  /// Whether the job has not begun, and no limit keeps it from beginning.
  static bool is_waiting(const Job& job);
  /// How long a job is taken to run: by its own limit, else as its queue says, else as its pool does. The own limit is
  /// never above `time_max` of its level and others: `LimitRules::check_limits` refuses that. Spec: policy-flux 9.
  Duration time_limit_of(const Job& job) const;
  /// Whether the job, or its queue, says how long it runs.
  bool has_time_limit(const Job& job) const;
  /// Until when the job is taken to run, if it holds slots since `holds`: its own limit counts from its first run.
  Instant ends_by(const Job& job, Instant holds) const;
  /// How long the job keeps its slots where another one has its turn: as its project says, or else a department above.
  Duration min_runtime_of(const Job& job) const;
  /// Whether the pool is divided by quotas of projects.
  bool counts_quotas(std::uint32_t pool) const;
  /// Whether all its jobs have shares of its slots.
  bool shares_slots(std::uint32_t pool) const;
  /// The parts that the pool's preset and settings have chosen.
  const policy::Parts& parts_in(std::uint32_t pool) const { return policy_.parts[domain_of(pool, BandKind::Cpu)]; }
  /// Whether passes see the job: it is in the policy, written, and its workers are back.
  bool is_shown(const Job& job) const;
  /// Larger first, as a pass compares it. Spec: policy-runai 5.
  std::int64_t precedence_of(const Job& job) const;
  /// In thousandths: among the jobs of its user in its project.
  std::int64_t own_weight(const Job& job) const;
  /// Where no job waits and none needs several slots together, only capped jobs are limited; else each job is limited
  /// to the slots of the plan. In the pool where it is tried, or in that one.
  bool is_limited(const Job& job, BandKind kind) const { return is_limited(job, kind, job.shares->pool.position); }
  bool is_limited(const Job& job, BandKind kind, std::uint32_t pool) const;
  /// Thousandths of slots, in all pools or in that one.
  std::uint64_t milli_held(const Job& job, BandKind kind, std::uint32_t pool = kAnyPool) const;

 private:
  bool may_use_shared(const Job& job, BandSlot band) const;
  bool labels_allow(const Job& job, BandSlot band) const;
  /// Of the job or its queue; 0: neither has one.
  Duration said_time_limit(const Job& job) const;

  const JobTable& jobs_;
  const WorkerTable& workers_;
  const Eligibility& eligibility_;
  const PolicyState& policy_;
  const JobIndices& indices_;
};

}  // namespace penstock::supervisor
