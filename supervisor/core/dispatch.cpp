// SupervisorCore: the subtasks that are sent to each band now, and stealing for idle bands.
#include <algorithm>

#include "common/base/prefetch.hpp"
#include "common/protocol/checkpoint_key.hpp"
#include "supervisor/core/credit.hpp"
#include "supervisor/core/lookahead.hpp"
#include "supervisor/core/transfer_retry.hpp"

namespace penstock::supervisor {
namespace {

/// Subtasks of one job that are taken before another job of equal priority is considered.
constexpr std::uint32_t kQuantum = 64;
/// Jobs that may give nothing in one event to a band with enough to run.
constexpr std::size_t kUnhelpfulJobsMax = 4;
/// Waiting jobs that are looked at anew in one event, beside those that are served.
constexpr std::size_t kCorrectedPerEvent = 8;
constexpr std::uint32_t kVictimsTried = 8;
/// The latest assignments of one that are looked at.
constexpr std::size_t kQueuedLookedAt = 32;
/// Room in a new batch: most are small, and the others grow by doubling.
constexpr std::size_t kReserved = 8;
/// Idle bands that may find work in one event without using up the search budget.
constexpr std::uint32_t kFedMax = 256;
/// The next attempt to help idle bands if no other event comes before.
constexpr Duration kHelpAgainAfter = std::chrono::milliseconds{1};
/// The time after which work that was not worth moving, by known durations, is considered again: where nothing has
/// ended since, the work has waited for so long. Between two reports every band seems to stand still.
constexpr Duration kOfferAgainAfter = std::chrono::milliseconds{100};

/// Runs of `milli_slots` each that fit so many slots.
std::uint32_t runs_in(std::uint32_t slots, std::int64_t milli_slots) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(slots * kOneSlot.value() / milli_slots, UINT16_MAX));
}

/// The band for which a subtask is left that could only wait here, while the job has slots there and nothing to run on
/// them; none if there is no such band. Members of a gang would wait for that band for ever, and the last of other
/// subtasks would take twice as long.
template <class MayRunOn>
BandSlot left_for(const Job& job, BandSlot slot, const WorkerTable& workers, bool is_ready, MayRunOn may_run_on) {
  if (job.shares == nullptr) return BandSlot::none();
  const BandShare here = job.shares->of(slot);
  const BandKind kind = workers[slot].kind;
  const IndexSet& short_bands = job.shares->short_bands[static_cast<std::size_t>(kind)];
  if (!here.limited() || short_bands.empty()) return BandSlot::none();
  // Ahead of their inputs members of a gang are sent only as far as they can run beside all that is here already.
  if (is_ready ? here.runnable < here.runs : job.spec.policy.gang == 0 || here.in_flight < here.runs)
    return BandSlot::none();
  for (std::uint32_t at = short_bands.next(0); at != IndexSet::kNone; at = short_bands.next(at + 1))
    if (const BandSlot other{at}; other != slot && workers[other].alive && may_run_on(other)) return other;
  return BandSlot::none();
}

/// The slots of a band, in thousandths, that are left once all its attempts with complete inputs run.
std::int64_t milli_left(const BandEntry& band, const JobTable& jobs) {
  std::int64_t left = band.description.capacity.slots.value();
  for (const AssignedRef& ref : band.assigned) {
    const Job* job = jobs.find(ref.job);
    if (job == nullptr || ref.subtask >= job->total()) continue;
    const SubtaskHot& hot = job->hot[ref.subtask];
    if (hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.missing == 0)
      left -= job->shape->template_of(ref.subtask).request.slots.value();
  }
  return left;
}

}  // namespace

// Whatever stands behind something long is moved at last, also where nothing tells that this is long.
void SupervisorCore::offer_again() {
  if (event_.now < search_.offer_again_at) return;
  search_.offer_again_at = kNever;
  bands_.offer_all();
  search_.idle_untried = search_.idle.size();
}

void SupervisorCore::fill_dirty_bands() {
  ++search_.fill_round;
  bands_.fill_dirty([this](BandSlot band) { fill(band); });
}

// Idle bands look for work in rotation; the successors of what they get may feed them. A budget limits the search: with
// thousands of idle bands and little to take, each report would otherwise pay for all of them. The rest is looked after
// later.
void SupervisorCore::help_idle_bands() {
  if (search_ranks()) fill_dirty_bands();
  offer_again();
  if (event_.now >= search_.hysteresis_until) {
    search_.hysteresis_until = kNever;
    search_.all_may_try = true;
  }
  if (event_.now >= search_.ranks.again_at) {
    search_.ranks.again_at = kNever;
    search_.all_may_try = true;
  }
  if (search_.all_may_try) search_.idle_untried = search_.idle.size();
  search_.idle_untried = std::min(search_.idle_untried, search_.idle.size());
  std::uint32_t fed = 0;
  std::size_t unfinished = 0;  // Bands that have not seen all that others keep.
  while (search_.idle_untried > 0 && search_.search_budget > 0 && !bands_.none_to_take()) {
    --search_.idle_untried;
    const std::uint32_t at = search_.idle.next_around(search_.idle_cursor);
    search_.idle_cursor = at + 1;
    const std::uint32_t budget_before = search_.search_budget--;
    if (!feed_idle_band(BandSlot{at})) {
      unfinished += std::exchange(search_.search_unfinished, false);
      continue;
    }
    // Only vain searches use up the budget.
    if (++fed <= kFedMax) search_.search_budget = budget_before;
    fill_dirty_bands();
    search_.idle_untried = std::min(search_.idle_untried, search_.idle.size());
  }
  search_.idle_untried = std::min(search_.idle_untried + unfinished, search_.idle.size());
  const bool again = search_.ranks.thief.valid() || (search_.idle_untried > 0 && !bands_.none_to_take());
  search_.help_at = again ? later(event_.now, kHelpAgainAfter) : kNever;
  if (!bands_.with_excess().empty() && !search_.idle.empty())
    search_.help_at = std::min(search_.help_at, search_.hysteresis_until);
  if (!search_.idle.empty())
    search_.help_at = std::min({search_.help_at, search_.offer_again_at, search_.ranks.again_at});
}

void SupervisorCore::fill(BandSlot slot) {
  BandEntry& band = workers_[slot];
  if (!band.draining) {
    serve_waiting(slot);
    if (policed()) fill_shares(slot);
  }
  const bool idle = !band.draining && band.runnable < band.slots;
  if (idle && band.idle_since == kNever) band.idle_since = event_.now;
  if (!idle) band.idle_since = kNever;
  if (idle)
    search_.idle.insert(slot.value());
  else
    search_.idle.erase(slot.value());
}

// The job of the highest priority that has something for this band; among equals the one that holds least. A band with
// enough to run asks only a few of them for more: with thousands of queued jobs each report would pay for all.
void SupervisorCore::serve_waiting(BandSlot slot) {
  WaitingJobs& waiting = workers_[slot].waiting;
  for (std::size_t i = std::min(kCorrectedPerEvent, waiting.size()); i > 0 && waiting.size() > 1; --i)
    correct_waiting(slot, waiting.next_to_correct());
  search_.passed_over.clear();
  while (Job* job = first_waiting(slot)) {
    // A job with a credit of its own takes nothing from others by using it: all at once, so that it is one message.
    const bool own_credit = job->shares != nullptr && job->shares->of(slot).limited();
    const Credit credit = credit_of(*job, slot);
    const bool wants_runnable = credit.runnable < credit.runs + kPreparedAhead;
    const bool is_of_use = credit.in_flight < config_.lookahead_subtasks_max ||
                           (wants_runnable && job->find_local(slot)->ready_count() > 0);
    if (is_of_use && take_from(*job, slot, own_credit ? config_.lookahead_subtasks_max : kQuantum) > 0) continue;
    if (waiting.size() == 1 ||
        (search_.passed_over.size() >= kUnhelpfulJobsMax && workers_[slot].runnable >= workers_[slot].slots))
      break;
    search_.passed_over.push_back(waiting[0]);
    waiting.erase(0);
  }
  for (const WaitingJobs::Entry& entry : search_.passed_over) waiting.push(entry);
}

// Brings the entry up to date. False if it was removed, as the job has nothing that it may send to the band now.
bool SupervisorCore::correct_waiting(BandSlot slot, std::size_t at) {
  ++counters_.jobs_looked_at;
  WaitingJobs& waiting = workers_[slot].waiting;
  const WaitingJobs::Entry entry = waiting[at];
  Job* job = jobs_.find(entry.job);
  LocalSet* local = job != nullptr && job->waiting_epoch == entry.epoch ? job->find_local(slot) : nullptr;
  if (local != nullptr && !local->is_waiting()) local = nullptr;  // A later entry has been removed already.
  if (local != nullptr && !job->cancelling && !local->empty() && credit_of(*job, slot).slots > 0) {
    if (entry.held != job->in_flight) waiting.set_held(at, job->in_flight);
    return true;
  }
  if (local != nullptr) local->set_waiting(false);
  waiting.erase(at);
  return false;
}

Job* SupervisorCore::first_waiting(BandSlot slot) {
  const WaitingJobs& waiting = workers_[slot].waiting;
  while (!waiting.empty()) {
    const JobId first = waiting[0].job;
    if (correct_waiting(slot, 0) && waiting[0].job == first) return jobs_.find(first);
  }
  return nullptr;
}

void SupervisorCore::enter_waiting(const Job& job, BandSlot slot, LocalSet& local) {
  if (local.is_waiting()) return;
  local.set_waiting(true);
  workers_[slot].waiting.push({job.spec.priority, job.in_flight, job.id, job.waiting_epoch});
}

// Its entries name another priority than it has now, or nothing of it could be sent before.
void SupervisorCore::enter_waiting_anew(Job& job) {
  ++job.waiting_epoch;
  for (std::uint32_t i = job.first_local; i < job.locals_end(); ++i) {
    LocalSet* local = job.find_local(BandSlot{i});
    if (local == nullptr) continue;
    local->set_waiting(false);
    if (local->empty() || !workers_[BandSlot{i}].alive) continue;
    enter_waiting(job, BandSlot{i}, *local);
    bands_.mark_dirty(BandSlot{i});
  }
}

// A subtask that can run is kept for the band.
void SupervisorCore::keep_ready(Job& job, BandSlot slot, std::uint32_t subtask) {
  LocalSet& local = job.local(slot);
  local.push_ready(job.order_key(subtask));
  bands_.change_ready(slot, 1);
  enter_waiting(job, slot, local);
  if (job.shares != nullptr) [[unlikely]] ask_for_slots(job, slot);
}

// The last pass saw nothing of the job that needs a slot of that kind, and something waits for one.
void SupervisorCore::ask_for_slots(const Job& job, BandSlot slot) {
  const std::size_t kind = static_cast<std::size_t>(workers_[slot].kind);
  if (job.shares->of(slot).entitled.is_zero() && job.shares->kinds[kind].demand == 0) policy_changed();
}

// The entitlement of the job on the band has changed.
void SupervisorCore::follow_entitlement(Job& job, BandSlot slot) {
  const BandShare share = job.shares->of(slot);
  LocalSet* local = job.find_local(slot);
  if (local != nullptr && !share.entitled.is_zero() && !local->empty()) enter_waiting(job, slot, *local);
  if (local != nullptr && local->ready_count() > 0) ask_for_slots(job, slot);
  std::vector<JobId>& entitled = workers_[slot].entitled;
  const bool is_new = std::find(entitled.begin(), entitled.end(), job.id) == entitled.end();
  if (share.limited() && !share.entitled.is_zero() && is_new) entitled.push_back(job.id);
  bands_.mark_dirty(slot);
}

// A job may have slots here while its runnable subtasks are kept for other bands.
void SupervisorCore::fill_shares(BandSlot slot) {
  std::vector<JobId>& entitled = workers_[slot].entitled;
  for (auto at = entitled.begin(); at != entitled.end();) {
    Job* job = jobs_.find(*at);
    const BandShare share = job == nullptr || job->shares == nullptr ? BandShare{} : job->shares->of(slot);
    if (share.entitled.is_zero() || !share.limited()) {
      at = entitled.erase(at);
      continue;
    }
    ++at;
    const LocalSet* local = job->find_local(slot);
    const bool waits_here = local != nullptr && local->ready_count() > 0;
    if (job->cancelling || waits_here || share.runnable >= share.runs + workers_[slot].yielded + kPreparedAhead)
      continue;
    if (pull_placements(*job, slot)) take_from(*job, slot, kQuantum);
  }
}

// Where policy sets no limit to the job, all that is on the band counts, as without a policy. Runs that have lent their
// slot wait for others, which must find room beside them; their jobs are not told, so each job has it.
SupervisorCore::Credit SupervisorCore::credit_of(const Job& job, BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  if (job.shares != nullptr)
    if (const BandShare share = job.shares->of(slot); share.limited())
      return {share.slots(), share.in_flight, share.runnable, std::max(share.slots(), share.runs) + band.yielded};
  return {band.slots, band.in_flight, band.runnable, band.slots + band.yielded};
}

bool SupervisorCore::has_slots_for(const Job& job, BandSlot slot) const {
  if (job.shares == nullptr) return true;
  const BandShare share = job.shares->of(slot);
  return !share.limited() || share.runnable < share.runs;
}

// Sends up to `count_max` subtasks of the job; returns how many entries it has used up.
std::uint32_t SupervisorCore::take_from(Job& job, BandSlot slot, std::uint32_t count_max) {
  std::uint32_t used = 0;
  std::uint32_t limit = 0;  // Of the template that was last asked for: it takes a division.
  std::uint32_t limit_of = ~std::uint32_t{0};
  const std::uint32_t most =
      part_ahead(config_.lookahead_subtasks_max, credit_of(job, slot).slots, workers_[slot].slots);
  while (used < count_max) {
    // The set is looked up anew each time: assigning may make room for further bands in `job.locals`.
    LocalSet& local = job.local(slot);
    const std::uint64_t ready = local.best_ready();
    const std::uint64_t ahead = local.best_ahead();
    if (ready == LocalSet::kNone && ahead == LocalSet::kNone) break;
    const Credit credit = credit_of(job, slot);
    if (credit.slots == 0) break;
    const bool wants_runnable = credit.runnable < credit.runs + kPreparedAhead;
    const bool take_ready = ready != LocalSet::kNone && (wants_runnable || ready <= ahead);
    const std::uint64_t key = take_ready ? ready : ahead;
    const std::uint32_t subtask = job.shape->at_rank(static_cast<std::uint32_t>(key));
    const SubtaskHot& hot = job.hot[subtask];
    const bool current = hot.phase == SubtaskPhase::Placeable && hot.band == slot && (hot.missing == 0) == take_ready &&
                         key == job.order_key(subtask);
    if (const std::uint32_t wanted = job.shape->template_index(subtask); wanted != limit_of) {
      limit_of = wanted;
      limit = std::min(lookahead_limit(job, wanted, credit.slots), most);
    }
    if (current && credit.in_flight >= limit && !(take_ready && wants_runnable)) break;
    const auto may_run = [&](BandSlot band) { return may_run_on(job, subtask, band); };
    const BandSlot other = current ? left_for(job, slot, workers_, take_ready, may_run) : BandSlot::none();
    if (other.valid()) {
      const bool asks = job.shares->leave_for(slot, other, take_ready, search_.fill_round);
      if (asks) bands_.mark_dirty(other);  // The band pulls what it can run, however costly it is to move.
      break;
    }
    if (take_ready) {
      local.take_ready();
      bands_.change_ready(slot, -1);
    } else {
      local.take_ahead();
    }
    ++used;
    if (!current) continue;
    assign(job, subtask, slot);
    if (job.shares == nullptr || job.shares->left_for_others.empty()) continue;
    if (!job.shares->short_bands[static_cast<std::size_t>(workers_[slot].kind)].empty()) continue;
    // No band is short any more: what was left may be sent ahead.
    for (const LeftForAnother& left : std::exchange(job.shares->left_for_others, {})) bands_.mark_dirty(left.band);
  }
  return used;
}

// Spec: worker 6, credit: enough subtasks to keep the band busy for the lookahead.
std::uint32_t SupervisorCore::lookahead_limit(const Job& job, std::uint32_t template_index, std::uint32_t slots) const {
  const TemplateFacts& facts = job.templates[template_index];
  const std::int64_t each = job.shape->graph().templates[template_index].request.slots.value();
  const bool is_part = each > 0 && each < kOneSlot.value();
  const std::uint32_t least = (is_part ? runs_in(slots, each) : slots) + kPreparedAhead;
  if (facts.runs == 0) {
    const Duration expected = job.shape->graph().templates[template_index].expected_duration;
    if (expected <= Duration{0}) return std::max(least, config_.lookahead_subtasks_initial);
    const auto count =
        static_cast<std::uint64_t>(config_.lookahead.count()) * slots / static_cast<std::uint64_t>(expected.count());
    return std::max(least, static_cast<std::uint32_t>(std::min<std::uint64_t>(count, config_.lookahead_subtasks_max)));
  }
  const std::uint64_t mean = std::max<std::uint64_t>(facts.mean_ns, 100);
  const std::uint64_t count = static_cast<std::uint64_t>(config_.lookahead.count()) * slots / mean;
  return std::max(least, static_cast<std::uint32_t>(std::min<std::uint64_t>(count, config_.lookahead_subtasks_max)));
}

void SupervisorCore::assign(Job& job, std::uint32_t subtask, BandSlot slot) {
  const SubtaskHot& hot = job.hot[subtask];
  std::uint64_t last = hot.attempt;
  if ((hot.flags & SubtaskFlag::kOutrun) != 0) last = std::max(last, *job.outrun->find(SubtaskIndex{subtask}));
  machine_.assign(job, subtask, slot, std::max(last, attempts_begin_.value()) + 1);
  ++counters_.assigned;
  BandEntry& band = workers_[slot];
  if (band.assigned.size() > 2 * std::size_t{band.in_flight} + 64) sweep_assigned(band);
  AssignedRef& ref = band.assigned.emplace_back();
  ref.job = job.id;
  ref.subtask = subtask;
  ref.attempt = hot.attempt;
  // Successors come near while the assignment is written.
  for (const std::uint32_t successor : job.shape->successors(subtask)) {
    prefetch_line(&job.hot[successor]);
    job.shape->prefetch(successor);
  }
  write_assignment(job, subtask, slot);
  machine_.count_assigned(job, subtask, [&](std::uint32_t successor) { become_placeable(job, successor); });
}

void SupervisorCore::sweep_assigned(BandEntry& band) {
  std::erase_if(band.assigned, [this](const AssignedRef& ref) {
    if (!jobs_.knows(ref.job) || ref.subtask >= jobs_[ref.job].total()) return true;
    const SubtaskHot& hot = jobs_[ref.job].hot[ref.subtask];
    return hot.phase != SubtaskPhase::Assigned || hot.attempt != ref.attempt;
  });
}

void SupervisorCore::write_assignment(Job& job, std::uint32_t subtask, BandSlot slot) {
  const SubtaskHot& hot = job.hot[subtask];
  const BandEntry& band = workers_[slot];
  const std::uint32_t template_index = job.template_index_of(subtask);
  AssignBatch& batch = open_batch(job, band.worker);
  define_template(job, template_index, band.worker, batch);
  Assignment& assignment = batch.assignments.emplace_back();
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
    if (batch.inputs[i].place == InputPlace::Remote) mail_.introduce(band.worker, batch.inputs[i].location);
  const std::string_view payload = job.shape->payload(subtask);
  assignment.payload_bytes = static_cast<std::uint32_t>(payload.size());
  batch.payloads += payload;
}

// Returns how many data inputs were left out because all of the subtask's are finished and empty.
std::uint16_t SupervisorCore::write_inputs(const Job& job, std::uint32_t subtask, WorkerSlot worker,
                                           AssignBatch& batch) const {
  const auto predecessors = job.shape->predecessors(subtask);
  if (predecessors.empty()) return 0;
  const std::uint32_t first_edge = job.shape->first_edge(subtask);
  const std::size_t before = batch.inputs.size();
  const bool troubled = (job.hot[subtask].flags & SubtaskFlag::kTroubled) != 0;
  std::size_t data_inputs = 0;
  bool any_data = false;
  for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
    const std::uint16_t output = job.shape->edge_output(first_edge + k);
    const SubtaskHot& producer = job.hot[predecessors[k]];
    const bool order_only = output == EdgeKind::kOrderOnly;
    const bool finished = producer.phase == SubtaskPhase::Succeeded;
    if (order_only && finished) continue;
    // Written in place, like everything that is made for every subtask: copying a value that was just written in
    // smaller parts would wait for these to reach the cache.
    AssignedInput& input = batch.inputs.emplace_back();
    input.producer = SubtaskIndex{predecessors[k]};
    input.output = output;
    if (finished) place_input(job, input, producer, worker);
    if (troubled && input.place == InputPlace::Remote && input.bytes > 0)
      input.location = copy_to_try(job, workers_, subtask, predecessors[k]);
    data_inputs += !order_only;
    any_data = any_data || (!order_only && (!finished || input.bytes > 0));
  }
  if (any_data || data_inputs == 0 || data_inputs > UINT16_MAX) return 0;
  const auto first = batch.inputs.begin() + static_cast<std::ptrdiff_t>(before);
  batch.inputs.erase(std::remove_if(first, batch.inputs.end(),
                                    [](const AssignedInput& input) { return input.output != EdgeKind::kOrderOnly; }),
                     batch.inputs.end());
  return static_cast<std::uint16_t>(data_inputs);
}

void SupervisorCore::place_input(const Job& job, AssignedInput& input, const SubtaskHot& producer,
                                 WorkerSlot worker) const {
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

// The last message to the worker if that is a batch of this job with room, else a new one.
AssignBatch& SupervisorCore::open_batch(Job& job, WorkerSlot slot) {
  if (job.known_of.size() <= slot.value()) job.known_of.resize(workers_.worker_slots());
  const bool first = (job.known_of[slot.value()] & Job::kHeardOf) == 0;
  if (first && job.shares != nullptr) send_entitlements(job, slot);
  std::vector<ToWorker>& outbox = mail_.of(slot);
  if (!outbox.empty()) {
    auto* batch = std::get_if<AssignBatch>(&outbox.back());
    const bool fits = batch != nullptr && batch->job == job.id &&
                      batch->assignments.size() < config_.assign_batch_max &&
                      batch->inputs.size() < std::size_t{config_.assign_batch_max} * 8 &&
                      batch->payloads.size() < config_.graph.subtask_payload_bytes_max;
    if (fits) return *batch;
  }
  AssignBatch& batch = std::get<AssignBatch>(outbox.emplace_back(std::in_place_type<AssignBatch>));
  batch.job = job.id;
  batch.identity = job.identity;
  batch.job_priority = job.spec.priority;
  batch.trace = job.spec.trace;
  batch.assignments.reserve(kReserved);
  if (first) {
    batch.job_name = job.spec.name;
    job.known_workers.push_back(workers_[slot].id);
    job.known_of[slot.value()] |= Job::kHeardOf;
  }
  return batch;
}

void SupervisorCore::define_template(Job& job, std::uint32_t template_index, WorkerSlot worker, AssignBatch& batch) {
  if (template_index < Job::kTemplatesInWord) {
    std::uint64_t& known = job.known_of[worker.value()];
    const std::uint64_t bit = std::uint64_t{1} << template_index;
    if ((known & bit) != 0) return;
    known |= bit;
  } else {
    std::vector<bool>& known = job.templates_known.edit()[workers_[worker].id];
    known.resize(job.templates.size() + job.larger_templates->size());
    if (known[template_index]) return;
    known[template_index] = true;
  }
  batch.templates.push_back(TemplateDefinition{TemplateIndex{template_index}, job.template_at(template_index)});
  // A name for the job that no other supervisor's job has: the saved state of a preempted attempt is found by it, and
  // removed at last. A user's name could be that of another job.
  Template& sent = batch.templates.back().content;
  std::erase_if(sent.environment, is_checkpoint_key);
  if (job.shares != nullptr && sent.runner == RunnerKind::Command)
    sent.environment.push_back(std::string{kCheckpointKey} + "=" + to_string(job.id) + "." +
                               std::to_string(clock_.unix_ms(job.submitted)));
}

// True if something was moved to or asked for the band.
bool SupervisorCore::feed_idle_band(BandSlot thief) {
  const std::uint32_t count = workers_.band_slots();
  search_.victim_cursor = (search_.victim_cursor + 1) % std::max(count, 1U);
  const auto try_all = [&](const IndexSet& victims, auto take) {
    std::uint32_t at = victims.next_around(search_.victim_cursor);
    for (std::uint32_t tries = 0; tries < kVictimsTried && at != IndexSet::kNone && search_.search_budget > 0;
         ++tries) {
      --search_.search_budget;
      if (BandSlot{at} != thief && (this->*take)(thief, BandSlot{at})) return true;
      at = victims.next_around(at + 1);
    }
    return false;
  };
  if (try_all(bands_.with_ready(), &SupervisorCore::move_placements)) return true;
  // One that holds successors asks for what has been sent to others only if it stays idle: where neighbours wait for
  // each other, as in a stencil, everyone is idle now and then, and what moves for it comes to lie apart from its
  // inputs. And nobody asks again while the answer may be on its way: at the end of a wide graph thousands would pass
  // the rest around among themselves.
  BandEntry& band = workers_[thief];
  Instant may_ask_from = band.may_ask_at;
  if (band.in_flight > 0) may_ask_from = std::max(may_ask_from, later(band.idle_since, config_.steal_after));
  if (event_.now < may_ask_from) {
    search_.hysteresis_until = std::min(search_.hysteresis_until, may_ask_from);
    return false;
  }
  if (!try_all(bands_.with_excess(), &SupervisorCore::ask_for_queued)) return false;
  band.may_ask_at = later(event_.now, config_.steal_after);
  return true;
}

// Spec: worker 10, the fewest, lowest-priority, not yet prepared items. The worker's answer is definite.
bool SupervisorCore::ask_for_queued(BandSlot thief, BandSlot victim) {
  BandEntry& band = workers_[victim];
  const std::uint32_t excess =
      std::max(band.runnable - std::min(band.runnable, band.slots), band.blocked ? band.load.ready : 0);
  const Duration stands_still = event_.now - band.progress_at;
  const std::int64_t stands_still_ns = stands_still < kOfferAgainAfter ? 0 : stands_still.count();
  const std::uint32_t wanted = std::min((excess + 1) / 2, workers_[thief].slots + kPreparedAhead);
  std::uint32_t asked = 0;
  bool for_another = false;          // The victim has work that this thief may not take, or would run too late.
  Instant again = kNever;            // The time when some work has waited for long enough to be worth its move.
  std::optional<std::int64_t> left;  // The thief's free slots, in thousandths; only counted for wide subtasks.
  // The latest assignments are the lowest in order. Only some are looked at, however long the list is.
  std::size_t looked_at = 0;
  const std::size_t least = band.assigned.size() - std::min(band.assigned.size(), kQueuedLookedAt);
  for (std::size_t i = least; i < band.assigned.size(); ++i)
    if (const AssignedRef ref = band.assigned[i]; jobs_.knows(ref.job)) {
      const LargeArray<SubtaskHot>& hot = jobs_[ref.job].hot;
      if (ref.subtask < hot.size()) prefetch_line(&hot[ref.subtask]);
    }
  for (std::size_t i = band.assigned.size(); i-- > least && asked < wanted; ++looked_at) {
    const AssignedRef ref = band.assigned[i];
    if (!jobs_.knows(ref.job)) continue;
    Job& job = jobs_[ref.job];
    if (ref.subtask >= job.total() || job.cancelling || !has_slots_for(job, thief)) continue;
    SubtaskHot& hot = job.hot[ref.subtask];
    const bool waits = hot.phase == SubtaskPhase::Assigned && hot.attempt == ref.attempt && hot.missing == 0 &&
                       (hot.flags & SubtaskFlag::kForAttempt) == 0;
    if (!waits) continue;
    const std::int64_t wait_ns =
        std::max(PlacementCosts::waiting_ns(excess, costs_.estimate_ns(job, ref.subtask), band.slots), stands_still_ns);
    if (wait_ns < config_.steal_after.count()) {
      again = std::min(again, later(band.progress_at, config_.steal_after));
      break;
    }
    // A subtask of several slots would wait again beside others.
    const std::int64_t takes = job.shape->template_of(ref.subtask).request.slots.value();
    const bool is_wide = takes > kOneSlot.value();
    if (is_wide && !left) {
      left = milli_left(workers_[thief], jobs_) - asked * kOneSlot.value();
      looked_at += workers_[thief].assigned.size();
    }
    const bool may_take = may_run_on(job, ref.subtask, thief) && (!is_wide || takes <= *left);
    const std::int64_t cost = may_take ? costs_.movement_ns(job, ref.subtask, thief) : 0;
    if (!may_take || cost > wait_ns) {
      if (may_take) again = std::min(again, later(band.progress_at, Duration{cost}));
      for_another = true;
      continue;
    }
    hot.flags |= SubtaskFlag::kStealAsked;
    job.thieves.edit()[SubtaskIndex{ref.subtask}] = thief;
    mail_.last<StealRequest>(band.worker, job.id)
        .attempts.push_back(AttemptRef{SubtaskIndex{ref.subtask}, Attempt{ref.attempt}});
    ++asked;
    if (left) *left -= takes;
    ++counters_.steals_asked;
  }
  search_.search_budget -= std::min(search_.search_budget, static_cast<std::uint32_t>(looked_at));
  // Nothing to be had here, until something changes about this band or it has stood still for longer; for nobody,
  // unless there was something for another.
  if (asked == 0 && !for_another) bands_.offer(victim, false), again = event_.now;
  if (asked == 0 && again < kNever)
    search_.offer_again_at = std::min(search_.offer_again_at, std::max(again, later(event_.now, kOfferAgainAfter)));
  return asked > 0;
}

}  // namespace penstock::supervisor
