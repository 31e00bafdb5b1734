// Memory that is asked for ahead of its use.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "supervisor/core/events.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// With thousands of workers nothing that a report touches is in the cache: its worker, its band, what is kept for that
/// band, the next subtask, each found only by way of the one before. So before some messages are applied, all of them
/// go that way together, a step at a time: a step of many takes as long as that of one. Changes nothing, and does
/// nothing where there are few bands.
class Foresight {
 public:
  using Jobs = std::vector<std::unique_ptr<Job>>;
  using Said = std::span<const supervisor_event::WorkerSaid>;
  /// Messages that go together: about as many lines as a processor waits for at once.
  static constexpr std::size_t kTogether = 8;

  /// Both outlive it.
  Foresight(const WorkerTable& workers, const Jobs& jobs) : workers_(workers), jobs_(jobs) {}
  /// REQUIRES: at most `kTogether` messages, which are about to be applied.
  void look_at(Said said);

 private:
  void step_worker(std::size_t message);
  void step_band(std::size_t message) const;
  void step_kept(std::size_t message) const;
  void step_next(std::size_t message) const;
  const JobReports* reports_of(std::size_t message, const Job*& job) const;

  const WorkerTable& workers_;
  const Jobs& jobs_;
  Said said_;
  std::array<WorkerSlot, kTogether> slots_{};
};

}  // namespace penstock::supervisor
