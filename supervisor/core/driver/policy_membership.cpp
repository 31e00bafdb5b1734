#include "supervisor/core/driver/policy_membership.hpp"
#include "supervisor/core/driver/pool_fallbacks.hpp"
#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/policy/allocation_units.hpp"
#include "supervisor/core/policy/entitlement_mail.hpp"
#include "supervisor/core/policy/limit_rules.hpp"
#include "supervisor/core/policy/policy_turns.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy/usage_accounts.hpp"
#include "supervisor/core/policy_state.hpp"
#include "supervisor/core/worker_table.hpp"
#include "supervisor/core/workers/band_indices.hpp"

namespace penstock::supervisor {

void PolicyMembership::open_shares(Job& job) {
  if (!view_.policed() || job.graph.shape == nullptr) return;
  const bool is_new = job.shares == nullptr;
  if (is_new) job.shares = std::make_unique<JobShares>();
  JobShares& shares = *job.shares;
  if (shares.use.any()) usage_.accrue(job).started_rate = {};
  const PolicyConfig& config = policy_.config;
  const JobPolicy& wishes = job.spec.policy;
  const std::int64_t project = wishes.project.empty() ? -1 : find_project(config, wishes.project);
  fallbacks_.open_pools(job);
  shares.project =
      static_cast<std::uint32_t>(project < 0 ? static_cast<std::int64_t>(config.projects.size()) : project);
  usage_.charge_to_account(job);
  if (is_new) {
    shares.position = view_.first_position(job);
    policy_.agenda.enter(job.id, job.spec.priority, likeness_of(job), policy_.config.queue_depth);
  }
  rules_.open_rules(job);
  shares.kinds.visit_own([](KindShare& share) {
    KindShare fresh;
    fresh.since = share.since;
    fresh.gang.incomplete_since = share.gang.incomplete_since;
    fresh.gang.barrier = std::move(share.gang.barrier);
    share = std::move(fresh);
  });
  // Of a hundred thousand equal jobs nearly all wait where no pass reads them: their demand is stored once.
  KindShares* alike = is_new && job.graph.larger_templates->empty() ? policy_.agenda.wanted_alike(job.id) : nullptr;
  if (alike != nullptr) shares.kinds = *alike;
  units_.measure_requests(job);
  if (alike != nullptr) *alike = shares.kinds;
  // The entitlements that workers have stay in force until they get others.
  const std::vector<BandShare> before = std::exchange(shares.bands, {});
  if (!before.empty() || job.tally.in_flight > 0) shares.bands.resize(workers_.band_slots());
  shares.short_bands = {};
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    if (!workers_[WorkerSlot{i}].alive || i >= job.audience.known_of.size() ||
        (job.audience.known_of[i] & JobAudience::kHeardOf) == 0)
      continue;
    for (const BandSlot band : workers_[WorkerSlot{i}].bands)
      shares.at(band).entitled = is_new                         ? MilliSlots::max()
                                 : band.value() < before.size() ? before[band.value()].entitled
                                                                : MilliSlots{0};
  }
  // The last plan stays in force until the next one; where the job may not be any more it has ended.
  for (std::uint32_t i = 0; i < before.size() && i < workers_.band_slots(); ++i) {
    if (!workers_[BandSlot{i}].alive || !view_.may_hold(job, BandSlot{i})) continue;
    shares.bands[i].planned = before[i].planned;
    shares.bands[i].claimed = before[i].claimed;
  }
  for (std::uint32_t i = 0; job.tally.in_flight > 0 && i < workers_.band_slots(); ++i)
    for (const AssignedRef& ref : workers_[BandSlot{i}].assigned) {
      if (ref.job != job.id || ref.subtask >= job.total()) continue;
      const SubtaskHot& hot = job.hot[ref.subtask];
      if (hot.phase != SubtaskPhase::Assigned || hot.attempt != ref.attempt || hot.band != BandSlot{i}) continue;
      if ((hot.flags & SubtaskFlag::kLent) != 0) continue;
      BandShare& share = shares.bands[i];
      shares.change(BandSlot{i}, workers_[BandSlot{i}].kind, [&](BandShare& counted) {
        ++counted.in_flight;
        counted.runnable += hot.missing == 0;
      });
      if ((hot.flags & SubtaskFlag::kStarted) == 0) continue;
      ++share.started;
      add(usage_.accrue(job).started_rate, usage_.rate_of(job, ref.subtask));
    }
  turns_.policy_changed();
}

void PolicyMembership::close_shares(Job& job) {
  if (job.shares == nullptr) return;
  job.shares->kinds.visit_own([](KindShare& share) {
    if (GangBarrier* barrier = share.gang.barrier.if_any()) barrier->end(true);
  });
  for (BandShare& share : job.shares->bands) share.entitled = MilliSlots::max();
  if (job.shares->devices.any()) job.shares->devices.edit().clear();
  for (std::uint32_t i = 0; i < workers_.worker_slots(); ++i) {
    if (!workers_[WorkerSlot{i}].alive) continue;
    for (const BandSlot band : workers_[WorkerSlot{i}].bands) {
      job.shares->at(band).entitled = MilliSlots::max();
      bands_.mark_dirty(band);
    }
    if (i < job.audience.known_of.size() && (job.audience.known_of[i] & JobAudience::kHeardOf) != 0)
      entitlement_mail_.send_entitlements(job, WorkerSlot{i});
  }
  leave_policy(job);
}

void PolicyMembership::leave_policy(Job& job) {
  if (job.shares == nullptr) return;
  policy_.agenda.leave(job.id);
  indices_.limited.remove(job.shares->rules.limits);
  job.shares.reset();
}

void PolicyMembership::note_pools_of(WorkerSlot slot) {
  const bool policed = view_.policed();
  const auto pool =
      policed ? static_cast<std::uint32_t>(pool_of_worker(policy_.config, workers_[slot].description.name)) : 0;
  // Plans that count slots know of no device that has a rest; the others name the devices of parts.
  const bool names_devices = !policed || (view_.counts_quotas(pool) && workers_[slot].description.keeps_to_devices);
  for (const BandSlot band : workers_[slot].bands) {
    const bool whole_only = !names_devices && workers_[band].description.devices.size() > 1;
    if (workers_[band].whole_only == whole_only) continue;
    workers_[band].whole_only = whole_only;
    workers_.touch(band);
  }
  if (!policed) return;
  policy_.pool_of_band.resize(workers_.band_slots());
  for (const BandSlot band : workers_[slot].bands) policy_.pool_of_band[band.value()] = pool;
  turns_.policy_changed();
}

}  // namespace penstock::supervisor
