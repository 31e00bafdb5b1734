// WorkerHost: what the worker was told that jobs may hold, and whether it keeps to that.
#include <algorithm>

#include "tests/simulation/world/graphs.hpp"
#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker::worker_action;

void WorkerHost::note_entitlements(const EntitlementBatch& batch) {
  if (batch.version <= entitlement_version_) return;
  entitlement_version_ = batch.version;
  for (const Entitlement& each : batch.entitlements) {
    const MilliSlots held = reservations_.held_for(each.job, each.band);
    begins_.erase({each.job, each.band});
    if (each.barrier == 0 && each.slots > MilliSlots{0} && held > MilliSlots{0})
      begins_[{each.job, each.band}] = std::min(held, each.slots);
  }
  for (const Entitlement& each : batch.entitlements)
    reservations_.told(each, world_.now(), world_.worker_config().barrier_margin);
  for (const Entitlement& each : batch.entitlements)
    entitled_[{each.job, each.band}] = each.barrier == 0 ? each.slots : MilliSlots{};
}

void WorkerHost::note_order(const ToWorker& order) {
  const auto leaves = [&](JobId job) {
    reservations_.forgotten(job);
    std::erase_if(begins_, [&](const auto& each) { return each.first.first == job; });
    for (const auto& [record, run] : runs_)
      if (run.id.job == job) graces_.may_end(run.id);
  };
  if (const auto* drain = std::get_if<Drain>(&order); drain != nullptr && !drain->enabled) draining_ = false;
  if (const auto* forget = std::get_if<ForgetJob>(&order)) leaves(forget->job);
  if (const auto* batch = std::get_if<AssignBatch>(&order))
    for (const Assignment& each : batch->assignments) given_[{batch->job, each.subtask}] = each.band;
  const auto* cancel = std::get_if<CancelBatch>(&order);
  if (cancel == nullptr) return;
  if (cancel->whole_job) return leaves(cancel->job);
  for (const auto& [record, run] : runs_)
    for (const AttemptRef& each : cancel->attempts) {
      if (run.id != SubtaskId{cancel->job, each.subtask} || run.attempt != each.attempt) continue;
      if (cancel->preempt && run.program->time_limit == Duration{0})
        graces_.told(run.id, world_.now(), cancel->kill_after);
      else
        graces_.may_end(run.id);
    }
}

void WorkerHost::check_grace(const Run& run) {
  const std::string breach = graces_.killed(run.id, world_.now());
  if (!breach.empty()) world_.oracle().breach(name_ + ": " + breach);
}

/// Breaches that are told only when all that has happened while it was stopped is known.
void WorkerHost::check_what_is_overdue() {
  constexpr Duration kAtOnce = std::chrono::milliseconds{1};
  std::erase_if(begins_, [&](const auto& each) {
    const auto& [job, band] = each.first;
    const std::vector<MilliSlots> ready = ready_of(job, band);
    // A rest that is too small for every ready member is not kept: other jobs may start on it.
    const MilliSlots runs = run_by(job, band);
    return runs >= each.second || ready.empty() || runs + *std::min_element(ready.begin(), ready.end()) > each.second;
  });
  std::string overdue = reservations_.overdue(world_.now());
  if (overdue.empty() && world_.now() > later(hung_until_, kAtOnce)) overdue = graces_.overdue(world_.now(), kAtOnce);
  if (!overdue.empty()) world_.oracle().breach(name_ + ": " + overdue);
}

/// The resources of a band that its runs hold beside slots, devices and memory.
ResourceVector WorkerHost::undivided_on(BandIndex band) const {
  ResourceVector held;
  held.named = {{kLicence, 0}};  // Only to what is there something is added.
  for (const auto& [record, run] : runs_) {
    if (run.band != band || !run.holds_slots()) continue;
    held.cpu += run.program->request.cpu;
    add_named(run.program->request.named, held.named, 1);
  }
  return held;
}

/// The subtasks of the job that could start there now if it has the slots; of each, its slots. None where one of them
/// would have to wait for processors or licences, also for those that are kept for other gangs.
std::vector<MilliSlots> WorkerHost::ready_of(JobId job, BandIndex band) const {
  std::vector<MilliSlots> ready;
  if (of_another_branch()) return ready;
  const ResourceVector& capacity = bands_[band.value()].capacity;
  ResourceVector held = undivided_on(band);
  reservations_.add_beside(job, band, held);
  const Graph& graph = *world_.oracle().graph_of(job);
  for (auto each = given_.lower_bound({job, SubtaskIndex{0}}); each != given_.end() && each->first.job == job; ++each) {
    if (each->second != band || core_->explain(each->first).state != worker::SubtaskState::Ready) continue;
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
void WorkerHost::note_start_beside(const StartSubtask& action) {
  for (const auto& [place, slots] : begins_)
    if (place.first != action.id.job && place.second == action.band) started_beside_.try_emplace(place, action.id);
}

void WorkerHost::check_begins() {
  for (const auto& [place, beside] : started_beside_) {
    const auto begins = begins_.find(place);
    if (begins == begins_.end()) continue;
    const std::vector<MilliSlots> ready = ready_of(place.first, place.second);
    const MilliSlots runs = run_by(place.first, place.second);
    if (ready.empty() || runs + *std::max_element(ready.begin(), ready.end()) > begins->second) continue;
    // Where starts are few, because outputs wait for room or runs are very short, its slots may still be kept.
    if (free_on(place.second) >= begins->second - runs) continue;
    world_.oracle().breach(name_ + " starts " + to_string(beside) + " before the gang of " + to_string(place.first) +
                           " has begun on what was kept for it");
  }
  started_beside_.clear();
}

/// The second latch: what starts finds its job below its entitlement, whatever larger one there was before.
void WorkerHost::check_entitlement(const StartSubtask& action) const {
  const auto entitled = entitled_.find({action.id.job, action.band});
  if (entitled == entitled_.end()) return;
  MilliSlots held;
  for (const auto& [record, run] : runs_)
    if (run.holds_slots() && run.band == action.band && run.id.job == action.id.job) held += run.program->request.slots;
  if (held + action.program->request.slots > entitled->second)
    world_.oracle().breach(name_ + " starts " + to_string(action.id) + " though its job holds all that it may");
}

/// Nothing of a gang starts before all its slots are held, and nothing else starts on those that are.
void WorkerHost::check_reservations(const StartSubtask& action) const {
  if (reservations_.is_closed(action.id.job, action.band))
    world_.oracle().breach(name_ + " starts " + to_string(action.id) + " of a gang that waits at its barrier");
  MilliSlots held = action.program->request.slots;
  for (const auto& [record, run] : runs_)
    if (run.holds_slots() && run.band == action.band) held += run.program->request.slots;
  const MilliSlots kept = reservations_.kept_from(action.id.job, action.band, world_.now(),
                                                  [&](JobId job) { return run_by(job, action.band); });
  if (held + kept > bands_[action.band.value()].capacity.slots)
    world_.oracle().breach(name_ + " starts " + to_string(action.id) + " on slots that are reserved for a gang");
}

/// On slots that it says that it holds, nothing else runs.
void WorkerHost::check_answer(const BarrierAnswer& answer) const {
  MilliSlots held = std::max(answer.held, run_by(answer.job, answer.band));
  for (const auto& [record, run] : runs_)
    if (run.band == answer.band && run.id.job != answer.job) held += run.program->request.slots;
  if (!answer.held.is_zero() && held > bands_[answer.band.value()].capacity.slots)
    world_.oracle().breach(name_ + " says that it holds slots for " + to_string(answer.job) + " on which others run");
}

MilliSlots WorkerHost::run_by(JobId job, BandIndex band) const {
  MilliSlots slots;
  for (const auto& [record, run] : runs_)
    if (run.band == band && run.id.job == job) slots += run.program->request.slots;
  return slots;
}

MilliSlots WorkerHost::free_on(BandIndex band) const {
  MilliSlots slots = bands_[band.value()].capacity.slots;
  for (const auto& [record, run] : runs_)
    if (run.band == band && run.holds_slots()) slots -= run.program->request.slots;
  return slots;
}

}  // namespace penstock::simulation
