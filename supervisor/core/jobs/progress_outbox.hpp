// Progress of jobs: gathered, written to the journal and sent to the clients that follow the jobs.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/ledger/commit_gate.hpp"

namespace penstock::supervisor {

/// Gathers what becomes of subtasks and outputs, and sends it to the followers of each job: at once while changes are
/// rare, in batches while they are many. With a journal one batch is under way to the disk at a time, and followers are
/// told when it is there: a slow disk makes larger batches, not a longer queue.
/// Invariants: a follower is told of each subtask once; no progress leaves before its record is on the disk.
/// Consumes no events; the core calls `send_due` at the end of each. Cost: constant for each change.
class ProgressOutbox {
 public:
  ProgressOutbox(const SupervisorConfig& config, JobTable& jobs, CommitGate& gate, const EventContext& event)
      : config_(config), jobs_(jobs), gate_(gate), event_(event) {}
  ProgressOutbox(const ProgressOutbox&) = delete;
  ProgressOutbox& operator=(const ProgressOutbox&) = delete;

  /// The client has submitted the job and hears of everything from now on.
  void submitted(Job& job, ClientId client);
  /// The client is told everything so far, and hears of the rest. A client may ask twice.
  void follow(Job& job, ClientId client);
  /// True if the job has lost its last follower by this.
  bool unfollow(Job& job, ClientId client);
  std::vector<JobId> followed_by(ClientId client) const;
  /// The job is about to be erased.
  void forget(const Job& job);

  /// A subtask has succeeded. REQUIRES: it is not visible yet; it is from now on.
  void succeeded(Job& job, std::uint32_t subtask);
  /// A subtask was cancelled. Nothing changes for clients if its success was visible.
  void cancelled(Job& job, std::uint32_t subtask);
  /// A subtask has failed for good. Clients are told unless its success was visible.
  void failed(Job& job, SubtaskFailure failure);
  /// A wanted output is at that place. The entry leaves with the next change that is counted.
  void add_output(Job& job, const OutputLocation& output) { job.outbox.unsent_.edit().outputs.push_back(output); }
  /// A trace of an attempt leaves with the next change that is counted.
  void add_trace(Job& job, SubtaskTrace trace) { job.outbox.unsent_.edit().traces.push_back(std::move(trace)); }
  /// The addition is a change that followers must be told.
  void count(Job& job);

  /// For the journal: an output has been made. The record is written with the next progress.
  void write_output(Job& job, const MadeOutput& output);
  /// For the journal: an output has a checkpoint. Counts as a change, so that it is written soon.
  void write_checkpoint(Job& job, const CheckpointPlace& place);
  void forget_checkpoints(Job& job) { job.outbox.unwritten_checkpoints_ = {}; }

  /// The job has ended: followers are told all that is left, and `JobOutbox::last` is set.
  void end(Job& job);
  /// A job that had ended before a restart.
  static void recover_ended(Job& job, JobProgress everything);
  /// A failure of a job that had not ended before a restart. Its followers were told.
  void recover_failure(Job& job, const SubtaskFailure& failure);

  /// Sends what is due.
  void send_due();
  /// When `send_due` has something to do, if nothing else happens.
  Instant due() const { return gate_.progress_is_under_way() ? kNever : due_; }
  /// Whether all progress is sent.
  bool empty() const { return with_unsent_.empty(); }
  /// Checks every invariant, O(n).
  void validate() const;

 private:
  bool must_wait();
  bool is_due(const Job& job) const;
  Instant due_of(const Job& job) const;
  void send(Job& job);
  void record(Job& job);
  void tell(ClientId client, JobProgress progress);
  void remember_failure(Job& job, const SubtaskFailure& failure) const;
  /// How many of the configuration's batches become one: with a journal each costs a commit with its sync, about 0.3 ms
  /// of processor in a virtual machine, where interrupts are not cheap.
  int batches_gathered() const { return gate_.durable() ? 4 : 1; }
  std::uint64_t batch_max() const { return std::uint64_t{config_.progress_batch_max} * batches_gathered(); }

  const SupervisorConfig& config_;
  JobTable& jobs_;
  CommitGate& gate_;
  const EventContext& event_;
  std::set<std::pair<ClientId, JobId>> follows_;  ///< `JobOutbox::followers`, by client.
  std::vector<JobId> with_unsent_;  ///< Jobs with `unsent_count`, and perhaps some that have none any more.
  Instant due_ = kNever;                          ///< When the first of them is due.
};

/// All that a client is told that attaches now. Cost: the number of subtasks while the job runs and not all have
/// succeeded, else constant beside the copy of failures and outputs.
JobProgress everything_so_far(const Job& job);

}  // namespace penstock::supervisor
