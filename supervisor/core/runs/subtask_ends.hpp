// Subtasks and jobs that fail or are cancelled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AwaitedOutputs;
class DataDirectory;
class ExternalInputs;
class GangBarriers;
class JobRecords;
class ProgressOutbox;
class SubtaskMachine;
class WorkerMail;

/// Ends subtasks other than by success, and cancels what can no longer run because of it. Each end is told once.
/// Cost: linear in what ends.
class SubtaskEnds {
 public:
  SubtaskEnds(const SupervisorConfig& config, const WorkerTable& workers, WorkerMail& mail, SubtaskMachine& machine,
              ProgressOutbox& progress, AwaitedOutputs& awaited, DataDirectory& data, JobRecords& records,
              ExternalInputs& external_inputs, GangBarriers& barriers, std::vector<JobId>& maybe_done)
      : config_(config),
        workers_(workers),
        mail_(mail),
        machine_(machine),
        progress_(progress),
        awaited_(awaited),
        data_(data),
        records_(records),
        external_inputs_(external_inputs),
        barriers_(barriers),
        maybe_done_(maybe_done) {}
  SubtaskEnds(const SubtaskEnds&) = delete;
  SubtaskEnds& operator=(const SubtaskEnds&) = delete;

  /// No present band is the one that the subtask requires, and `required_band_wait` is over.
  void fail_for_missing_band(Job& job, std::uint32_t subtask, const BandSelector& required);
  /// The subtask borrows an output that is lost.
  void fail_external_input(Job& job, const ExternalInput& input, const std::string& why);
  /// Cancels all that has not ended. `kill_after`: the grace of attempts that run.
  void cancel_job(Job& job, Error why, Duration kill_after);
  /// The same, of a job that is being cancelled already.
  void cancel_open_subtasks(Job& job, Duration kill_after);
  /// Cancels subtasks and everything that depends on them.
  void cancel_subtasks(Job& job, std::vector<std::uint32_t> roots, Duration kill_after);
  /// Ends the subtask for good, and with it the job or what reads its outputs.
  void fail_subtask(Job& job, std::uint32_t subtask, const FailureDetail& detail);
  /// The one place where a subtask becomes final.
  void end_subtask(Job& job, std::uint32_t subtask, SubtaskPhase phase);

 private:
  void note_failed(Job& job, std::uint32_t subtask, std::vector<std::string> history, const FailureDetail& detail);

  const SupervisorConfig& config_;
  const WorkerTable& workers_;
  WorkerMail& mail_;
  SubtaskMachine& machine_;
  ProgressOutbox& progress_;
  AwaitedOutputs& awaited_;
  DataDirectory& data_;
  JobRecords& records_;
  ExternalInputs& external_inputs_;
  GangBarriers& barriers_;
  std::vector<JobId>& maybe_done_;
};

}  // namespace penstock::supervisor
