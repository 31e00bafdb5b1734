#include "supervisor/core/lifecycle/nested_runs.hpp"

#include <string>
#include <vector>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/jobs/nested_jobs.hpp"
#include "supervisor/core/lifecycle/job_releases.hpp"
#include "supervisor/core/runs/subtask_ends.hpp"

namespace penstock::supervisor {

bool is_under_way(const JobTable& jobs, const SubtaskId& id, Attempt attempt) {
  const Job* job = jobs.find(id.job);
  if (job == nullptr || job->status.state != JobState::Running || id.index.value() >= job->hot.size()) return false;
  const SubtaskHot& hot = job->hot[id.index.value()];
  if (hot.phase == SubtaskPhase::Assigned) return hot.attempt == attempt.value();
  // Of a run of before a restart its worker has still to tell.
  return job->status.recovering && !is_final(hot.phase);
}

Result<void> NestedRuns::take_after_parent(JobSpec& spec) const {
  if (!spec.parent.any()) return {};
  ParentRun& run = spec.parent.edit();
  const std::string name = to_string(run.id) + ", attempt " + std::to_string(run.attempt.value());
  const Job* parent = jobs_.find(run.id.job);
  // Numbers can be guessed. A submitter without the identity would take the owner and the policy of any job.
  if (parent == nullptr || parent->identity != run.identity || !is_under_way(jobs_, run.id, run.attempt)) {
    PENSTOCK_COVERAGE_MARK("a run that is over submits a job");
    return Error{ErrorCode::WrongState, name, "submits a job and is over itself", "submit it as a detached job"};
  }
  run.depth = parent->spec.parent->depth + 1U;
  if (run.depth > config_.nesting_max)
    return Error{ErrorCode::LimitExceeded, name,
                 "is " + std::to_string(config_.nesting_max) + " jobs deep in nested ones and submits another",
                 "end the recursion earlier, or raise `supervisor.nesting_max`"};
  if (nested_.of(run.id).size() >= config_.children_max)
    return Error{ErrorCode::LimitExceeded, name,
                 "has submitted " + std::to_string(config_.children_max) + " jobs that are not released",
                 "release their results, submit more calls together, or raise `supervisor.children_max`"};
  spec.owner = parent->spec.owner;
  spec.share = parent->spec.share;
  if (!spec.secrets.any()) spec.secrets = parent->spec.secrets;
  spec.priority = parent->scale.written(parent->spec.priority);
  spec.policy = parent->spec.policy;
  spec.policy.gang = spec.policy.gang_max = spec.policy.gang_groups = spec.policy.slots_max = 0;
  spec.policy.together.clear();
  return {};
}

void NestedRuns::adopt(const Job& child) {
  if (!child.spec.parent.any()) return;
  const ParentRun& run = *child.spec.parent;
  nested_.add(run.id, {child.id, run.attempt});
  Job* parent = jobs_.find(run.id.job);
  if (parent != nullptr) parent->tally.has_children = true;
  if (!is_under_way(jobs_, run.id, run.attempt)) nested_.note_moved(run.id);
}

bool NestedRuns::any_to_end() const { return nested_.any_moved(); }

void NestedRuns::end_children() {
  for (const SubtaskId& parent : nested_.take_moved()) {
    std::vector<JobId> over;
    for (const NestedJobs::Child& child : nested_.of(parent))
      if (!is_under_way(jobs_, parent, child.attempt)) over.push_back(child.job);
    for (const JobId id : over) {
      Job* child = jobs_.find(id);
      if (child == nullptr) continue;
      jobs_.remove_name(*child);  // A job that is submitted by that name from now on is another one.
      releases_.spend(*child);
      if (child->status.state != JobState::Running) {
        releases_.release_job(*child);
        continue;
      }
      PENSTOCK_COVERAGE_MARK("a nested job ended with the run that had submitted it");
      child->outputs.release_when_unreferenced = true;
      ends_.cancel_job(
          *child,
          {ErrorCode::Cancelled, to_string(parent), "has ended, and with it the jobs that it had submitted",
           "wait for their results in the call, or submit them as detached jobs"},
          kDefaultGrace);
    }
  }
}

}  // namespace penstock::supervisor
