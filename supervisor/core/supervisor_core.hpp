// Every scheduling decision of the supervisor.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "supervisor/core/events.hpp"
#include "supervisor/core/parts.hpp"
#include "supervisor/core/pending_operations.hpp"
#include "supervisor/core/policy_state.hpp"

namespace penstock::supervisor {

/// Every scheduling decision of the supervisor: jobs, placement, lookahead, leases, stealing, retries, lost workers.
/// Deterministic and single-threaded; owned by one shell, or by the simulator. Time is an argument.
/// Always true: every subtask of an accepted job ends in exactly one final state, told to its followers once; no
/// subtask has two live attempts; a successor's ownership lease is at one worker at a time, because a subtask is
/// `Assigned` to one band and leaves it only by a report or by the loss of the worker. With a journal nothing is
/// promised to anyone before what it rests on is on the disk.
/// Cost: for each subtask a few touches of its 24-byte record and edges; nothing scans all workers for a decision.
class SupervisorCore {
 public:
  SupervisorCore(const SupervisorConfig& config, Rng rng, Durability durability = Durability::None);
  SupervisorCore(const SupervisorCore&) = delete;
  SupervisorCore& operator=(const SupervisorCore&) = delete;

  /// Applies one event (often a whole batch) and appends, in order, what the outside must now do. Consumes it.
  void handle(SupervisorEvent&& event, Instant now, Actions<SupervisorAction>& actions);
  /// When to deliver the next `Tick` if nothing else happens.
  std::optional<Instant> next_deadline() const;
  /// Checks every invariant, O(n). Tests call it after every event.
  void validate() const;

  const SupervisorCounters& counters() const { return counters_; }
  /// Null if unknown or forgotten.
  const Job* find_job(JobId id) const { return jobs_.find(id); }
  const WorkerTable& workers() const { return workers_; }
  const PolicyState& policy() const { return policy_; }
  /// Whether workers of before the restart are still waited for.
  bool reclaiming() const { return readoption_.is_active(); }
  /// Bytes that running jobs, and graphs that are kept, take; payloads apart.
  std::uint64_t memory_bytes() const;
  /// Limited by `supervisor.memory_max`: graphs, and the most that jobs take beside them.
  std::uint64_t held_bytes() const { return graphs_.held_bytes(); }

 private:
  // Events: supervisor_core.cpp.
  void on(supervisor_event::WorkerJoined& event);
  void on(const supervisor_event::WorkerSaid& event);
  void on(supervisor_event::WorkersSaid& event);
  void on(supervisor_event::WorkerSuspected& event);
  void on(supervisor_event::WorkerLost& event);
  void on(supervisor_event::GraphChecked& event);
  void on(supervisor_event::ClientSaid& event);
  void on(supervisor_event::ClientGone& event);
  void on(supervisor_event::Tick& event);
  void on(supervisor_event::Persisted& event);
  void on(supervisor_event::StorageFailed& event);
  void on(supervisor_event::StateRecovered& event);
  void on(supervisor_event::PassEnded& event);
  void on(supervisor_event::PolicyRead& event);

  // Workers: workers.cpp.
  void receive(WorkerSlot slot, const Register& message);
  void receive(WorkerSlot slot, const DrainState& message);
  void receive(WorkerSlot slot, const BarrierAnswer& message);
  void receive(WorkerSlot slot, const ExplainAnswer& message) { questions_.answered(slot, message); }
  void receive(WorkerSlot slot, const LogAnswer& message) { questions_.answered(slot, message); }
  void lose_worker(WorkerSlot slot, const std::string& reason, const OperatorCrash* crash = nullptr);
  void announce_loss(WorkerSlot slot);
  void place_again(Job& job, BandSlot band);
  void lose_all_data(WorkerSlot slot);
  void set_draining(WorkerSlot slot, bool draining);
  std::uint64_t clear_worker(WorkerSlot slot);
  void open_or_close_bands(WorkerSlot slot);

  // Unschedulable subtasks, which no present band may run: unschedulable.cpp.
  void leave_unschedulable(Job& job, std::uint32_t subtask);
  void await_bands(Job& job, Instant until);
  std::vector<std::uint32_t> take_unschedulable(Job& job);
  void place_unschedulable();
  void place_unschedulable(Job& job);
  void give_up_missing_bands();
  bool is_present(const BandSelector& required) const;
  void fail_for_missing_band(Job& job, std::uint32_t subtask, const BandSelector& required);

  // External inputs: outputs of one job that another reads: external_inputs.cpp.
  struct Availability;
  Result<void> check_external_inputs(const JobSpec& spec, const GraphShape& shape);
  void add_references(const Job& job);
  void drop_references(const Job& job);
  const OutputLocation* find_output(const ExternalDatum& datum);
  std::vector<WorkerSlot> holders_of(const ExternalDatum& datum);
  bool may_read_external_on(const ExternalInput& input, BandSlot band);
  BandSlot band_of_external_input(Job& job, const ExternalInput& input);
  void await_external_input(const Job& job, const ExternalInput& input);
  void resolve_external_input(const SubtaskId& waiter);
  Availability availability_of(Job& job, const ExternalInput& input);
  Instant holders_given_up_at() const;
  void give_up_draining_holders();
  void fail_external_input(Job& job, const ExternalInput& input, const std::string& why);
  const FailureDetail* lost_external_input_of(const Job& job, std::uint32_t subtask) const;
  void lose_external_datum(const ExternalInput& input, WorkerSlot slot);
  std::string explain_external_input(Job& job, const ExternalInput& input);
  void check_waiting_external_inputs(const Job& job, std::uint32_t subtask) const;

  // Graphs that become jobs: acceptance.cpp.
  /// Answers when the job is refused, or is there already; else it can be accepted.
  bool is_new(ClientId client, SubmitReply& reply, const JobSpec& spec);
  void refuse(ClientId client, SubmitReply& reply, Error error);
  void submit_again(ClientId client, const SubmitAgain& message, const JobIdentity& identity);
  GraphHash graph_of(const SubmitAgain& message);
  void accept(ClientId client, SubmitReply& reply, JobSpec spec, SharedGraph& graph, const JobIdentity& identity);
  void learn_durations(const Job& job);
  void leave_graph(Job& job);

  // Workers that a native operator took down: crashes.cpp.
  static bool is_blamed(const OperatorCrash* crash, const AssignedRef& ref);
  void blame(WorkerSlot teller, const OperatorCrash& crash);
  void blame_late(const LostIncarnation& lost, const OperatorCrash& crash);
  void blame_absent(WorkerSlot teller, const record::WorkerJoined& absent, const OperatorCrash& crash);
  void pass_on_drain(WorkerSlot heir, std::optional<bool> order);
  void lose_attempts(WorkerSlot slot, const std::string& reason, const OperatorCrash* crash);

  // Re-adoption of workers after a restart: claims.cpp.
  enum class Proof : std::uint8_t { None, Success };
  void receive(WorkerSlot slot, const WorkerClaim& message);
  std::optional<record::WorkerJoined> take_back(WorkerId worker, Incarnation incarnation);
  void begin_claim(WorkerSlot slot);
  void claim_job(WorkerSlot slot, const ClaimedJob& claimed);
  bool means_another(WorkerSlot slot, JobId job, const JobIdentity& identity);
  static bool has_failed(const Job& job, std::uint32_t subtask, Attempt attempt);
  bool adopt(WorkerSlot slot, Job& job, const ClaimedAttempt& claim, Proof proof);
  void fence(WorkerSlot slot, Job& job, std::uint32_t subtask, std::uint64_t attempt);
  void claim_end(WorkerSlot slot, Job& job, const AttemptReport& report);
  void finish_claim(WorkerSlot slot, bool draining);
  void end_reclaiming_if_complete();
  void end_reclaiming();
  void part_with(const record::WorkerJoined& absent, const std::string& why);
  void let_go(Job& job);
  void notify_of_finished_producers(WorkerSlot slot);

  // Requests that no worker can fit: feasibility.cpp.
  Result<void> check_feasible(const JobSpec& spec, const GraphShape& shape) const;
  std::vector<Reach> reaches_of(const JobPolicy& wishes) const;
  Result<void> check_feasible_in(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const;
  Result<void> check_labels_in(const JobSpec& spec, const Reach& reach) const;
  bool could_hold(const Job& job, std::uint32_t pool) const;
  bool could_hold_larger(const Job& job, const Reach& reach) const;
  Result<void> check_gang(const JobSpec& spec, const GraphShape& shape, const Reach& reach) const;
  struct GangRoom;
  GangRoom room_for_gang(const GraphShape& shape, const Reach& reach, BandKind kind) const;
  struct Offer;
  Offer look_for(const Template& wanted, const Reach& reach) const;
  Error explain_infeasible(const Template& wanted, const Reach& reach) const;
  std::string explain_unschedulable(const Job& job, std::uint32_t subtask) const;
  bool is_in(const Reach& reach, BandSlot band) const;
  bool has_workers(const Reach& reach) const;
  bool any_band_for(const Template& wanted, const Reach& reach) const;

  // Jobs: jobs.cpp.
  Job& make_job(JobSpec spec, SharedGraph& graph, JobId id);
  void place_sources(Job& job);
  void cancel_job(Job& job, Error why, Duration kill_after);
  void cancel_open_subtasks(Job& job, Duration kill_after);
  void cancel_subtasks(Job& job, std::vector<std::uint32_t> roots, Duration kill_after);
  void change_priority(Job& job, std::int32_t priority);
  void clear_placements(Job& job);
  void send_priority(const Job& job);
  void change_subtask_priority(Job& job, std::uint32_t subtask, std::int32_t priority);
  void finish_if_done(Job& job);
  void release_job(Job& job);
  void release_for(Job& job, ClientId client);

  // Where a subtask goes: assigner.cpp.
  void become_placeable(Job& job, std::uint32_t subtask);
  BandSlot choose_tentative_band(Job& job, std::uint32_t subtask);
  BandSlot preferred_band(Job& job, std::uint32_t subtask, const BandSelector& preferred);
  BandSlot idle_band_for(const Job& job, std::uint32_t subtask) const;
  BandSlot common_band_of_predecessors(const Job& job, std::uint32_t subtask) const;
  BandSlot best_of_candidates(Job& job, std::uint32_t subtask);
  BandSlot any_band(Job& job, std::uint32_t subtask);
  void note_load(BandSlot slot, const BandLoad& load);
  bool may_run_on(const Job& job, std::uint32_t subtask, BandSlot band);
  void check_placements(Job& job) const;
  void check_waiting(Job& job, std::vector<std::uint64_t>& ready) const;
  void check_shares(const Job& job) const;

  // The subtasks that are sent now: dispatch.cpp.
  void fill_dirty_bands();
  void fill(BandSlot band);
  void fill_shares(BandSlot band);
  void serve_waiting(BandSlot band);
  bool correct_waiting(BandSlot band, std::size_t at);
  Job* first_waiting(BandSlot band);
  void enter_waiting(const Job& job, BandSlot band, LocalSet& local);
  void enter_waiting_anew(Job& job);
  void keep_ready(Job& job, BandSlot band, std::uint32_t subtask);
  void ask_for_slots(const Job& job, BandSlot band);
  void follow_entitlement(Job& job, BandSlot band);
  std::uint32_t take_from(Job& job, BandSlot band, std::uint32_t count_max);
  void assign(Job& job, std::uint32_t subtask, BandSlot band);
  void write_assignment(Job& job, std::uint32_t subtask, BandSlot band);
  std::uint16_t write_inputs(const Job& job, std::uint32_t subtask, WorkerSlot worker, AssignBatch& batch) const;
  void place_input(const Job& job, AssignedInput& input, const SubtaskHot& producer, WorkerSlot worker) const;
  AssignBatch& open_batch(Job& job, WorkerSlot worker);
  void define_template(Job& job, std::uint32_t template_index, WorkerSlot worker, AssignBatch& batch);
  std::uint32_t lookahead_limit(const Job& job, std::uint32_t template_index, std::uint32_t slots) const;
  void help_idle_bands();
  void offer_again();
  /// Runnable subtasks that a band may hold beyond its slots, whatever its credit: they are prepared while others run.
  static constexpr std::uint32_t kPreparedAhead = 2;
  struct Credit;
  Credit credit_of(const Job& job, BandSlot slot) const;
  bool has_slots_for(const Job& job, BandSlot slot) const;
  bool feed_idle_band(BandSlot band);
  bool ask_for_queued(BandSlot thief, BandSlot victim);
  // Moving tentative placements: placement_moves.cpp.
  struct Moved;
  template <class MayMove>
  Moved move_ready(Job& job, BandSlot from, BandSlot to, std::uint32_t most, MayMove may_move);
  bool move_placements(BandSlot thief, BandSlot victim);
  bool search_ranks();
  bool take_placement(Job& job, std::uint32_t& budget);
  bool may_move_placement(const Job& job, std::uint32_t subtask, BandSlot victim, BandSlot thief);
  bool pull_placements(Job& job, BandSlot slot);
  void sweep_assigned(BandEntry& band);

  // Reports: reports.cpp.
  void receive(WorkerSlot slot, const ReportBatch& message);
  void apply(WorkerSlot slot, Job& job, const JobReports& reports);
  void note_started(Job& job, std::uint32_t subtask);
  void note_stopped(Job& job, std::uint32_t subtask);
  bool is_current(const Job& job, const AttemptReport& report, WorkerSlot slot) const;
  void succeed(Job& job, const AttemptReport& report, std::span<const OutputReport> outputs, WorkerSlot slot);
  void drop_stale(WorkerSlot slot, const Job& job, const AttemptReport& report, std::span<const OutputReport> outputs);
  void count_down_successors(Job& job, std::uint32_t subtask, WorkerSlot worker);
  void notice(Job& job, std::uint32_t producer, WorkerSlot to, WorkerId holder);

  // Lost outputs that have a checkpoint: checkpoints.cpp.
  void find_again(Job& job, std::uint32_t subtask);
  bool read_again(Job& job, std::uint32_t subtask);
  bool somebody_may_work() const;
  void read_what_waits();
  void check_inputs(const Job& job, std::uint32_t subtask) const;
  void measure(Job& job, const AttemptReport& report);

  // Failures: failures.cpp.
  /// Whether an attempt may be to blame for what ended it, or another one is known to be.
  enum class Blame : std::uint8_t { Open, Others };
  void fail_attempt(Job& job, std::uint32_t subtask, const FailureDetail& detail, const std::string& where,
                    Blame blame = Blame::Open);
  bool ask_for_more_memory(Job& job, std::uint32_t subtask, Bytes used, SubtaskHistory& history);
  void rule_out_bands(Job& job, std::uint32_t subtask, const FailureDetail& detail, SubtaskHistory& history);
  bool is_retryable_elsewhere(Job& job, std::uint32_t subtask, const FailureDetail& detail);
  bool may_retry(Job& job, std::uint32_t subtask, const SubtaskHistory& history, FailureClass failure) const;
  void fail_subtask(Job& job, std::uint32_t subtask, const FailureDetail& detail);
  void note_failed(Job& job, std::uint32_t subtask, std::vector<std::string> history, const FailureDetail& detail);
  void end_subtask(Job& job, std::uint32_t subtask, SubtaskPhase phase);
  void requeue(Job& job, std::uint32_t subtask);
  void wait_before_retry(Job& job, std::uint32_t subtask, Duration delay);
  void recompute(Job& job, std::uint32_t subtask);
  void raise_to_readers(Job& job, const std::vector<std::uint32_t>& reopened);
  void cancel_what_cannot_run(Job& job, const std::vector<std::uint32_t>& reopened);
  void reopen(Job& job, std::uint32_t subtask, std::vector<std::uint32_t>& pending);
  void run_timers();
  void make_elsewhere(Job& job, std::uint32_t producer);

  // Jobs that have ended: history.cpp.
  void forget_old_jobs();
  Value::Record first_fields(const Job& job) const;
  Value describe_row(const Job& job, bool with_end) const;
  Result<Value> list_jobs(const AdminRequest& request) const;

  // The policy in force, and where a job stands in it: policy_setup.cpp.
  bool policed() const { return policy_.config.in_force(); }
  Duration grace_of(const Job& job) const;
  Duration longest_grace_in(std::uint32_t pool) const;
  Result<void> check_policy_of(const JobSpec& spec) const;
  Result<void> check_cap(const JobSpec& spec, const GraphShape& shape) const;
  std::vector<std::string> warnings_of_policy() const;
  void add_warnings(Value::Record& answer);
  static std::int64_t first_position(JobId job);
  void open_shares(Job& job);
  void close_shares(Job& job);
  void leave_policy(Job& job);
  void note_pools_of(WorkerSlot slot);
  void set_policy(PolicyConfig config);

  // Pool fallback: the pool of its list in which a job is tried, and the workers it may use: pool_fallback.cpp.
  std::vector<std::uint32_t> pools_of(const JobPolicy& wishes) const;
  PriorityScale scale_of(const JobSpec& spec) const;
  void follow_scale(Job& job);
  void open_pools(Job& job) const;
  void open_labels(Job& job);
  bool may_use(const Job& job, BandSlot band) const;
  void follow_fallback(Job& job);
  bool pass_over(Job& job) const;
  void enter_fallback_pool(Job& job) const;
  void note_fallbacks(const PassUnderWay& pass, const policy::Plan& plan);
  void note_fallback(Job& job, policy::PoolFallback::Outcome outcome, std::uint32_t room_in);
  void place_in_pool(Job& job);
  void stay_where_claimed(Job& job) const;
  bool goes_on_elsewhere(Job& job, WorkerSlot slot);
  void keep_places(Job& job, std::int64_t weights, policy::Snapshot& snapshot);
  void show_kept_place(Job& job, std::uint32_t pool, std::int64_t weights, policy::Snapshot& snapshot);
  static bool must_end_there(const Job& job, const ClaimedAttempt& claim);
  std::uint64_t capacity_for(const Job& job, BandKind kind, std::uint64_t all) const;
  std::vector<std::uint32_t> bands_allowed(const Job& job, BandKind kind) const;
  Value::List describe_fallback(const Job& job) const;

  // The effects of levels of service, queues and limits on a job: policy_rules.cpp.
  Result<void> check_rules_of(const JobSpec& spec) const;
  Result<void> check_limits(const JobSpec& spec, const GraphShape& shape) const;
  Result<void> check_active_jobs(const JobSpec& spec, const Job* changed) const;
  void open_rules(Job& job);
  void leave_admission(Job& job) const;
  void apply_limits();
  void note_limit_holds(Job& job) const;
  bool goes_before(const Job& left, const Job& right) const;
  static bool is_waiting(const Job& job);
  Duration time_limit_of(const Job& job) const;
  Result<Value> describe_limits() const;
  Result<Value> set_rule(Job& job, const std::string& what, const std::string& name);
  Result<Value> set_user_factor(Job& job, const std::string& text);
  Result<Value> hold_by_request(const AdminRequest& request);

  // The cluster as a pass sees it: policy_snapshot.cpp.
  bool counts_quotas(std::uint32_t pool) const;
  const policy::Parts& parts_in(std::uint32_t pool) const { return policy_.parts[domain_of(pool, BandKind::Cpu)]; }
  void begin_pass();
  bool is_shown(const Job& job) const;
  void measure(Job& job);
  void show_bands(PassUnderWay& pass, policy::Snapshot& snapshot) const;
  void show_owners(PassUnderWay& pass, policy::Snapshot& snapshot) const;
  std::int64_t precedence_of(const Job& job) const;
  /// `weights`: of the project's jobs together.
  void show_job(Job& job, BandKind kind, std::int64_t weights, policy::Snapshot& snapshot);
  void watch_gang(Job& job, BandKind kind, std::vector<PromisedPlace>& held, std::vector<PromisedPlace>& leaving) const;
  void show_members(KindShare& share, const std::vector<PromisedPlace>& held, const std::vector<PromisedPlace>& leaving,
                    policy::Snapshot& snapshot);
  std::int64_t own_weight(const Job& job) const;
  std::int64_t weight_of(const Job& job, std::int64_t weights) const;
  void show_member(std::uint64_t milli, std::vector<PromisedPlace> places, policy::MemberState state,
                   policy::Snapshot& snapshot);
  void show_waiting_members(const KindShare& share, std::uint64_t missing, policy::Snapshot& snapshot);
  void show_bound_members(const KindShare& share, std::uint64_t missing, policy::Snapshot& snapshot);
  void count_holdings();
  std::uint64_t runnable_for(const Job& job, BandSlot band) const;
  std::uint64_t measure_demand_at(const Job& job, BandSlot slot) const;
  bool fits_all_of_pool(const Job& job, std::uint32_t template_index);
  bool is_bound(Job& job, BandKind kind);
  static std::uint64_t milli_run(const KindShare& kind, const BandShare& share, const BandEntry& band);
  std::uint64_t measure_demand(const Job& job, BandKind kind, std::uint64_t capacity) const;
  std::vector<PromisedPlace> settle_holdings(Job& job, BandKind kind, std::vector<PromisedPlace>& leaving);
  void charge_accounts();
  void charge(Job& job);
  void note_use(Job& job, const AttemptReport& report) const;
  UsedRate rate_of(const Job& job, std::uint32_t subtask) const;
  AccountTree accounts_now() const;
  JobUse& accrue(Job& job) const;
  bool may_leave(const Job& job, BandKind kind) const;
  std::uint64_t milli_that_stays(const Job& job, BandSlot slot) const;

  // Allocation units, which members of a snapshot stand for: allocation_units.cpp.
  void measure_requests(Job& job) const;
  static void measure_requests(const std::vector<Template>& templates, BandKind kind, KindShare& share);
  std::uint64_t run_milli_on_devices(const std::vector<Template>& templates, const JobPolicy& wishes) const;
  void size_allocation_units(PassUnderWay& pass);
  void choose_granularities(PassUnderWay& pass) const;
  std::uint64_t run_milli(const KindShare& share, BandKind kind, const DomainView& domain) const;
  AllocationUnit allocation_unit_of(const KindShare& share, BandKind kind, const DomainView& domain, bool quotas) const;

  // From a plan to the workers: entitlements.cpp.
  void policy_changed();
  void run_policy();
  std::optional<Instant> policy_deadline() const;
  void give_up_pass(const std::string& why);
  void apply_plan(const PassUnderWay& pass, const policy::Plan& plan);
  bool is_still(const PassUnderWay& pass, BandSlot band) const;
  static std::uint64_t milli_of_target(const PassUnderWay& pass, const policy::Target& target);
  void note_explanations(const PassUnderWay& pass, const policy::Plan& plan);
  static std::vector<std::uint32_t> pools_wanted_by(const JobShares& shares);
  bool is_limited(const Job& job, BandKind kind) const;
  void entitle(Job& job);
  void send_entitlements(const Job& job, WorkerSlot slot);
  void recall(Job& job, BandSlot slot);
  void take_back_running(Job& job, BandSlot slot);
  bool is_leaving(const Job& job, std::uint32_t subtask, std::uint64_t attempt) const;
  void preempt(Job& job, const AssignedRef& ref);

  // Gangs that wait until workers hold all their slots: barriers.cpp.
  bool runs_whole_where_planned(const Job& job, BandKind kind) const;
  bool asks_otherwise(const Job& job, BandKind kind) const;
  bool watch_barrier(Job& job, BandKind kind);
  void reserve_for(const Job& job, BandSlot band, Entitlement& entitlement) const;
  void open_if_all_held(Job& job, BandKind kind);
  std::uint64_t milli_of_gang(const Job& job, BandKind kind) const;
  void give_up_barrier(Job& job, BandKind kind, const std::string& why);
  void give_up_late_barriers();
  std::vector<std::pair<JobId, BandKind>> barriers_with(WorkerSlot slot) const;
  void leave_barriers(Job& job);
  void free_gang(const Job& job, WorkerSlot slot);
  std::string barrier_text(const Job& job, BandKind kind) const;
  std::string barrier_hold(const Job& job, BandKind kind) const;

  // The audit history: policy_audit.cpp.
  AdmissionState admission_state_of(const Job& job, BandKind kind) const;
  void note_admission_state(Job& job);
  bool may_report_again(const ReportedShare& reported);
  std::string admission_state_text(const Job& job, BandKind kind) const;
  void note_preemptions(const PassUnderWay& pass, const policy::Plan& plan);
  /// Of one plan: a project's sum is the same for all that leave for it.
  using HeldByProject = std::map<std::pair<std::uint32_t, BandKind>, std::uint64_t>;
  std::uint64_t milli_of_project(std::uint32_t project, BandKind kind) const;
  std::string priority_text(const Job& job) const;
  std::string preemption_text(const PassUnderWay& pass, const policy::Plan& plan, const policy::Preemption& each,
                              HeldByProject& held_by) const;
  void note_preempted(const Job& job, const AssignedRef& ref);
  void note_more_preempted();
  std::vector<std::pair<std::string, std::string>> pools_by_name() const;
  void note_pool_moves(const std::vector<std::pair<std::string, std::string>>& before);

  // Policy state that survives a restart: policy_keeping.cpp.
  void keep_usage();
  void keep_policy();
  void recover_policy(const record::PolicyKept& kept);
  Result<void> change_project(const std::string& project, ProjectSetting what, std::int64_t amount);
  Result<void> change_account(const std::string& account, std::int64_t shares);

  // Questions and orders about it: policy_queries.cpp.
  std::uint64_t milli_held(const Job& job, BandKind kind) const;
  Result<Value> describe_pools() const;
  Result<Value> describe_projects() const;
  Result<Value> describe_shares() const;
  std::string names_of(const std::vector<std::uint32_t>& pools) const;
  Result<Value> describe_queue() const;
  Result<Value> set_by_request(const AdminRequest& request);
  Result<Value> set_of_owner(const AdminRequest& request);
  std::string place_text(const Job& job) const;
  Result<void> move_beside(Job& job, const Job& other, bool ahead);
  bool is_inside(const Job& job, std::uint32_t project) const;
  class Explainer;  ///< Of `explain`: explainer.hpp.

  // The limits that hold it: limit_remedies.cpp.
  std::string hold_of(const Job& job, BandKind kind) const;
  bool is_at_cap(const Job& job, BandKind kind) const;
  Result<void> check_positions_count(const Job& job) const;
  Result<Value> move_by_request(const AdminRequest& request);
  void explain_policy(const Job& job, bool with_remedies, Value::Record& fields) const;

  // Clients that follow jobs: followers.cpp.
  void attach(ClientId client, const AttachJob& message);
  void follow(Job& job, ClientId client);
  void unfollow(Job& job, ClientId client);
  void erase_job(const Job& job);
  void send_to_client(ClientId client, ToClient message);

  // Records, and the replies that wait for them: durability.cpp.
  void record_change(const Job& job);
  void record_change(const Job& job, std::uint32_t subtask);
  void record_end(const Job& job);
  void write_what_has_changed();
  void withdraw(JobId id);

  // Recovery after a restart: recovery.cpp.
  using GraphsAgain = std::map<JobId, Result<SharedGraph*>>;  ///< By the job that brought it.
  GraphsAgain recover_graphs(std::vector<RecoveredGraph>& recovered);
  void recover_job(RecoveredJob& recovered, const GraphsAgain& graphs);
  void recover_ended_job(RecoveredJob& recovered);
  void apply_ended(Job& job, const record::SubtasksEnded& ended);
  void end_recovered(Job& job, const SubtaskRange& range, SubtaskPhase phase);
  void recover_outputs(Job& job, const record::SubtasksEnded& ended);
  void recover_changes(Job& job, std::vector<record::SubtaskChanged>& changes);
  static std::vector<std::uint32_t> all_that_depends_on(const Job& job, std::vector<std::uint32_t> pending);
  void cancel_behind_failures(Job& job);
  void resume(Job& job);

  // Questions and orders of operators: queries.cpp, explain.cpp, watchdog.cpp.
  void answer(ClientId client, const AdminRequest& request);
  Result<Value> execute(ClientId client, const AdminRequest& request, bool& deferred);
  Value describe_job(const Job& job) const;
  Value describe_workers() const;
  Value describe_bands() const;
  Value describe_queues() const;
  Value describe_failure(const Job& job, std::uint32_t subtask, const SubtaskHistory& history) const;
  Result<Value> cancel_by_request(const AdminRequest& request);
  bool await_confirmations(ClientId client, const AdminRequest& request, const Value& answer);
  Result<Value> priority_by_request(const AdminRequest& request);
  Result<Value> drain_by_request(const AdminRequest& request);
  Result<Value> complete_words(const AdminRequest& request) const;
  Result<Value> explain_by_request(ClientId client, const AdminRequest& request, bool& deferred);
  /// With remedies, which take a look at all jobs and bands, only if asked for them.
  Value explain_job(Job& job, bool with_remedies);
  Value explain_subtask(Job& job, std::uint32_t subtask);
  std::string reason_of(Job& job, std::uint32_t subtask);
  void watch();

  // Constant after construction.
  const SupervisorConfig config_;

  // Parts, each after those that it uses.
  EventContext event_;
  WallClock clock_;  ///< Since the start of this term of the state.
  CommitGate gate_;
  AuditLog audit_;
  JobTable jobs_;
  WorkerTable workers_;
  WorkerMail mail_;
  BandIndices bands_;
  SubtaskMachine machine_;
  EndedJobs ended_;
  ProgressOutbox progress_;
  AwaitedOutputs awaited_;
  DataDirectory data_;
  WorkerQuestions questions_;
  Readoption readoption_;
  Eligibility eligibility_;
  PlacementCosts costs_;

  // State.
  GraphTable graphs_;
  std::map<SubtaskId, Instant> holders_drain_until_;  ///< By waiter; then it fails.
  std::vector<SubtaskId> unread_;                     ///< Checkpoints that wait for a worker to stand for them.
  Attempt attempts_begin_ = attempts_begin(1);        ///< Of the state's term.
  PolicyState policy_;
  JobIndices indices_;
  RetryTimers timers_;
  Watchdog watchdog_;
  WorkSearch search_;
  SupervisorCounters counters_;
  AfterWrite<JobId> accepting_{gate_};             ///< Jobs that are placed when their acceptance is written.
  AfterWrite<Loss> losses_{gate_};                 ///< Workers that are gone.
  AfterWrite<SharedGraph*> being_written_{gate_};  ///< Graphs, which the journal reads until then.
  LostIncarnations lost_incarnations_;
  // Scratch, and what is valid during `handle`.
  std::vector<JobId> maybe_done_;
};

}  // namespace penstock::supervisor
