// Memory that is asked for ahead of its use.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "supervisor/core/events.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// With thousands of workers nothing that a report touches is in the cache: its worker, its band, the subtasks kept for
/// that band, the next subtask, the successors, each found only by way of the one before. So before several messages
/// are applied, the lines of all of them are prefetched together, a step at a time: a step of many takes as long as
/// that of one. Changes nothing, and does nothing where there are few bands.
class ReportPrefetcher {
 public:
  using Said = std::span<const supervisor_event::WorkerSaid>;
  /// Messages that go together: about as many lines as a processor waits for at once.
  static constexpr std::size_t kTogether = 8;

  /// Both outlive it.
  ReportPrefetcher(const WorkerTable& workers, const JobTable& jobs) : workers_(workers), jobs_(jobs) {}
  /// REQUIRES: at most `kTogether` messages, which are about to be applied.
  void look_at(Said said);

 private:
  /// The subtasks of one message that are prefetched: most reports are short, and in long ones they are neighbours.
  static constexpr std::size_t kSubtasks = 8;
  struct Ahead {
    WorkerPlace place;
    const Job* job = nullptr;  ///< Null if the message is not about a running job, or from no known worker.
    const JobReports* reports = nullptr;
    const LocalSet* local = nullptr;                      ///< Of the first band.
    std::array<std::uint32_t, 2 * kSubtasks> subtasks{};  ///< First those that end, then those to send.
    std::size_t ended = 0;                                ///< Of these, those that end.
    std::size_t count = 0;
  };

  void step_entries(Ahead& ahead, const supervisor_event::WorkerSaid& said) const;
  void step_kept(const Ahead& ahead) const;
  static void step_keys(const Ahead& ahead);
  static void step_next(Ahead& ahead);
  static void step_edges(const Ahead& ahead);
  static void step_successors(const Ahead& ahead);
  static void step_placed(const Ahead& ahead);
  const JobReports* reports_of(const FromWorker& message, const Job*& job) const;

  const WorkerTable& workers_;
  const JobTable& jobs_;
  std::array<Ahead, kTogether> ahead_;
};

}  // namespace penstock::supervisor
