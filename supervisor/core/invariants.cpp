#include "supervisor/core/invariants.hpp"

#include <algorithm>
#include <array>

#include "supervisor/core/rooms.hpp"

namespace penstock::supervisor {

void Invariants::check() const {
  std::vector<std::uint64_t> ready(fleet_.workers.band_slots());
  std::vector<std::uint32_t> in_flight(fleet_.workers.band_slots());
  std::vector<std::uint32_t> runnable(fleet_.workers.band_slots());
  LimitedJobs limited;
  for (const auto& job : tables_.jobs.all()) {
    if (job != nullptr && job->shares != nullptr) limited.add(job->shares->rules.limits);
    if (job == nullptr || job->graph.shape == nullptr || job->status.state != JobState::Running) continue;
    std::uint32_t open = 0;
    std::uint32_t assigned = 0;
    for (std::uint32_t i = 0; i < job->total(); ++i) {
      const SubtaskHot& hot = job->hot[i];
      open += !is_final(hot.phase);
      if (is_final(hot.phase)) continue;
      std::uint32_t missing = 0;
      std::uint32_t unplaced = 0;
      bool doomed = false;
      for (const std::uint32_t predecessor : job->graph.shape->predecessors(i)) {
        const SubtaskPhase phase = job->hot[predecessor].phase;
        missing += phase != SubtaskPhase::Succeeded;
        unplaced += phase != SubtaskPhase::Succeeded && phase != SubtaskPhase::Assigned;
        doomed |= phase == SubtaskPhase::Failed || phase == SubtaskPhase::Cancelled;
      }
      const SubtaskId id{job->id, SubtaskIndex{i}};
      PENSTOCK_CHECK_MSG(missing == hot.missing, to_string(id));
      PENSTOCK_CHECK_MSG(unplaced == hot.unplaced, to_string(id));
      PENSTOCK_CHECK_MSG(hot.phase != SubtaskPhase::Placeable || unplaced == 0, to_string(id));
      PENSTOCK_CHECK_MSG(
          hot.phase == SubtaskPhase::Assigned || !doomed || job->status.cancelling || job->status.recovering,
          to_string(id));
      PENSTOCK_CHECK_MSG(hot.phase != SubtaskPhase::Waiting || unplaced > 0 || job->status.cancelling ||
                             job->status.waiting_for_disk || job->status.recovering,
                         to_string(id));
      if (hot.phase == SubtaskPhase::Placeable && !job->status.recovering && !job->status.cancelling) {
        check_inputs(*job, i);
        placement_.external_inputs.check_waiting_external_inputs(*job, i);
      }
      if (hot.phase != SubtaskPhase::Assigned) continue;
      ++assigned;
      PENSTOCK_CHECK_MSG(fleet_.workers[hot.band].alive, to_string(id));
      ++in_flight[hot.band.value()];
      runnable[hot.band.value()] += hot.missing == 0;
    }
    PENSTOCK_CHECK_MSG(open == job->tally.open && assigned == job->tally.in_flight, to_string(job->id));
    if (job->spec.parent.any() && !job->status.cancelling) check_parent(*job);
    if (job->shares != nullptr) check_shares(*job);
    fleet_.eligibility.validate(*job);
    check_placements(*job);
    check_waiting(*job, ready);
  }
  PENSTOCK_CHECK(limited == tables_.indices.limited);
  std::uint32_t claims = 0;
  for (std::uint32_t i = 0; i < fleet_.workers.worker_slots(); ++i)
    claims += fleet_.workers[WorkerSlot{i}].alive && fleet_.workers[WorkerSlot{i}].claiming;
  PENSTOCK_CHECK(claims == fleet_.readoption.claims_open());
  for (std::uint32_t i = 0; i < fleet_.workers.band_slots(); ++i) {
    const BandEntry& band = fleet_.workers[BandSlot{i}];
    if (!band.alive) continue;
    PENSTOCK_CHECK_MSG(band.in_flight == in_flight[i], to_string(band.id));
    PENSTOCK_CHECK_MSG(band.runnable == runnable[i], to_string(band.id));
    PENSTOCK_CHECK_MSG(band.ready_here == ready[i], to_string(band.id));
  }
}

void Invariants::check_parent(const Job& job) const {
  const ParentRun& run = *job.spec.parent;
  if (job.outputs.kept_by_order) return;  // Such a job does not end with its run.
  PENSTOCK_CHECK_MSG(is_under_way(tables_.jobs, run.id, run.attempt), to_string(job.id) + " of " + to_string(run.id));
  PENSTOCK_CHECK_MSG(tables_.nested.has(run.id, job.id), to_string(job.id) + " of " + to_string(run.id));
}

void Invariants::check_placements(const Job& job) const {
  std::vector<bool> found(job.total());
  for (std::uint32_t i = 0; i < fleet_.workers.band_slots(); ++i)
    if (const LocalSet* local = job.place.locals.find(BandSlot{i}))
      for (const std::uint64_t key : local->all_keys()) {
        const std::uint32_t subtask = job.graph.shape->at_rank(static_cast<std::uint32_t>(key));
        if (job.hot[subtask].band == BandSlot{i}) found[subtask] = true;
      }
  for (std::uint32_t i = 0; i < job.total(); ++i) {
    const bool kept = job.hot[i].phase == SubtaskPhase::Placeable && job.hot[i].band.valid();
    PENSTOCK_CHECK_MSG(!kept || found[i], to_string(SubtaskId{job.id, SubtaskIndex{i}}));
  }
}

void Invariants::check_waiting(const Job& job, std::vector<std::uint64_t>& ready) const {
  for (std::uint32_t i = job.place.locals.first(); i < job.place.locals.end(); ++i) {
    const LocalSet* local = job.place.locals.find(BandSlot{i});
    if (local == nullptr || local->empty()) continue;
    ready[i] += local->ready_count();
    const BandEntry& band = fleet_.workers[BandSlot{i}];
    if (!band.alive || job.status.cancelling || placement_.queues.credit_of(job, BandSlot{i}).slots == 0) continue;
    bool found = false;
    for (std::size_t at = 0; at < band.waiting.size(); ++at)
      found |= band.waiting[at].job == job.id && band.waiting[at].epoch == job.place.waiting_epoch &&
               band.waiting[at].precedence == job.precedence();
    PENSTOCK_CHECK_MSG(found && local->is_waiting(), to_string(job.id));
  }
}

void Invariants::check_shares(const Job& job) const {
  std::vector<BandShare> found(std::max<std::size_t>(fleet_.workers.band_slots(), job.shares->bands.size()));
  UsedRate started_rate{};
  for (std::uint32_t i = 0; i < job.hot.size(); ++i) {
    const SubtaskHot& hot = job.hot[i];
    if (hot.phase != SubtaskPhase::Assigned) continue;
    if ((hot.flags & SubtaskFlag::kLent) != 0) continue;
    BandShare& share = found[hot.band.value()];
    ++share.in_flight;
    share.runnable += hot.missing == 0;
    if ((hot.flags & SubtaskFlag::kStarted) == 0) continue;
    ++share.started;
    add(started_rate, policy_base_.usage.rate_of(job, i));
  }
  PENSTOCK_CHECK_MSG(job.shares->use->started_rate == started_rate, to_string(job.id));
  std::array<std::size_t, kBandKinds> short_bands{};
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    const BandShare share = job.shares->of(BandSlot{i});
    const auto kind = static_cast<std::size_t>(fleet_.workers[BandSlot{i}].kind);
    if (share.is_short()) ++short_bands[kind];
    PENSTOCK_CHECK_MSG(job.shares->short_bands[kind].contains(i) == share.is_short(), to_string(job.id));
    PENSTOCK_CHECK_MSG(share.in_flight == found[i].in_flight, to_string(job.id));
    PENSTOCK_CHECK_MSG(share.runnable == found[i].runnable, to_string(job.id));
    PENSTOCK_CHECK_MSG(share.started == found[i].started, to_string(job.id));
  }
  for (std::size_t kind = 0; kind < kBandKinds; ++kind)
    PENSTOCK_CHECK_MSG(job.shares->short_bands[kind].size() == short_bands[kind], to_string(job.id));
}

void Invariants::check_inputs(const Job& job, std::uint32_t subtask) const {
  const auto predecessors = job.graph.shape->predecessors(subtask);
  for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
    if (job.graph.shape->edge_output(job.graph.shape->first_edge(subtask) + k) == EdgeKind::kOrderOnly) continue;
    const SubtaskId id{job.id, SubtaskIndex{predecessors[k]}};
    const bool waits = std::find(outputs_.unread.begin(), outputs_.unread.end(), id) != outputs_.unread.end();
    PENSTOCK_CHECK_MSG(waits || !DataDirectory::is_gone(job, predecessors[k]), to_string(id));
  }
}

}  // namespace penstock::supervisor
