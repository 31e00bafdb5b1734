// One job as the supervisor keeps it while it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/seldom.hpp"
#include "common/protocol/labels.hpp"
#include "supervisor/core/graph_table.hpp"
#include "supervisor/core/job_data.hpp"
#include "supervisor/core/job_shares.hpp"
#include "supervisor/core/kept_keys.hpp"
#include "supervisor/core/local_set.hpp"
#include "supervisor/core/priority_scale.hpp"

namespace penstock::supervisor {

enum class SubtaskPhase : std::uint8_t {
  Waiting,    ///< Some predecessor is neither finished nor assigned.
  Placeable,  ///< Has a home band and is kept here for it; ready if nothing is missing, else a lookahead candidate.
  Assigned,   ///< Sent to a worker: runnable there, or cached as a successor.
  Backoff,    ///< Failed and waits before the next attempt.
  Succeeded,
  Failed,
  Cancelled,
};
constexpr bool is_final(SubtaskPhase phase) { return phase >= SubtaskPhase::Succeeded; }

/// The hot part of a subtask: everything that a report or an assignment touches. 24 bytes.
struct SubtaskHot {
  std::uint32_t missing = 0;    ///< Edges from predecessors that have not succeeded.
  std::uint32_t unplaced = 0;   ///< Edges from predecessors that have neither succeeded nor been assigned.
  std::uint64_t attempt = 0;    ///< The last `Attempt`; 0: none yet.
  BandSlot band;                ///< Home, then where it is assigned, then where its outputs are.
  SubtaskPhase phase = SubtaskPhase::Waiting;
  std::uint8_t flags = 0;
};
static_assert(sizeof(SubtaskHot) <= 32, "the design allows 32 bytes");

/// Bits of `SubtaskHot::flags`.
struct SubtaskFlag {
  static constexpr std::uint8_t kVisible = 1;       ///< The client has been told that it succeeded.
  static constexpr std::uint8_t kWanted = 2;        ///< Its outputs are kept for the client.
  static constexpr std::uint8_t kStarted = 4;       ///< This attempt has been running for a while.
  static constexpr std::uint8_t kStealAsked = 8;    ///< The worker was asked to give this attempt back.
  static constexpr std::uint8_t kTroubled = 16;     ///< It has an entry in `Job::histories`.
  static constexpr std::uint8_t kCancelAsked = 32;  ///< Its worker was asked to cancel it: it never runs again.
  static constexpr std::uint8_t kOutrun = 64;       ///< It has an entry in `Job::outrun`.
  static constexpr std::uint8_t kAdopted = 128;     ///< This attempt was given out by an earlier life.
  static constexpr std::uint8_t kForAttempt = kStarted | kStealAsked | kAdopted;
};

/// What went wrong with a subtask so far.
struct SubtaskHistory {
  std::uint16_t charged = 0;            ///< Failures that it is to blame for.
  std::uint16_t lost_workers = 0;       ///< Workers that died while holding it.
  std::uint16_t failures = 0;           ///< All failed attempts, whoever was to blame.
  std::uint64_t last_attempt = 0;       ///< The highest number of those: none up to it is under way any more.
  std::vector<BandSlot> tried;          ///< Bands not to be tried again.
  std::uint64_t tried_epoch = 0;        ///< Of the worker table when the list was begun.
  std::uint32_t transfers = 0;          ///< Attempts in a row that got no input from a worker that lives,
  Instant unreachable_since{};          ///< since then.
  Instant overlap_until{};              ///< Its lost worker may run it until then; only with `overlap = "never"`.
  TemplateIndex larger;                 ///< Its template with more memory; none: it is run by its own.
  std::vector<std::string> lines;       ///< One for each failed attempt, newest last, bounded.
  FailureDetail last;
};

/// Measured facts of one template of a job; they begin with those of earlier jobs of the same graph.
struct TemplateFacts {
  std::uint64_t runs = 0;
  std::uint64_t mean_ns = 0;            ///< Moving average of measured durations.
};

/// One of the graph's templates, with more memory than it requests.
struct LargerTemplate {
  std::uint32_t of = 0;
  Bytes memory;
  friend auto operator<=>(const LargerTemplate&, const LargerTemplate&) = default;
};

struct Job {
  JobId id;
  JobIdentity identity;                 ///< None only where no shell has drawn one: in tests.
  JobSpec spec;                         ///< Its priority is that inside, larger first.
  PriorityScale scale;                  ///< How that is written; of an ended job, how it was.
  JobState state = JobState::Running;
  bool cancelling = false;
  bool held = false;                    ///< Recovered: nothing of it is given out until the workers of before are back.
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

  struct HeldCancel {
    bool whole_job = false;
    std::vector<std::uint32_t> roots;   ///< Unless it is the whole job.
    Duration kill_after{0};
  };
  /// Recovered: a worker that is not back may run until then what has `overlap = "never"`; else 0.
  Instant overlap_until{};
  Seldom<std::vector<HeldCancel>> held_cancels;  ///< Ordered while it was held.

  LargeArray<LocalSet> locals;          ///< One for each band that has ever been a home.
  std::uint32_t first_home = 0;         ///< Band slot of the first of `local_of`: most small jobs have one home.
  std::vector<std::uint32_t> local_of;  ///< By band slot: position in `locals`, or none.
  std::uint32_t waiting_epoch = 0;      ///< Entries in `WaitingJobs` of another one are outdated.
  std::vector<std::uint32_t> homeless;  ///< Placeable, but no band may have it now.
  Instant bands_awaited_until = kNever; ///< Then the homeless ones whose required band is not there fail.

  std::vector<ClientId> followers;
  Seldom<JobProgress> news;             ///< What they have not been told yet.
  std::uint32_t news_count = 0;
  std::vector<MadeOutput> made;         ///< Outputs that are not written down yet; the rest of what is not is `news`.
  std::vector<CheckpointPlace> new_checkpoints;  ///< That are not written down yet, or not any more.
  Instant news_sent{};
  Seldom<JobProgress> final_news;       ///< Once the job has ended: everything but `failures` and `outputs`.
  std::uint64_t ended_bytes = 0;        ///< What it takes then.
  std::vector<SubtaskFailure> failures; ///< All that failed for good, for those who attach later; bounded.
  std::vector<OutputLocation> outputs;  ///< Kept for the client.
  Seldom<KeptKeys> keys;                ///< Of those, once it was recovered as one that had ended: it has no graph.
  bool outputs_sorted = false;          ///< By producer and output: it has ended, and others borrow from it.
  bool release_when_returned = false;   ///< Nobody but who borrows needs its outputs, or will when it has ended.
  std::uint32_t borrowers = 0;          ///< Running jobs that borrow from it.

  std::vector<LabelLimit> label_limits;  ///< It runs on workers that all of these allow.
  std::unique_ptr<JobShares> shares;    ///< Null: no policy is in force, or it has ended.

  JobData data;
  Seldom<LookupMap<SubtaskIndex, SubtaskHistory>> histories;
  Seldom<LookupMap<SubtaskIndex, BandSlot>> thieves;  ///< For whom a subtask was asked back, until it comes or ends.
  Seldom<LookupMap<SubtaskIndex, std::uint64_t>> outrun;  ///< The last attempt, where one of an earlier term took its place.
  bool keys_carry_priority = false;     ///< `priority_changes` has been used: the rank alone is no order any more.
  /// Set by an operator, or by who waits for lost data: replaces the user's priority.
  Seldom<LookupMap<SubtaskIndex, std::int32_t>> priority_changes;
  Seldom<LookupMap<SubtaskIndex, bool>> cancel_orders;  ///< Subtasks that an operator has cancelled before they ended.
  static constexpr std::uint32_t kTemplatesInWord = 63;
  static constexpr std::uint64_t kHeardOf = std::uint64_t{1} << 63U;
  std::vector<std::uint64_t> known_of;  ///< By worker slot: a bit for each of the first templates, and `kHeardOf`.
  Seldom<LookupMap<WorkerId, std::vector<bool>>> templates_known;  ///< The same for all templates after those.
  std::vector<WorkerId> known_workers;  ///< Those that have heard of the job.

  std::uint32_t total() const { return static_cast<std::uint32_t>(hot.size()); }
  /// The key by which subtasks are ordered at the supervisor; smaller is better.
  std::uint64_t order_key(std::uint32_t subtask) const;
  /// The priority that goes to the worker; larger is better.
  std::uint64_t worker_priority(std::uint32_t subtask) const;
  std::int32_t user_priority(std::uint32_t subtask) const;
  /// The template by which it is run: the graph's, or the same with more memory.
  std::uint32_t template_index_of(std::uint32_t subtask) const;
  Template template_at(std::uint32_t index) const;
  /// What the next attempt requests.
  Bytes memory_of(std::uint32_t subtask) const;
  /// Band slots that may be homes are below this.
  std::uint32_t homes_end() const { return first_home + static_cast<std::uint32_t>(local_of.size()); }
  LocalSet& local(BandSlot band);
  LocalSet* find_local(BandSlot band);
  const LocalSet* find_local(BandSlot band) const;
};

}  // namespace penstock::supervisor
