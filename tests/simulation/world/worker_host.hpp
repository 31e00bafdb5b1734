// A worker's process in the simulated world: its core, its runners, its data, its connection.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "tests/simulation/world/barrier_witness.hpp"
#include "tests/simulation/world/endpoint.hpp"
#include "tests/simulation/world/grace_witness.hpp"
#include "tests/simulation/world/world.hpp"
#include "worker/core/worker_core.hpp"

namespace penstock::simulation {

/// A partition of one direction.
enum class OneWay : std::uint8_t {
  None,
  Mute,  ///< Messages of the worker do not arrive.
  Deaf,  ///< Messages to the worker do not arrive.
};

class WorkerHost {
 public:
  WorkerHost(World& world, std::string name);

  void connect();
  /// The supervisor's answer to a hello.
  struct Greeting {
    WorkerId id;
    Incarnation supervisor;
    std::uint64_t branch = 0;
    bool resumed = false;
    std::uint64_t received_through = 0;
  };
  void welcomed(std::uint64_t connection, const Greeting& greeting);
  /// Whether this connection is that of its last attempt: a worker closes one before it opens another.
  bool asks_on(std::uint64_t connection) const { return connection == asked_on_; }
  void refused();
  void connection_broke(std::uint64_t connection);

  // Faults.
  void crash();
  void come_back();
  void hang(Duration duration);
  void set_cut_off(bool cut_off) { cut_off_ = cut_off; }
  void set_one_way(OneWay one_way) { one_way_ = one_way; }
  void spill_something();

  bool up() const { return up_; }
  bool cut_off() const { return cut_off_; }
  OneWay one_way() const { return one_way_; }
  bool hung() const { return world_.now() < hung_until_; }
  std::uint64_t life() const { return life_; }
  WorkerId id() const { return id_; }
  Incarnation supervisor() const { return supervisor_; }
  Endpoint* endpoint() { return endpoint_.get(); }
  const worker::WorkerCore& core() const { return *core_; }
  const std::string& name() const { return name_; }
  std::uint32_t largest_band() const;
  bool knows_barriers() const { return knows_barriers_; }
  BandKind kind_of(BandIndex band) const { return bands_[band.value()].kind; }
  const ReservationWitness& reservations() const { return reservations_; }
  bool has(const DataKey& key) const { return store_.contains(key); }
  std::size_t data_held() const { return store_.size(); }
  std::string first_datum() const { return to_string(store_.begin()->first); }
  std::uint64_t forward_hits() const { return forward_hits_ + core_->counters().forward_hits; }
  void arrive(const Frame& frame);
  /// Does something in this host as soon as it is not stopped; nothing if its life has ended by then.
  void deliver(std::function<void()> what);

 private:
  enum class Yields : std::uint8_t {
    Nothing,
    Lent,
    LentAndOver,  ///< Its time has passed; it ends when it has its slot again.
  };
  struct Run {
    SubtaskId id;
    Attempt attempt;
    BandIndex band;
    const Template* program = nullptr;
    std::uint64_t number = 0;
    Instant started{};
    std::uint64_t read = 0;  ///< Stands for all that it has read.
    Yields yields = Yields::Nothing;
    bool holds_slots() const { return yields == Yields::Nothing; }
  };
  /// An end that its lane keeps, because it has taken over the next run by itself.
  struct UntoldEnd {
    worker::RunEnd run;
    std::vector<OutputReport> outputs;
    FailureDetail failure;
  };

  /// The worker goes on with what it has from a state that was replaced by another one since, and has not heard of that
  /// yet.
  bool of_another_branch() const { return world_.oracle().is_of_another_branch(life_); }
  /// By the clock of its present life.
  Instant own_time() const { return world_.now() + clock_of(Incarnation{life_}); }
  /// A connection needs both directions.
  bool can_connect() const { return !cut_off_ && one_way_ == OneWay::None; }
  void begin_life();
  void end_life();
  void crash_of(const Run& culprit);
  void go_down();
  void handle(const worker::WorkerEvent& event);
  void handle_one(const worker::WorkerEvent& event);
  void tell_ends();
  void receive(const MessagePtr& message);
  void make_endpoint();
  Register description(bool reclaims) const;
  void send(FromWorker message);
  // Orders of the core: worker_orders.cpp.
  void carry_out_all(Actions<worker::WorkerAction>& actions);
  // One for each action: an action without one does not compile.
  void carry_out(const worker::worker_action::StartSubtask& action);
  void carry_out(const worker::worker_action::StopRun& stop);
  void carry_out(const worker::worker_action::StoreOutputs& order);
  void carry_out(const worker::worker_action::DiscardOutputs& order) {
    stores_or_discards(order.record, order.attempt);
  }
  void carry_out(const worker::worker_action::FetchInput& action);
  void carry_out(const worker::worker_action::CancelFetch& order);
  void carry_out(const worker::worker_action::RestoreInput& order) { restore(order.key); }
  void carry_out(const worker::worker_action::DropDatum& order) { drop(order.key); }
  void carry_out(const worker::worker_action::SpillDatum& order) { spill(order.key); }
  void carry_out(const worker::worker_action::ReleaseDatum& order);
  void carry_out(const worker::worker_action::CheckpointDatum& order) { checkpoint(order.key); }
  void carry_out(const worker::worker_action::AdoptCheckpoint& order);
  void carry_out(const worker::worker_action::SweepCheckpoints& order);
  void carry_out(const worker::worker_action::SweepAttempts&) {}  // Its programs save nothing.
  void carry_out(const worker::worker_action::SendReport& word);
  void carry_out(const worker::worker_action::SendDrainState& word);
  void carry_out(const worker::worker_action::SendBarrierAnswer& word);
  void carry_out(const worker::worker_action::SendExplanation& word);
  void carry_out(const worker::worker_action::Reclaim& order);
  void carry_out(worker::worker_action::SendClaim& word);
  void carry_out(const worker::worker_action::RestartRunners& order);
  void carry_out(const worker::worker_action::WarmRunners&) {}  // No runner takes time to start.
  void carry_out(const worker::worker_action::AnswerYield& answer);
  void carry_out(const worker::worker_action::NameJob&) {}      // Keys of data are never of two jobs.
  void carry_out(const worker::worker_action::Reject& word);
  void start(const worker::worker_action::StartSubtask& action);
  void plan_yield(worker::RecordIndex record, const Run& run, Duration duration);
  void resume(const worker::worker_action::StartSubtask& action);
  void end_run(worker::RecordIndex record, std::uint64_t number, bool killed);
  std::uint64_t fate_of(SubtaskId id) const;
  Bytes used_by(const Run& run) const;
  void measure_run(worker::RecordIndex record, std::uint64_t number);
  void measure_band(BandIndex band, int high);
  void map_output(const DataKey& key);
  void tell_mapped();
  UntoldEnd make_end(worker::RecordIndex record, const Run& run, bool killed);
  void spill(const DataKey& key);
  void restore(const DataKey& key);
  void checkpoint(const DataKey& key);
  void drop(const DataKey& key);
  void check_capacity() const;
  Bytes least_grant(const Run& run) const;
  void note_order(const ToWorker& order);
  void note_entitlements(const EntitlementBatch& batch);
  void note_start_beside(const worker::worker_action::StartSubtask& action);
  void check_begins();
  ResourceVector undivided_on(BandIndex band) const;
  std::vector<MilliSlots> ready_of(JobId job, BandIndex band) const;
  void check_grace(const Run& run);
  void check_what_is_overdue();
  void check_reservations(const worker::worker_action::StartSubtask& action) const;
  void check_answer(const BarrierAnswer& answer) const;
  void check_followed(const ToWorker& order);
  void check_drained() const;
  void check_claim(const WorkerClaim& claim);
  MilliSlots run_by(JobId job, BandIndex band) const;
  MilliSlots free_on(BandIndex band) const;
  void check_entitlement(const worker::worker_action::StartSubtask& action) const;
  void plan_tick();
  void plan_link_tick();
  void stores_or_discards(worker::RecordIndex record, Attempt attempt);
  void note_datum(const char* what, const DataKey& key);
  bool is_pinned(const DataKey& key) const;
  Duration draw_duration(const worker::worker_action::StartSubtask& action);
  std::int64_t output_bytes(const DataKey& key) const;
  std::optional<Content> read_external(SubtaskId subtask) const;
  std::uint64_t read_inputs(const worker::worker_action::StartSubtask& action) const;
  void check_inputs(const worker::worker_action::StartSubtask& action) const;
  const Content* read_input(const worker::worker_action::StartSubtask& action, const DataKey& key,
                            const worker::RunInput& input) const;

  World& world_;
  const std::string name_;
  std::vector<BandDescription> bands_;
  bool up_ = true;
  bool cut_off_ = false;
  OneWay one_way_ = OneWay::None;
  Instant hung_until_{};
  std::uint64_t life_ = 0;
  std::optional<OperatorCrash> crash_;  ///< The end of the life before this one.
  WorkerId id_;
  Incarnation supervisor_;          ///< Its life that this one is linked to.
  std::uint64_t branch_ = 0;        ///< Of its state.

  std::uint64_t asked_on_ = 0;  ///< The connection of its last attempt to connect.
  Instant wire_{};  ///< When the last frame from here arrives.
  std::unique_ptr<worker::WorkerCore> core_;
  std::unique_ptr<Endpoint> endpoint_;
  std::map<worker::RecordIndex, Run> runs_;
  /// The use of measured runs of a program in this life. A use that the worker has forgotten is still known here:
  /// the least is then too low, so nothing is held against the worker that is not its fault.
  struct Measured {
    std::uint32_t runs = 0;
    Bytes least = Bytes::max();
  };
  std::map<std::uint64_t, Measured> measured_;
  bool offers_open_ = false;
  std::vector<worker::worker_action::StartSubtask> offers_;
  std::vector<UntoldEnd> untold_;
  std::map<std::pair<JobId, BandIndex>, MilliSlots> entitled_;  ///< The latest word; no entry: no limit.
  std::uint64_t entitlement_version_ = 0;
  const bool knows_barriers_;  ///< One of an older version does not.
  ReservationWitness reservations_;
  GraceWitness graces_;
  std::map<SubtaskId, BandIndex> given_;  ///< Where what was assigned in this life is to run.
  /// Gangs that were let begin on what was reserved, until they have done so; how much.
  std::map<std::pair<JobId, BandIndex>, MilliSlots> begins_;
  std::map<std::pair<JobId, BandIndex>, SubtaskId> started_beside_;  ///< During this event; the first.
  std::map<DataKey, Content> store_;
  std::set<DataKey> spilled_;
  struct Mapped {
    Bytes bytes;
    bool told_here = false;  ///< The worker was told that it has it in memory as well.
  };
  std::map<DataKey, Mapped> mapped_;          ///< By clients of its host.
  std::map<DataKey, std::uint64_t> adopted_;  ///< Data of shared storage, and the life that has put them there.
  std::set<DataKey> fetching_;
  std::set<SubtaskId> storing_;
  /// Runs that have ended with outputs which the worker has neither stored nor discarded yet.
  std::map<worker::RecordIndex, Attempt> unstored_;
  std::set<DataKey> claimed_;  ///< In the parts so far of a claim that is being made.
  std::set<SubtaskId> claimed_attempts_;  ///< The same.
  bool draining_ = false;
  bool said_empty_ = false;  ///< To this life of the supervisor: it drains, and nothing is left here.
  std::uint64_t next_run_ = 1;
  std::uint64_t forward_hits_ = 0;
  Instant tick_at_ = kNever;
};

}  // namespace penstock::simulation
