// tidy: foreign-file task, agent, agents, master
#include "tools/policy/command_policy_cluster.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "tools/policy/live/live_cluster.hpp"

namespace penstock::tools {
namespace {

using std::chrono::seconds;

SupervisorConfig by_priority(bool preemption) {
  SupervisorConfig config;
  config.policy.pools.push_back({.name = "all", .preset = "priority", .preemption = preemption, .priorities = "1-99"});
  return config;
}

Register worker_of(const std::string& name, std::int64_t slots) {
  Register description;
  description.name = name;
  description.host = name;
  BandDescription& band = description.bands.emplace_back();
  band.name = "numa-0";
  band.capacity.slots = kOneSlot * slots;
  return description;
}

/// `count` subtasks of so many slots, each run once. A request without slots is a hundredth of one: nothing runs
/// without any.
Graph subtasks_of(std::int64_t slots, std::uint32_t count = 1) {
  Graph graph;
  Template& wanted = graph.templates.emplace_back();
  wanted.program = "hold";
  wanted.output_count = 0;
  wanted.request.slots = slots == 0 ? MilliSlots{10} : kOneSlot * slots;
  wanted.attempts_max = 1;
  for (std::uint32_t i = 0; i < count; ++i) graph.template_of.push_back(0), graph.input_offsets.push_back(0);
  return graph;
}

JobSpec named(const std::string& name) {
  JobSpec spec;
  spec.name = name;
  spec.keep = Keep::Nothing;
  return spec;
}

void check_acceptance(const cli::DocumentValue& file, const Result<void>& result, CaseChecker& checker) {
  const cli::DocumentValue& expect = field_of(file, "expect");
  checker.only_fields(expect, {"accepted", "error_contains"});
  // `"error_contains": null` means no error.
  if (expect.find("error_contains") == nullptr && !checker.demand(expect, "accepted")) return;
  checker.count_comparison();
  const std::string part = text_of(expect, "error_contains");
  const bool accepted = has_field(expect, "accepted") ? flag_of(expect, "accepted") : part.empty();
  const std::string got = result ? "accepted" : to_string(result.error());
  if (accepted != result.has_value())
    return checker.fail("expected " + std::string{accepted ? "" : "not "} + "accepted, got " + got);
  if (!part.empty() && got.find(part) == std::string::npos) checker.fail("expected '" + part + "', got '" + got + "'");
}

/// A gang is accepted where workers of that size could hold it.
Result<void> submit_gang(const cli::DocumentValue& file) {
  const std::int64_t slots = integer_of(file, "slots");
  const std::int64_t each = integer_of(file, "max_slots_per_pod");
  LiveCluster cluster{by_priority(true)};
  constexpr std::int64_t kWorkersMax = 1000;
  for (std::int64_t i = 0; i < std::min(kWorkersMax, each > 0 ? slots / each + 1 : 0); ++i)
    cluster.join(worker_of("w" + std::to_string(i), each));
  JobSpec spec = named("gang");
  spec.policy.gang = static_cast<std::uint32_t>(std::clamp<std::int64_t>(slots, 0, kWorkersMax * kWorkersMax));
  const SubmitReply reply = cluster.submit(std::move(spec), subtasks_of(1, spec.policy.gang));
  return reply.job.valid() ? Result<void>{} : Result<void>{reply.refusal};
}

/// The job runs as a whole when its priority is set.
Result<void> change_priority(const cli::DocumentValue& file) {
  SupervisorConfig config = by_priority(true);
  config.policy.pools[0].default_priority = std::clamp<std::int64_t>(integer_of(file, "default_priority", 42), 1, 99);
  LiveCluster cluster{config};
  cluster.join(worker_of("w", 1));
  JobSpec spec = named("running");
  spec.policy.preemptible = flag_of(file, "preemptible", true) ? Preemptible::Yes : Preemptible::No;
  cluster.submit(std::move(spec), subtasks_of(1));
  cluster.settle();
  // Priorities of the case's system go beyond ours.
  const std::int64_t priority = std::clamp<std::int64_t>(integer_of(file, "new_priority"), 1, 99);
  const Result<Value> set = cluster.ask("priority", {"running", std::to_string(priority)});
  return set ? Result<void>{} : Result<void>{set.error()};
}

/// The worker introduces itself again, with another pool or other devices.
Result<void> reconnect(const cli::DocumentValue& file) {
  SupervisorConfig config = by_priority(true);
  const auto description = [&](const char* pool, const char* devices) {
    Register worker = worker_of(text_of(file, pool, "w"), 1);
    for (const cli::DocumentValue& device : field_of(file, devices).items) {
      BandDescription& band = worker.bands.emplace_back();
      band.name = "gpu-" + std::to_string(integer_of(device, "id"));
      band.kind = BandKind::Gpu;
      band.capacity.slots = kOneSlot;
      band.capacity.gpu = MilliGpu{1000};
      band.devices = {{text_of(device, "uuid"), text_of(device, "brand") + " " + text_of(device, "type"),
                       std::to_string(integer_of(device, "id")), Bytes{}, 0, 0}};
    }
    return worker;
  };
  // A pool of the case is that of the worker of its name.
  for (const char* pool : {"known_pool", "reported_pool"})
    if (const std::string name = text_of(file, pool); !name.empty() && find_pool(config.policy, name) < 0)
      config.policy.pools.push_back({.name = name, .preset = "priority", .workers = {name}});
  LiveCluster cluster{config};
  const WorkerId worker = cluster.join(description("known_pool", "known_devices"));
  cluster.introduce_again(worker, description("reported_pool", "reported_devices"));
  return cluster.troubles().empty() ? Result<void>{} : Result<void>{cluster.troubles().front()};
}

void check_routing(const cli::DocumentValue& file, CaseChecker& checker) {
  const std::string light = text_of(file, "default_aux_pool");
  const std::string compute = text_of(file, "default_compute_pool");
  SupervisorConfig config;
  config.policy.pools.push_back({.name = compute, .preset = "priority", .light = light == compute});
  if (light != compute)
    config.policy.pools.push_back({.name = light, .preset = "priority", .workers = {"light"}, .light = true});
  for (const cli::DocumentValue& request : field_of(file, "requests").items)
    if (const std::string pool = text_of(request, "pool"); !pool.empty() && find_pool(config.policy, pool) < 0)
      config.policy.pools.push_back({.name = pool, .preset = "priority", .workers = {"of-" + pool}});
  LiveCluster cluster{config};
  for (const PoolConfig& pool : config.policy.pools)
    cluster.join(worker_of(pool.workers.empty() ? "others" : pool.workers.front(), 64));
  checker.only_fields(field_of(file, "expect"), {"pool"});
  for (const cli::DocumentField& each : field_of(field_of(file, "expect"), "pool").fields) {
    const std::vector<cli::DocumentValue>& requests = field_of(file, "requests").items;
    const auto request = std::find_if(requests.begin(), requests.end(),
                                      [&](const cli::DocumentValue& one) { return text_of(one, "id") == each.name; });
    if (request == requests.end()) {
      checker.fail("expect.pool: there is no request '" + each.name + "'");
      continue;
    }
    JobSpec spec = named(each.name);
    if (const std::string pool = text_of(*request, "pool"); !pool.empty()) spec.policy.pools = {pool};
    const SubmitReply reply = cluster.submit(std::move(spec), subtasks_of(integer_of(*request, "slots")));
    const supervisor::Job* job = cluster.core().find_job(reply.job);
    checker.equal("pool of " + each.name, each.value.text,
                  job == nullptr ? to_string(reply.refusal) : config.policy.pools[job->shares->pool.position].name);
  }
}

/// The end of the queue as one word for all of its names.
std::string end_of_queue(const std::string& name) {
  if (name == "INTERNAL-head" || name == "head") return "HEAD";
  if (name == "INTERNAL-tail" || name == "tail") return "TAIL";
  return name;
}

/// The job that keeps the slot, so that all others wait.
constexpr const char* kInTheWay = "in the way";

/// The jobs that wait, in the queue's order, with their priorities.
std::vector<std::pair<std::string, std::int64_t>> queue_of(LiveCluster& cluster) {
  std::vector<std::pair<std::string, std::int64_t>> order;
  const Result<Value> queue = cluster.ask("queue");
  if (!queue || queue->list() == nullptr) return order;
  for (const Value& row : *queue->list()) {
    const std::string* name = row["name"].text();
    if (name != nullptr && *name == kInTheWay) continue;
    const Result<Value> job = cluster.ask("job", {name == nullptr ? "" : *name});
    const std::int64_t* priority = job ? (*job)["priority"].integer() : nullptr;
    order.emplace_back(name == nullptr ? "" : *name, priority == nullptr ? 0 : *priority);
  }
  return order;
}

void check_anchor(LiveCluster& cluster, const cli::DocumentValue& step, CaseChecker& checker) {
  const std::string moved = text_of(step, "job");
  const std::string anchor = text_of(step, "anchor");
  const auto priority_of = [&](const std::string& name) {
    for (const auto& [job, priority] : queue_of(cluster))
      if (job == name) return priority;
    return std::int64_t{0};
  };
  const std::int64_t before = priority_of(moved);
  const bool ahead = flag_of(step, "ahead_of");
  const Result<Value> done = cluster.ask("move", {moved, ahead ? "ahead-of" : "behind", anchor});
  if (!done) return checker.fail(to_string(done.error()));
  const cli::DocumentValue& expect = field_of(step, "expect");
  checker.only_fields(expect, {"priority_changes", "second_anchor", "anchor_priority"});
  for (const char* field : {"priority_changes", "second_anchor", "anchor_priority"}) checker.demand(expect, field);
  std::vector<std::string> order;
  for (const auto& [name, priority] : queue_of(cluster)) order.push_back(name);
  const auto at = std::find(order.begin(), order.end(), moved);
  std::string beyond = ahead ? "HEAD" : "TAIL";
  if (ahead && at != order.begin()) beyond = *(at - 1);
  if (!ahead && at + 1 != order.end()) beyond = *(at + 1);
  const bool beside = ahead ? at + 1 != order.end() && *(at + 1) == anchor : at != order.begin() && *(at - 1) == anchor;
  if (!beside && moved != anchor) checker.fail(moved + " is not beside " + anchor + ": " + list_text(order));
  const std::string expected = text_of(expect, "second_anchor");
  const bool is_job = std::count(order.begin(), order.end(), expected) > 0;
  checker.equal("second anchor", is_job ? expected : end_of_queue(expected), beyond);
  checker.equal("priority changes", flag_of(expect, "priority_changes") ? 1 : 0, priority_of(moved) != before ? 1 : 0);
  checker.equal("priority of the anchor", integer_of(expect, "anchor_priority"), priority_of(moved));
}

/// Jobs wait in the order of their positions, and one is moved beside another one.
void check_anchors(const cli::DocumentValue& file, CaseChecker& checker) {
  LiveCluster cluster{by_priority(true)};
  cluster.join(worker_of("w", 1));
  JobSpec first = named(kInTheWay);
  first.priority = 1;
  first.policy.preemptible = Preemptible::No;
  cluster.submit(std::move(first), subtasks_of(1));
  cluster.settle();
  checker.no_twins("groups", texts_of_items(field_of(file, "groups"), "id"));
  std::vector<std::pair<double, const cli::DocumentValue*>> groups;
  const cli::DocumentValue& positions = field_of(file, "queue_positions");
  for (const cli::DocumentValue& group : field_of(file, "groups").items) {
    check_priority_range(group, "priority", checker);
    const cli::DocumentValue& at = field_of(positions, text_of(group, "id"));
    groups.emplace_back(at.is_number() ? at.number : std::strtod(at.text.c_str(), nullptr), &group);
  }
  for (const cli::DocumentField& each : positions.fields)
    if (std::none_of(groups.begin(), groups.end(),
                     [&](const auto& one) { return text_of(*one.second, "id") == each.name; }))
      checker.fail("a position is given to '" + each.name + "', which is no job");
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [position, group] : groups) {
    JobSpec spec = named(text_of(*group, "id"));
    spec.priority = static_cast<std::int32_t>(std::clamp<std::int64_t>(integer_of(*group, "priority", 42), 1, 99));
    cluster.submit(std::move(spec), subtasks_of(1));
  }
  cluster.settle();
  for (const cli::DocumentValue& step : field_of(file, "steps").items) check_anchor(cluster, step, checker);
}

/// One run, and the policy that asks it to leave: for a job of higher priority.
class LifecycleRun {
 public:
  LifecycleRun(const cli::DocumentValue& file, CaseChecker& checker)
      : file_(file), checker_(checker), cluster_(settings(file)) {
    cluster_.set_on_stop(LiveCluster::OnStop::Stay);
    cluster_.join(worker_of("w", 1));
    JobSpec spec = named("subject");
    spec.priority = 50;
    const bool preemptible = flag_of(field_of(file_, "task"), "preemptible", true);
    spec.policy.preemptible = preemptible ? Preemptible::Yes : Preemptible::No;
    job_ = cluster_.submit(std::move(spec), subtasks_of(1)).job;
    cluster_.settle();
    if (!is_running()) checker_.fail("the run does not begin");
  }

  void run() {
    for (const cli::DocumentValue& step : field_of(file_, "steps").items) take(step);
  }

 private:
  /// The grace of a release is that of the first step that says one, by default an hour. Spec: policy-determined 7.3.
  static SupervisorConfig settings(const cli::DocumentValue& file) {
    SupervisorConfig config = by_priority(true);
    config.policy.grace = std::chrono::hours{1};
    for (const cli::DocumentValue& step : field_of(file, "steps").items)
      if (has_field(step, "timeout_s"))
        config.policy.grace = Duration{std::max<std::int64_t>(1000, scaled(number_of(step, "timeout_s"), 1e9))};
    config.policy.grace_max = config.policy.grace;
    return config;
  }

  SubtaskId subtask() const { return {job_, SubtaskIndex{0}}; }
  bool is_running() const { return cluster_.runs().contains(subtask()); }
  /// A watcher of a run that is over wakes, too.
  bool is_signalled() const { return !is_running() || cluster_.runs().at(subtask()).asked; }

  void take(const cli::DocumentValue& step) {
    const std::string op = text_of(step, "op");
    const std::int64_t watcher = integer_of(step, "w");
    if (op == "watch") return void(watchers_.insert(watcher));
    if (op == "unwatch") return void(watchers_.erase(watcher));
    if (op == "close" || op == "signal_kill") return cancel();
    if (op == "preempt" || op == "release_resources" || op == "signal_terminate") return ask_to_leave();
    if (op == "acknowledge") {
      acknowledged_ = is_signalled();
      return;
    }
    // The run has been placed when the case begins; all that its program reports on the way is up to the program.
    if (op == "assign") return;
    if (op == "container") return part(step);
    if (op == "rendezvous" || op == "set_ready") {
      ready_ = true;
      return;
    }
    // A supervisor that comes back adopts the run (tests/unit/supervisor/core/lifecycle): the same run goes on here.
    if (op == "master_crash" || op == "restore") return;
    if (op == "expect_signal" && checker_.demand(step, "signalled", ""))
      return checker_.equal("signal to " + std::to_string(watcher), flag_of(step, "signalled") ? 1 : 0,
                            watchers_.contains(watcher) && is_signalled() ? 1 : 0);
    if (op == "expect_signal") return;
    if (op == "expect" || op == "expect_within" || op == "expect_for") return expect(step);
    checker_.fail("the step '" + op + "' is not understood");
  }

  void cancel() {
    ended_ = true;
    cluster_.set_on_stop(LiveCluster::OnStop::Leave);
    if (const Result<Value> done = cluster_.ask("cancel", {"subject"}); !done) checker_.fail(to_string(done.error()));
    cluster_.settle();
  }

  /// A run that is not ready cannot save anything, and leaves at once. Spec: policy-determined 7.2.
  void ask_to_leave() {
    if (!ready_ && text_of(file_, "kind") == "allocation_lifecycle") cluster_.set_on_stop(LiveCluster::OnStop::Leave);
    JobSpec urgent = named("urgent");
    urgent.priority = 1;
    urgent.policy.preemptible = Preemptible::No;
    cluster_.submit(std::move(urgent), subtasks_of(1));
    // No longer than until the order: the grace of a case may be shorter than a pass takes.
    for (int tries = 0; tries < 1000 && is_running() && !is_signalled(); ++tries)
      cluster_.advance(std::chrono::microseconds{500});
  }

  void part(const cli::DocumentValue& step) {
    const std::string state = text_of(step, "state");
    if (state == "terminated") {
      ended_ = true;
      return cluster_.end(subtask(), !has_field(step, "failure"));
    }
    if (state != "assigned" && state != "pulling" && state != "starting" && state != "running")
      return checker_.fail("the state '" + state + "' is not understood");
    state_ = state;
  }

  void expect(const cli::DocumentValue& step) {
    checker_.only_fields(step, {"op", "seconds", "state", "state_not", "ready", "error", "resources_released",
                                "preempt_signal", "acknowledged", "timed_out"});
    cluster_.advance(Duration{scaled(number_of(step, "seconds"), 1e9)});
    const auto flag_field = [&](const char* what, bool got) {
      if (has_field(step, what)) checker_.equal(what, flag_of(step, what) ? 1 : 0, got ? 1 : 0);
    };
    const std::string state = is_running() ? state_ : "terminated";
    if (has_field(step, "state")) checker_.equal("state", text_of(step, "state"), state);
    if (has_field(step, "state_not")) checker_.count_comparison();
    if (has_field(step, "state_not") && text_of(step, "state_not") == state)
      checker_.fail("state: expected anything but " + state);
    const supervisor::Job* job = cluster_.core().find_job(job_);
    const bool failed = job != nullptr && job->status.state == JobState::Failed;
    if (step.find("error") != nullptr)
      checker_.equal("error", has_field(step, "error") ? "failed" : "none", failed ? "failed" : "none");
    flag_field("ready", ready_);
    flag_field("resources_released", !is_running());
    flag_field("preempt_signal", is_signalled());
    flag_field("acknowledged", acknowledged_);
    // The deadline has passed where the run is over, and neither its program nor an operator has ended it.
    flag_field("timed_out", !is_running() && !ended_);
  }

  const cli::DocumentValue& file_;
  CaseChecker& checker_;
  LiveCluster cluster_;
  JobId job_;
  std::set<std::int64_t> watchers_;
  std::string state_ = "assigned";  ///< As its program reports it.
  bool acknowledged_ = false;
  bool ready_ = false;
  bool ended_ = false;  ///< By its program, or by an operator.
};

}  // namespace

bool check_on_cluster(const cli::DocumentValue& file, const std::string& kind, CaseChecker& checker) {
  if (kind == "queue_anchor")
    check_anchors(file, checker);
  else if (kind == "gang_shape")
    check_acceptance(file, submit_gang(file), checker);
  else if (kind == "k8s_priority_change")
    check_acceptance(file, change_priority(file), checker);
  else if (kind == "reconnect_check")
    check_acceptance(file, reconnect(file), checker);
  else if (kind == "pool_routing")
    check_routing(file, checker);
  else if (kind == "preemption_flag" || kind == "allocation_lifecycle")
    LifecycleRun{file, checker}.run();
  else
    return false;
  checker.runs_by(CaseWay::Cluster);
  return true;
}

}  // namespace penstock::tools
