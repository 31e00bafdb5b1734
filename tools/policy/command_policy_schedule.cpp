// tidy: foreign-file task, tasks, agent, agents, scheduler
#include "tools/policy/command_policy_schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tools/policy/schedule_jobs.hpp"

namespace penstock::tools {
namespace {

/// A number of an answer, whole or not; 0: it is none.
double amount_of(const Value& value) {
  if (const std::int64_t* whole = value.integer()) return static_cast<double>(*whole);
  return value.number() == nullptr ? 0 : *value.number();
}

/// The steps of a case. Programs that are asked to stop stay until the case lets them leave, where they hold slots.
class LiveSchedule {
 public:
  LiveSchedule(const cli::DocumentValue& file, const std::string& id)
      : file_(file), checker_(id, text_of(file, "kind")), jobs_(file, checker_) {}

  CaseVerdict run() {
    seen_ = applied_ = held();
    jobs_.release();
    jobs_.move_to(field_of(file_, "queue_positions"));
    for (const cli::DocumentValue& step : field_of(file_, "steps").items) {
      ++step_;
      take(step);
    }
    if (step_ == 0) checker_.fail("the case has no steps");
    for (const Error& trouble : jobs_.cluster().troubles()) checker_.fail(to_string(trouble));
    return checker_.take();
  }

 private:
  void take(const cli::DocumentValue& step) {
    const std::string op = text_of(step, "op");
    const cli::DocumentValue& expect = field_of(step, "expect");
    if (op == "note") return;
    if (op == "schedule") return schedule(expect);
    if (op == "add_tasks") return jobs_.submit(step);
    // Started jobs hold their slots at once; a case counts them from here on.
    if (op == "apply_allocations") return void(applied_ = held());
    if (op == "check_empty_slots") return check_empty_slots(expect);
    if (op == "finish_tasks" || op == "preempted_exit") return leave(field_of(step, "tasks"), op == "finish_tasks");
    if (op == "set_positions") return jobs_.move_to(field_of(step, "positions"));
    if (op == "set_weight") {
      check_weight(step, checker_);
      return jobs_.set_weight(text_of(step, "job"), number_of(step, "weight", 1));
    }
    if (op == "set_priority") {
      check_priority_range(step, "priority", checker_);
      if (checker_.demand(step, "priority", "")) jobs_.set_priority(text_of(step, "job"), integer_of(step, "priority"));
      return;
    }
    if (op == "job_queue") return check_queue(expect);
    if (op == "queue_counts") return check_counts(expect);
    complain("the step '" + op + "' is not understood");
  }

  void schedule(const cli::DocumentValue& expect) {
    jobs_.cluster().settle();
    checker_.only_fields(expect, {"to_allocate", "to_release", "to_allocate_count", "to_release_count",
                                  "to_allocate_by_group", "to_release_by_group"});
    std::vector<std::string> started;
    released_.clear();
    for (const auto& [name, task] : jobs_.tasks()) {
      const std::vector<LiveRun> runs = jobs_.runs_of(name);
      if (std::any_of(runs.begin(), runs.end(), [&](const LiveRun& run) { return is_new(run); }))
        started.push_back(name);
      if (std::any_of(runs.begin(), runs.end(), [](const LiveRun& run) { return run.asked; }) || has_left(task))
        released_.push_back(name);
    }
    seen_ = held();
    check_moves(expect, "to_allocate", started);
    check_moves(expect, "to_release", released_);
  }

  bool is_new(const LiveRun& run) const {
    const auto before = seen_.find(run.subtask);
    return before == seen_.end() || before->second.attempt != run.attempt;
  }

  /// Whether a run has left because it was asked to.
  bool has_left(const ScheduleJobs::Task& task) const {
    for (std::uint32_t i = task.first; i < task.first + task.count; ++i) {
      const SubtaskId subtask{task.id, SubtaskIndex{i}};
      const auto now = held().find(subtask);
      if (seen_.contains(subtask) && (now == held().end() || is_new(now->second))) return true;
    }
    return false;
  }

  void check_moves(const cli::DocumentValue& expect, const std::string& name, const std::vector<std::string>& got) {
    if (const cli::DocumentValue& set = field_of(expect, name); set.is_list())
      checker_.equal(at(name), set_text(texts_of(set)), set_text(got));
    if (has_field(expect, name + "_count"))
      checker_.equal(at(name), integer_of(expect, name + "_count"), static_cast<std::int64_t>(got.size()));
    if (const cli::DocumentValue& groups = field_of(expect, name + "_by_group"); groups.is_table())
      check_groups(groups, name, got);
  }

  void check_groups(const cli::DocumentValue& groups, const std::string& name, const std::vector<std::string>& got) {
    std::map<std::string, std::int64_t> counts;
    for (const std::string& task : got) ++counts[jobs_.tasks().at(task).group];
    std::vector<std::string> expected;
    std::vector<std::string> counted;
    bool says_any = groups.fields.empty();
    for (const cli::DocumentField& each : groups.fields) {
      says_any = says_any || each.value.kind != cli::DocumentValue::Kind::Null;
      if (each.value.kind == cli::DocumentValue::Kind::Null)
        counts.erase(each.name);  // The case does not give a number.
      else if (whole_of(each.value) != 0)
        expected.push_back(each.name + " " + std::to_string(whole_of(each.value)));
    }
    if (!says_any && counts.empty()) return;  // Without numbers there is nothing to compare.
    for (const auto& [group, count] : counts) counted.push_back(group + " " + std::to_string(count));
    checker_.equal(at(name), set_text(expected), set_text(counted));
  }

  void check_empty_slots(const cli::DocumentValue& expect) {
    std::map<std::string, std::int64_t> empty;
    for (const cli::DocumentValue& agent : field_of(file_, "agents").items)
      empty[text_of(agent, "id")] = integer_of(agent, "slots");
    for (const auto& [name, task] : jobs_.tasks())
      for (std::uint32_t i = task.first; i < task.first + task.count; ++i)
        if (const auto run = applied_.find({task.id, SubtaskIndex{i}}); run != applied_.end())
          empty[jobs_.cluster().name_of(run->second.worker)] -= task.slots;
    for (const cli::DocumentField& each : expect.fields) {
      if (!empty.contains(each.name)) return complain("there is no band '" + each.name + "'");
      if (!each.value.is_number()) return complain("empty slots of " + each.name + ": must be a number");
      checker_.equal(at("empty slots of " + each.name), whole_of(each.value), empty[each.name]);
    }
  }

  void leave(const cli::DocumentValue& list, bool done) {
    for (const std::string& name : list.is_list() ? texts_of(list) : released_) {
      const std::vector<LiveRun> runs = jobs_.runs_of(name);
      // A waiting job that a case ends is taken away by its owner.
      if (runs.empty() && done)
        jobs_.cancel(name);
      else if (runs.empty())
        complain("'" + name + "' does not run");
      for (const LiveRun& run : runs) {
        applied_.erase(run.subtask);
        seen_.erase(run.subtask);
        // A program that was asked to stop ends by a signal.
        jobs_.cluster().end(run.subtask, done, FailureClass::RunnerCrash);
      }
    }
  }

  struct QueueRow {
    std::string group;
    double slots = 0;
    double wanted = 0;
    bool holds_any = false;
  };

  /// Groups of which jobs wait or run, in the order in which operators see them.
  std::vector<QueueRow> queue() {
    std::vector<QueueRow> rows;
    const Result<Value> answer = jobs_.cluster().ask("queue");
    if (!answer || answer->list() == nullptr) return rows;
    for (const Value& row : *answer->list()) {
      const std::string group = jobs_.group_of(*row["name"].text());
      auto of = std::find_if(rows.begin(), rows.end(), [&](const QueueRow& each) { return each.group == group; });
      if (of == rows.end()) of = rows.insert(of, {group});
      of->holds_any = of->holds_any || amount_of(row["slots"]) > 0;
      if (row["bands"] != Value{"cpu"}) continue;  // Places of tasks without slots.
      of->slots += amount_of(row["slots"]);
      of->wanted += amount_of(row["wanted"]);
    }
    return rows;
  }

  void check_queue(const cli::DocumentValue& expect) {
    checker_.only_fields(expect, {"jobs", "count"});
    const std::vector<QueueRow> rows = queue();
    if (has_field(expect, "count"))
      checker_.equal(at("count"), integer_of(expect, "count"), static_cast<std::int64_t>(rows.size()));
    for (const cli::DocumentField& each : field_of(expect, "jobs").fields) {
      checker_.only_fields(each.value, {"state", "allocated", "requested", "jobs_ahead"});
      const auto row =
          std::find_if(rows.begin(), rows.end(), [&](const QueueRow& one) { return one.group == each.name; });
      if (row == rows.end()) {
        complain("expect.jobs: there is no job '" + each.name + "'");
        continue;
      }
      // Where jobs share, none is ahead of another.
      const bool in_order = text_of(field_of(file_, "scheduler"), "type") == "priority";
      const auto number = [&](const char* field, std::int64_t got) {
        if (has_field(each.value, field))
          checker_.equal(at(each.name + " " + field), integer_of(each.value, field), got);
      };
      if (has_field(each.value, "state"))
        checker_.equal(at(each.name), text_of(each.value, "state"), row->holds_any ? "scheduled" : "queued");
      number("allocated", static_cast<std::int64_t>(row->slots));
      number("requested", static_cast<std::int64_t>(row->wanted));
      number("jobs_ahead", in_order ? row - rows.begin() : -1);
    }
  }

  void check_counts(const cli::DocumentValue& expect) {
    checker_.only_fields(expect, {"queued", "scheduled"});
    for (const char* field : {"queued", "scheduled"}) checker_.demand(expect, field);
    std::int64_t queued = 0;
    std::int64_t scheduled = 0;
    for (const QueueRow& row : queue()) ++(row.holds_any ? scheduled : queued);
    checker_.equal(at("queued"), integer_of(expect, "queued"), queued);
    checker_.equal(at("scheduled"), integer_of(expect, "scheduled"), scheduled);
  }

  std::string at(const std::string& what) const { return "step " + std::to_string(step_) + ", " + what; }
  void complain(const std::string& what) { checker_.fail(at(what)); }
  const std::map<SubtaskId, LiveRun>& held() const { return jobs_.cluster().runs(); }

  const cli::DocumentValue& file_;
  CaseChecker checker_;
  ScheduleJobs jobs_;
  std::map<SubtaskId, LiveRun> seen_;  ///< At the latest pass of the case.
  std::map<SubtaskId, LiveRun> applied_;
  std::vector<std::string> released_;
  std::int64_t step_ = 0;
};

}  // namespace

bool runs_as_jobs(const cli::DocumentValue& file) {
  const std::int64_t slots = slots_of_agents(file);
  const auto is_too_large = [slots](const cli::DocumentValue& task) { return integer_of(task, "slots") > slots; };
  const std::vector<cli::DocumentValue>& tasks = field_of(file, "tasks").items;
  const std::ptrdiff_t too_large = std::count_if(tasks.begin(), tasks.end(), is_too_large);
  return too_large == 0 || too_large == std::ssize(tasks) ||
         text_of(field_of(file, "scheduler"), "type") != "priority";
}

CaseVerdict check_schedule_case(const cli::DocumentValue& file, const std::string& id) {
  return LiveSchedule{file, id}.run();
}

}  // namespace penstock::tools
