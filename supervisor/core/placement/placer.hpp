// The band on which a subtask is to run (spec worker 10).
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/work_search.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class BandIndices;
class BandQueues;
class Eligibility;
struct EventContext;
class ExternalInputs;
struct JobIndices;
class PlacementCosts;
class PolicyView;
class Readoption;
class RetryTimers;
class SubtaskMachine;

/// Chooses a tentative band for each subtask that may be placed: the band that asked for it, its preferred ones, those
/// of its predecessors, or the shortest queue. Subtasks that no present band may have wait as unschedulable.
/// Cost: linear in the predecessors that are looked at, of which there are 64 at most.
class Placer {
 public:
  Placer(const SupervisorConfig& config, EventContext& event, WorkerTable& workers, BandIndices& bands,
         SubtaskMachine& machine, const Readoption& readoption, const Eligibility& eligibility,
         const PlacementCosts& costs, JobIndices& indices, RetryTimers& timers, WorkSearch& search,
         const PolicyView& view, BandQueues& queues, ExternalInputs& external_inputs)
      : config_(config),
        event_(event),
        workers_(workers),
        bands_(bands),
        machine_(machine),
        readoption_(readoption),
        eligibility_(eligibility),
        costs_(costs),
        indices_(indices),
        timers_(timers),
        search_(search),
        view_(view),
        queues_(queues),
        external_inputs_(external_inputs) {}
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;

  /// Subtasks that were kept here for a band are placed again. Only those are examined, however large the job is.
  void place_again(Job& job, BandSlot band);
  /// No present band may have the subtask: it waits.
  void leave_unschedulable(Job& job, std::uint32_t subtask);
  /// Takes the unschedulable subtasks of the job out.
  std::vector<std::uint32_t> take_unschedulable(Job& job);
  /// Tries all unschedulable subtasks of the job again.
  void place_unschedulable(Job& job);
  /// Whether such a band is there, whatever its state.
  bool is_present(const BandSelector& required) const;
  /// All producers are assigned or have ended: the subtask gets a tentative band, or waits for one.
  void become_placeable(Job& job, std::uint32_t subtask);
  /// The band's own word of what it runs and holds.
  void note_load(BandSlot slot, const BandLoad& load);
  /// Whether the band may have the subtask now: state, policy, requests, inputs and past failures.
  bool may_run_on(const Job& job, std::uint32_t subtask, BandSlot band);
  /// Waiting subtasks of the job on bands that it may not use any more, or without a band, are placed again; or `all`.
  void place_in_pool(Job& job, bool all = false);
  /// The same for those on bands alone.
  void leave_lost_bands(Job& job, bool all = false);

 private:
  void await_bands(Job& job, Instant until);
  /// Of the bands beside the datum, the one with the shortest queue; none while there is none.
  BandSlot band_of_external_input(Job& job, const ExternalInput& input);
  BandSlot choose_tentative_band(Job& job, std::uint32_t subtask);
  /// The best of several that are meant: one that is in need of work, and others from a place that a hash names on.
  BandSlot preferred_band(Job& job, std::uint32_t subtask, const BandSelector& preferred);
  /// One of the idle bands, drawn by a hash; none if the subtask is nothing for that band. A subtask that waits for
  /// producers gives the band no work now, and far from its producers it costs more later: it goes only to a band that
  /// holds nothing, or that stays idle for so long that the graph must be out of balance.
  BandSlot idle_band_for(const Job& job, std::uint32_t subtask) const {
    return search_.idle.empty() ? BandSlot::none() : draw_idle_band(job, subtask);
  }
  BandSlot draw_idle_band(const Job& job, std::uint32_t subtask) const;
  BandSlot common_band_of_predecessors(const Job& job, std::uint32_t subtask) const;
  /// The bands of its predecessors and one that is in need of work.
  BandSlot best_of_candidates(Job& job, std::uint32_t subtask);
  /// For a subtask that no predecessor's band suits: of two bands that a hash names, the one with the shorter queue
  /// (power of two choices, Mitzenmacher 2001), else any allowed band.
  BandSlot any_band(Job& job, std::uint32_t subtask);

  const SupervisorConfig& config_;
  EventContext& event_;
  WorkerTable& workers_;
  BandIndices& bands_;
  SubtaskMachine& machine_;
  const Readoption& readoption_;
  const Eligibility& eligibility_;
  const PlacementCosts& costs_;
  JobIndices& indices_;
  RetryTimers& timers_;
  WorkSearch& search_;
  const PolicyView& view_;
  BandQueues& queues_;
  ExternalInputs& external_inputs_;
};

}  // namespace penstock::supervisor
