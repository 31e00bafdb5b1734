// Lost outputs are read again from a checkpoint, or made again.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class DataDirectory;
class ExternalInputs;
class JobPriorities;
class JobTable;
class Placer;
class SubtaskEnds;
class SubtaskMachine;
struct SupervisorCounters;

/// Finds lost outputs again: from a checkpoint where there is one, else by running their producers anew, with the
/// priority of what waits for them. Cost: linear in what is made again.
class Recomputation {
 public:
  Recomputation(const SupervisorConfig& config, JobTable& jobs, const WorkerTable& workers, SubtaskMachine& machine,
                DataDirectory& data, SupervisorCounters& counters, ExternalInputs& external_inputs, Placer& placer,
                SubtaskEnds& ends, JobPriorities& priorities, std::vector<SubtaskId>& unread)
      : config_(config),
        jobs_(jobs),
        workers_(workers),
        machine_(machine),
        data_(data),
        counters_(counters),
        external_inputs_(external_inputs),
        placer_(placer),
        ends_(ends),
        priorities_(priorities),
        unread_(unread) {}
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;

  /// The supposed holder denies that it has the datum: another process has its address, or a file is damaged.
  void lose_external_datum(const ExternalInput& input, WorkerSlot slot);
  /// For an output that is needed and held by nobody.
  void find_again(Job& job, std::uint32_t subtask);
  /// Before anything is given to a worker that has come.
  void read_what_waits();
  /// Makes the subtask assignable again. Successors that were kept for being assigned after it must wait again. A
  /// subtask that is being cancelled ends instead; but while workers from before a restart may come back with a later
  /// attempt of it, it waits for `let_go` like all the others.
  void requeue(Job& job, std::uint32_t subtask);

 private:
  /// A checkpoint need not be made again: a worker takes it over now, or as soon as there is one. False if there is
  /// none, or if no present worker can read it.
  bool read_again(Job& job, std::uint32_t subtask);
  bool somebody_may_work() const;
  /// Runs a subtask again that must remake its outputs, after those that make what it needs itself. No recursion: a
  /// lineage may be as long as the graph.
  void recompute(Job& job, std::uint32_t subtask);
  /// A repeated subtask gets the highest priority of its readers: they had been next.
  void raise_to_readers(Job& job, const std::vector<std::uint32_t>& reopened);
  /// Cancels repeated subtasks with a predecessor that was cancelled or has failed: they cannot run.
  void cancel_what_cannot_run(Job& job, const std::vector<std::uint32_t>& reopened);
  /// One subtask from Succeeded back to Waiting; appends the producers that it needs and that are gone.
  void reopen(Job& job, std::uint32_t subtask, std::vector<std::uint32_t>& pending);

  const SupervisorConfig& config_;
  JobTable& jobs_;
  const WorkerTable& workers_;
  SubtaskMachine& machine_;
  DataDirectory& data_;
  SupervisorCounters& counters_;
  ExternalInputs& external_inputs_;
  Placer& placer_;
  SubtaskEnds& ends_;
  JobPriorities& priorities_;
  std::vector<SubtaskId>& unread_;
};

}  // namespace penstock::supervisor
