// The supervisor's process in the simulated world: its core, its links, and the disk that its lives share.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/world/barrier_witness.hpp"
#include "tests/simulation/world/endpoint.hpp"
#include "tests/simulation/world/gang_witness.hpp"
#include "tests/simulation/world/idle_witness.hpp"
#include "tests/simulation/world/limit_witness.hpp"
#include "tests/simulation/world/oracle.hpp"
#include "tests/simulation/world/watchdog_witness.hpp"
#include "tests/support/record_log.hpp"

namespace penstock::simulation {

class ClientHost;
class WorkerHost;

/// A watchdog that waits for so long and gives alarm has found something; in other worlds it is drawn to be impatient.
inline constexpr Duration kWatchdogPatient = std::chrono::seconds{60};

/// The supervisor's process: its core and one endpoint for each worker and client, and the disk that its lives share.
class SupervisorHost {
 public:
  SupervisorHost(class World& world, const SupervisorConfig& config, Rng rng);
  ~SupervisorHost();

  void handle(supervisor::SupervisorEvent&& event);
  /// A worker's hello has arrived on a new connection: how much of its link to `supervisor` it has received.
  void accept_worker(WorkerHost& host, std::uint64_t connection, Incarnation supervisor,
                     std::uint64_t received_through);
  /// Of its present life.
  Incarnation incarnation() const { return Incarnation{1'000'000 + life_}; }
  /// Counted, not drawn: the seed decides other things.
  JobIdentity draw_identity() { return {1'000'000 + life_, ++identities_}; }
  /// Whether it knows that the subtask has succeeded once.
  bool knows_success(SubtaskId subtask) const;
  /// Whether the life that gave the attempt out knew of a success.
  bool wanted_again(SubtaskId subtask, Attempt attempt) const { return wanted_again_.contains({subtask, attempt}); }
  std::uint64_t passes() const { return passes_before_ + core_->policy().passes; }
  std::uint64_t preemptions() const { return preemptions_before_ + core_->policy().preemptions; }
  std::uint64_t adopted() const { return adopted_before_ + core_->counters().adopted; }
  ClientId accept_client(ClientHost& host, std::uint64_t connection);
  void drop_client(ClientId id);
  void client_arrive(ClientId id, const Frame& frame);
  void plan_client_tick(ClientId id);
  void connection_broke(WorkerId worker, std::uint64_t connection);
  void arrive(WorkerId from, const Frame& frame);
  Endpoint* endpoint_of(WorkerId worker);
  const supervisor::SupervisorCore& core() const { return *core_; }

  /// A worker that has had no word for too long gives back what it holds for a gang.
  void check_give_back(WorkerHost& host, const BarrierAnswer& answer) const;

  // Faults.
  bool up() const { return up_; }
  bool stopped() const;
  /// The process stands still for so long; what comes meanwhile waits for it.
  void stop_for(Duration duration);
  /// The process dies: its links and what it has not written are gone.
  void crash();
  /// The next life goes on from the disk.
  void come_back();
  /// The content of the disk, and what the oracle holds against a life that goes on from that.
  struct Backup {
    supervisor::RecordLog disk;
    Oracle oracle;
    std::uint64_t term = 0;
  };
  Backup back_up() const { return {disk_, world_oracle(), term_}; }
  /// The next life goes on from the backup, as another branch. REQUIRES: the process is down.
  void put_back(const Backup& backup);
  /// Renewed whenever the state does not go on from where it was left.
  std::uint64_t branch() const { return branch_; }
  /// Nothing can be written for so long.
  void fill_disk(Duration duration);

 private:
  struct Peer {
    std::unique_ptr<Endpoint> endpoint;
    WorkerHost* host = nullptr;
    std::uint64_t life = 0;
    Instant wire{};  ///< When the last frame to it arrives.
  };
  void receive(WorkerId worker, std::uint64_t life, const MessagePtr& message);
  struct ClientPeer {
    std::unique_ptr<Endpoint> endpoint;
    ClientHost* host = nullptr;
    Instant wire{};
  };
  void receive_from_client(ClientId id, const MessagePtr& message);
  void tell_client(ClientId id, ToClient&& message);
  void check_followers() const;
  void carry_out_all(Actions<supervisor::SupervisorAction>& actions);
  // One for each action: an action without one does not compile.
  void carry_out(supervisor::supervisor_action::SendToWorker& word);
  void carry_out(supervisor::supervisor_action::SendToClient& word);
  void carry_out(supervisor::supervisor_action::Persist& order);
  void carry_out(const supervisor::supervisor_action::ReleaseWorker& order);
  void carry_out(const supervisor::supervisor_action::RunPass& order);
  void carry_out(const supervisor::supervisor_action::ReloadPolicy& order);
  void carry_out(const supervisor::supervisor_action::Alert& alert);
  std::vector<std::uint64_t> count_started() const;
  void check_plan() const;
  void check_one_pool() const;
  bool applies(const supervisor::supervisor_event::PassEnded& ended) const;
  Duration longest_grace() const;
  void witness_pass(const policy::Snapshot& snapshot);
  std::set<std::pair<BandId, bool>> bands_now() const;
  void check_limits_and_gangs() const;
  void witness(const supervisor::supervisor_action::SendToClient& word);
  void maybe_die_behind_answer();
  static bool is_progress(const supervisor::SupervisorEvent& event);
  void witness_progress(bool progress);
  void witness_drain(const AdminAnswer& answer);
  void witness(const supervisor::supervisor_action::SendToWorker& order);
  void witness_place(WorkerId id, JobId number) const;
  void witness_grace(const CancelBatch& order) const;
  void witness_cancel(WorkerId worker, const CancelBatch& order) const;
  void witness_barrier(WorkerId id, const Entitlement& entitlement);
  bool gave_up_but_runs(const supervisor::Job& job, BandKind kind, std::uint64_t barrier) const;
  void witness_whole(const supervisor::Job& job, BandKind kind, MilliSlots asked) const;
  void witness_begin(WorkerId id, const Entitlement& entitlement);
  void plan_tick();
  void plan_link_tick(WorkerId worker);
  void when_running(std::function<void()> what);
  void write(supervisor::supervisor_action::Persist&& order);
  void write_first(std::uint64_t count);
  void write_later(Duration delay);
  void try_to_write();
  bool journals() const;
  const Oracle& world_oracle() const;
  void make_peer(WorkerHost& host, WorkerId id);
  void welcome_anew(WorkerHost& host, WorkerId id, std::uint64_t connection);
  void give_up_absent();
  /// Whether this attempt, on this worker, is the one that the supervisor waits for.
  bool counts_on(WorkerId worker, SubtaskId subtask, Attempt attempt) const;
  void take_claim(WorkerId worker, std::uint64_t life, const WorkerClaim& claim);
  void apply_said();
  void handle_one(supervisor::SupervisorEvent&& event);

  class World& world_;
  SupervisorConfig config_;  ///< Of the present life; its policy may have been read again.
  Rng rng_;
  std::unique_ptr<supervisor::SupervisorCore> core_;
  bool up_ = true;
  /// Workers whose drain was answered and not ordered otherwise since: no life of ours may give them anything.
  std::set<WorkerId> drained_;
  std::set<std::pair<SubtaskId, Attempt>> wanted_again_;  ///< Of all lives.
  std::uint64_t life_ = 0;
  std::uint64_t term_ = 1;  ///< As the journal counts lives.
  std::uint64_t branch_ = 1;
  std::uint64_t identities_ = 0;
  std::uint64_t adopted_before_ = 0;
  std::uint64_t passes_before_ = 0;
  std::uint64_t preemptions_before_ = 0;
  std::vector<std::uint64_t> started_before_;  ///< By band, when the pass under way began.
  LimitWitness limits_;
  GangWitness gangs_;
  IdleWitness idle_;
  BarrierWitness barriers_;
  WatchdogWitness watchdog_;
  std::size_t running_jobs_ = 0;  ///< After the last event, as far as clients know them.
  std::uint64_t alarms_ = 0;      ///< Of this life.
  std::uint64_t succeeded_ = 0;   ///< The same.
  Rng answers_;                   ///< Of deaths behind an answer.
  bool dies_behind_answers_ = false;
  std::set<std::pair<BandId, bool>> bands_before_;  ///< Workers that were there when the pass under way began.
  bool reclaiming_ = false;
  std::uint64_t handled_ = 0;
  std::map<std::uint64_t, WorkerId> known_;  ///< Lives of workers of before the restart, until they come back.
  supervisor::RecordLog disk_;
  std::deque<supervisor::supervisor_action::Persist> waiting_;  ///< Graphs in them are the core's, as in production.
  struct Said {
    WorkerId worker;
    MessagePtr message;
  };
  std::vector<Said> said_;  ///< Has come and waits for more, to be heard together.
  Instant disk_full_until_{};
  Instant stopped_until_{};
  Duration disk_delay_max_{0};
  std::map<WorkerId, Peer> peers_;
  std::map<std::uint64_t, WorkerId> by_life_;  ///< Lives that were ever welcomed.
  std::map<ClientId, ClientPeer> clients_;
  std::uint32_t next_client_ = 1;
  std::uint32_t next_worker_ = 1;
  Instant tick_at_ = kNever;
};

}  // namespace penstock::simulation
