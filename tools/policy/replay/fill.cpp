#include "tools/policy/replay/fill.hpp"

#include <algorithm>
#include <utility>

#include "common/base/rng.hpp"
#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {
namespace {

/// Longer than any trace goes on.
constexpr std::int64_t kForever = 1'000'000'000;
/// Never preempted.
constexpr std::int64_t kStays = 100;

std::int64_t asked_by(const ReplayJob& job) { return job.members * job.devices * job.device_share; }

/// The cluster as passes see it: jobs only come, and no job leaves.
class Filling {
 public:
  explicit Filling(const ReplayTrace& filling) : filling_(filling), member_of_(filling.jobs.size(), kNone) {
    std::int64_t devices = 0;
    for (const Band& band : filling.bands) devices += band.capacity.gpu;
    Project all;
    all.name = filling.projects.front();
    all.shares[0] = all.shares[1] = {.guaranteed = kUnlimited, .weight = 1000};
    all.shares[2] = {.guaranteed = devices, .weight = 1000};
    snapshot_.projects = {all};
    snapshot_.bands = filling.bands;
  }

  const Snapshot& snapshot() const { return snapshot_; }
  bool is_placed(std::size_t job) const {
    return member_of_[job] != kNone && !snapshot_.members[member_of_[job]].places.empty();
  }

  /// The first `count` jobs are there.
  void add_through(std::size_t count) {
    for (; added_ < count; ++added_) add(added_);
    snapshot_.now = Instant{std::chrono::seconds{static_cast<std::int64_t>(added_)}};
  }

  void carry_out(const Plan& plan) {
    for (const Start& each : plan.starts) {
      Member& member = snapshot_.members[each.member];
      member.state = MemberState::Running;
      member.places = each.places;
      member.device_groups = each.device_groups;
      snapshot_.workloads[member.workload].last_start = snapshot_.now;
    }
  }

 private:
  /// A job that no band could hold is never shown.
  void add(std::size_t at) {
    const ReplayJob& job = filling_.jobs[at];
    const std::vector<std::uint32_t> bands = bands_for(job);
    if (bands.empty()) return;
    Workload workload;
    workload.name = job.name;
    workload.project = 0;
    workload.priority = job.priority;
    workload.preemptible = false;
    workload.submitted = static_cast<std::int64_t>(at);
    Member member;
    member.name = job.name + ".0";
    member.workload = static_cast<std::uint32_t>(snapshot_.workloads.size());
    member.preemptible = false;
    member.single_band = true;
    member.request = {job.cpu_milli, job.memory_mib << 20U, 0};
    if (job.devices == 1 && job.device_share < 1000) {
      member.devices = 1;
      member.device_share = job.device_share;
    } else {
      member.request.gpu = job.devices * 1000;
    }
    member.submitted = static_cast<std::int64_t>(at);
    if (bands.size() < filling_.bands.size()) member.band_list = lists_.name(bands, snapshot_);
    member_of_[at] = static_cast<std::uint32_t>(snapshot_.members.size());
    snapshot_.workloads.push_back(std::move(workload));
    snapshot_.members.push_back(std::move(member));
  }

  std::vector<std::uint32_t> bands_for(const ReplayJob& job) const {
    const Resources request{job.cpu_milli, job.memory_mib << 20U, job.devices * job.device_share};
    std::vector<std::uint32_t> bands;
    const auto look = [&](std::uint32_t band) {
      if (request.within(filling_.bands[band].capacity)) bands.push_back(band);
    };
    if (job.bands.empty())
      for (std::uint32_t band = 0; band < filling_.bands.size(); ++band) look(band);
    for (const std::uint32_t band : job.bands) look(band);
    return bands;
  }

  const ReplayTrace& filling_;
  Snapshot snapshot_;
  BandLists lists_;
  std::vector<std::uint32_t> member_of_;  ///< By job: its only member; kNone: not shown.
  std::size_t added_ = 0;
};

}  // namespace

ReplayTrace filling_trace(const ReplayTrace& trace, std::int64_t percent, std::uint64_t seed) {
  ReplayTrace filling;
  filling.bands = trace.bands;
  filling.projects = {"all"};
  std::int64_t devices = 0;
  for (const Band& band : trace.bands) devices += band.capacity.gpu;
  Rng rng{seed};
  for (std::int64_t asked = 0; asked * 100 < devices * percent;) {
    ReplayJob job = trace.jobs[rng.below(trace.jobs.size())];
    asked += asked_by(job);
    job.name += "-" + std::to_string(filling.jobs.size());
    job.project = 0;
    job.priority = kStays;
    job.arrives_s = static_cast<std::int64_t>(filling.jobs.size());
    job.runs_s = kForever;
    filling.jobs.push_back(std::move(job));
  }
  return filling;
}

FillResult fill_by_policy(const ReplayTrace& filling, const Parts& parts, std::int64_t period_s) {
  Filling cluster{filling};
  const PolicyEngine engine{{parts}};
  const std::size_t jobs = filling.jobs.size();
  // The first job comes with the first pass.
  for (std::size_t come = std::min<std::size_t>(jobs, 1); jobs > 0; come += static_cast<std::size_t>(period_s)) {
    cluster.add_through(std::min(come, jobs));
    cluster.carry_out(engine.pass(cluster.snapshot()));
    if (come >= jobs) break;
  }
  FillResult result;
  for (const Band& band : filling.bands) result.devices += band.capacity.gpu;
  for (std::size_t i = 0; i < jobs; ++i) {
    const std::int64_t asked = asked_by(filling.jobs[i]);
    result.asked_for += asked;
    if (cluster.is_placed(i))
      result.allocated += asked;
    else
      ++result.unplaced;
  }
  return result;
}

}  // namespace penstock::policy
