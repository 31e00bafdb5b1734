// A state that is put back while workers and clients still know what came after it.
#include <algorithm>

#include "tests/simulation/world/worker_host.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using std::chrono::milliseconds;
using supervisor::Job;
using supervisor::SubtaskHot;
using supervisor::SubtaskPhase;

// As `penstock state restore` does, and the start of a supervisor that finds the end of its journal torn.
void SupervisorHost::put_back(const Backup& backup) {
  world_.note("supervisor: its state is put back");
  std::set<Oracle::Life> linked;
  for (const auto& host : world_.workers())
    if (host->link().endpoint() != nullptr) linked.insert(host->life());
  world_.oracle().put_back(backup.oracle, linked);
  disk_.put_back(backup.disk);
  // Production takes the seconds of the clock, which grow faster than lives are counted.
  const auto clock = static_cast<std::uint64_t>(world_.now().time_since_epoch() / milliseconds{1});
  term_ = std::max(backup.term, 1'000'000 + clock);
  ++branch_;
  witness_.orders().forget_drains();
  witness_.plans().forget();
}

// The reaction of its engine when it is told that the supervisor has started anew: it asks for each job by name and
// identity.
void ClientHost::follow_branch() {
  if (std::exchange(branch_, world_.supervisor().branch()) == world_.supervisor().branch()) return;
  had_ended_.merge(std::exchange(ended_, {}));
  std::erase_if(unsent_, [](const FromClient& message) { return !std::holds_alternative<AdminRequest>(message); });
}

/// Messages of a supervisor may still arrive after its state was replaced; they count for nothing.
bool ClientHost::is_of_this_branch() const { return branch_ == world_.supervisor().branch(); }

void ClientHost::told_anew(JobId job) {
  if (is_of_this_branch()) world_.oracle().client_reattached(job);
}

namespace {

bool is_under_way(const SupervisorHost& supervisor, const ParentRun& run) {
  const Job* job = supervisor.up() ? supervisor.core().find_job(run.id.job) : nullptr;
  if (job == nullptr || job->status.state != JobState::Running || run.id.index.value() >= job->hot.size()) return false;
  const SubtaskHot& hot = job->hot[run.id.index.value()];
  return hot.phase == SubtaskPhase::Assigned && hot.attempt == run.attempt.value();
}

}  // namespace

/// A job of before the state was put back: the engine submits it again, but for what it has had already and what
/// borrows from a job that may be gone, too.
void ClientHost::is_gone(std::uint64_t number, const Error& why) {
  const auto accepted = book_.accepted.find(number);
  if (accepted == book_.accepted.end()) return;
  const JobId job = accepted->second;
  // A nested job without its run is kept only for as long as somebody follows it. A worker may claim that run once
  // more after its supervisor had given it up at the end of a restart.
  const JobSpec& spec = book_.specs[number];
  const bool spent = spec.parent.any() &&
                     (world_.options().faults.supervisor_restarts || !is_under_way(world_.supervisor(), *spec.parent));
  const bool may_be =
      spent || (world_.supervisor().branch() > 1 &&
                (!world_.oracle().knows(job, book_.identities[number]) || world_.oracle().has_ended(job)));
  if (!may_be) return world_.oracle().breach("an accepted job is unknown: " + to_string(why));
  world_.note("client: job % is gone", {job.value()});
  book_.accepted.erase(accepted);
  std::erase(jobs_, job);
  if (spent) world_.oracle().job_forgotten(job);
  if (had_ended_.erase(job) == 0 && !is_referencing(number) && !spent)
    return submit(static_cast<std::uint32_t>(number));
  book_.submitted.erase(number);
  --wanted_;
}

}  // namespace penstock::simulation
