#include "tests/simulation/world/programs.hpp"

#include <algorithm>
#include <chrono>

#include "common/protocol/external_input.hpp"
#include "tests/simulation/world/worker_host.hpp"

namespace penstock::simulation {

using namespace worker;
using namespace worker::worker_action;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using Yields = ProgramRun::Yields;

Programs::Programs(WorkerHost& host) : host_(host), world_(host.world()) {}

void Programs::start(const StartSubtask& action) {
  if (action.resumed) return resume(action);
  if (!action.offered) return start_now(action);
  offers_open_ = true;
  offers_.push_back(action);
}

void Programs::start_now(const StartSubtask& action) {
  if (runs_.contains(action.record)) return world_.oracle().breach("a record runs twice");
  const auto kept = host_.shell().unstored().lower_bound(ticket_of(action.record, Attempt{0}));
  if (kept != host_.shell().unstored().end() && record_of(kept->first) == action.record)
    world_.oracle().breach("outputs of a run were neither stored nor discarded when its record was used again");
  host_.witness().check_start(action);
  const std::uint64_t life = host_.life();
  world_.oracle().run_started(life, action.id, action.attempt,
                              host_.is_of_another_branch() || world_.supervisor().knows_success(action.id) ||
                                  world_.supervisor().witness().orders().wanted_again(action.id, action.attempt));
  world_.note("life % runs %:%#% on band %",
              {life, action.id.job.value(), action.id.index.value(), action.attempt.value(), action.band.value()});
  if (!host_.is_of_another_branch() && world_.oracle().has_job(action.id.job))
    world_.client().maybe_nest({action.id, action.attempt, world_.oracle().identity_of(action.id.job)});
  const ProgramRun run{action.id,   action.attempt, action.band,         action.program,
                       next_run_++, world_.now(),   read_inputs(action), action.devices};
  runs_[action.record] = run;
  if (world_.options().defect == Defect::RunsTwice && world_.rng().chance(1, 100)) {
    world_.note("DEFECT: it is started twice");
    world_.oracle().run_started(life, action.id, action.attempt);
  }
  const Duration duration = draw_duration(action);
  world_.note_work(duration);
  plan_yield(action.record, run, duration);
  end_later(duration, action.record, run.number, false);
  if (action.program->request.memory.is_zero() || fate_of(action.id) % 2 == 0) return;
  host_.after(duration / 2, [this, record = action.record, number = run.number] { measure_run(record, number); });
}

// A few long ones among many short ones, as in real workflows.
Duration Programs::draw_duration(const StartSubtask& action) {
  const SubtaskId subtask = action.id;
  Rng& rng = world_.rng();
  // Only a run that outlasts the silence of its worker can overlap another one. Not under a
  // policy: its witnesses expect of runs that they leave their places soon.
  if (action.program->overlap == Overlap::Never && !world_.options().policy && rng.chance(1, 3))
    return world_.config().supervisor.worker_lost_after * rng.between(1, 4);
  if (const Workflow* workflow = world_.options().workflow.get();
      workflow != nullptr && !workflow->graph.expected_ns.empty() &&
      workflow->graph.expected_ns[subtask.index.value()] > 0)
    return Duration{
        static_cast<std::int64_t>(workflow->graph.expected_ns[subtask.index.value()] / 1000 * workflow->time_permille)};
  // In some worlds nearly all are so short that lanes are offered runs.
  const std::uint64_t kind = mix_bits(world_.options().seed + 3) % 6;
  // Long enough to be told of, and to be preempted.
  if (world_.options().policy && rng.chance(1, 10)) return milliseconds{rng.between(50, 2000)};
  if (kind < 2 && !rng.chance(1, 200)) return Duration{rng.between(1, kind == 0 ? 500 : 30'000)};
  return rng.chance(1, 10) ? Duration{milliseconds{rng.between(1, 80)}} : Duration{microseconds{rng.between(1, 3000)}};
}

ProgramRun* Programs::find(RecordIndex record, std::uint64_t number) {
  const auto found = runs_.find(record);
  return found == runs_.end() || found->second.number != number ? nullptr : &found->second;
}

void Programs::stop(const StopRun& order) {
  const auto found = runs_.find(order.record);
  if (found == runs_.end()) return;
  if (order.kill) host_.witness().check_stop(found->second);
  // A part of the programs does not listen until they are killed.
  if (!order.kill && world_.rng().chance(1, 2)) return;
  end_later(microseconds{world_.rng().between(10, 3000)}, order.record, found->second.number, true);
}

void Programs::end_later(Duration delay, RecordIndex record, std::uint64_t number, bool killed) {
  host_.after(delay, [this, record, number, killed] { end(record, number, killed); });
}

void Programs::end(RecordIndex record, std::uint64_t number, bool killed) {
  ProgramRun* const found = find(record, number);
  if (found == nullptr) return;
  if (!killed && !found->holds_slots()) {
    found->yields = Yields::LentAndOver;
    return;
  }
  const ProgramRun run = *found;
  if (!killed && world_.faults_on() && world_.options().faults.crashes && world_.rng().chance(1, 200))
    return host_.crash_of(run);
  runs_.erase(record);
  host_.witness().ended(run.id);
  untold_.push_back(make_end(record, run, killed));
  const auto offer = std::find_if(offers_.begin(), offers_.end(), [&](const StartSubtask& o) {
    return o.band == run.band && (!o.within_job || o.id.job == run.id.job);
  });
  if (offer == offers_.end() || !world_.rng().chance(3, 4)) return host_.tell_ends();
  StartSubtask next = *offer;
  next.devices = run.devices;
  offers_.erase(offer);
  world_.note("life % takes over an offer", {host_.life()});
  untold_.back().next_ticket = ticket_of(next.record, next.attempt);
  start_now(next);
  host_.witness().check_capacity();
}

std::vector<ProgramEnd> Programs::withdraw() {
  offers_open_ = false;
  offers_.clear();
  return std::exchange(untold_, {});
}

void Programs::end_all() {
  for (const auto& [record, run] : runs_) world_.oracle().run_ended(host_.life(), run.id, false);
  runs_.clear();
  measured_.clear();
  static_cast<void>(withdraw());
}

std::uint64_t Programs::fate_of(SubtaskId id) const { return mix_bits(hash_of(id) ^ world_.options().seed) % 100; }

std::optional<FailureClass> Programs::draw_failure(const ProgramRun& run, bool killed) {
  if (killed) return FailureClass::RunnerCrash;
  if (!world_.options().faults.failures) return std::nullopt;
  const std::uint64_t fate = fate_of(run.id);
  // One subtask that always fails ends most larger graphs: in most worlds there is none, so that they run.
  const bool always = fate < 2 && mix_bits(world_.options().seed ^ 0xa1fa) % 4 == 0;
  const bool sometimes = fate < 12 && world_.rng().chance(1, 2);
  if (!always && !sometimes) return std::nullopt;
  if (fate % 3 == 0) return FailureClass::RunnerCrash;
  return fate % 3 == 1 ? FailureClass::UserError : FailureClass::OutOfMemory;
}

ProgramEnd Programs::make_end(RecordIndex record, const ProgramRun& run, bool killed) {
  std::optional<FailureClass> failure = draw_failure(run, killed);
  // A reader that is told that it is not here believes it.
  const bool reads = !failure.has_value() && is_alias(*run.program);
  const std::optional<Content> external = reads ? read_external(run.id) : std::nullopt;
  if (reads && !external.has_value()) failure = FailureClass::InputLost;
  ProgramEnd end;
  end.ticket = ticket_of(record, run.attempt);
  end.attempt = run.attempt;
  end.succeeded = !failure.has_value();
  if (failure.has_value()) {
    end.failure = std::make_unique<FailureDetail>();
    end.failure->failure = *failure;
  }
  // Of three runs one is not measured; the others have used anything up to what was requested.
  end.peak_bytes = used_by(run).value() * (fate_of(run.id) % 3 > 0 ? 1 : 0);
  if (end.peak_bytes > 0) {
    Measured& measured = measured_[worker::program_of(*run.program)];
    ++measured.runs;
    measured.least = std::min(measured.least, Bytes{end.peak_bytes});
  }
  world_.oracle().run_ended(host_.life(), run.id, end.succeeded);
  if (end.succeeded) make_outputs(run, external, end);
  const std::int64_t took_ns = (world_.now() - run.started).count();
  end.run_us = static_cast<std::uint32_t>(took_ns / 1000);
  end.run_ns = static_cast<std::uint32_t>(std::min<std::int64_t>(took_ns, UINT32_MAX - 1));
  end.ended = host_.own_time();
  return end;
}

void Programs::make_outputs(const ProgramRun& run, const std::optional<Content>& external, ProgramEnd& end) {
  Made made;
  const std::uint16_t count = std::max<std::uint16_t>(run.program->output_count, 1);
  for (std::uint16_t output = 0; output < count; ++output) {
    const DataKey key{run.id, output};
    const Content content = external.value_or(Content{Bytes{output_bytes(key)}, mix_bits(run.read ^ hash_of(key))});
    if (content.bytes.is_zero()) continue;
    end.outputs.push_back(OutputReport{output, content.bytes.value()});
    if (!host_.is_of_another_branch()) world_.oracle().output_made(key, content);
    made[key] = content;
  }
  if (world_.rng().chance(1, 4)) {
    end.unstored = std::move(made);
    return;
  }
  for (const auto& [key, content] : made) host_.data().put(key, content);
}

Bytes Programs::least_grant(const ProgramRun& run) const {
  const Bytes requested = run.program->request.memory;
  const std::uint32_t enough = world_.config().worker.quota_peaks_min;
  const auto found = measured_.find(worker::program_of(*run.program));
  if (enough == 0 || found == measured_.end() || found->second.runs < enough) return requested;
  return std::min(requested, found->second.least);
}

Bytes Programs::used_by(const ProgramRun& run) const {
  return Bytes{run.program->request.memory.value() / 100 * static_cast<std::int64_t>(fate_of(run.id))};
}

// Half of those that request memory are looked at in their midst. Of some their end will say nothing.
void Programs::measure_run(RecordIndex record, std::uint64_t number) {
  const ProgramRun* found = find(record, number);
  if (found == nullptr) return;
  const worker::RunMemory memory{record, found->attempt, used_by(*found)};
  const BandIndex band = found->band;
  host_.handle(worker_event::RunsMeasured{std::span{&memory, 1}});
  if (world_.faults_on() && world_.rng().chance(1, 8)) measure_band(band, static_cast<int>(world_.rng().below(4)));
}

// Runners hold more than the band may, a few times, then nothing: what was held back for that goes on.
void Programs::measure_band(BandIndex band, int high) {
  const Bytes limit = host_.bands()[band.value()].memory_hard_limit;
  const Bytes used = high > 0 ? limit + kMiB * 64 : Bytes{0};
  const Bytes idle = high > 0 && world_.rng().chance(1, 2) ? kMiB * (world_.rng().chance(1, 2) ? 32 : 64) : Bytes{0};
  host_.handle(worker_event::MemoryMeasured{band, used, RunnerKind::Process, idle});
  if (high == 0) return;
  host_.after(world_.config().worker.relieve_every, [this, band, high] { measure_band(band, high - 1); });
}

/// Draws of its own. Not under a policy: its witnesses count a run from its start to its end.
void Programs::plan_yield(RecordIndex record, const ProgramRun& run, Duration duration) {
  Rng rng{mix_bits(world_.options().seed) ^ hash_of(run.id) ^ mix_bits(run.attempt.value() + 0x41e1d)};
  if (!world_.options().faults.yields || !rng.chance(1, 16)) return;
  // The witness of plans does not know how parts of slots that are lent are rounded.
  if (world_.options().policy && run.program->request.slots.value() % kOneSlot.value() != 0) return;
  host_.after(duration / 3, [this, record, number = run.number] {
    if (const ProgramRun* held = find(record, number); held != nullptr)
      host_.handle(worker_event::SlotYielded{record, held->attempt});
  });
  host_.after(duration * 2 / 3 + rng.between(0, 3) * duration, [this, record, number = run.number] {
    if (const ProgramRun* held = find(record, number); held != nullptr && !held->holds_slots())
      host_.handle(worker_event::SlotWanted{record, held->attempt});
  });
}

void Programs::answer(const AnswerYield& answer) {
  const auto found = runs_.find(answer.record);
  if (found == runs_.end() || found->second.attempt != answer.attempt)
    return world_.oracle().breach("a run that has ended is told whether it lends its slot");
  if (!answer.lent) return world_.note("life % lets a run keep its slot", {host_.life()});
  world_.note("life % lends the slot of a run", {host_.life()});
  found->second.yields = Yields::Lent;
}

/// The run has its slot again, and ends if its time has passed meanwhile.
void Programs::resume(const StartSubtask& action) {
  const auto found = runs_.find(action.record);
  if (found == runs_.end() || found->second.holds_slots())
    return world_.oracle().breach(to_string(action.id) + " goes on, and has lent no slot");
  host_.witness().check_resume(action);
  const bool over = std::exchange(found->second.yields, Yields::Nothing) == Yields::LentAndOver;
  if (over) end_later(Duration{0}, action.record, found->second.number, false);
}

}  // namespace penstock::simulation
