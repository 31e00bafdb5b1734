// Every scheduling decision of one worker.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/actions.hpp"
#include "common/base/slab.hpp"
#include "common/protocol/config.hpp"
#include "worker/core/actions.hpp"
#include "worker/core/band.hpp"
#include "worker/core/data_table.hpp"
#include "worker/core/events.hpp"
#include "worker/core/job_table.hpp"
#include "worker/core/report_buffer.hpp"
#include "worker/core/subtask_record.hpp"
#include "worker/core/successor_table.hpp"

namespace penstock::worker {

/// Why a subtask is where it is, with the numbers (spec worker 11).
struct WorkerExplanation {
  bool known = false;
  SubtaskState state = SubtaskState::Free;
  std::uint64_t priority = 0;  ///< With which it is queued now.
  std::string reason;
};

/// Every scheduling decision of one worker: queues, slots, memory quota, successors, cancels.
///
/// Deterministic and single-threaded; owned by one shell, or by the simulator. Time is an argument.
/// Invariant: the amounts held on a band never exceed it; no two attempts of one subtask live here at once; each
/// assignment gets exactly one terminal report; what a record holds is given back once, by `end_record`.
/// Cost: O(log n) per subtask; no allocation per subtask once warm.
class WorkerCore {
 public:
  WorkerCore(const WorkerConfig& config, const std::vector<BandDescription>& bands);
  WorkerCore(const WorkerCore&) = delete;
  WorkerCore& operator=(const WorkerCore&) = delete;

  /// Applies one event (often a whole batch) and appends, in order, the actions for the shell.
  /// Input of a peer that breaks the protocol becomes a `Reject` action; it never throws and never aborts.
  void handle(const WorkerEvent& event, Instant now, Actions<WorkerAction>& actions);
  /// When to deliver the next `Tick` if nothing else happens. Timers are state, not callbacks.
  std::optional<Instant> next_deadline() const;
  /// The latch, quota, entitlement or input that holds this subtask, with numbers. Reads only.
  WorkerExplanation explain(SubtaskId id) const;
  /// None for a job that is unknown here, or without an identity from the supervisor.
  JobIdentity identity_of(JobId job) const;
  /// Checks every invariant, O(n).
  void validate() const;

  const WorkerCounters& counters() const { return counters_; }
  std::size_t live_records() const { return records_.live(); }
  std::size_t data_count() const { return data_.size(); }
  /// Any known datum, for display; empty if there is none.
  std::string first_datum() const;
  /// A datum as the core knows it, for checks; null if it is unknown.
  const Datum* find_datum(const DataKey& key) const;
  std::size_t job_count() const { return jobs_.size(); }
  const Band& band(BandIndex index) const { return *bands_[index.value()]; }
  std::size_t band_count() const { return bands_.size(); }
  BandLoad load_of(const Band& band) const;

 private:
  using Out = Actions<WorkerAction>;
  struct FetchTurn {
    std::uint64_t priority;
    std::uint64_t sequence;
    DatumIndex datum;
    friend bool operator<(const FetchTurn& a, const FetchTurn& b) {
      return a.priority != b.priority ? a.priority > b.priority : a.sequence < b.sequence;
    }
  };
  struct NoTrack {
    void operator()(const FetchTurn&, std::uint32_t) const {}
  };

  // Arrivals: worker_core.cpp and arrivals.cpp.
  void on(const worker_event::MessageArrived& event);
  void on(const worker_event::RunsEnded& event);
  void on(const worker_event::FetchesEnded& event);
  void on(const worker_event::OutputsStored& event);
  void on(const worker_event::DatumSpilled& event);
  void on(const worker_event::DatumRestored& event);
  void on(const worker_event::DatumCheckpointed& event);
  void on(const worker_event::SlotYielded& event);
  void on(const worker_event::SlotWanted& event);
  void on(const worker_event::LanesRestarted& event);
  void on(const worker_event::MemoryMeasured& event);
  void on(const worker_event::DataMapped& event);
  void on(const worker_event::RunsMeasured& event);
  void on(const worker_event::SupervisorReturned& event);
  void on(const worker_event::SupervisorHeard& event);
  void on(const worker_event::Tick& event);
  void on(const worker_event::OffersWanted& event);
  void receive(const AssignBatch& message);
  void receive(const InputNoticeBatch& message);
  void receive(const CancelBatch& message);
  void receive(const PriorityBatch& message);
  void receive(const EntitlementBatch& message);
  void receive(const StealRequest& message);
  void receive(const DropBatch& message);
  void receive(const ForgetJob& message);
  void receive(const KeepBatch& message);
  void receive(const RemoveCheckpoints& message);
  void receive(const ReportsApplied& message);
  void receive(const Drain& message);
  void receive(const ExplainQuestion& message);
  void receive(const RegisterReply&) {}     // No decision depends on our number at the supervisor.
  void receive(const LogQuestion&) {}       // For the shell: logs of runners are no state of the core.
  void receive(const PeerAddressBatch&) {}  // For the shell: the core knows only the numbers of workers.
  bool check_batch(const AssignBatch& batch);
  void define_templates(JobContext& job, const AssignBatch& batch);
  void set_job_priority(JobSlot slot, std::int32_t job_priority);
  std::uint16_t shape_of(const WorkerTemplate& program);
  void accept(JobSlot slot, const Assignment& assignment, std::span<const AssignedInput> inputs,
              std::string_view payload);
  bool is_new_attempt(JobSlot slot, const Assignment& assignment);
  void give_back(const AssignBatch& batch);
  RecordIndex make_record(JobSlot slot, const Assignment& assignment);
  void reject(ErrorCode code, std::string subject, std::string message);
  void validate_transfers() const;

  // The way through the worker: flow.cpp.
  void move(RecordIndex index, SubtaskState to);
  void enqueue(RecordIndex index);
  void pump_all();
  void pump(Band& band);
  void begin_prepare(RecordIndex index);
  void bring_inputs(RecordIndex index);
  void make_ready(RecordIndex index);
  void start(RecordIndex index, const Taken& taken);
  bool nothing_to_prepare(const SubtaskRecord& record) const;
  worker_action::StartSubtask& order_start(RecordIndex index);
  void demote_if_stuck(Band& band);
  void demote_for_room(Band& band);
  void demote_for_gangs(Band& band);
  void demote(RecordIndex index);
  void complete_successors();
  void forward(RecordIndex index);
  ForwardResult try_forward(RecordIndex index);
  QuotaRequest quota_request(const SubtaskRecord& record, RecordIndex index) const;
  Bytes memory_to_grant(const WorkerTemplate& program) const;
  void note_peak(const WorkerTemplate& program, const RunEnd& run);
  Bytes input_bytes(const SubtaskRecord& record) const;
  bool is_empty(const SubtaskRecord& record, const RunInput& input) const;
  std::optional<DataKey> pin_inputs(RecordIndex index);
  bool reads_nothing(const SubtaskRecord& record) const;
  static void omit_inputs(SubtaskRecord& record);
  void unpin(DatumIndex index);
  void want(DatumIndex index, RecordIndex waiter);
  void start_fetches();
  bool start_fetch(const FetchTurn& turn);
  bool is_other_datum(DatumIndex index, Bytes bytes) const;
  void input_arrived(DatumIndex index);
  void inputs_failed(DatumIndex index, const FailureDetail& failure);

  // Room for data in memory: room.cpp.
  bool bounded() const { return !config_.store_bytes_max.is_zero(); }
  Bytes bytes_taken() const { return data_.bytes_here() + data_.bytes_arriving() + mapped_beyond_; }
  bool has_room(Bytes bytes) const { return !bounded() || bytes_taken() + bytes <= config_.store_bytes_max; }
  bool too_large(Bytes bytes) const { return bounded() && bytes > config_.store_bytes_max; }
  static Bytes percent_of(Bytes whole, std::uint32_t percent);
  bool refuse_outputs(RecordIndex index);
  void wait_for_room(RecordIndex index);
  void stop_waiting_for_room(RecordIndex index);
  void serve_room();
  void room_is_free(RecordIndex index);
  bool at_rest() const;
  void give_up_room();
  void keep_room();
  void spill(Bytes excess);
  void mark_needs();
  void mark_all_dirty();

  // Runs that lanes take over by themselves: offers.cpp.
  void offer(Band& band);
  std::size_t starts_allowed(Band& band);
  std::uint16_t shape_of_runs(const Band& band) const;
  void take_over(const RunEnd& run);
  void withdraw_offers();

  // Slots that are lent: yields.cpp.
  bool is_run_of(RecordIndex index, Attempt attempt, SubtaskState state) const;
  void tell_yields();

  // Runners that are started before they are needed: warming.cpp.
  void want_runner(const SubtaskRecord& record);
  void needs_no_runner(const SubtaskRecord& record);
  void warm_runners();
  void warm_runners(Band& band, const RunnerWish& wish, ResourceVector& room);

  // Ends: ends.cpp.
  void look_ahead(std::span<const RunEnd> runs) const;
  void run_ended(const RunEnd& run);
  void trace_run(const SubtaskRecord& record, Instant ended);
  void store_outputs(RecordIndex index);
  static Bytes output_bytes(const SubtaskRecord& record);
  void finish_storing(RecordIndex index, const FailureDetail* failure);
  void succeed(RecordIndex index);
  void fail(RecordIndex index, const FailureDetail& failure);
  void end_record(RecordIndex index, Outcome outcome, const FailureDetail* failure = nullptr);
  void give_back_all(RecordIndex index);
  void stop_waiting_for_inputs(RecordIndex index);
  void free_record(RecordIndex index);
  void report(const SubtaskRecord& record, Outcome outcome, const FailureDetail* failure);
  void flush_reports();
  void report_started();
  void close_job_if_done(JobSlot slot);
  JobSlot open_job(JobId id);
  void stop_fetching(DatumIndex index);
  void drop_uncounted(const DataKey& key);
  void drop_from_store(const DataKey& key);
  void drop_datum(DatumIndex index);
  void lose_datum(DatumIndex index);

  // Slots that are reserved for gangs: barriers.cpp.
  void entitle(JobSlot slot, const Entitlement& entitlement);
  void join_barrier(JobSlot slot, const Entitlement& entitlement);
  void leave_barrier(JobSlot slot, Band& band, bool opens);
  void leave_barriers(JobSlot slot);
  void answer_barriers();
  void unprepare(JobSlot slot, Band& band);
  void give_back_barriers_left();
  bool is_ready_to_begin(const BarrierHere& barrier) const;
  bool waits_at_barrier(JobSlot slot, const Band& band) const;
  bool stays_closed(JobSlot slot, const Band& band) const;

  // The claim for a supervisor that has forgotten us: claim.cpp.
  void claim_job(JobSlot slot, WorkerClaim& claim, std::size_t& room);
  void send_claim(WorkerClaim& claim, bool last);

  // Runs that must have ended before others begin elsewhere: overlap.cpp.
  void end_what_never_overlaps();

  // Cancels and time limits: cancel.cpp.
  void cancel(RecordIndex index, Duration kill_after);
  void cancel_successors_of(JobSlot job, SubtaskIndex producer, Duration kill_after);
  void preempt(RecordIndex index, Duration grace);
  void stop_run(RecordIndex index, StopReason reason, Duration kill_after);
  void advance_stop(RecordIndex index);
  void return_unprepared(RecordIndex index);
  void return_one_closed();
  void report_drain_state();
  bool is_unprepared(const SubtaskRecord& record) const;
  void relieve(Band& band);
  void restart_idle_runners(Band& band);
  void unready(Band& band);

  Band& band_of(const SubtaskRecord& record) { return *bands_[record.band.value()]; }
  SubtaskId id_of(const SubtaskRecord& record) const { return {jobs_[record.job].id, record.subtask}; }
  DataKey key_of(const SubtaskRecord& record, const RunInput& input) const;
  RecordIndex find_record(JobSlot job, SubtaskIndex subtask) const;
  void want_check_at(Instant at) { check_at_ = std::min(check_at_, at); }
  bool idle() const;

  // Constant after construction.
  const WorkerConfig config_;
  const Bytes spill_from_;
  std::vector<std::unique_ptr<Band>> bands_;

  // State.
  JobTable jobs_;
  ShapeTable shapes_;
  PeakTable peaks_;
  Slab<RecordIndex, SubtaskRecord> records_;
  SuccessorTable successors_;
  DataTable data_;
  ReportBuffer reports_;
  WorkerCounters counters_;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t entitlement_version_ = 0;
  std::uint32_t fetches_running_ = 0;
  Heap<FetchTurn, NoTrack> fetch_turns_;  ///< Data that wait for a transfer; some may be cancelled.
  Instant check_at_ = kNever;             ///< Earliest instant at which a running attempt may need attention.
  Instant load_report_at_ = kNever;
  Instant offers_end_at_ = kNever;     ///< Runs that lanes have taken over are withdrawn by then.
  std::vector<BarrierHere> barriers_;  ///< Almost always none.
  std::deque<RecordIndex> waiting_for_room_;
  Bytes waiting_bytes_;                ///< Of the outputs of those.
  std::vector<DataKey> mapped_;        ///< By other processes, and in memory here.
  Bytes mapped_beyond_;                ///< In memory for other processes alone.
  Bytes fetch_blocked_;                ///< Of the first fetch in line, if there is no room for it.
  Instant room_given_up_at_ = kNever;  ///< While outputs wait for room, the first of them fails then.
  Instant spill_again_at_ = kNever;    ///< Earliest time of another search for data to spill.
  bool spill_postponed_ = false;       ///< A further look for data to spill is wanted then.
  bool at_rest_ = true;                ///< After the last event.
  Instant cut_off_at_ = kNever;  ///< Moved later when the supervisor has heard from us; `kNever` before the first time.
  bool cut_off_ = false;               ///< `cut_off_at_` has come.
  bool has_never_overlapping_ = false;  ///< A template with `overlap = "never"` was here.
  bool draining_ = false;
  bool told_empty_ = false;
  bool runners_wanted_ = false;  ///< Some band has wishes.
  std::uint64_t running_total_ = 0;  ///< Also those that have lent their slot.
  std::uint64_t yielded_total_ = 0;

  // Scratch, and what is valid during `handle`.
  Instant now_{};
  Out* out_ = nullptr;
  std::vector<RecordIndex> complete_;  ///< Successors with all producers finished, to be forwarded.
  std::vector<Taken> taken_;
  std::vector<RecordIndex> granted_;
  std::vector<SubtaskIndex> missing_;
  std::vector<FinishedAttempt> applied_;
  struct Need {
    bool needed = false;
    bool mapped = false;  ///< Spilling it would free no memory.
    FetchTurn turn{};  ///< Of the first in line that reads it.
  };
  std::vector<Need> needs_;  ///< By datum.
  std::vector<DatumIndex> victims_;
};

}  // namespace penstock::worker
