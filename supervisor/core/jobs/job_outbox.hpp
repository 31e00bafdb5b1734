// The progress of one job that its followers have not been told yet.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/seldom.hpp"
#include "common/base/time.hpp"
#include "common/protocol/client.hpp"
#include "supervisor/core/records.hpp"

namespace penstock::supervisor {

/// A job's part of `ProgressOutbox`. All parts may read it; only `ProgressOutbox` writes it.
class JobOutbox {
 public:
  const std::vector<ClientId>& followers() const { return followers_; }
  /// All subtasks that failed for good, for clients that attach later; bounded by `supervisor.finished_jobs_max`.
  const std::vector<SubtaskFailure>& failures() const { return failures_; }
  /// Changes that followers have not been told.
  std::uint32_t unsent_count() const { return unsent_count_; }
  /// The last progress of a job that has ended, but for its failures and outputs; else its job is none.
  const JobProgress& last() const { return *last_; }

 private:
  friend class ProgressOutbox;

  std::vector<ClientId> followers_;
  Seldom<JobProgress> unsent_;
  std::uint32_t unsent_count_ = 0;
  Instant sent_at_{};
  std::vector<MadeOutput> unwritten_outputs_;           ///< For the journal alone, beside what is unsent.
  std::vector<CheckpointPlace> unwritten_checkpoints_;  ///< The same; some may be gone again.
  std::vector<SubtaskFailure> failures_;
  Seldom<JobProgress> last_;
};

}  // namespace penstock::supervisor
