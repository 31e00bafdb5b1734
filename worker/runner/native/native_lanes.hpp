// Threads that run native operators: one for each lane of a band.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/include/penstock/operator.h"
#include "common/base/time.hpp"
#include "common/protocol/failure.hpp"
#include "common/protocol/graph.hpp"
#include "common/protocol/report.hpp"
#include "worker/runner/command/band_devices.hpp"
#include "worker/runner/process/slot_loan.hpp"
#include "worker/store/object_store.hpp"

namespace penstock::worker {

class ProcessRunners;

inline constexpr std::uint64_t kNoTicket = ~std::uint64_t{0};

/// One run of an operator. All pointed-to memory stays unchanged until the run's end is withdrawn. REQUIRES: `program`.
struct NativeRun {
  std::uint64_t ticket = 0;  ///< Given back with the end.
  SubtaskId id;
  Attempt attempt;
  JobIdentity identity{};  ///< Of its job; none: not known.
  const Template* program = nullptr;
  penstock_operator_function function = nullptr;  ///< Null: it runs in a child process.
  std::string_view payload;
  std::uint16_t empty_inputs = 0;  ///< After the others.
  bool on_devices = false;         ///< Inputs need not be on the host.
  DeviceSet devices = 0;           ///< Of a band with several; 0: all. A run on offer has those of its lane.
};

/// The end of a run. Outputs are in the store already.
struct NativeEnd {
  std::uint64_t ticket = 0;
  Attempt attempt;
  bool succeeded = true;
  std::uint32_t run_us = 0;
  std::uint32_t run_ns = 0;     ///< The same, but for a preempted lane about as its last run; both saturated.
  std::int64_t peak_bytes = 0;  ///< Memory that its child process used; 0: unknown.
  Instant ended{};
  std::uint64_t next_ticket = kNoTicket;  ///< Of the run on offer that the lane took over in that instant.
  std::vector<OutputReport> outputs;
  std::unique_ptr<FailureDetail> failure;
};

struct NativeLanesConfig {
  Incarnation life;                               ///< Of the worker.
  BandDevices devices;                            ///< The band's GPUs.
  std::vector<int> processors;                    ///< Its threads are bound to these; empty: all.
  ProcessRunners* processes = nullptr;            ///< For runs in child processes; outlives the lanes.
  Duration spin = std::chrono::microseconds{10};  ///< How long a lane spins for its next run before it sleeps.
  /// The same while its runs have lately come within this time. Where runs wait for each other, as in a stencil, a
  /// sleeping lane delays the next one for longer than that one spins, which then sleeps too, and so on.
  Duration spin_max = std::chrono::microseconds{100};
  /// A lane is idle soon when its last run was shorter: its offers last 50 us. Longer runs go to several lanes
  /// (`RunOffers` in worker/core), of which an idle one would wait for news that were left to another.
  std::uint32_t short_run_ns = 600;
  /// Called on a run's thread, which then waits for `answer_yield` or `resume`. Empty: no run may lend its slot.
  TellSlotWish tell_slot_wish;
};

/// The runners of one band's native operators. A lane's thread starts with its first run. After a run the thread takes
/// over the first run on offer to it; the end is noted down and asked for by `withdraw`. If nothing is on offer, it
/// says that it is idle, and often finds its next run waiting when that call returns: no other thread had to wake up.
/// An operator that uses TBB finds itself in an arena of as many threads as the subtask has slots, bound to the band's
/// processors: it is confined to its own slots, which is stricter than to those of the band.
/// A run that has lent its slot keeps its lane and that lane's thread; what runs meanwhile has another lane.
class NativeLanes {
 public:
  /// Called on the lane's thread when it has no more run.
  using OnIdle = std::function<void()>;

  NativeLanes(ObjectStore& store, NativeLanesConfig config, OnIdle on_idle);
  ~NativeLanes();
  NativeLanes(const NativeLanes&) = delete;
  NativeLanes& operator=(const NativeLanes&) = delete;

  /// Starts no run from now on, and kills child processes; does not wait.
  void begin_end();
  /// Cancels all runs and waits for them. The destructor does it too.
  void end();

  // The rest from any thread, but one at a time: the combining thread of the worker's host.

  /// The run begins at the latest with the next `open_offers`. `inputs` are the run's in order; a key without a job is
  /// an empty one. REQUIRES: the end of the lane's last run was withdrawn.
  void start(SlotIndex lane, const NativeRun& run, std::vector<DataKey> inputs);
  /// Adds a run to those that `open_offers` will offer, and returns it for the caller to fill: it still holds the
  /// values of an earlier one. If `after` is valid, the run may only follow a run of that job. REQUIRES: `withdraw`
  /// since the last `open_offers`.
  NativeRun& add_offer(JobId after, std::vector<DataKey> inputs);
  /// From now on lanes that end a run take over the first of the added runs that is left for them. Called after all
  /// `start`s of a round.
  void open_offers();
  /// From now on no lane takes a run over. Appends the ends since the last call, those of a lane in order.
  void withdraw(std::vector<NativeEnd>& ends);
  /// Whether a lane has taken over a run after a short one: it calls `on_idle` within microseconds, unless that run is
  /// longer than the last. From any thread.
  bool any_on_short_runs() const;
  /// Asks the run of a lane to stop; ignored if the lane has another run by now. Only a child process can be killed.
  void cancel(SlotIndex lane, std::uint64_t ticket, bool kill);
  /// Ends the run of a lane that has not stopped when asked to, if it runs an operator in this process: by a crash of
  /// the process, which blames that run alone. Does nothing if the process would not continue after it.
  void end_overdue(SlotIndex lane, std::uint64_t ticket);
  /// Whether the run of a lane that wanted to lend its slot has done so; ignored if it is another run by now.
  void answer_yield(SlotIndex lane, std::uint64_t ticket, bool lent);
  /// The run of a lane has its slot again; the same.
  void resume(SlotIndex lane, std::uint64_t ticket);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::worker
