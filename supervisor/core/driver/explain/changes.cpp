// Changes of the next pass's snapshot, as the driver would show them.
#include <algorithm>
#include <map>
#include <utility>

#include "supervisor/core/driver/explain/explainer.hpp"
#include "supervisor/core/driver/pass_snapshot.hpp"
#include "supervisor/core/event_context.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/policy/job_demand.hpp"
#include "supervisor/core/policy/limit_rules.hpp"
#include "supervisor/core/policy/policy_view.hpp"
#include "supervisor/core/policy_owners.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::supervisor {

namespace {

/// The limit of an owner where slots are shared, in slots of so many thousandths.
std::int64_t limit_in_slots(const ProjectConfig& owner, BandKind kind, std::int64_t granularity) {
  const std::int64_t most = kind == BandKind::Cpu ? owner.slots_max : owner.gpu_slots_max;
  return most == kUnbounded ? policy::kUnlimited : most * 1000 / granularity;
}

}  // namespace

PolicyAnswers::Explainer::Explainer(const PolicyAnswers& core, const Job& job, BandKind kind)
    : core_(core),
      job_(job),
      kind_(kind),
      domain_(domain_of(job.shares->pool.position, kind)),
      share_(job.shares->kinds[static_cast<std::size_t>(kind)]) {
  if (!core.policy_.last.has_value()) return;
  const auto gone = [&core](JobId id) { return !core.jobs_.knows(id) || core.jobs_[id].shares == nullptr; };
  what_if_.emplace(*core.policy_.last, core.policy_.parts, domain_, job.id, core.event_.now, gone);
  if (!what_if_->is_shown())
    what_if_.reset();
  else  // An order may have changed weights since.
    weigh(core.view_.own_weight(job), what_if_->next());
}

/// The least that the job takes next.
std::uint64_t PolicyAnswers::Explainer::step() const {
  if (!is_gang()) return std::max<std::uint64_t>(share_.allocation_unit.milli, 1);
  const std::uint64_t all = std::uint64_t{job_.spec.policy.gang} * 1000;
  const std::uint64_t held = core_.view_.milli_held(job_, kind_);
  if (job_.spec.policy.is_elastic() && held >= all) return std::max<std::uint64_t>(share_.allocation_unit.milli, 1);
  return held < all ? all - held : all;
}

std::int64_t PolicyAnswers::Explainer::step_beyond_first() const {
  if (!core_.view_.counts_quotas(job_.shares->pool.position)) return 0;
  const std::uint64_t unit = std::max<std::uint64_t>(share_.allocation_unit.milli, 1);
  return static_cast<std::int64_t>(step() - std::min(step(), unit));
}

const Job& PolicyAnswers::Explainer::job_at(std::uint32_t workload) const {
  return core_.jobs_[what_if_->subjects()[workload].job];
}

bool PolicyAnswers::Explainer::holds_any(std::uint32_t workload) {
  const std::vector<policy::Member>& members = what_if_->next().members;
  return std::any_of(members.begin(), members.end(), [workload](const policy::Member& each) {
    return each.workload == workload && each.state == policy::MemberState::Running;
  });
}

/// The list of the bands that a new member of the workload may use.
std::uint32_t PolicyAnswers::Explainer::bands_for(std::uint32_t workload, policy::Snapshot& changed) const {
  for (const policy::Member& member : changed.members)
    if (member.workload == workload && member.state == policy::MemberState::Pending) return member.band_list;
  const PassUnderWay::Subject& subject = what_if_->subjects()[workload];
  const Job& job = core_.jobs_[subject.job];
  const bool bound = job.shares->kinds[static_cast<std::size_t>(kind_)].bound;
  const std::vector<BandSlot>& bands = core_.policy_.last->pass.bands;
  std::vector<std::uint32_t> allowed;
  std::size_t all = 0;
  for (std::uint32_t i = 0; i < bands.size(); ++i) {
    if (changed.bands[i].pool != domain_) continue;
    ++all;
    if (core_.view_.may_use(job, bands[i]) && (!bound || core_.demand_.runnable_for(job, bands[i]) > 0))
      allowed.push_back(i);
  }
  if (allowed.size() == all) return policy::kNone;
  changed.band_lists.push_back(allowed.empty() ? std::vector<std::uint32_t>{policy::kNone} : allowed);
  return static_cast<std::uint32_t>(changed.band_lists.size() - 1);
}

/// Shows waiting members for so many thousandths of slots more.
void PolicyAnswers::Explainer::want(std::uint32_t workload, std::uint64_t milli, policy::Snapshot& changed) const {
  const PassUnderWay::Subject& subject = what_if_->subjects()[workload];
  const Job& job = core_.jobs_[subject.job];
  const bool quotas = core_.view_.counts_quotas(job.shares->pool.position);
  const AllocationUnit& unit = job.shares->kinds[static_cast<std::size_t>(kind_)].allocation_unit;
  const std::uint64_t each = std::max<std::uint64_t>(subject.gang && !quotas ? milli : unit.milli, 1);
  const std::uint32_t bands = bands_for(workload, changed);
  for (; milli > 0 && changed.members.size() < core_.policy_.config.members_max; milli -= std::min(milli, each)) {
    changed.members.push_back(
        member_of(job, subject, each, granularity(), core_.demand_.may_leave(job, kind_), quotas));
    changed.members.back().workload = workload;
    changed.members.back().band_list = bands;
    changed.members.back().requested = static_cast<std::int64_t>(changed.members.size());
  }
}

/// Shows the weights that count now. `own`: the weight of the job in question.
void PolicyAnswers::Explainer::weigh(std::int64_t own, policy::Snapshot& changed) const {
  const std::vector<std::uint32_t>& projects = core_.policy_.last->pass.owners.projects();
  for (std::size_t node = 0; node < changed.share_nodes.size() && node < projects.size(); ++node)
    if (projects[node] != policy::kNone)
      changed.share_nodes[node].weight = share_weight(core_.policy_.config, projects[node]);
  for (std::uint32_t i = 0; i < changed.workloads.size(); ++i)
    changed.workloads[i].weight = &job_at(i) == &job_ ? own : core_.view_.own_weight(job_at(i));
}

/// Jobs get what limits leave them once those have ended.
void PolicyAnswers::Explainer::admit(const Workloads& ended, policy::Snapshot& changed) const {
  const auto wanted = [&](const Job& job) -> std::optional<MilliByKind> {
    for (const std::uint32_t each : ended)
      if (&job == &job_at(each)) return std::nullopt;
    MilliByKind demand{};
    for (std::size_t i = 0; i < kBandKinds; ++i) {
      const auto kind = static_cast<BandKind>(i);
      const std::uint64_t all = core_.policy_.last->pass.domains[domain_of(job.shares->pool.position, kind)].capacity;
      demand[i] = job.shares->rules.cut[i]
                      ? core_.demand_.measure_demand(job, kind, core_.view_.capacity_for(job, kind, all))
                      : job.shares->kinds[i].demand;
    }
    return demand;
  };
  std::map<JobId, std::uint64_t> allowed;
  for (const AdmittedJob& each : core_.rules_.admit(wanted))
    allowed[each.job] = each.admission.allowed[static_cast<std::size_t>(kind_)];
  for (std::uint32_t i = 0; i < changed.workloads.size(); ++i) {
    const auto at = allowed.find(what_if_->subjects()[i].job);
    const std::uint64_t shown = job_at(i).shares->kinds[static_cast<std::size_t>(kind_)].demand;
    if (at != allowed.end() && at->second > shown && !changed.workloads[i].keeps_place)
      want(i, at->second - shown, changed);
  }
}

policy::Snapshot PolicyAnswers::Explainer::without(const Workloads& ended) {
  policy::Snapshot changed = what_if_->next();
  end_workloads(ended, changed);
  admit(ended, changed);
  return changed;
}

/// The job wants its next step, even if a limit, a hold or its own cap keeps it from saying so.
policy::Snapshot PolicyAnswers::Explainer::with_step() {
  policy::Snapshot changed = what_if_->next();
  const std::uint32_t subject = what_if_->subject();
  changed.workloads[subject].slots_max = policy::kUnlimited;
  for (policy::SlotLimit& limit : changed.slot_limits) std::erase(limit.workloads, subject);
  const bool waits = std::any_of(changed.members.begin(), changed.members.end(), [subject](const policy::Member& each) {
    return each.workload == subject && each.state == policy::MemberState::Pending;
  });
  if (!waits) want(subject, step(), changed);
  return changed;
}

policy::Snapshot PolicyAnswers::Explainer::with_projects(const PolicyConfig& config) {
  policy::Snapshot changed = what_if_->next();
  const std::vector<std::uint32_t>& owners = core_.policy_.last->pass.owners.projects();
  for (std::size_t node = 0; node < changed.share_nodes.size() && node < owners.size(); ++node)
    if (owners[node] < config.projects.size())
      changed.share_nodes[node].slots_max =
          limit_in_slots(config.projects[owners[node]], kind_, static_cast<std::int64_t>(granularity()));
  if (!core_.view_.counts_quotas(job_.shares->pool.position)) return changed;
  const std::uint32_t first = core_.policy_.last->pass.first_projects[domain_];
  const std::vector<policy::Project> projects =
      projects_in(config, core_.policy_.tree, job_.shares->pool.position, kind_, first);
  std::copy(projects.begin(), projects.end(), changed.projects.begin() + first);
  return changed;
}

/// The snapshot if those workers take work. More bands let all jobs want more that could use them.
policy::Snapshot PolicyAnswers::Explainer::with_workers(const std::vector<Closed>& all, std::size_t first,
                                                        std::size_t count) {
  policy::Snapshot changed = what_if_->next();
  std::vector<std::pair<std::uint32_t, const Closed*>> opened;
  std::uint64_t more = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    for (const std::uint32_t band : all[i].bands) {
      changed.bands[band].state = policy::BandState::Enabled;
      opened.emplace_back(band, &all[i]);
    }
    for (const BandDescription& band : all[i].absent) {
      const auto milli = static_cast<std::int64_t>(band.capacity.slots.value() / 1000 * 1000);
      policy::Band added;
      added.name = all[i].name;
      added.pool = domain_;
      added.slots = milli / static_cast<std::int64_t>(granularity());
      added.capacity.gpu = milli;
      if (core_.policy_.last->pass.domains[domain_].by_amount)
        added.capacity.cpu = band.capacity.cpu.value(), added.capacity.memory = band.capacity.memory.value();
      added.device_memory_mib = kDeviceMib;
      more += static_cast<std::uint64_t>(milli);
      opened.emplace_back(static_cast<std::uint32_t>(changed.bands.size()), &all[i]);
      changed.bands.push_back(std::move(added));
    }
  }
  std::vector<bool> done(changed.band_lists.size(), false);
  for (const policy::Member& member : changed.members) {
    const Job& job = job_at(member.workload);
    const bool bound = job.shares->kinds[static_cast<std::size_t>(kind_)].bound;
    if (member.state != policy::MemberState::Pending || member.band_list == policy::kNone || bound) continue;
    if (done[member.band_list]) continue;
    done[member.band_list] = true;
    std::vector<std::uint32_t>& list = changed.band_lists[member.band_list];
    std::erase(list, policy::kNone);  // The job may use none of those that are open.
    for (const auto& [band, worker] : opened)
      if (allow(job.place.label_limits, worker->description)) list.push_back(band);
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    if (list.empty()) list.push_back(policy::kNone);
  }
  const std::uint64_t capacity = core_.policy_.last->pass.domains[domain_].capacity;
  for (std::uint32_t i = 0; more > 0 && i < changed.workloads.size(); ++i) {
    const Job& job = job_at(i);
    const std::uint64_t shown = job.shares->kinds[static_cast<std::size_t>(kind_)].demand;
    const std::uint64_t wanted =
        core_.demand_.measure_demand(job, kind_, core_.view_.capacity_for(job, kind_, capacity) + more);
    if (wanted <= shown || job.shares->rules.cut[static_cast<std::size_t>(kind_)]) continue;
    want(i, wanted - shown, changed);
    const auto slots = static_cast<std::int64_t>((wanted - shown) / granularity());
    changed.workloads[i].beyond = std::max<std::int64_t>(changed.workloads[i].beyond - slots, 0);
  }
  return changed;
}

}  // namespace penstock::supervisor
