// A whole cluster in one thread: production cores, simulated network, disks, clocks and user programs.
#pragma once

#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/world/barrier_witness.hpp"
#include "tests/simulation/world/endpoint.hpp"
#include "tests/simulation/world/event_queue.hpp"
#include "tests/simulation/world/gang_witness.hpp"
#include "tests/simulation/world/limit_witness.hpp"
#include "tests/simulation/world/options.hpp"
#include "tests/simulation/world/oracle.hpp"
#include "tests/support/record_log.hpp"

namespace penstock::simulation {

class WorkerHost;
class ClientHost;
class FaultPlan;

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
  std::uint64_t passes() const { return passes_before_ + core_->policy().passes; }
  std::uint64_t preemptions() const { return preemptions_before_ + core_->policy().preemptions; }
  std::uint64_t adopted() const { return adopted_before_ + core_->counters().adopted; }
  void accept_client(ClientHost& host);
  void connection_broke(WorkerId worker, std::uint64_t connection);
  /// A frame from a worker, or from the client if there is no worker.
  void arrive(WorkerId from, const Frame& frame);
  Endpoint* endpoint_of(WorkerId worker);
  Endpoint& client_endpoint() { return *client_; }
  const supervisor::SupervisorCore& core() const { return *core_; }

  /// A worker that has had no word for too long gives back what it holds for a gang.
  void check_give_back(const WorkerHost& host, const BarrierAnswer& answer) const;

  // Faults.
  bool up() const { return up_; }
  /// The process dies: its links and what it has not written are gone.
  void crash();
  /// The next life goes on from the disk.
  void come_back();
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
  void receive_from_client(const MessagePtr& message);
  void carry_out(Actions<supervisor::SupervisorAction>& actions);
  void run_policy(supervisor::supervisor_action::RunPass&& order);
  std::vector<std::uint64_t> count_started() const;
  void check_plan() const;
  void check_one_pool() const;
  bool applies(const supervisor::supervisor_event::PassEnded& ended) const;
  Duration longest_grace() const;
  void witness_pass(const policy::Snapshot& snapshot);
  std::set<std::pair<BandId, bool>> bands_now() const;
  void check_limits_and_gangs() const;
  void read_policy(const supervisor::supervisor_action::ReloadPolicy& order);
  void witness(const supervisor::supervisor_action::SendToClient& word);
  void witness_drain(const AdminAnswer& answer);
  void witness(const supervisor::supervisor_action::SendToWorker& order);
  void witness_place(WorkerId id, JobId number) const;
  void witness_grace(const CancelBatch& order) const;
  void witness_barrier(WorkerId id, const Entitlement& entitlement);
  bool gave_up_but_runs(const supervisor::Job& job, BandKind kind, std::uint64_t barrier) const;
  void witness_whole(const supervisor::Job& job, BandKind kind, MilliSlots asked) const;
  void witness_begin(WorkerId id, const Entitlement& entitlement);
  void plan_tick();
  void plan_link_tick(WorkerId worker);
  void write(supervisor::supervisor_action::Persist&& order);
  void write_first(std::uint64_t count);
  void write_later(Duration delay);
  void try_to_write();
  bool journals() const;
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
  std::uint64_t life_ = 0;
  std::uint64_t identities_ = 0;
  std::uint64_t adopted_before_ = 0;
  std::uint64_t passes_before_ = 0;
  std::uint64_t preemptions_before_ = 0;
  std::vector<std::uint64_t> started_before_;  ///< By band, when the pass under way began.
  LimitWitness limits_;
  GangWitness gangs_;
  BarrierWitness barriers_;
  std::set<std::pair<BandId, bool>> bands_before_;  ///< Those that were there when the pass under way began.
  bool reclaiming_ = false;
  /// Lives of workers that some life of ours has given up as lost. If it dies before that is written, a later one takes
  /// them back, and what they still had runs beside what was given to others since.
  std::set<std::uint64_t> given_up_;
  std::map<std::uint64_t, WorkerId> known_;  ///< Lives of workers of before the restart, until they come back.
  supervisor::RecordLog disk_;
  std::deque<supervisor::supervisor_action::Persist> waiting_;  ///< Graphs in them are the core's, as in production.
  struct Said {
    WorkerId worker;
    MessagePtr message;
  };
  std::vector<Said> said_;  ///< Has come and waits for more, to be heard together.
  Instant disk_full_until_{};
  Duration disk_delay_max_{0};
  std::map<WorkerId, Peer> peers_;
  std::map<std::uint64_t, WorkerId> by_life_;  ///< Lives that were ever welcomed.
  std::unique_ptr<Endpoint> client_;
  Instant client_wire_{};
  std::uint32_t next_worker_ = 1;
  Instant tick_at_ = kNever;
};

/// Its only life.
inline constexpr Incarnation kClient{2'000'000};

/// The one engine of the simulated world.
class ClientHost {
 public:
  explicit ClientHost(class World& world);
  void start();
  void arrive(const Frame& frame);
  Endpoint& endpoint() { return *endpoint_; }
  std::shared_ptr<const Graph> graph_of(std::uint64_t submission) { return submitted_[submission]; }
  std::shared_ptr<const Graph> graph_of(const std::string& name);
  /// As it was submitted; null while its answer has not come.
  const JobSpec* spec_of(JobId job) const;
  void order(AdminRequest request);
  const std::vector<JobId>& jobs() const { return jobs_; }
  bool everything_submitted() const { return accepted_.size() == wanted_; }
  /// Its connection to the supervisor is gone.
  void connection_broke(std::uint64_t connection);
  std::uint64_t connection() const { return connection_; }

 private:
  void draw_graph(std::uint32_t number);
  void draw_labels(std::uint32_t number);
  void lend(std::uint32_t number);
  void look_away(std::uint32_t number);
  bool gives_up(const SubmitReply& reply);
  void release_lender(std::uint64_t borrower);
  bool is_to_be_lent(JobId job) const;
  void check_failures(const JobProgress& progress) const;
  std::shared_ptr<const Graph> draw_known(std::uint32_t number);
  void submit(std::uint32_t number);
  void connect();
  void connect_again();
  void send(FromClient message);
  void plan_link_tick();
  void receive(const MessagePtr& message);

  class World& world_;
  std::unique_ptr<Endpoint> endpoint_;
  Instant wire_{};
  std::map<std::uint64_t, std::shared_ptr<const Graph>> submitted_;
  std::map<std::uint64_t, JobSpec> specs_;
  std::map<std::uint64_t, JobId> accepted_;
  std::map<std::uint64_t, JobId> lenders_;  ///< Of submissions that borrow.
  std::set<JobId> ended_;
  std::set<std::uint64_t> again_;   ///< Submissions that name a graph instead of sending it.
  std::set<std::uint64_t> sent_whole_;  ///< Submissions that named one in vain.
  std::vector<FromClient> unsent_;  ///< While there is no connection.
  std::uint64_t connection_ = 0;
  std::vector<JobId> jobs_;
  std::uint32_t wanted_ = 0;
};

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();
  WorldResult run();

  // What the hosts see of the world.
  Instant now() const { return queue_.now(); }
  EventQueue& queue() { return queue_; }
  Rng& rng() { return rng_; }
  Oracle& oracle() { return oracle_; }
  SupervisorHost& supervisor() { return *supervisor_; }
  ClientHost& client() { return *client_; }
  const WorldOptions& options() const { return options_; }
  const LinkConfig& link_config() const { return link_config_; }
  const WorkerConfig& worker_config() const { return worker_config_; }
  const SupervisorConfig& supervisor_config() const { return supervisor_config_; }
  bool faults_on() const { return now() < faults_end_; }
  /// Each worker has one, of which jobs take parts.
  bool has_devices() const { return has_devices_; }
  /// Its policy has levels of service, queues and limits, and operators hold jobs.
  bool has_rules() const { return has_rules_; }

  /// Time that a message takes; each frame draws its own.
  Duration latency();
  /// Puts a frame on a wire: it may arrive late, twice or never, and now and then before others that were sent earlier.
  void carry(Instant& wire, bool cut_off, std::function<void()> arrival);
  WorkerHost* find_worker(WorkerId id);
  std::vector<std::unique_ptr<WorkerHost>>& workers() { return workers_; }
  WorkerHost& add_worker();
  /// Slots of the band that has most; with several pools, that each pool has on one band.
  std::uint32_t gang_max() const;
  std::uint64_t next_life() { return ++lives_; }
  std::uint64_t next_connection() { return ++connections_; }

  /// One line of the story and of the hash: each `%` of `what` stands for the next number. Must be the same on every
  /// machine.
  void note(const char* what, std::initializer_list<std::uint64_t> numbers = {});
  void job_ended() { last_end_ = now(); }
  /// What is on shared storage, by the life of the worker that has put it there.
  std::map<std::pair<std::uint64_t, DataKey>, Content>& checkpoints() { return checkpoints_; }

 private:
  friend class FaultPlan;
  void draw_configuration();
  bool finished() const;
  std::string describe_unfinished() const;
  void check_nothing_left();
  WorldResult result();

  const WorldOptions options_;
  Rng rng_;
  EventQueue queue_;
  Oracle oracle_;
  LinkConfig link_config_;
  WorkerConfig worker_config_;
  SupervisorConfig supervisor_config_;
  std::unique_ptr<SupervisorHost> supervisor_;
  std::unique_ptr<ClientHost> client_;
  std::vector<std::unique_ptr<WorkerHost>> workers_;
  std::unique_ptr<FaultPlan> plan_;
  Instant faults_end_{};
  bool has_devices_ = false;
  bool has_rules_ = false;
  Instant last_end_ = instant_at(std::chrono::seconds{1});
  std::map<std::pair<std::uint64_t, DataKey>, Content> checkpoints_;
  std::uint64_t lives_ = 0;
  std::uint64_t connections_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t hash_ = 0x243f6a8885a308d3ULL;
  std::string trace_;
};

}  // namespace penstock::simulation
