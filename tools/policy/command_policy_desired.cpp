// Reference cases of the number of workers that waiting jobs would keep busy.
// tidy: foreign-file task, tasks, agents
#include <map>
#include <vector>

#include "supervisor/core/driver/desired_workers.hpp"
#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {
namespace {

/// Tasks that wait, and the workers that `pools` would ask for.
class DesiredWorkers {
 public:
  DesiredWorkers(const cli::DocumentValue& file, const std::string& id)
      : file_(file), checker_(id, text_of(file, "kind")) {}

  CaseVerdict run() {
    add(file_);
    for (const cli::DocumentValue& step : field_of(file_, "steps").items) {
      const std::string op = text_of(step, "op");
      if (op == "add_tasks")
        add(step);
      else if (op == "force_running" || op == "force_pending")
        for (const std::string& name : texts_of(field_of(step, "tasks"))) set_waiting(name, op == "force_pending");
      else if (op == "desired_agents")
        check(step);
      else
        checker_.fail("the step '" + op + "' is not understood");
    }
    return checker_.take();
  }

 private:
  struct Task {
    std::string job;
    std::int64_t slots = 0;
    bool waits = true;
  };

  void add(const cli::DocumentValue& from) {
    for (const cli::DocumentValue& group : field_of(from, "groups").items) {
      check_amounts(group, {"max_slots"}, checker_);
      if (has_field(group, "max_slots")) caps_[text_of(group, "id")] = integer_of(group, "max_slots");
    }
    for (const cli::DocumentValue& task : field_of(from, "tasks").items)
      tasks_[text_of(task, "id")] = {text_of(task, "job"), integer_of(task, "slots")};
  }

  void set_waiting(const std::string& name, bool waits) {
    const auto task = tasks_.find(name);
    if (task == tasks_.end()) return checker_.fail("no member is called '" + name + "'");
    task->second.waits = waits;
  }

  void check(const cli::DocumentValue& step) {
    std::map<std::string, supervisor::WaitingRequests> jobs;
    for (const auto& [name, task] : tasks_)
      if (task.waits) jobs[task.job].requests.push_back({task.slots, 1});
    std::vector<supervisor::WaitingRequests> waiting;
    for (auto& [name, job] : jobs) {
      const auto cap = caps_.find(name);
      if (flag_of(step, "use_group_caps") && cap != caps_.end()) job.slots_max = cap->second;
      waiting.push_back(std::move(job));
    }
    for (const cli::DocumentValue& each : field_of(step, "expect").items) {
      checker_.only_fields(each, {"slots_per_agent", "max_zero_slot_per_agent", "agents"});
      checker_.demand(each, "agents", "expect[]");
      const supervisor::WorkerShape shape{integer_of(each, "slots_per_agent"),
                                          integer_of(each, "max_zero_slot_per_agent")};
      checker_.equal("workers of " + std::to_string(shape.slots) + " slots, " + std::to_string(shape.light_places) +
                         " light places",
                     integer_of(each, "agents"), supervisor::desired_workers(waiting, shape));
    }
  }

  const cli::DocumentValue& file_;
  CaseChecker checker_;
  std::map<std::string, std::int64_t> caps_;  ///< Of jobs.
  std::map<std::string, Task> tasks_;
};

}  // namespace

CaseVerdict check_desired_workers(const cli::DocumentValue& file, const std::string& id) {
  return DesiredWorkers{file, id}.run();
}

}  // namespace penstock::tools
