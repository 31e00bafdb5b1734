// The holders of each output: copies, checkpoints and what is retained.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/data/awaited_outputs.hpp"
#include "supervisor/core/jobs/progress_outbox.hpp"
#include "supervisor/core/supervisor_counters.hpp"
#include "supervisor/core/workers/worker_mail.hpp"

namespace penstock::supervisor {

/// Knows where the outputs of running jobs are, asks workers for copies, and has outputs dropped that nobody needs.
/// An output is *needed* while a subtask or the client has still to read it. An output is *retained* when all have read
/// it and its worker has memory to spare: a reader may have to run again, and need not make it again then.
/// Needed outputs that are lost return to the core, which remakes them.
/// Writes `Job::data`, `Job::outputs` of running jobs, `WorkerEntry::{held, retained}`, and the band of a subtask when
/// its output has come to be elsewhere.
/// Invariants: the worker of each output that is not gone, and of each replica, has noted it, so that the loss of a
/// worker finds all that was there; checkpoints are counted by the incarnation that has written them.
/// Cost: constant for an output and each reader.
class DataDirectory {
 public:
  DataDirectory(const SupervisorConfig& config, WorkerTable& workers, WorkerMail& mail, CommitGate& gate,
                JobTable& jobs, ProgressOutbox& progress, AwaitedOutputs& awaited, SupervisorCounters& counters)
      : config_(config),
        workers_(workers),
        mail_(mail),
        gate_(gate),
        jobs_(jobs),
        progress_(progress),
        awaited_(awaited),
        counters_(counters) {}
  DataDirectory(const DataDirectory&) = delete;
  DataDirectory& operator=(const DataDirectory&) = delete;

  // Questions.
  /// Outputs that a subtask may make; at least one.
  static std::uint16_t outputs_of(const Job& job, std::uint32_t subtask);
  /// The client or another job has still to read its outputs.
  static bool is_held(const Job& job, std::uint32_t subtask);
  /// The same, or a subtask of the job. REQUIRES: the job's data are in use.
  static bool is_needed(const Job& job, std::uint32_t subtask);
  /// The subtask has succeeded and made bytes that are nowhere any more.
  static bool is_gone(const Job& job, std::uint32_t subtask);
  /// An order to drop a copy that does not count calls it lost while a subtask or the client has still to read the
  /// datum: a successor that waits there with the copy counted down must find it lost.
  static bool may_be_read(const Job& job, std::uint32_t subtask);
  /// An order to drop what a worker has of a subtask that it runs once more would arrive after that run and take what
  /// the run has made: readers there would wait for ever.
  bool makes_again(WorkerSlot slot, const Job& job, std::uint32_t subtask) const;

  // Outputs: data_directory.cpp.
  /// The subtask has succeeded on its band and made these.
  void keep(Job& job, std::uint32_t subtask, std::span<const OutputReport> outputs);
  /// The subtask is final: it reads its inputs no more. An input that has lost its last reader is retained or dropped.
  void release_inputs(Job& job, std::uint32_t subtask);
  void drop(Job& job, std::uint32_t subtask, bool lost = false);
  /// Neither the client nor another job needs the outputs of these subtasks any more; the job may have ended.
  void let_go(Job& job, std::span<const std::uint32_t> subtasks);
  /// The worker holds these outputs of a job that has ended: what is not kept there is dropped.
  void drop_unkept(WorkerSlot slot, const Job& job, std::span<const ClaimedDatum> outputs);
  /// A worker has a copy or a checkpoint. True if the job has ended, and the record of its end has to name a
  /// checkpoint.
  bool receive(WorkerSlot slot, Job& job, const ReplicaReport& report);
  /// A worker that is back after a restart holds these outputs of one subtask.
  void claim(WorkerSlot slot, Job& job, std::span<const ClaimedDatum> outputs);
  /// The output of a job that has ended is kept no more: the worker that should have it does not. Copies may be left.
  void drop_copies(const Job& job, const DataRef& datum);
  /// The worker is lost with all that it held of the job. Returns what is needed and gone.
  std::vector<std::uint32_t> lose(Job& job, std::span<const HeldOutput> held, WorkerSlot slot);

  // Retained outputs: retained_outputs.cpp.
  static bool is_retained(const Job& job, std::uint32_t subtask);
  /// The worker has said how full its memory is: half of what it retains is dropped if there is too little.
  void make_room(WorkerSlot slot);
  /// The job has ended, and its workers keep what its client wants.
  void drop_retained(Job& job);

  // Copies: copies.cpp.
  /// Asks other workers for as many replicas as the template wants.
  void replicate(Job& job, std::uint32_t subtask);
  /// A worker reads the checkpoint when it is asked for the output, and counts as its holder from now on. False if
  /// there is no checkpoint, or no worker that can read it.
  bool promote_checkpoint(Job& job, std::uint32_t subtask);

  // Checkpoints: checkpoint_files.cpp.
  void note_checkpoint(Job& job, std::uint32_t subtask, Incarnation writer);
  void forget_checkpoint(Job& job, std::uint32_t subtask);
  /// All of the job, before its data are cleared.
  void forget_checkpoints(Job& job);
  /// A worker with shared storage is lost; some other worker removes its files when no job needs any of them.
  void writer_lost(Incarnation writer);
  /// The same, as the journal says it.
  void recover_lost_writer(Incarnation writer);
  /// The worker was not lost after all.
  void writer_returned(Incarnation writer);
  /// Workers have come, gone or changed their state: one of them may be able to remove files.
  void workers_changed() { look_for_old_files_ = true; }
  /// At the end of each event: has files of lost writers removed that nobody needs.
  void remove_old_files();

  /// Checks every invariant, O(n).
  void validate() const;

 private:
  /// A lost incarnation that may have left checkpoints.
  struct LostWriter {
    Incarnation writer;
    bool written = false;
  };
  /// Whether a keeper fetches the output from a worker, or reads it from shared storage.
  enum class Reads : std::uint8_t { Workers, SharedStorage };

  void begin(Job& job, std::uint32_t subtask);
  void note_held(WorkerSlot slot, const Job& job, std::uint32_t subtask);
  bool holds(WorkerSlot slot, const HeldOutput& held) const;
  /// The output is elsewhere than it was; the client that wants it is told where.
  void tell_place(Job& job, std::uint32_t subtask);
  bool receive_checkpoint(WorkerSlot slot, Job& job, const ReplicaReport& report);
  void drop_copy(WorkerSlot slot, const Job& job, const ReplicaReport& copy);
  void drop_replicas(Job& job, std::uint32_t subtask, bool lost);
  bool promote_replica(Job& job, std::uint32_t subtask);
  void retain(Job& job, std::uint32_t subtask);
  void drop_leftovers(Job& job);
  bool has_room_to_retain(const WorkerEntry& worker) const;
  void drop_retained(WorkerSlot slot, std::size_t count);
  WorkerSlot choose_keeper(const Job& job, std::uint32_t subtask, std::span<const WorkerId> others, Reads reads) const;
  KeepBatch& last_keeps(WorkerSlot slot, Job& job);
  WorkerSlot any_reader() const;
  void validate_held(const Job& job) const;

  const SupervisorConfig& config_;
  WorkerTable& workers_;
  WorkerMail& mail_;
  CommitGate& gate_;
  JobTable& jobs_;
  ProgressOutbox& progress_;
  AwaitedOutputs& awaited_;
  SupervisorCounters& counters_;
  std::map<Incarnation, std::uint64_t> checkpoints_;  ///< By their writer, over all jobs.
  std::deque<LostWriter> lost_writers_;               ///< The first that was lost first.
  bool look_for_old_files_ = false;                   ///< Something has changed since nothing could be removed.
};

}  // namespace penstock::supervisor
