// One job as the supervisor keeps it while it runs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/labels.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/job_data.hpp"
#include "supervisor/core/job_shares.hpp"
#include "supervisor/core/jobs/job_outbox.hpp"
#include "supervisor/core/jobs/subtask.hpp"
#include "supervisor/core/kept_keys.hpp"
#include "supervisor/core/local_set.hpp"
#include "supervisor/core/priority_scale.hpp"

namespace penstock::supervisor {

struct Job {
  JobId id;
  JobIdentity identity;                 ///< None only where no shell has drawn one: in tests.
  JobSpec spec;                         ///< Its priority is that inside, larger first.
  PriorityScale scale;                  ///< How that is written; of an ended job, how it was.
  JobState state = JobState::Running;
  bool cancelling = false;
  bool recovering = false;              ///< No subtask is given out until the workers from before the restart are back.
  bool on_hold = false;                 ///< By an operator: it gets no slots under a policy.
  bool waiting_for_disk = false;        ///< Its acceptance is not written yet; nothing of it runs before.
  Seldom<Error> error;                  ///< Why it fails or is cancelled.
  SharedGraph* graph = nullptr;         ///< Null once the job has ended and nothing refers to it.
  const GraphShape* shape = nullptr;    ///< Of `graph`.
  GraphHash graph_hash;                 ///< Remembered: the graph may be asked for again by the name of the job.
  LargeArray<SubtaskHot> hot;
  std::vector<TemplateFacts> templates;
  Seldom<std::vector<LargerTemplate>> larger_templates;  ///< Numbered on after those of the graph.
  Seldom<std::map<LargerTemplate, TemplateIndex>> larger_numbers;
  std::uint32_t open = 0;               ///< Subtasks that are not final.
  std::uint32_t in_flight = 0;          ///< Assigned ones.
  JobCounts counts;
  Instant submitted{};
  Instant ended = kNever;
  Instant keep_until = kNever;          ///< Outputs of an ended job that nobody follows are released then.

  struct DeferredCancel {
    bool whole_job = false;
    std::vector<std::uint32_t> roots;   ///< Unless it is the whole job.
    Duration kill_after{0};
  };
  /// Recovered: a worker that is not back may run until then what has `overlap = "never"`; else 0.
  Instant overlap_until{};
  Seldom<std::vector<DeferredCancel>> deferred_cancels;  ///< Ordered while the job was recovering.

  LargeArray<LocalSet> locals;          ///< One for each band that was ever a tentative band.
  std::uint32_t first_local = 0;        ///< Band slot of the first of `local_of`: most small jobs have one.
  std::vector<std::uint32_t> local_of;  ///< By band slot: position in `locals`, or none.
  std::uint32_t waiting_epoch = 0;      ///< Entries in `WaitingJobs` of another one are outdated.
  std::vector<std::uint32_t> unschedulable;  ///< Placeable, but no band may have it now.
  Instant bands_awaited_until = kNever;      ///< Unschedulable subtasks fail then if their required band is not there.

  JobOutbox outbox;
  std::uint64_t ended_bytes = 0;        ///< Memory of the job once it has ended.
  std::vector<OutputLocation> outputs;  ///< Kept for the client.
  Seldom<KeptKeys> keys;                ///< Of those, once it was recovered as one that had ended: it has no graph.
  bool outputs_sorted = false;  ///< By producer and output: the job has ended, and others have external inputs from it.
  bool release_when_unreferenced = false;  ///< Released when no job refers to its outputs any more.
  std::uint32_t references = 0;            ///< Running jobs with external inputs from this one.

  std::vector<LabelLimit> label_limits;  ///< The job runs on workers that all of these allow.
  std::unique_ptr<JobShares> shares;    ///< Null: no policy is in force, or it has ended.

  JobData data;
  Seldom<LookupMap<SubtaskIndex, SubtaskHistory>> histories;
  Seldom<LookupMap<SubtaskIndex, BandSlot>> thieves;  ///< The band for which a subtask was asked back.
  /// The last attempt, where one of an earlier term took its place.
  Seldom<LookupMap<SubtaskIndex, std::uint64_t>> outrun;
  bool keys_carry_priority = false;     ///< `priority_changes` has been used: the rank alone is no order any more.
  /// Set by an operator, or by waiters for lost data: replaces the user's priority.
  Seldom<LookupMap<SubtaskIndex, std::int32_t>> priority_changes;
  Seldom<LookupMap<SubtaskIndex, bool>> cancel_orders;  ///< Subtasks that an operator has cancelled before they ended.
  static constexpr std::uint32_t kTemplatesInWord = 63;
  static constexpr std::uint64_t kHeardOf = std::uint64_t{1} << 63U;
  std::vector<std::uint64_t> known_of;  ///< By worker slot: a bit for each of the first templates, and `kHeardOf`.
  Seldom<LookupMap<WorkerId, std::vector<bool>>> templates_known;  ///< The same for all templates after those.
  std::vector<WorkerId> known_workers;  ///< Workers that have heard of the job.

  std::uint32_t total() const { return static_cast<std::uint32_t>(hot.size()); }
  /// The key by which subtasks are ordered at the supervisor; smaller is better.
  std::uint64_t order_key(std::uint32_t subtask) const;
  /// The priority that goes to the worker; larger is better.
  std::uint64_t worker_priority(std::uint32_t subtask) const;
  std::int32_t user_priority(std::uint32_t subtask) const;
  /// The template by which it is run: the graph's, or the same with more memory.
  std::uint32_t template_index_of(std::uint32_t subtask) const;
  Template template_at(std::uint32_t index) const;
  /// The request of the next attempt.
  Bytes memory_of(std::uint32_t subtask) const;
  /// All tentative bands are below this slot.
  std::uint32_t locals_end() const { return first_local + static_cast<std::uint32_t>(local_of.size()); }
  /// The job's subtasks that are kept for the band; an empty set is made if there is none yet.
  LocalSet& local(BandSlot band) {
    LocalSet* set = find_local(band);
    return set != nullptr ? *set : make_local(band);
  }
  LocalSet* find_local(BandSlot band) { return const_cast<LocalSet*>(std::as_const(*this).find_local(band)); }
  const LocalSet* find_local(BandSlot band) const {
    const std::uint32_t at = band.value() - first_local;  // A large number, if it is below.
    return at < local_of.size() && local_of[at] != ~0U ? &locals[local_of[at]] : nullptr;
  }

 private:
  LocalSet& make_local(BandSlot band);
};

}  // namespace penstock::supervisor
