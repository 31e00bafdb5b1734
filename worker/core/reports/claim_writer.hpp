// The claim for a supervisor that has forgotten us.
#pragma once

#include <cstddef>

#include "common/protocol/config.hpp"
#include "worker/core/data/data_table.hpp"
#include "worker/core/event_context.hpp"
#include "worker/core/jobs/subtask_table.hpp"

namespace penstock::worker {

/// Tells the next term of a supervisor what is here, so that it can adopt it (fault F05). A claim has parts of about a
/// frame each; data of one producer stay together. Cost: O(records and data).
class ClaimWriter {
 public:
  ClaimWriter(const WorkerConfig& config, EventContext& event, const JobTable& jobs, const SubtaskTable& subtasks,
              const DataTable& data);
  ClaimWriter(const ClaimWriter&) = delete;
  ClaimWriter& operator=(const ClaimWriter&) = delete;

  void add_job(JobSlot slot, bool draining);
  void finish(bool draining) { send(true, draining); }

 private:
  void send(bool last, bool draining);

  const std::size_t part_max_;  ///< Attempts and data in one part.
  EventContext& event_;
  const JobTable& jobs_;
  const SubtaskTable& subtasks_;
  const DataTable& data_;
  WorkerClaim claim_;
  std::size_t room_;
};

}  // namespace penstock::worker
