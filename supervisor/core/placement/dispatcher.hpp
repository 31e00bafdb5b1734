// The subtasks that are sent to each band now, and work for idle bands.
#pragma once

#include <cstdint>
#include <vector>

#include "common/protocol/config.hpp"
#include "supervisor/core/job.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

class AssignmentWriter;
class BandQueues;
struct EventContext;
struct Fleet;
struct JobTables;
class Placer;
struct PolicyBase;
class SubtaskMachine;
struct WorkSearch;

/// Sends each band as many subtasks as keep it busy for the lookahead, of the jobs of the highest priority first, and
/// finds work for idle bands among what others have: placements that are kept here are moved, queued ones asked back.
/// Cost: constant for a subtask; a budget bounds the search of an event for idle bands.
class Dispatcher {
 public:
  Dispatcher(const SupervisorConfig& config, EventContext& event, Fleet& fleet, JobTables& tables,
             PolicyBase& policy_base, SubtaskMachine& machine, WorkSearch& search, const Attempt& first_attempt,
             BandQueues& queues, AssignmentWriter& assignments, Placer& placer)
      : config_(config),
        event_(event),
        fleet_(fleet),
        tables_(tables),
        policy_base_(policy_base),
        machine_(machine),
        search_(search),
        first_attempt_(first_attempt),
        queues_(queues),
        assignments_(assignments),
        placer_(placer) {}
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// Sends to every band that has changed what it may get.
  void fill_dirty_bands();
  /// Spec: worker 6, credit: enough subtasks to keep the band busy for the lookahead.
  std::uint32_t lookahead_limit(const Job& job, std::uint32_t template_index, std::uint32_t slots) const;
  /// Idle bands look for work in rotation; the successors of what they get may feed them. A budget limits the search:
  /// with thousands of idle bands and little to take, each report would otherwise pay for all of them. The rest is
  /// looked after later.
  void help_idle_bands();

 private:
  struct Moved;
  void fill(BandSlot band);
  /// A job may have slots here while its runnable subtasks are kept for other bands.
  void fill_shares(BandSlot band);
  /// The job of the highest priority that has something for this band; among equals the one that holds least. A band
  /// with enough to run asks only a few of them for more: with thousands of queued jobs each report would pay for all.
  void serve_waiting(BandSlot band);
  /// Sends up to `count_max` subtasks of the job; returns how many entries it has used up.
  std::uint32_t take_from(Job& job, BandSlot band, std::uint32_t count_max);
  void assign(Job& job, std::uint32_t subtask, BandSlot band);
  /// Whatever stands behind something long is moved at last, also where nothing tells that this is long.
  void offer_again();
  /// True if something was moved to or asked for the band.
  bool feed_idle_band(BandSlot band);
  /// Spec: worker 10, the fewest, lowest-priority, not yet prepared items. The worker's answer is definite.
  bool ask_for_queued(BandSlot thief, BandSlot victim);
  template <class MayMove>
  Moved move_ready(Job& job, BandSlot from, BandSlot to, std::uint32_t most, MayMove may_move);
  /// Moves half of the subtasks kept for the victim, of its best jobs first. Where these have nothing for the thief,
  /// further jobs are examined in rotation, as many as the search budget allows; the next search goes on there.
  bool move_placements(BandSlot thief, BandSlot victim);
  /// The subtasks that `move_ready` examines first may all be for other bands, e.g. of templates that ask for more
  /// memory. This search then goes through all kept subtasks, a part in each event, until one fits.
  bool search_ranks();
  /// The keys that are left behind are recognised when they are taken.
  bool take_placement(Job& job, std::uint32_t& budget);
  /// A move is worth it while the subtask would wait for longer than its data take to move. A band that stands still
  /// shows that its runs are longer than expected.
  bool may_move_placement(const Job& job, std::uint32_t subtask, BandSlot victim, BandSlot thief);
  /// Pulls subtasks to a band where the job has slots and nothing to run: half of the subtasks kept for another of its
  /// bands, or as many as fill these slots and are not for the slots there, if that is more; where the job has lost its
  /// slots there, at least as many as fill these.
  bool pull_placements(Job& job, BandSlot slot);
  void sweep_assigned(BandEntry& band);

  const SupervisorConfig& config_;
  EventContext& event_;
  Fleet& fleet_;
  JobTables& tables_;
  PolicyBase& policy_base_;
  SubtaskMachine& machine_;
  WorkSearch& search_;
  const Attempt& first_attempt_;
  BandQueues& queues_;
  AssignmentWriter& assignments_;
  Placer& placer_;
};

}  // namespace penstock::supervisor
