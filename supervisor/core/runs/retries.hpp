// Attempts that failed: what follows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AllocationUnits;
class DataDirectory;
class Eligibility;
struct EventContext;
class JobRecords;
class JobTable;
class Placer;
class PolicyView;
class Recomputation;
class RetryTimers;
class SubtaskEnds;
class SubtaskMachine;
struct SupervisorCounters;

/// Whether an attempt may be to blame for what ended it, or another one is known to be.
enum class Blame : std::uint8_t { Open, Others };

/// Decides what follows a failed attempt, by the one retry table: another attempt at once or later, elsewhere, with
/// more memory, or the end of the subtask. Cost: constant, but for the search of a band that was not tried.
class Retries {
 public:
  Retries(const SupervisorConfig& config, EventContext& event, JobTable& jobs, const WorkerTable& workers,
          SubtaskMachine& machine, DataDirectory& data, const Eligibility& eligibility, RetryTimers& timers,
          SupervisorCounters& counters, const PolicyView& view, JobRecords& records, AllocationUnits& units,
          Placer& placer, SubtaskEnds& ends, Recomputation& recomputation)
      : config_(config),
        event_(event),
        jobs_(jobs),
        workers_(workers),
        machine_(machine),
        data_(data),
        eligibility_(eligibility),
        timers_(timers),
        counters_(counters),
        view_(view),
        records_(records),
        units_(units),
        placer_(placer),
        ends_(ends),
        recomputation_(recomputation) {}
  Retries(const Retries&) = delete;
  Retries& operator=(const Retries&) = delete;

  /// Spec: worker 9, the one table decides. The attempt has left its band.
  void fail_attempt(Job& job, std::uint32_t subtask, const FailureDetail& detail, const std::string& where,
                    Blame blame = Blame::Open);
  /// Whether the table allows another attempt after such a failure. The history has it counted already.
  bool may_retry(Job& job, std::uint32_t subtask, const SubtaskHistory& history, FailureClass failure) const;
  /// The subtask is placed again after that time, with some spread.
  void wait_before_retry(Job& job, std::uint32_t subtask, Duration delay);
  /// Places the subtasks of which the wait is over.
  void run_timers();

 private:
  /// Fault F26. The need is not known before, and the same amount would not do on any band. No such attempt is charged:
  /// each has more memory than the one before. After a restart the first of them may have had more than we know of.
  bool ask_for_more_memory(Job& job, std::uint32_t subtask, Bytes used, SubtaskHistory& history);
  /// Where it failed, and where it is known to fail for the same reason.
  void rule_out_bands(Job& job, std::uint32_t subtask, const FailureDetail& detail, SubtaskHistory& history);
  /// Whether there is another worker to try, for a failure that would repeat on this one.
  bool is_retryable_elsewhere(Job& job, std::uint32_t subtask, const FailureDetail& detail);
  /// The copy at its holder counts as lost, if another worker may make the data. Data that must not be made twice, or
  /// that only the holder can make, stay: their readers try on. REQUIRES: no reference into `job.histories` is used
  /// after it.
  void make_elsewhere(Job& job, std::uint32_t producer);

  const SupervisorConfig& config_;
  EventContext& event_;
  JobTable& jobs_;
  const WorkerTable& workers_;
  SubtaskMachine& machine_;
  DataDirectory& data_;
  const Eligibility& eligibility_;
  RetryTimers& timers_;
  SupervisorCounters& counters_;
  const PolicyView& view_;
  JobRecords& records_;
  AllocationUnits& units_;
  Placer& placer_;
  SubtaskEnds& ends_;
  Recomputation& recomputation_;
};

}  // namespace penstock::supervisor
