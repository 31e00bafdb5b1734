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
/// band, the next subtask, each found only by way of the one before. So while one message is applied, those that follow
/// are each one step further on that way. Changes nothing, and does nothing where there are few bands.
class Foresight {
 public:
  using Jobs = std::vector<std::unique_ptr<Job>>;
  using Said = std::span<const supervisor_event::WorkerSaid>;

  /// Takes the first steps at once. All that it refers to outlives it.
  Foresight(const WorkerTable& workers, const Jobs& jobs, Said said);
  /// REQUIRES: called once for each message, in order, before it is applied.
  void before(std::size_t message);

 private:
  /// Messages between two steps of one: about a trip to memory.
  static constexpr std::size_t kStride = 2;
  static constexpr std::size_t kLast = 3 * kStride;

  void look(std::size_t message);
  void step_worker(std::size_t message);
  void step_band(std::size_t message);
  void step_kept(std::size_t message);
  void step_next(std::size_t message);
  const JobReports* reports_of(std::size_t message, const Job*& job) const;

  const WorkerTable& workers_;
  const Jobs& jobs_;
  Said said_;  ///< Empty: there is nothing to gain.
  std::array<WorkerSlot, 8> slots_{};
  static_assert(kLast < 8);
};

}  // namespace penstock::supervisor
