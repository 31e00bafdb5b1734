#include "supervisor/core/limit_admission.hpp"

#include <algorithm>

namespace penstock::supervisor {
namespace {

std::int64_t waiting_max(const JobLimits& limits, std::size_t kind) {
  return kind == 0 ? limits.waiting_slots_max : limits.waiting_gpu_slots_max;
}

std::int64_t slots_max(const JobLimits& limits, std::size_t kind) {
  return kind == 0 ? limits.slots_max : limits.gpu_slots_max;
}

bool counts_waiting(LimitRule rule) { return rule == LimitRule::WaitingSlots || rule == LimitRule::WaitingGpuSlots; }

/// The amounts taken of each limit so far.
class Taken {
 public:
  explicit Taken(const std::vector<JobLimits>& limits) : limits_(limits), counts_(limits.size()) {}

  /// The limit that leaves least slots of a kind to a job.
  struct Cut {
    std::uint64_t left = ~std::uint64_t{0};  ///< `~0`: none limits it.
    std::uint32_t by = 0;
    LimitRule rule = LimitRule::None;
  };
  Cut tightest(const AdmissionRequest& request, std::size_t kind, bool begins) const {
    Cut cut;
    if (request.exempt) return cut;
    const auto limit = [&](std::uint32_t at, std::int64_t most, std::uint64_t used, LimitRule rule) {
      if (most == kUnbounded) return;
      const std::uint64_t all = static_cast<std::uint64_t>(most) * 1000;
      if (const std::uint64_t rest = all - std::min(all, used); rest < cut.left) cut = {rest, at, rule};
    };
    for (const std::uint32_t at : request.limits) {
      limit(at, slots_max(limits_[at], kind), counts_[at].milli[kind],
            kind == 0 ? LimitRule::Slots : LimitRule::GpuSlots);
      if (begins)
        limit(at, waiting_max(limits_[at], kind), counts_[at].waiting_milli[kind],
              kind == 0 ? LimitRule::WaitingSlots : LimitRule::WaitingGpuSlots);
    }
    return cut;
  }
  /// The admission of a job that such a limit holds, beside what it is allowed.
  Admission held_by(const Cut& cut, std::size_t kind, const MilliByKind& allowed) const {
    const Count& count = counts_[cut.by];
    if (counts_waiting(cut.rule))
      return {allowed, cut.rule, cut.by, waiting_max(limits_[cut.by], kind), count.waiting_milli[kind]};
    return {allowed,
            cut.rule,
            cut.by,
            slots_max(limits_[cut.by], kind),
            count.milli[kind] - std::min(count.milli[kind], allowed[kind]),
            count.kept_for[kind],
            count.kept_milli[kind]};
  }
  /// The first limit of running jobs that is reached; the number of limits: none is.
  std::size_t full(const AdmissionRequest& request) const {
    if (request.nested) return limits_.size();
    for (const std::uint32_t at : request.limits)
      if (limits_[at].running_jobs_max != kUnbounded && counts_[at].jobs >= limits_[at].running_jobs_max) return at;
    return limits_.size();
  }
  /// The same of jobs that wait.
  std::size_t crowded(const AdmissionRequest& request) const {
    if (request.nested) return limits_.size();
    for (const std::uint32_t at : request.limits)
      if (limits_[at].waiting_jobs_max != kUnbounded && counts_[at].waiting >= limits_[at].waiting_jobs_max) return at;
    return limits_.size();
  }
  void add_job(const AdmissionRequest& request) {
    if (request.nested) return;
    for (const std::uint32_t at : request.limits) ++counts_[at].jobs;
  }
  void add_waiting(const AdmissionRequest& request, const MilliByKind& milli) {
    for (const std::uint32_t at : request.limits) {
      counts_[at].waiting += request.nested ? 0 : 1;
      for (std::size_t kind = 0; kind < kBandKinds && !request.exempt; ++kind)
        counts_[at].waiting_milli[kind] += milli[kind];
    }
  }
  /// Slots of exempt jobs do not count.
  void add_slots(const AdmissionRequest& request, std::size_t kind, std::uint64_t milli) {
    for (const std::uint32_t at : request.limits)
      if (!request.exempt) counts_[at].milli[kind] += milli;
  }
  /// Reserves for that request the rest of each limit that keeps it from its first step: otherwise other jobs would use
  /// up one limit whenever another has enough. Reserves nothing if one of the limits is too small as a whole.
  void keep_rest(const std::vector<AdmissionRequest>& requests, std::size_t who, std::size_t kind) {
    const AdmissionRequest& request = requests[who];
    const auto all = [&](std::uint32_t at) {
      const std::int64_t most = slots_max(limits_[at], kind);
      return most == kUnbounded ? ~std::uint64_t{0} : static_cast<std::uint64_t>(most) * 1000;
    };
    for (const std::uint32_t at : request.limits)
      if (request.step[kind] > all(at)) return;
    for (const std::uint32_t at : request.limits) {
      Count& count = counts_[at];
      if (count.milli[kind] >= all(at) || all(at) - count.milli[kind] >= request.step[kind]) continue;
      count.kept_milli[kind] = all(at) - count.milli[kind];
      count.milli[kind] = all(at);
      count.kept_for[kind] = who;
    }
  }
  std::int64_t jobs(std::size_t at) const { return counts_[at].jobs; }
  std::int64_t waiting(std::size_t at) const { return counts_[at].waiting; }

 private:
  struct Count {
    std::int64_t jobs = 0;
    std::int64_t waiting = 0;
    MilliByKind waiting_milli{};
    MilliByKind milli{};
    MilliByKind kept_milli{};
    std::array<std::size_t, kBandKinds> kept_for{~std::size_t{0}, ~std::size_t{0}};
  };
  const std::vector<JobLimits>& limits_;
  std::vector<Count> counts_;
};

/// A job with nothing to run for a while gives up its admission: it may wait for an output of another job of the same
/// user.
bool is_running(const AdmissionRequest& request) {
  const auto some = [](std::uint64_t milli) { return milli > 0; };
  return std::any_of(request.held.begin(), request.held.end(), some) ||
         (request.runs && std::any_of(request.wanted.begin(), request.wanted.end(), some));
}

/// A gang is not cut: that would break it.
std::uint64_t kept(const AdmissionRequest& request, std::size_t kind, std::uint64_t left) {
  const std::uint64_t holds = std::min(request.held[kind], request.wanted[kind]);
  return holds <= left || request.gang ? holds : left / request.step[kind] * request.step[kind];
}

}  // namespace

std::vector<Admission> admit_by_limits(const std::vector<JobLimits>& limits,
                                       const std::vector<AdmissionRequest>& in_order) {
  std::vector<Admission> admissions(in_order.size());
  Taken taken{limits};
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const AdmissionRequest& request = in_order[i];
    if (request.on_hold) admissions[i].rule = LimitRule::OnHold;
    if (request.on_hold || !is_running(request)) continue;
    taken.add_job(request);
    for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
      admissions[i].allowed[kind] = kept(request, kind, taken.tightest(request, kind, false).left);
      taken.add_slots(request, kind, admissions[i].allowed[kind]);
    }
  }
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const AdmissionRequest& request = in_order[i];
    Admission& admission = admissions[i];
    if (request.on_hold || admission.allowed == request.wanted) continue;
    if (const std::size_t at = taken.full(request); !is_running(request) && at < limits.size()) {
      admission = {{},
                   LimitRule::RunningJobs,
                   static_cast<std::uint32_t>(at),
                   limits[at].running_jobs_max,
                   static_cast<std::uint64_t>(taken.jobs(at))};
      continue;
    }
    if (const std::size_t at = taken.crowded(request); !is_running(request) && at < limits.size()) {
      admission = {{},
                   LimitRule::WaitingJobs,
                   static_cast<std::uint32_t>(at),
                   limits[at].waiting_jobs_max,
                   static_cast<std::uint64_t>(taken.waiting(at))};
      continue;
    }
    for (std::size_t kind = 0; kind < kBandKinds; ++kind) {
      if (admission.allowed[kind] >= request.wanted[kind]) continue;
      const std::uint64_t missing = request.wanted[kind] - admission.allowed[kind];
      const Taken::Cut cut = taken.tightest(request, kind, !is_running(request));
      const std::uint64_t more = missing <= cut.left ? missing : cut.left / request.step[kind] * request.step[kind];
      if (more < missing) admission = taken.held_by(cut, kind, admission.allowed);
      admission.allowed[kind] += more;
      taken.add_slots(request, kind, more);
      if (admission.allowed[kind] == 0 && !counts_waiting(cut.rule)) taken.keep_rest(in_order, i, kind);
    }
    const bool begins = !is_running(request) && admission.allowed != MilliByKind{};
    if (begins) taken.add_job(request), taken.add_waiting(request, admission.allowed);
  }
  return admissions;
}

}  // namespace penstock::supervisor
