#include "tests/simulation/world/worker_witness.hpp"

#include <algorithm>
#include <bit>

#include "tests/simulation/world/graphs.hpp"
#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker::worker_action;

WorkerWitness::WorkerWitness(WorkerHost& host) : host_(host), world_(host.world()) {}

void WorkerWitness::note_entitlements(const EntitlementBatch& batch) {
  if (batch.version <= entitlement_version_) return;
  entitlement_version_ = batch.version;
  for (const Entitlement& each : batch.entitlements) {
    const MilliSlots held = reservations_.held_for(each.job, each.band);
    begins_.erase({each.job, each.band});
    if (each.barrier == 0 && each.slots > MilliSlots{0} && held > MilliSlots{0})
      begins_[{each.job, each.band}] = std::min(held, each.slots);
  }
  for (const Entitlement& each : batch.entitlements)
    reservations_.told(each, world_.now(), world_.config().worker.barrier_margin);
  for (const Entitlement& each : batch.entitlements)
    entitled_[{each.job, each.band}] = each.barrier == 0 ? each.slots : MilliSlots{};
}

void WorkerWitness::note_order(const ToWorker& order) {
  const auto leaves = [&](JobId job) {
    reservations_.forgotten(job);
    std::erase_if(begins_, [&](const auto& each) { return each.first.first == job; });
    for (const auto& [record, run] : host_.programs().runs())
      if (run.id.job == job) graces_.may_end(run.id);
  };
  if (const auto* drain = std::get_if<Drain>(&order); drain != nullptr && !drain->enabled) draining_ = false;
  if (const auto* forget = std::get_if<ForgetJob>(&order)) leaves(forget->job);
  if (const auto* batch = std::get_if<AssignBatch>(&order))
    for (const Assignment& each : batch->assignments) given_[{batch->job, each.subtask}] = each.band;
  const auto* cancel = std::get_if<CancelBatch>(&order);
  if (cancel == nullptr) return;
  if (cancel->whole_job) return leaves(cancel->job);
  for (const auto& [record, run] : host_.programs().runs())
    for (const AttemptRef& each : cancel->attempts) {
      if (run.id != SubtaskId{cancel->job, each.subtask} || run.attempt != each.attempt) continue;
      if (cancel->preempt && run.program->time_limit == Duration{0})
        graces_.told(run.id, world_.now(), cancel->kill_after);
      else
        graces_.may_end(run.id);
    }
}

void WorkerWitness::supervisor_returned() {
  entitled_.clear();
  entitlement_version_ = 0;
  reservations_.returned();
}

void WorkerWitness::check_start(const StartSubtask& action) {
  check_entitlement(action);
  check_reservations(action);
  note_start_beside(action);
}

void WorkerWitness::look() {
  check_capacity();
  check_begins();
  check_what_is_overdue();
  check_drained();
}

void WorkerWitness::check_stop(const ProgramRun& run) {
  // A run that must not overlap is killed without grace by a worker that is cut off.
  if (run.program->overlap == Overlap::Never) graces_.may_end(run.id);
  const std::string breach = graces_.killed(run.id, world_.now());
  if (!breach.empty()) world_.oracle().breach(host_.name() + ": " + breach);
}

/// Breaches that are told only when all that has happened while it was stopped is known.
void WorkerWitness::check_what_is_overdue() {
  constexpr Duration kAtOnce = std::chrono::milliseconds{1};
  std::erase_if(begins_, [&](const auto& each) {
    const auto& [job, band] = each.first;
    const std::vector<MilliSlots> ready = ready_of(job, band);
    // A rest that is too small for every ready member is not kept: other jobs may start on it.
    const MilliSlots runs = run_by(job, band);
    return runs >= each.second || ready.empty() || runs + *std::min_element(ready.begin(), ready.end()) > each.second;
  });
  std::string overdue = reservations_.overdue(world_.now());
  if (overdue.empty() && world_.now() > later(host_.hung_until(), kAtOnce))
    overdue = graces_.overdue(world_.now(), kAtOnce);
  if (!overdue.empty()) world_.oracle().breach(host_.name() + ": " + overdue);
}

/// The resources of a band that its runs hold beside slots, devices and memory.
ResourceVector WorkerWitness::undivided_on(BandIndex band) const {
  ResourceVector held;
  held.named = {{kLicence, 0}};  // Only to what is there something is added.
  for (const auto& [record, run] : host_.programs().runs()) {
    if (run.band != band || !run.holds_slots()) continue;
    held.cpu += run.program->request.cpu;
    add_named(run.program->request.named, held.named, 1);
  }
  return held;
}

/// The subtasks of the job that could start there now if it has the slots; of each, its slots. None where one of them
/// would have to wait for processors or licences, also for those that are kept for other gangs.
std::vector<MilliSlots> WorkerWitness::ready_of(JobId job, BandIndex band) const {
  std::vector<MilliSlots> ready;
  if (host_.is_of_another_branch()) return ready;
  const ResourceVector& capacity = host_.bands()[band.value()].capacity;
  ResourceVector held = undivided_on(band);
  reservations_.add_beside(job, band, held);
  const Graph& graph = *world_.oracle().graph_of(job);
  for (auto each = given_.lower_bound({job, SubtaskIndex{0}}); each != given_.end() && each->first.job == job; ++each) {
    if (each->second != band || host_.core().explain(each->first).state != worker::SubtaskState::Ready) continue;
    const ResourceVector& request = graph.templates[graph.template_of[each->first.index.value()]].request;
    std::vector<NamedAmount> named = held.named;
    add_named(request.named, named, 1);
    // Further subtasks of the job may have to wait behind it: it may have been bypassed often enough.
    if (held.cpu + request.cpu > capacity.cpu || !named_fit(named, capacity.named)) return {};
    ready.push_back(request.slots);
  }
  return ready;
}

/// When a gang is let begin, its members have what was kept for them, whatever else starts with them.
void WorkerWitness::note_start_beside(const StartSubtask& action) {
  for (const auto& [place, slots] : begins_)
    if (place.first != action.id.job && place.second == action.band) started_beside_.try_emplace(place, action.id);
}

void WorkerWitness::check_begins() {
  for (const auto& [place, beside] : started_beside_) {
    const auto begins = begins_.find(place);
    if (begins == begins_.end()) continue;
    const std::vector<MilliSlots> ready = ready_of(place.first, place.second);
    const MilliSlots runs = run_by(place.first, place.second);
    if (ready.empty() || runs + *std::max_element(ready.begin(), ready.end()) > begins->second) continue;
    // Where starts are few, because outputs wait for room or runs are very short, its slots may still be kept.
    if (free_on(place.second) >= begins->second - runs) continue;
    world_.oracle().breach(host_.name() + " starts " + to_string(beside) + " before the gang of " +
                           to_string(place.first) + " has begun on what was kept for it");
  }
  started_beside_.clear();
}

/// The second latch: what starts finds its job below its entitlement, whatever larger one there was before.
void WorkerWitness::check_entitlement(const StartSubtask& action) const {
  const auto entitled = entitled_.find({action.id.job, action.band});
  if (entitled == entitled_.end()) return;
  MilliSlots held;
  bool any_runs = false;
  for (const auto& [record, run] : host_.programs().runs()) {
    if (!run.holds_slots() || run.band != action.band) continue;
    any_runs = true;
    if (run.id.job == action.id.job) held += run.program->request.slots;
  }
  if (action.resumed && !any_runs) return;  // Somebody may wait for the memory that the run has kept.
  if (held + action.program->request.slots > entitled->second)
    world_.oracle().breach(host_.name() + " starts " + to_string(action.id) + " though its job holds all that it may");
}

/// Nothing of a gang starts before all its slots are held, and nothing else starts on those that are.
void WorkerWitness::check_reservations(const StartSubtask& action) const {
  if (reservations_.is_closed(action.id.job, action.band))
    world_.oracle().breach(host_.name() + " starts " + to_string(action.id) + " of a gang that waits at its barrier");
  MilliSlots held = action.program->request.slots;
  for (const auto& [record, run] : host_.programs().runs())
    if (run.holds_slots() && run.band == action.band) held += run.program->request.slots;
  const MilliSlots kept = reservations_.kept_from(action.id.job, action.band, world_.now(),
                                                  [&](JobId job) { return run_by(job, action.band); });
  if (held + kept > host_.bands()[action.band.value()].capacity.slots)
    world_.oracle().breach(host_.name() + " starts " + to_string(action.id) + " on slots that are reserved for a gang");
}

/// On slots that it says that it holds, nothing else runs.
void WorkerWitness::check_answer(const BarrierAnswer& answer) const {
  MilliSlots held = std::max(answer.held, run_by(answer.job, answer.band));
  for (const auto& [record, run] : host_.programs().runs())
    if (run.holds_slots() && run.band == answer.band && run.id.job != answer.job) held += run.program->request.slots;
  if (!answer.held.is_zero() && held > host_.bands()[answer.band.value()].capacity.slots)
    world_.oracle().breach(host_.name() + " says that it holds slots for " + to_string(answer.job) +
                           " on which others run");
}

MilliSlots WorkerWitness::run_by(JobId job, BandIndex band) const {
  MilliSlots slots;
  for (const auto& [record, run] : host_.programs().runs())
    if (run.band == band && run.id.job == job) slots += run.program->request.slots;
  return slots;
}

MilliSlots WorkerWitness::free_on(BandIndex band) const {
  MilliSlots slots = host_.bands()[band.value()].capacity.slots;
  for (const auto& [record, run] : host_.programs().runs())
    if (run.band == band && run.holds_slots()) slots -= run.program->request.slots;
  return slots;
}

// Whole devices are one run's, with their memory; of others runs have parts.
void WorkerWitness::check_devices(BandIndex index) const {
  const BandDescription& band = host_.bands()[index.value()];
  std::vector<std::int64_t> milli(band.devices.size(), 0);
  std::vector<Bytes> memory(band.devices.size());
  if (band.devices.size() < 2) return;
  for (const auto& [record, run] : host_.programs().runs()) {
    const ResourceVector& request = run.program->request;
    const bool wants = request.gpu > MilliGpu{0} || request.device_memory > Bytes{0};
    if (run.band != index || !wants || !run.holds_slots()) continue;
    const std::int64_t whole = whole_devices(request);
    if (std::popcount(run.devices) != std::max<std::int64_t>(1, whole))
      world_.oracle().breach(host_.name() + "/" + band.name + " gives a run another number of devices");
    for (std::size_t device = 0; device < band.devices.size(); ++device) {
      if (((run.devices >> device) & 1U) == 0) continue;
      milli[device] += whole > 0 ? 1000 : request.gpu.value();
      memory[device] += whole > 0 ? band.devices[device].memory : request.device_memory;
    }
  }
  for (std::size_t device = 0; device < band.devices.size(); ++device)
    if (milli[device] > 1000 || memory[device] > band.devices[device].memory)
      world_.oracle().breach(host_.name() + "/" + band.name + " gives a device away twice");
}

void WorkerWitness::check_capacity() const {
  for (std::uint16_t i = 0; i < host_.bands().size(); ++i) {
    MilliSlots slots;
    MilliGpu gpu;
    Bytes device_memory;
    Bytes memory;
    std::size_t holders = 0;
    for (const auto& [record, run] : host_.programs().runs()) {
      if (run.band.value() != i) continue;
      memory += host_.programs().least_grant(run);
      holders += !run.program->request.memory.is_zero();
      if (!run.holds_slots()) continue;
      slots += run.program->request.slots;
      gpu += run.program->request.gpu;
      device_memory += run.program->request.device_memory;
    }
    if (slots > host_.bands()[i].capacity.slots)
      world_.oracle().breach(host_.name() + "/" + host_.bands()[i].name + " runs more than it has slots");
    check_devices(BandIndex{i});
    if (gpu > host_.bands()[i].capacity.gpu || device_memory > host_.bands()[i].capacity.device_memory)
      world_.oracle().breach(host_.name() + "/" + host_.bands()[i].name + " runs more than its device holds");
    const ResourceVector undivided = undivided_on(BandIndex{i});
    if (undivided.cpu > host_.bands()[i].capacity.cpu || !named_fit(undivided.named, host_.bands()[i].capacity.named))
      world_.oracle().breach(host_.name() + "/" + host_.bands()[i].name +
                             " runs more than it has processors or licences");
    if (memory > host_.bands()[i].capacity.memory && holders > 1)
      world_.oracle().breach(host_.name() + "/" + host_.bands()[i].name + " runs more than its memory holds");
  }
}

/// The last priority that an operator gave a subtask is the one that counts here, whether it is higher or lower.
void WorkerWitness::check_followed(const ToWorker& order) {
  if (const auto* drain = std::get_if<Drain>(&order); drain != nullptr && drain->enabled) draining_ = true;
  const auto* batch = std::get_if<PriorityBatch>(&order);
  if (batch == nullptr) return;
  std::set<SubtaskIndex> looked_at;
  for (auto change = batch->changes.rbegin(); change != batch->changes.rend(); ++change) {
    if (!looked_at.insert(change->subtask).second) continue;
    const SubtaskId subtask{batch->job, change->subtask};
    const worker::WorkerExplanation told = host_.core().explain(subtask);
    if (told.known && told.state != worker::SubtaskState::Yielded && told.priority != change->priority)
      world_.oracle().breach(host_.name() + " does not follow the last priority of " + to_string(subtask));
  }
}

/// The operator that drains it waits for that word.
void WorkerWitness::check_drained() const {
  if (draining_ && !said_empty_ && host_.link().endpoint() != nullptr && host_.core().live_records() == 0)
    world_.oracle().breach(host_.name() + " drains and has nothing left, and has not said so");
}

void WorkerWitness::check_words(const FromWorker& word) {
  if (const auto* report = std::get_if<ReportBatch>(&word)) {
    for (const JobReports& job : report->jobs)
      for (const AttemptReport& attempt : job.attempts)
        if (attempt.outcome == Outcome::Succeeded)
          world_.oracle().success_reported(host_.life(), {job.job, attempt.subtask}, attempt.attempt);
  } else if (const auto* drain = std::get_if<DrainState>(&word)) {
    said_empty_ = drain->draining && drain->empty;
  } else if (const auto* answer = std::get_if<BarrierAnswer>(&word)) {
    reservations_.answered(*answer);
    check_answer(*answer);
    world_.supervisor().witness().gang_starts().check_give_back(host_, *answer);
  } else if (const auto* claim = std::get_if<WorkerClaim>(&word)) {
    check_claim(*claim);
  }
}

/// All data that it holds, in memory or on disk, are claimed; what an attempt under way has made is no datum yet.
void WorkerWitness::check_claim(const WorkerClaim& claim) {
  for (const ClaimedJob& job : claim.jobs) {
    for (const ClaimedDatum& datum : job.data) claimed_.insert(DataKey{{job.job, datum.producer}, datum.output});
    for (const ClaimedAttempt& attempt : job.attempts) claimed_attempts_.insert({job.job, attempt.subtask});
  }
  if (!claim.last) return;
  // An attempt that ended behind the claim, in the same step of the core, is not known to the core any more.
  for (const auto& [key, content] : host_.data().all())
    if (!claimed_.contains(key) && !claimed_attempts_.contains(key.producer))
      world_.oracle().breach(host_.name() + " holds " + to_string(key) + ", and does not claim it");
  claimed_.clear();
  claimed_attempts_.clear();
}

}  // namespace penstock::simulation
