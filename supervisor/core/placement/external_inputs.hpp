// Outputs of one job that another reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AwaitedOutputs;
class Eligibility;
class JobTable;
class PolicyView;
class Readoption;

/// Whether an external input that is not available now can become so.
struct Availability {
  bool never = false;
  bool drains = false;  ///< Only workers hold it that take nothing new, by an order.
  std::string why;
};

/// The datum, for people.
std::string name_of(const ExternalDatum& datum);
/// The jobs from which a graph borrows, each once.
std::vector<JobId> producer_jobs_of(const GraphShape& shape);

/// Knows where outputs of one job are that subtasks of another read, and whether they can still come. A subtask with an
/// external input runs where the datum is held, and the producer job is not released before the referencing job has
/// ended. Cost: logarithmic in the outputs that are kept, and linear in the holders of one.
class ExternalInputs {
 public:
  ExternalInputs(JobTable& jobs, const WorkerTable& workers, AwaitedOutputs& awaited, const Readoption& readoption,
                 const Eligibility& eligibility, std::map<SubtaskId, Instant>& holders_drain_until,
                 const PolicyView& view)
      : jobs_(jobs),
        workers_(workers),
        awaited_(awaited),
        readoption_(readoption),
        eligibility_(eligibility),
        holders_drain_until_(holders_drain_until),
        view_(view) {}
  ExternalInputs(const ExternalInputs&) = delete;
  ExternalInputs& operator=(const ExternalInputs&) = delete;

  /// Refuses a graph with an external input that no job keeps for it.
  Result<void> check_external_inputs(const JobSpec& spec, const GraphShape& shape);
  /// The producer jobs of an accepted job stay until it has ended.
  void add_references(const Job& job);
  /// Whether the band's worker holds the datum.
  bool may_read_external_on(const ExternalInput& input, BandSlot band);
  /// The subtask has no band now. The end of this event decides about it, when no state is half changed.
  void await_external_input(const Job& job, const ExternalInput& input);
  /// The first deadline of a subtask with draining holders.
  Instant holders_given_up_at() const;
  /// The reason why a subtask is cancelled that reads an external input which was lost before it was read: the success
  /// of the subtask with the input was reported and stays so. Null: there is no such input.
  const FailureDetail* lost_external_input_of(const Job& job, std::uint32_t subtask) const;
  /// For `explain`.
  std::string explain_external_input(Job& job, const ExternalInput& input);
  /// A change of the producer would find the subtask.
  void check_waiting_external_inputs(const Job& job, std::uint32_t subtask) const;
  /// Where an output of a job that has ended is kept for the client; null: nowhere.
  const OutputLocation* find_output(const ExternalDatum& datum);
  /// Workers that hold the datum. Of an ended job only the address is known that its client was given: it survives
  /// restarts.
  std::vector<WorkerSlot> holders_of(const ExternalDatum& datum);
  /// Whether a datum that is on no band that may work can still be borrowed.
  Availability availability_of(Job& job, const ExternalInput& input);

 private:
  JobTable& jobs_;
  const WorkerTable& workers_;
  AwaitedOutputs& awaited_;
  const Readoption& readoption_;
  const Eligibility& eligibility_;
  std::map<SubtaskId, Instant>& holders_drain_until_;
  const PolicyView& view_;
};

}  // namespace penstock::supervisor
