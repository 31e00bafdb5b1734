// SupervisorCore: what is sent to which band now, and who helps a band without work.
#include <algorithm>

#include "supervisor/core/supervisor_core.hpp"

namespace penstock::supervisor {
namespace {

/// Runnable subtasks that a band may hold beyond its slots, whatever its credit: they are prepared while others run.
constexpr std::uint32_t kPreparedAhead = 2;
/// Subtasks of one job that are taken before another job of equal priority is considered.
constexpr std::uint32_t kTurn = 64;
constexpr std::uint32_t kVictimsTried = 8;
/// Hungry bands that are helped in one event; the others have their turn in the next.
constexpr std::uint32_t kHelpedAtOnce = 32;

}  // namespace

void SupervisorCore::mark_dirty(BandSlot slot) {
  BandEntry& band = workers_[slot];
  if (band.dirty || !band.alive) return;
  band.dirty = true;
  dirty_bands_.push_back(slot);
}

void SupervisorCore::note_ready(BandSlot slot, std::int32_t change) {
  BandEntry& band = workers_[slot];
  band.ready_here += static_cast<std::uint32_t>(change);
  if (band.ready_here > 0)
    with_ready_.insert(slot.value());
  else
    with_ready_.erase(slot.value());
  if (change > 0) mark_dirty(slot);
}

void SupervisorCore::note_runnable(BandSlot slot, std::int32_t change) {
  BandEntry& band = workers_[slot];
  band.runnable += static_cast<std::uint32_t>(change);
  if (band.runnable > band.slots)
    with_excess_.insert(slot.value());
  else
    with_excess_.erase(slot.value());
}

void SupervisorCore::fill_dirty_bands() {
  // By index: filling a band may make another one dirty, because successors of what was assigned find their homes.
  for (std::size_t i = 0; i < dirty_bands_.size(); ++i) {
    const BandSlot slot = dirty_bands_[i];
    workers_[slot].dirty = false;
    if (workers_[slot].alive) fill(slot);
  }
  dirty_bands_.clear();
}

void SupervisorCore::dispatch() {
  fill_dirty_bands();
  // Then the hungry ones help themselves, each once; what they take may feed them.
  for (std::uint32_t helped = 0; helped < kHelpedAtOnce && !hungry_.empty(); ++helped) {
    if (with_ready_.empty() && with_excess_.empty()) break;
    const std::uint32_t at = hungry_.next_around(hungry_cursor_);
    if (helped > 0 && at < hungry_cursor_ && helped >= hungry_.size()) break;
    hungry_cursor_ = at + 1;
    if (feed_hungry(BandSlot{at})) fill_dirty_bands();
  }
}

void SupervisorCore::fill(BandSlot slot) {
  BandEntry& band = workers_[slot];
  if (!band.draining) {
    exhausted_.clear();
    while (Job* job = best_job_for(slot))
      if (take_from(*job, slot, kTurn) == 0) exhausted_.push_back(job->id);
  }
  if (!band.draining && band.runnable < band.slots)
    hungry_.insert(slot.value());
  else
    hungry_.erase(slot.value());
}

// The job of the highest priority that has something for this band; among equals the one that holds least.
Job* SupervisorCore::best_job_for(BandSlot slot) {
  const BandEntry& band = workers_[slot];
  Job* best = nullptr;
  for (const JobId id : active_) {
    Job& job = *jobs_[id.value()];
    if (best != nullptr && job.spec.priority < best->spec.priority) break;
    if (job.cancelling || (best != nullptr && job.in_flight >= best->in_flight)) continue;
    const LocalSet* local = job.find_local(slot);
    if (local == nullptr || local->empty()) continue;
    if (std::find(exhausted_.begin(), exhausted_.end(), id) != exhausted_.end()) continue;
    const bool wants_runnable = band.runnable < band.slots + kPreparedAhead;
    const bool has_credit = band.in_flight < config_.lookahead_subtasks_max;
    const bool useful = local->ready_count() > 0 ? wants_runnable || has_credit : has_credit;
    if (useful) best = &job;
  }
  return best;
}

// Sends up to `count_max` subtasks of the job; returns how many entries it has used up.
std::uint32_t SupervisorCore::take_from(Job& job, BandSlot slot, std::uint32_t count_max) {
  BandEntry& band = workers_[slot];
  std::uint32_t used = 0;
  while (used < count_max) {
    // The set is looked up anew each time: assigning may make room for further bands in `job.locals`.
    LocalSet& local = job.local(slot);
    const std::uint64_t ready = local.best_ready();
    const std::uint64_t ahead = local.best_ahead();
    if (ready == LocalSet::kNone && ahead == LocalSet::kNone) break;
    const bool wants_runnable = band.runnable < band.slots + kPreparedAhead;
    const bool take_ready = ready != LocalSet::kNone && (wants_runnable || ready <= ahead);
    const std::uint64_t key = take_ready ? ready : ahead;
    const std::uint32_t subtask = job.shape->at_rank(static_cast<std::uint32_t>(key));
    const SubtaskHot& hot = job.hot[subtask];
    const bool current = hot.phase == SubtaskPhase::Placeable && hot.band == slot && (hot.missing == 0) == take_ready &&
                         key == job.order_key(subtask);
    const std::uint32_t limit = lookahead_limit(job, job.shape->graph().template_of[subtask], band);
    if (current && band.in_flight >= limit && !(take_ready && wants_runnable)) break;
    if (take_ready) {
      local.take_ready();
      note_ready(slot, -1);
    } else {
      local.take_ahead();
    }
    ++used;
    if (current) assign(job, subtask, slot);
  }
  return used;
}

// Spec: worker 6, credit: enough subtasks to keep the band busy for the lookahead.
std::uint32_t SupervisorCore::lookahead_limit(const Job& job, std::uint32_t template_index, const BandEntry& band) const {
  const TemplateFacts& facts = job.templates[template_index];
  const std::uint32_t least = band.slots + kPreparedAhead;
  if (facts.runs == 0) {
    const Duration expected = job.shape->graph().templates[template_index].expected_duration;
    if (expected <= Duration{0}) return std::max(least, config_.lookahead_subtasks_initial);
    const auto count = static_cast<std::uint64_t>(config_.lookahead.count()) * band.slots / static_cast<std::uint64_t>(expected.count());
    return std::max(least, static_cast<std::uint32_t>(std::min<std::uint64_t>(count, config_.lookahead_subtasks_max)));
  }
  const std::uint64_t mean = std::max<std::uint64_t>(facts.mean_ns, 100);
  const std::uint64_t count = static_cast<std::uint64_t>(config_.lookahead.count()) * band.slots / mean;
  return std::max(least, static_cast<std::uint32_t>(std::min<std::uint64_t>(count, config_.lookahead_subtasks_max)));
}

std::uint64_t SupervisorCore::estimate_ns(const Job& job, std::uint32_t subtask) const {
  const TemplateFacts& facts = job.templates[job.shape->graph().template_of[subtask]];
  if (!job.shape->graph().expected_ns.empty() && job.shape->graph().expected_ns[subtask] > 0)
    return job.shape->graph().expected_ns[subtask];
  if (facts.runs > 0) return std::max<std::uint64_t>(facts.mean_ns, 100);
  const Duration expected = job.shape->template_of(subtask).expected_duration;
  if (expected > Duration{0}) return static_cast<std::uint64_t>(expected.count());
  return static_cast<std::uint64_t>(config_.lookahead.count()) / config_.lookahead_subtasks_initial;
}

void SupervisorCore::assign(Job& job, std::uint32_t subtask, BandSlot slot) {
  SubtaskHot& hot = job.hot[subtask];
  BandEntry& band = workers_[slot];
  hot.phase = SubtaskPhase::Assigned;
  hot.flags &= static_cast<std::uint8_t>(~SubtaskFlag::kForAttempt);
  ++hot.attempt;
  ++band.in_flight;
  ++job.in_flight;
  ++counters_.assigned;
  if (hot.missing == 0) note_runnable(slot, 1);
  if (band.assigned.size() > 2 * std::size_t{band.in_flight} + 64) sweep_assigned(band);
  band.assigned.push_back(AssignedRef{job.id, subtask, hot.attempt});
  write_assignment(job, subtask, slot);
  for (const std::uint32_t successor : job.shape->successors(subtask)) {
    SubtaskHot& next = job.hot[successor];
    if (is_final(next.phase)) continue;
    if (--next.unplaced == 0 && next.phase == SubtaskPhase::Waiting) become_placeable(job, successor);
  }
}

void SupervisorCore::sweep_assigned(BandEntry& band) {
  std::erase_if(band.assigned, [this](const AssignedRef& ref) {
    if (!knows(ref.job) || ref.subtask >= jobs_[ref.job.value()]->total()) return true;
    const SubtaskHot& hot = jobs_[ref.job.value()]->hot[ref.subtask];
    return hot.phase != SubtaskPhase::Assigned || hot.attempt != ref.attempt;
  });
}

void SupervisorCore::write_assignment(Job& job, std::uint32_t subtask, BandSlot slot) {
  const SubtaskHot& hot = job.hot[subtask];
  const BandEntry& band = workers_[slot];
  const std::uint32_t template_index = job.shape->graph().template_of[subtask];
  AssignBatch& batch = open_batch(job, band.worker);
  define_template(job, template_index, band.worker, batch);
  Assignment assignment;
  assignment.subtask = SubtaskIndex{subtask};
  assignment.template_index = TemplateIndex{template_index};
  assignment.priority = job.worker_priority(subtask);
  assignment.attempt = Attempt{hot.attempt};
  assignment.band = band.id.band;
  assignment.cached = hot.missing > 0;
  const std::size_t inputs_before = batch.inputs.size();
  assignment.omitted_inputs = write_inputs(job, subtask, band.worker, batch);
  assignment.input_count = static_cast<std::uint32_t>(batch.inputs.size() - inputs_before);
  for (std::size_t i = inputs_before; i < batch.inputs.size(); ++i)
    if (batch.inputs[i].place == InputPlace::Remote) introduce_peer(band.worker, batch.inputs[i].location);
  const std::string_view payload = job.shape->payload(subtask);
  assignment.payload_bytes = static_cast<std::uint32_t>(payload.size());
  batch.payloads += payload;
  batch.assignments.push_back(assignment);
}

// Returns how many data inputs were left out because all of the subtask's are finished and empty.
std::uint16_t SupervisorCore::write_inputs(const Job& job, std::uint32_t subtask, WorkerSlot worker, AssignBatch& batch) const {
  const auto predecessors = job.shape->predecessors(subtask);
  if (predecessors.empty()) return 0;
  const std::uint32_t first_edge = job.shape->first_edge(subtask);
  const std::size_t before = batch.inputs.size();
  std::size_t data_inputs = 0;
  bool any_data = false;
  for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
    AssignedInput input;
    input.producer = SubtaskIndex{predecessors[k]};
    input.output = job.shape->edge_output(first_edge + k);
    const SubtaskHot& producer = job.hot[predecessors[k]];
    const bool order_only = input.output == EdgeKind::kOrderOnly;
    const bool finished = producer.phase == SubtaskPhase::Succeeded;
    if (order_only && finished) continue;
    if (finished) place_input(job, input, producer, worker);
    data_inputs += !order_only;
    any_data = any_data || (!order_only && (!finished || input.bytes > 0));
    batch.inputs.push_back(input);
  }
  if (any_data || data_inputs == 0) return 0;
  const auto first = batch.inputs.begin() + static_cast<std::ptrdiff_t>(before);
  batch.inputs.erase(std::remove_if(first, batch.inputs.end(),
                                    [](const AssignedInput& input) { return input.output != EdgeKind::kOrderOnly; }),
                     batch.inputs.end());
  return static_cast<std::uint16_t>(std::min<std::size_t>(data_inputs, UINT16_MAX));
}

void SupervisorCore::place_input(const Job& job, AssignedInput& input, const SubtaskHot& producer, WorkerSlot worker) const {
  input.place = InputPlace::Here;
  if (!job.data.in_use()) return;
  const std::uint32_t subtask = input.producer.value();
  input.bytes = job.data.bytes(*job.shape, subtask, input.output);
  if (input.bytes == 0) return;
  const bool here =
      workers_[producer.band].worker == worker || job.data.is_copied_to(*job.shape, subtask, workers_[worker].id);
  input.place = here ? InputPlace::Here : InputPlace::Remote;
  input.location = here ? workers_[worker].id : workers_[producer.band].id.worker;
}

// The worker is about to be told of data on another worker: it must know where that is.
void SupervisorCore::introduce_peer(WorkerSlot slot, WorkerId peer) {
  WorkerEntry& worker = workers_[slot];
  if (peer == worker.id || !worker.peers_known.insert(peer, true)) return;
  const WorkerSlot holder = workers_.find(peer);
  if (holder.valid()) worker.new_peers.push_back({peer, workers_[holder].description.data_address});
}

// The last message to the worker if that is a batch of this job with room, else a new one.
AssignBatch& SupervisorCore::open_batch(Job& job, WorkerSlot slot) {
  WorkerEntry& worker = workers_[slot];
  if (worker.has_outbox && !worker.outbox.empty()) {
    auto* batch = std::get_if<AssignBatch>(&worker.outbox.back());
    const bool fits = batch != nullptr && batch->job == job.id && batch->assignments.size() < config_.assign_batch_max &&
                      batch->inputs.size() < std::size_t{config_.assign_batch_max} * 8 &&
                      batch->payloads.size() < config_.graph.subtask_payload_bytes_max;
    if (fits) return *batch;
  }
  AssignBatch batch;
  batch.job = job.id;
  batch.job_priority = job.spec.priority;
  batch.trace = job.spec.trace;
  if (job.templates_known.find(worker.id) == nullptr) {
    batch.job_name = job.spec.name;
    job.known_workers.push_back(worker.id);
    job.templates_known[worker.id].resize((job.templates.size() + 63) / 64);
  }
  tell(slot, std::move(batch));
  return std::get<AssignBatch>(worker.outbox.back());
}

void SupervisorCore::define_template(Job& job, std::uint32_t template_index, WorkerSlot worker, AssignBatch& batch) {
  std::vector<std::uint64_t>& known = *job.templates_known.find(workers_[worker].id);
  std::uint64_t& word = known[template_index / 64];
  const std::uint64_t bit = std::uint64_t{1} << (template_index % 64);
  if ((word & bit) != 0) return;
  word |= bit;
  batch.templates.push_back(TemplateDefinition{TemplateIndex{template_index}, job.shape->graph().templates[template_index]});
}

// The attempt has ended or was given back: the band has room again.
void SupervisorCore::leave_band(Job& job, std::uint32_t subtask) {
  const SubtaskHot& hot = job.hot[subtask];
  --workers_[hot.band].in_flight;
  --job.in_flight;
  if (hot.missing == 0) note_runnable(hot.band, -1);
  mark_dirty(hot.band);
}

// True if something was moved to or asked for the band.
bool SupervisorCore::feed_hungry(BandSlot thief) {
  const std::uint32_t count = workers_.band_slots();
  victim_cursor_ = (victim_cursor_ + 1) % std::max(count, 1U);
  std::uint32_t at = with_ready_.empty() ? IndexSet::kNone : with_ready_.next_around(victim_cursor_);
  for (std::uint32_t tries = 0; tries < kVictimsTried && at != IndexSet::kNone; ++tries) {
    if (BandSlot{at} != thief && move_homes(thief, BandSlot{at})) return true;
    at = with_ready_.next_around(at + 1);
  }
  at = with_excess_.empty() ? IndexSet::kNone : with_excess_.next_around(victim_cursor_);
  for (std::uint32_t tries = 0; tries < kVictimsTried && at != IndexSet::kNone; ++tries) {
    if (BandSlot{at} != thief && ask_for_queued(thief, BandSlot{at})) return true;
    at = with_excess_.next_around(at + 1);
  }
  return false;
}

// Half of what is kept here for the victim gets a new home; nothing has been sent, so nothing can race.
bool SupervisorCore::move_homes(BandSlot thief, BandSlot victim) {
  const std::uint32_t wanted = std::max(1U, std::min(workers_[victim].ready_here / 2, config_.lookahead_subtasks_max));
  std::uint32_t moved = 0;
  std::vector<std::uint64_t> back;
  for (const JobId id : active_) {
    Job& job = *jobs_[id.value()];
    if (job.cancelling || job.find_local(victim) == nullptr) continue;
    back.clear();
    while (moved < wanted && back.size() < kVictimsTried) {
      const std::uint64_t key = job.find_local(victim)->take_lowest_ready();
      if (key == LocalSet::kNone) break;
      note_ready(victim, -1);
      const std::uint32_t subtask = job.shape->at_rank(static_cast<std::uint32_t>(key));
      SubtaskHot& hot = job.hot[subtask];
      if (hot.phase != SubtaskPhase::Placeable || hot.band != victim || hot.missing != 0) continue;
      const std::int64_t gain = queue_cost_ns(job, subtask, victim);
      if (!may_run_on(job, subtask, thief) || movement_cost_ns(job, subtask, thief) > gain + config_.steal_after.count()) {
        back.push_back(key);
        continue;
      }
      hot.band = thief;
      job.local(thief).push_ready(job.order_key(subtask));
      note_ready(thief, 1);
      ++moved;
      ++counters_.moved_here;
    }
    for (const std::uint64_t key : back) {
      job.local(victim).push_ready(key);
      note_ready(victim, 1);
    }
  }
  return moved > 0;
}

// Spec: worker 10, the fewest, lowest-priority, not yet prepared items. The worker's answer is definite.
bool SupervisorCore::ask_for_queued(BandSlot thief, BandSlot victim) {
  BandEntry& band = workers_[victim];
  const std::uint32_t excess = band.runnable - std::min(band.runnable, band.slots);
  const std::uint32_t wanted = std::min((excess + 1) / 2, workers_[thief].slots + kPreparedAhead);
  std::uint32_t asked = 0;
  // The latest assignments are the lowest in order. Only some are looked at, however long the list is.
  std::size_t looked_at = 0;
  for (std::size_t i = band.assigned.size(); i-- > 0 && asked < wanted && looked_at < 32; ++looked_at) {
    const AssignedRef ref = band.assigned[i];
    if (!knows(ref.job)) continue;
    Job& job = *jobs_[ref.job.value()];
    if (ref.subtask >= job.total() || job.cancelling) continue;
    SubtaskHot& hot = job.hot[ref.subtask];
    const bool waits = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.missing == 0 &&
                       (hot.flags & SubtaskFlag::kForAttempt) == 0;
    if (!waits) continue;
    const std::int64_t wait_ns = waiting_ns(excess, estimate_ns(job, ref.subtask), band.slots);
    if (wait_ns < config_.steal_after.count()) break;
    if (!may_run_on(job, ref.subtask, thief) || movement_cost_ns(job, ref.subtask, thief) > wait_ns) continue;
    hot.flags |= SubtaskFlag::kStealAsked;
    tail_of_outbox<StealRequest>(band.worker, job.id)
        .attempts.push_back(AttemptRef{SubtaskIndex{ref.subtask}, Attempt{ref.attempt}});
    ++asked;
    ++counters_.steals_asked;
  }
  return asked > 0;
}

}  // namespace penstock::supervisor
