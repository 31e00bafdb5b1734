// Reference cases of passes by priority in which a task is larger than all agents together.
// tidy: foreign-file task, tasks, agent, agents, scheduler
#include <algorithm>
#include <map>
#include <vector>

#include "common/protocol/policy_config.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/snapshot.hpp"
#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {
namespace {

using namespace penstock::policy;

/// One pass over tasks that wait. Such a task holds others back in the system of the cases, and never in Penstock
/// (Spec: faults F24): it is refused, or no pass sees it. So a snapshot has it, and no cluster.
class OversizedCase {
 public:
  OversizedCase(const cli::DocumentValue& file, const std::string& id)
      : file_(file), checker_(id, text_of(file, "kind")) {}

  CaseVerdict run() {
    for (const cli::DocumentValue& agent : field_of(file_, "agents").items) {
      Band& band = snapshot_.bands.emplace_back();
      band.name = text_of(agent, "id");
      band.slots = integer_of(agent, "slots");
    }
    for (const cli::DocumentValue& task : field_of(file_, "tasks").items) add(task);
    for (const cli::DocumentValue& step : field_of(file_, "steps").items) {
      const std::string op = text_of(step, "op");
      if (op == "schedule")
        schedule(field_of(step, "expect"));
      else if (op == "check_empty_slots")  // Nothing runs yet.
        for (const cli::DocumentField& each : field_of(step, "expect").fields)
          checker_.equal("empty slots of " + each.name, whole_of(each.value), slots_of(each.name));
      else
        checker_.fail("the step '" + op + "' is not understood");
    }
    return checker_.take();
  }

 private:
  void add(const cli::DocumentValue& task) {
    if (has_field(task, "running_on"))
      checker_.fail("`running_on` is not understood beside a task larger than all agents");
    Workload& workload = snapshot_.workloads.emplace_back();
    workload.priority = -kPriorityDefault;
    for (const cli::DocumentValue& group : field_of(file_, "groups").items)
      if (text_of(group, "id") == text_of(task, "job"))
        workload.priority = -integer_of(group, "priority", kPriorityDefault);
    Member& member = snapshot_.members.emplace_back();
    member.name = workload.name = text_of(task, "id");
    member.workload = static_cast<std::uint32_t>(snapshot_.workloads.size() - 1);
    member.slots = integer_of(task, "slots");
    member.submitted = workload.submitted = integer_of(task, "submitted");
  }

  void schedule(const cli::DocumentValue& expect) {
    checker_.runs_by(CaseWay::Pass);
    checker_.only_fields(expect, {"to_allocate", "to_release"});
    Parts parts = *preset("priority");
    parts.preemption = flag_of(field_of(file_, "scheduler"), "preemption");
    parts.waits_for_absent_bands = true;
    std::vector<std::string> starts;
    for (const Start& each : PolicyEngine{{parts}}.pass(snapshot_).starts)
      starts.push_back(snapshot_.members[each.member].name);
    checker_.equal("to_allocate", set_text(texts_of(field_of(expect, "to_allocate"))), set_text(starts));
    checker_.equal("to_release", set_text(texts_of(field_of(expect, "to_release"))), "[]");
  }

  std::int64_t slots_of(const std::string& agent) const {
    for (const Band& band : snapshot_.bands)
      if (band.name == agent) return band.slots;
    return -1;
  }

  const cli::DocumentValue& file_;
  CaseChecker checker_;
  Snapshot snapshot_;
};

}  // namespace

CaseVerdict check_oversized_case(const cli::DocumentValue& file, const std::string& id) {
  return OversizedCase{file, id}.run();
}

}  // namespace penstock::tools
