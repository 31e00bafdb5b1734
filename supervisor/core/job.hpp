// One job as the supervisor keeps it while it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/protocol/labels.hpp"
#include "supervisor/core/job_graph.hpp"
#include "supervisor/core/job_shares.hpp"
#include "supervisor/core/jobs/job_outbox.hpp"
#include "supervisor/core/kept_outputs.hpp"
#include "supervisor/core/local_sets.hpp"
#include "supervisor/core/output_table.hpp"
#include "supervisor/core/priority_scale.hpp"

namespace penstock::supervisor {

/// A cancellation that was ordered while the job was recovering.
struct DeferredCancel {
  bool whole_job = false;
  std::vector<std::uint32_t> roots;  ///< Unless it is the whole job.
  Duration kill_after{0};
};

/// The course of a job.
struct JobStatus {
  JobState state = JobState::Running;
  bool cancelling = false;
  bool recovering = false;        ///< No subtask is given out until the workers from before the restart are back.
  bool on_hold = false;           ///< By an operator: it gets no slots under a policy.
  bool waiting_for_disk = false;  ///< Its acceptance is not written yet; nothing of it runs before.
  Seldom<Error> error;            ///< Why it fails or is cancelled.
  Instant submitted{};
  Instant ended = kNever;
  Instant limit_since = kNever;   ///< Start of its time limit; never: without one, or nothing of it has run.
  bool run_taken = false;         ///< The last that was heard of its runs: one was taken from it.
  std::uint64_t ended_bytes = 0;  ///< Memory of the job once it has ended.
  /// Recovered: a worker that is not back may run until then what has `overlap = "never"`; else 0.
  Instant overlap_until{};
  Seldom<std::vector<DeferredCancel>> deferred_cancels;
};

/// The subtasks of a job, counted by how far they are.
struct JobTally {
  std::uint32_t open = 0;       ///< Subtasks that are not final.
  std::uint32_t in_flight = 0;  ///< Assigned ones.
  bool has_children = false;    ///< Runs of the job have submitted jobs.
  JobCounts counts;
};

/// Where the waiting subtasks of a job may go.
struct JobPlacement {
  LocalSets locals;                          ///< Ready ones, by tentative band.
  std::uint32_t waiting_epoch = 0;           ///< Entries in `WaitingJobs` of another one are outdated.
  std::vector<std::uint32_t> unschedulable;  ///< Placeable, but no band may have it now.
  Instant bands_awaited_until = kNever;      ///< Unschedulable subtasks fail then if their required band is not there.
  std::vector<LabelLimit> label_limits;      ///< The job runs on workers that all of these allow.
};

/// The devices of an attempt that has been running for a while on a band with several.
struct DeviceRun {
  std::uint64_t attempt = 0;
  DeviceSet devices = 0;
  Instant since{};  ///< When its worker has reported them.
};

/// A datum that a worker has kept over a restart of the supervisor, and that does not count as an output: its subtask
/// runs again, or the worker has only some of several outputs.
struct Leftover {
  WorkerId worker;
  SubtaskIndex producer;
  std::uint16_t output = 0;
};

/// Facts that few subtasks of a job have, each in a table by subtask.
struct SubtaskExtras {
  Seldom<LookupMap<SubtaskIndex, SubtaskHistory>> histories;
  Seldom<LookupMap<SubtaskIndex, DeviceRun>> devices;
  Seldom<LookupMap<SubtaskIndex, BandSlot>> thieves;  ///< The band for which a subtask was asked back.
  /// The last attempt, where one of an earlier term took its place.
  Seldom<LookupMap<SubtaskIndex, std::uint64_t>> outrun;
  /// Set by an operator, or by waiters for lost data: replaces the user's priority.
  Seldom<LookupMap<SubtaskIndex, std::int32_t>> priority_changes;
  bool keys_carry_priority = false;  ///< `priority_changes` has been used: the rank alone is no order any more.
  Seldom<LookupMap<SubtaskIndex, bool>> cancel_orders;  ///< Subtasks that an operator has cancelled before they ended.
  Seldom<std::vector<Leftover>> leftovers;
};

/// The workers that have been told of a job, and how much of it.
struct JobAudience {
  static constexpr std::uint32_t kTemplatesInWord = 63;
  static constexpr std::uint64_t kHeardOf = std::uint64_t{1} << 63U;
  std::vector<WorkerId> workers;        ///< All that have heard of the job.
  std::vector<std::uint64_t> known_of;  ///< By worker slot: a bit for each of the first templates, and `kHeardOf`.
  Seldom<LookupMap<WorkerId, std::vector<bool>>> templates_known;  ///< The same for all templates after those.
};

/// A job: its request, its course, and what each part of the supervisor keeps of it.
struct Job {
  JobId id;
  JobIdentity identity;  ///< None only where no shell has drawn one: in tests.
  JobSpec spec;          ///< Its priority is that inside, larger first.
  PriorityScale scale;   ///< How that is written; of an ended job, how it was.
  JobStatus status;
  JobGraph graph;
  LargeArray<SubtaskHot> hot;
  JobTally tally;
  JobPlacement place;
  JobOutbox outbox;
  KeptOutputs outputs;
  std::unique_ptr<JobShares> shares;  ///< Null: no policy is in force, or it has ended.
  OutputTable data;
  SubtaskExtras extras;
  JobAudience audience;

  std::uint32_t total() const { return static_cast<std::uint32_t>(hot.size()); }
  /// The key by which subtasks are ordered at the supervisor; smaller is better.
  std::uint64_t order_key(std::uint32_t subtask) const;
  /// The order in which jobs are served, larger first: by priority, and then the more deeply nested, for which others
  /// wait.
  std::int64_t precedence() const { return std::int64_t{spec.priority} * 65536 + spec.parent->depth; }
  /// The priority that goes to the worker; larger is better.
  std::uint64_t worker_priority(std::uint32_t subtask) const;
  std::int32_t user_priority(std::uint32_t subtask) const;
  /// The template by which it is run: the graph's, or the same with more memory.
  std::uint32_t template_index_of(std::uint32_t subtask) const;
  Template template_at(std::uint32_t index) const;
  /// The request of the next attempt.
  Bytes memory_of(std::uint32_t subtask) const;
};

/// The rest of its time limit; none: it has no limit, nothing of it has run yet, or it has ended.
std::optional<Duration> time_left_of(const Job& job, Instant now);

}  // namespace penstock::supervisor
