// Attempts that run, as policy counts them.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class UsageAccounts;

/// Tells current attempts from stale ones, and counts those that run for the shares of their jobs. Cost: constant.
class AttemptCounts {
 public:
  AttemptCounts(WorkerTable& workers, UsageAccounts& usage) : workers_(workers), usage_(usage) {}
  AttemptCounts(const AttemptCounts&) = delete;
  AttemptCounts& operator=(const AttemptCounts&) = delete;

  /// The attempt has been running for a while: policy counts its slots and its use from now on.
  void note_started(Job& job, std::uint32_t subtask);
  /// The run has lent its slot: neither is counted until it has started again.
  void note_lent(Job& job, std::uint32_t subtask);
  /// The devices that it has of a band with several, as its worker says; 0: nothing is known.
  static void note_devices(Job& job, std::uint32_t subtask, DeviceSet devices, Instant now);
  /// The attempt has ended, was lost or was given back: its use of resources is charged no more. Once for each attempt.
  /// Returns whether it had been asked to leave.
  bool note_stopped(Job& job, std::uint32_t subtask);
  /// Whether the report is about the attempt that counts, by the worker that has it.
  bool is_current(const Job& job, const AttemptReport& report, WorkerSlot slot) const;

 private:
  WorkerTable& workers_;
  UsageAccounts& usage_;
};

}  // namespace penstock::supervisor
