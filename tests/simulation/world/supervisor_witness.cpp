#include "tests/simulation/world/supervisor_witness.hpp"

#include <algorithm>
#include <utility>

#include "tests/simulation/world/policies.hpp"
#include "tests/simulation/world/worker_host.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

using namespace supervisor;
using namespace supervisor::supervisor_action;

SupervisorView::SupervisorView(SupervisorHost& host) : host_(host), world_(host.world()) {}

const SupervisorCore& SupervisorView::core() const { return host_.core(); }

const SupervisorConfig& SupervisorView::config() const { return host_.config(); }

ProgressWitness::ProgressWitness(SupervisorHost& host)
    : SupervisorView(host), watchdog_(host.config().watchdog_after) {}

void ProgressWitness::begin() {
  watchdog_ = WatchdogWitness{config().watchdog_after};
  alarms_ = succeeded_ = 0;
}

/// All that may begin or end something, and more. Left are ticks, plans of the policy, and words of load.
bool ProgressWitness::is_progress(const SupervisorEvent& event) {
  if (std::holds_alternative<supervisor_event::Tick>(event) ||
      std::holds_alternative<supervisor_event::PassEnded>(event) ||
      std::holds_alternative<supervisor_event::WorkerSuspected>(event))
    return false;
  const auto* said = std::get_if<supervisor_event::WorkersSaid>(&event);
  if (said == nullptr) return true;
  return !std::all_of(said->said.begin(), said->said.end(), [](const supervisor_event::WorkerSaid& each) {
    const auto* report = std::get_if<ReportBatch>(&each.message);
    return report != nullptr && report->jobs.empty();
  });
}

/// Not in a branch that has jobs which no client knows, and not where nobody waits for the alarm in time.
void ProgressWitness::look(bool progress) {
  if (host_.branch() > 1 || config().watchdog_after >= kWatchdogPatient) return;
  const std::vector<JobId> jobs = world_.jobs();
  const auto running = static_cast<std::size_t>(std::count_if(jobs.begin(), jobs.end(), [this](JobId id) {
    const Job* job = core().find_job(id);
    return job != nullptr && job->status.state == JobState::Running;
  }));
  const bool changed = std::exchange(running_jobs_, running) != running;
  const bool succeeded = std::exchange(succeeded_, core().counters().succeeded) != core().counters().succeeded;
  const WorkerTable& table = core().workers();
  bool runs = false;
  for (std::uint32_t i = 0; i < table.band_slots(); ++i) {
    const BandLoad& load = table[BandSlot{i}].load;
    runs |= table[BandSlot{i}].alive && load.running + load.yielded > 0;
  }
  watchdog_.note_load(runs, world_.now());
  if (progress || changed || running == 0 || core().reclaiming()) watchdog_.progress(world_.now(), succeeded);
  std::string breach;
  if (std::exchange(alarms_, core().counters().watchdog_alerts) != alarms_)
    breach = watchdog_.alarm();
  else
    breach = watchdog_.look(world_.now());
  if (!breach.empty()) world_.oracle().breach(std::move(breach));
}

SupervisorWitness::SupervisorWitness(SupervisorHost& host)
    : SupervisorView(host), plans_(host), gang_starts_(host), orders_(host), progress_(host) {}

void SupervisorWitness::begin(std::unique_ptr<SupervisorCore> core) {
  const bool first = core_ == nullptr;
  if (!first) {
    adopted_before_ = adopted();
    passes_before_ = passes();
    preemptions_before_ = preemptions();
  }
  core_ = std::move(core);
  if (first) return;
  gang_starts_.clear();
  idle_.clear();
  progress_.begin();
  reclaiming_ = true;
}

void SupervisorWitness::stood_still_until(Instant when) {
  progress_.stood_still_until(when);
  idle_.clear();
  plans_.stood_still();
}

void SupervisorWitness::note(const SupervisorEvent& event) const {
  constexpr const char* kEvents[] = {"supervisor: a worker joined",
                                     "supervisor: a worker said something",
                                     "supervisor: a worker is suspected or trusted",
                                     "supervisor: a worker was lost",
                                     "supervisor: a graph was checked",
                                     "supervisor: the client said something",
                                     "supervisor: the client is gone",
                                     "supervisor: tick",
                                     "supervisor: the journal has written",
                                     "supervisor: the journal cannot be written",
                                     "supervisor: a new life begins",
                                     "supervisor: workers said something",
                                     "supervisor: a pass of the policy has ended",
                                     "supervisor: the policy was read"};
  static_assert(std::size(kEvents) == std::variant_size_v<SupervisorEvent>);
  world_.note(kEvents[event.index()]);
}

void SupervisorWitness::handle(SupervisorEvent&& event, Instant now, Actions<SupervisorAction>& actions) {
  note(event);
  const std::size_t before = actions.size();
  const auto* ended = std::get_if<supervisor_event::PassEnded>(&event);
  const bool planned = ended != nullptr;
  const bool gone = std::holds_alternative<supervisor_event::ClientGone>(event);
  const bool applied = planned && plans_.applies(*ended);
  const bool progress = ProgressWitness::is_progress(event);
  core_->handle(std::move(event), now, actions);
  if (planned) plans_.check_plan();
  if (planned) plans_.check_together();
  if (applied) plans_.check_limits_and_gangs();
  plans_.check_one_pool();
  // Each check looks at every job: with thousands of them it is made now and then.
  if (world_.options().validate && ++handled_ % (1 + world_.options().jobs_max / 64) == 0) core_->validate();
  if (gone) check_followers();
  progress_.look(progress);
  if (idle_.is_due(world_.now()))
    if (std::string breach = idle_.look(*core_, world_.jobs(), world_.now()); !breach.empty())
      world_.oracle().breach(breach + world_.describe_unfinished());
  if (std::exchange(reclaiming_, core_->reclaiming()) && !reclaiming_) give_up_absent();
  for (std::size_t i = before; i < actions.size(); ++i) look_at(actions[i]);
}

void SupervisorWitness::look_at(const SupervisorAction& action) {
  if (const auto* order = std::get_if<SendToWorker>(&action)) orders_.ordered(*order);
  if (const auto* word = std::get_if<SendToClient>(&action)) orders_.answered(*word);
  if (const auto* pass = std::get_if<RunPass>(&action)) plans_.pass_begins(pass->snapshot);
}

/// After a client is gone nobody is told of a job for it.
void SupervisorWitness::check_followers() const {
  for (const JobId id : world_.jobs())
    if (const Job* job = core().find_job(id); job != nullptr)
      for (const ClientId follower : job->outbox.followers())
        if (!host_.shell().clients().find(follower).valid())
          world_.oracle().breach(to_string(id) + " has a follower that is gone");
}

/// A worker that has not come back in time may find that others have its work.
void SupervisorWitness::give_up_absent() const {
  for (const auto& host : world_.workers()) {
    const WorkerSlot slot = core().workers().find(host_.number_of(*host));
    if (!slot.valid() || core().workers()[slot].claiming) {
      world_.note("supervisor: life % is not waited for any more", {host->life()});
      world_.oracle().life_lost(host->life());
    }
  }
}

}  // namespace penstock::simulation
