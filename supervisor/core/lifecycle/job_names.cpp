#include "supervisor/core/lifecycle/job_names.hpp"

#include <algorithm>
#include <string>

#include "common/base/utc_text.hpp"

namespace penstock::supervisor {
namespace {

/// The same call has made the job, and its answer was lost.
bool repeats(const JobSpec& spec, const Job& known) {
  return spec.submitter != 0 && spec.submitter == known.spec.submitter;
}

bool differs(const JobSpec& spec, const Job& known) {
  return spec.content.valid() && known.spec.content.valid() && spec.content != known.spec.content;
}

std::string numbered(const std::string& name, std::uint64_t number) { return name + "-" + std::to_string(number); }

}  // namespace

Error JobNames::still_runs(const Job& job) {
  const std::string id = to_string(job.id);
  return {ErrorCode::WrongState, "job '" + job.spec.name + "'", "is " + id + ", which has not ended",
          "wait for its end (`penstock wait " + id + "`), or cancel it first (`penstock cancel " + id + "`)"};
}

// A name is its user's: another user may have a job of the same name, of which this one is told nothing.
Job* JobNames::own(const JobSpec& spec, const std::string& name) const {
  return jobs_.find(JobSelector{JobId::none(), name, {spec.owner, Viewer::Sees::Own}});
}

Result<Job*> JobNames::settle(JobSpec& spec) const {
  if (spec.name.empty()) return nullptr;
  Job* const known = own(spec, spec.name);
  if (known == nullptr || repeats(spec, *known)) return known;
  const bool runs = known->status.state == JobState::Running;
  switch (spec.name_use) {
    case NameUse::Same: break;
    case NameUse::Number: return take_number(spec);
    case NameUse::Replace:
      if (runs) return still_runs(*known);
      return nullptr;
    case NameUse::Rerun:
      if (differs(spec, *known)) return other_content(*known, spec);
      if (runs) return still_runs(*known);
      spec.runs = Seldom{runs_after(*known)};
      return nullptr;
  }
  if (differs(spec, *known)) return other_content(*known, spec);
  return known;
}

/// Ends at the first number without a job: there are only so many jobs.
Job* JobNames::take_number(JobSpec& spec) const {
  for (std::uint64_t number = 2;; ++number) {
    std::string name = numbered(spec.name, number);
    Job* const known = own(spec, name);
    if (known != nullptr && !repeats(spec, *known)) continue;
    spec.name = std::move(name);
    return known;
  }
}

JobRuns JobNames::runs_after(const Job& last) const {
  JobRuns runs = *last.spec.runs;
  runs.whole = {};
  ++runs.number;
  runs.earlier.push_back(
      {last.id, last.status.state, clock_.unix_ms(last.status.submitted), clock_.unix_ms(last.status.ended)});
  if (runs.earlier.size() > earlier_runs_max_)
    runs.earlier.erase(runs.earlier.begin(), runs.earlier.end() - static_cast<std::ptrdiff_t>(earlier_runs_max_));
  return runs;
}

std::string JobNames::describe(const Job& job) const {
  std::string text = "submitted " + utc_text(clock_.unix_ms(job.status.submitted)) + ", ";
  if (job.status.state == JobState::Running) return text + "running";
  return text + std::string{to_string(job.status.state)} + " " + utc_text(clock_.unix_ms(job.status.ended));
}

Error JobNames::other_content(const Job& known, const JobSpec& spec) const {
  const std::string id = to_string(known.id);
  std::uint64_t free = 2;
  while (own(spec, numbered(spec.name, free)) != nullptr) ++free;
  return {ErrorCode::NameTaken, "job '" + spec.name + "'",
          "is " + id + ", which does something else: its content is " + to_short_string(known.spec.content) + " (" +
              describe(known) + "), that of this submission " + to_short_string(spec.content) + " (" +
              utc_text(clock_.unix_ms(now_)) + ")",
          "`--replace` cancels " + id + " and runs this, `--new` runs this as '" + numbered(spec.name, free) +
              "', `penstock rerun " + id + "` runs the former content again"};
}

}  // namespace penstock::supervisor
