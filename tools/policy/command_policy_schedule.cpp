// tidy: foreign-file task, tasks, agent, agents, scheduler
#include "tools/policy/command_policy_schedule.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "tools/policy/command_policy_positions.hpp"
#include "tools/policy/live/live_cluster.hpp"

namespace penstock::tools {
namespace {

struct AgentSlots {
  std::int64_t most = 0;  ///< Of one agent.
  std::int64_t all = 0;
};

AgentSlots agent_slots(const cli::DocumentValue& file) {
  AgentSlots slots;
  for (const cli::DocumentValue& agent : field_of(file, "agents").items) {
    slots.most = std::max(slots.most, integer_of(agent, "slots"));
    slots.all += integer_of(agent, "slots");
  }
  return slots;
}

bool are_plain_tasks(const cli::DocumentValue& from, std::int64_t slots_max) {
  for (const cli::DocumentValue& task : field_of(from, "tasks").items) {
    const std::int64_t slots = integer_of(task, "slots");
    if (slots <= 0 || slots > slots_max || !flag_of(task, "holds_slots", true) || has_field(task, "label"))
      return false;
    if (flag_of(task, "single_agent") || !field_of(task, "blocked_agents").items.empty()) return false;
  }
  for (const cli::DocumentValue& group : field_of(from, "groups").items)
    if (integer_of(group, "max_slots", 0) != 0) return false;
  return true;
}

bool is_plain_step(const cli::DocumentValue& step, std::int64_t slots_max) {
  constexpr std::string_view kOps[] = {"note",         "schedule",       "apply_allocations", "add_tasks",
                                       "finish_tasks", "preempted_exit", "check_empty_slots"};
  const cli::DocumentValue& expect = field_of(step, "expect");
  return std::find(std::begin(kOps), std::end(kOps), text_of(step, "op")) != std::end(kOps) &&
         (text_of(step, "op") != "add_tasks" || are_plain_tasks(step, slots_max)) &&
         !has_field(expect, "to_allocate_by_group") && !has_field(expect, "to_release_by_group");
}

double position_of(const cli::DocumentValue& value) {
  return value.is_number() ? value.number : std::strtod(value.text.c_str(), nullptr);
}

/// Whether positions are those of submission, or numbers of jobs that have one task.
bool are_plain_positions(const cli::DocumentValue& file) {
  const cli::DocumentValue& positions = field_of(file, "queue_positions");
  if (positions.is_text()) return positions.text == "submission_time";
  const std::vector<cli::DocumentValue>& tasks = field_of(file, "tasks").items;
  CasePositions numbers;
  for (const cli::DocumentField& each : positions.fields)
    if (!numbers.set(0, each.value) || std::count_if(tasks.begin(), tasks.end(), [&](const auto& task) {
                                         return text_of(task, "job") == each.name;
                                       }) != 1)
      return false;
  return positions.is_table() || positions.kind == cli::DocumentValue::Kind::Null;
}

/// The name of the job of a task: a number alone would read as the number of a job.
std::string job_named(const std::string& task) { return "job " + task; }

/// Tasks are jobs: one that fits an agent is a subtask of so many slots, a larger one a gang. Programs that are asked
/// to stop stay until the case lets them leave.
class LiveSchedule {
 public:
  LiveSchedule(const cli::DocumentValue& file, const std::string& id)
      : file_(file), checker_(id, text_of(file, "kind")), cluster_(settings(file)) {}

  CaseVerdict run() {
    cluster_.set_on_stop(LiveCluster::OnStop::Stay);
    checker_.no_twins("agents", texts_of_items(field_of(file_, "agents"), "id"));
    for (const cli::DocumentValue& agent : field_of(file_, "agents").items) join(agent);
    submit(file_, true);
    cluster_.settle();
    for (const auto& [name, job] : jobs_)
      if (runs_of(name).empty()) checker_.fail("'" + name + "' does not run at the beginning");
    seen_ = applied_ = held();
    submit(file_, false);
    move_to_positions();
    for (const cli::DocumentValue& step : field_of(file_, "steps").items) {
      ++step_;
      take(step);
    }
    if (step_ == 0) checker_.fail("the case has no steps");
    for (const Error& trouble : cluster_.troubles()) checker_.fail(to_string(trouble));
    return checker_.take();
  }

 private:
  static SupervisorConfig settings(const cli::DocumentValue& file) {
    SupervisorConfig config;
    config.policy.pools.push_back({.name = "all", .preset = "priority", .priorities = "1-99"});
    config.policy.pools[0].preemption = flag_of(field_of(file, "scheduler"), "preemption");
    config.policy.grace = config.policy.grace_max = std::chrono::hours{1};
    return config;
  }

  void join(const cli::DocumentValue& agent) {
    Register description;
    description.name = description.host = text_of(agent, "id");
    // Tasks that run at the beginning are placed by it, so a preempted one of them can only return to its agent.
    description.labels = {description.name};
    BandDescription& band = description.bands.emplace_back();
    band.name = "numa-0";
    band.capacity.slots = kOneSlot * integer_of(agent, "slots");
    cluster_.join(std::move(description));
  }

  /// The tasks that run already when the case begins, or those that wait.
  void submit(const cli::DocumentValue& from, bool running) {
    for (const cli::DocumentValue& group : field_of(from, "groups").items) {
      check_priority_range(group, "priority", checker_);
      priorities_[text_of(group, "id")] = static_cast<std::int32_t>(integer_of(group, "priority", kPriorityDefault));
    }
    std::vector<const cli::DocumentValue*> tasks;
    for (const cli::DocumentValue& task : field_of(from, "tasks").items)
      if (has_field(task, "running_on") == running) tasks.push_back(&task);
    std::stable_sort(tasks.begin(), tasks.end(), [](const auto* a, const auto* b) {
      const auto age = [](const cli::DocumentValue& task) {
        return std::pair{integer_of(task, "submitted"), integer_of(task, "requested")};
      };
      return age(*a) < age(*b);
    });
    for (const cli::DocumentValue* task : tasks) submit_one(*task);
  }

  /// Operators move the jobs into the order of their positions.
  void move_to_positions() {
    std::vector<std::pair<double, std::string>> order;
    for (const cli::DocumentField& each : field_of(file_, "queue_positions").fields)
      for (const cli::DocumentValue& task : field_of(file_, "tasks").items)
        if (text_of(task, "job") == each.name) order.emplace_back(position_of(each.value), text_of(task, "id"));
    std::sort(order.begin(), order.end());
    for (std::size_t i = 1; i < order.size(); ++i)
      if (const Result<Value> done =
              cluster_.ask("move", {job_named(order[i].second), "behind", job_named(order[i - 1].second)});
          !done)
        checker_.fail(to_string(done.error()));
  }

  void submit_one(const cli::DocumentValue& task) {
    if (jobs_.contains(text_of(task, "id"))) return complain("two tasks are called '" + text_of(task, "id") + "'");
    JobSpec spec;
    const std::string name = text_of(task, "id");
    spec.name = job_named(name);
    spec.keep = Keep::Nothing;
    spec.wait_for_resources = true;
    const auto known = priorities_.find(text_of(task, "job"));
    spec.priority = known == priorities_.end() ? kPriorityDefault : known->second;
    spec.policy.preemptible = flag_of(task, "preemptible", true) ? Preemptible::Yes : Preemptible::No;
    if (has_field(task, "running_on")) spec.policy.labels = {text_of(task, "running_on")};
    const auto slots = static_cast<std::uint32_t>(integer_of(task, "slots"));
    const bool fits = slots <= agent_slots(file_).most;
    if (!fits) spec.policy.gang = slots;
    Graph graph;
    Template& wanted = graph.templates.emplace_back();
    wanted.program = "hold";
    wanted.output_count = 0;
    wanted.request.slots = kOneSlot * (fits ? slots : 1);
    for (std::uint32_t i = 0; i < (fits ? 1 : slots); ++i)
      graph.template_of.push_back(0), graph.input_offsets.push_back(0);
    const SubmitReply reply = cluster_.submit(std::move(spec), graph);
    if (!reply.job.valid()) return complain("'" + name + "' is refused: " + to_string(reply.refusal));
    jobs_[name] = reply.job;
    slots_[reply.job] = fits ? slots : 1;
  }

  void take(const cli::DocumentValue& step) {
    const std::string op = text_of(step, "op");
    if (op == "schedule") return schedule(field_of(step, "expect"));
    if (op == "add_tasks") return submit(step, false);
    // Started jobs hold their slots at once; a case counts them from here on.
    if (op == "apply_allocations") applied_ = held();
    if (op == "check_empty_slots") return check_empty_slots(field_of(step, "expect"));
    if (op == "finish_tasks" || op == "preempted_exit") leave(field_of(step, "tasks"), op == "finish_tasks");
  }

  void schedule(const cli::DocumentValue& expect) {
    cluster_.settle();
    checker_.only_fields(expect, {"to_allocate", "to_release", "to_allocate_count", "to_release_count"});
    const std::map<SubtaskId, LiveRun> now = held();
    released_.clear();
    std::vector<std::string> started;
    for (const auto& [name, job] : jobs_) {
      const auto is_new = [&](const LiveRun& run) {
        const auto before = seen_.find(run.subtask);
        return before == seen_.end() || before->second.attempt != run.attempt;
      };
      const std::vector<LiveRun> runs = runs_of(name);
      if (std::any_of(runs.begin(), runs.end(), is_new)) started.push_back(name);
      if (std::any_of(runs.begin(), runs.end(),
                      [&](const LiveRun& run) { return run.asked && (is_new(run) || !seen_.at(run.subtask).asked); }))
        released_.push_back(name);
    }
    seen_ = now;
    check_moves(expect, "to_allocate", started);
    check_moves(expect, "to_release", released_);
  }

  void check_moves(const cli::DocumentValue& expect, const std::string& name, const std::vector<std::string>& got) {
    if (const cli::DocumentValue& set = field_of(expect, name); set.is_list())
      checker_.equal(at(name), set_text(texts_of(set)), set_text(got));
    if (has_field(expect, name + "_count"))
      checker_.equal(at(name), integer_of(expect, name + "_count"), static_cast<std::int64_t>(got.size()));
  }

  void check_empty_slots(const cli::DocumentValue& expect) {
    std::map<std::string, std::int64_t> empty;
    for (const cli::DocumentValue& agent : field_of(file_, "agents").items)
      empty[text_of(agent, "id")] = integer_of(agent, "slots");
    for (const auto& [id, run] : applied_) empty[cluster_.name_of(run.worker)] -= slots_.at(id.job);
    for (const cli::DocumentField& each : expect.fields) {
      if (!empty.contains(each.name)) return complain("there is no band '" + each.name + "'");
      checker_.equal(at("empty slots of " + each.name), whole_of(each.value), empty[each.name]);
    }
  }

  void leave(const cli::DocumentValue& list, bool done) {
    for (const std::string& name : list.is_list() ? texts_of(list) : released_) {
      if (runs_of(name).empty() && !(done && is_cancelled(name))) complain("'" + name + "' does not run");
      for (const LiveRun& run : runs_of(name)) {
        applied_.erase(run.subtask);
        seen_.erase(run.subtask);
        // A program that was asked to stop ends by a signal.
        cluster_.end(run.subtask, done, FailureClass::RunnerCrash);
      }
    }
  }

  /// A waiting job that a case ends is taken away by its owner.
  bool is_cancelled(const std::string& name) {
    return jobs_.contains(name) && cluster_.ask("cancel", {job_named(name)}).has_value();
  }

  std::vector<LiveRun> runs_of(const std::string& name) const {
    std::vector<LiveRun> runs;
    const auto job = jobs_.find(name);
    for (const auto& [id, run] : cluster_.runs())
      if (job != jobs_.end() && id.job == job->second) runs.push_back(run);
    return runs;
  }

  std::string at(const std::string& what) const { return "step " + std::to_string(step_) + ", " + what; }
  void complain(const std::string& what) { checker_.fail(at(what)); }
  const std::map<SubtaskId, LiveRun>& held() const { return cluster_.runs(); }

  const cli::DocumentValue& file_;
  CaseChecker checker_;
  LiveCluster cluster_;
  std::map<std::string, std::int32_t> priorities_;  ///< Of groups.
  std::map<std::string, JobId> jobs_;               ///< Of tasks.
  std::map<JobId, std::int64_t> slots_;             ///< Of one run.
  std::map<SubtaskId, LiveRun> seen_;               ///< At the latest pass of the case.
  std::map<SubtaskId, LiveRun> applied_;
  std::vector<std::string> released_;
  std::int64_t step_ = 0;
};

}  // namespace

bool runs_as_jobs(const cli::DocumentValue& file) {
  const cli::DocumentValue& setting = field_of(file, "scheduler");
  const std::vector<cli::DocumentValue>& steps = field_of(file, "steps").items;
  const AgentSlots slots = agent_slots(file);
  for (const cli::DocumentValue& agent : field_of(file, "agents").items)
    if (has_field(agent, "label") || flag_of(agent, "draining") || !flag_of(agent, "enabled", true)) return false;
  return text_of(setting, "type") == "priority" && !flag_of(setting, "heterogeneous") &&
         text_of(setting, "fitting", "best") == "best" && !has_field(setting, "default_priority") &&
         are_plain_positions(file) && flag_of(field_of(file, "tags"), "all_allocations_placeable", true) &&
         are_plain_tasks(file, slots.all) &&
         std::all_of(steps.begin(), steps.end(), [&](const auto& step) { return is_plain_step(step, slots.all); });
}

CaseVerdict check_schedule_case(const cli::DocumentValue& file, const std::string& id) {
  return LiveSchedule{file, id}.run();
}

}  // namespace penstock::tools
