#include "supervisor/policy/replay/replay.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/replay/replay_figures.hpp"
#include "supervisor/policy/sharing/usage_decay.hpp"

namespace penstock::policy {
namespace {

Instant at_second(std::int64_t seconds) { return Instant{std::chrono::seconds{seconds}}; }

/// A job that has come and has not ended.
struct Live {
  std::uint32_t job = 0;
  std::int64_t left_s = 0;  ///< What it still has to run, from when it (last) started.
  std::int64_t started_s = -1;
  std::vector<Member> members;

  bool runs() const { return started_s >= 0; }
};

class Replay {
 public:
  Replay(const ReplayTrace& trace, const ReplayOptions& options)
      : trace_(trace),
        options_(options),
        engine_({options.parts}),
        requests_(trace),
        by_devices_(options.parts.sharing == Sharing::QuotaTree),
        first_starts_(trace.jobs.size(), -1) {
    for (std::size_t i = 0; i < trace.projects.size(); ++i)
      usage_.emplace_back(static_cast<double>(options.half_life_s), 0, 0);
    make_world();
    std::int64_t span = trace.jobs.empty() ? 1 : trace.jobs.back().arrives_s - trace.jobs.front().arrives_s;
    sample_every_s_ = std::max<std::int64_t>(1, span / std::max<std::int64_t>(1, options.samples));
    next_sample_s_ = trace.jobs.empty() ? 0 : trace.jobs.front().arrives_s;
  }

  ReplayReport run() {
    std::int64_t now = trace_.jobs.empty() ? 0 : trace_.jobs.front().arrives_s;
    while (true) {
      const bool changed = admit(now) + finish(now) > 0;
      if (changed) pass(now);
      const std::int64_t next = next_event();
      if (next == INT64_MAX) break;
      const std::int64_t then = std::max(next, changed ? now + options_.period_s : now + 1);
      sample_until(then);
      now = then;
    }
    report_.ended_s = now;
    summarise();
    return std::move(report_);
  }

 private:
  /// Bands, projects and accounts stay; jobs come and go.
  void make_world() {
    snapshot_.bands = trace_.bands;
    for (const Band& band : trace_.bands) capacity_ += static_cast<double>(band.capacity.gpu);
    for (std::uint32_t i = 0; i < trace_.projects.size(); ++i) {
      Project project;
      project.name = trace_.projects[i];
      project.created = i;
      project.shares[0] = project.shares[1] = {.guaranteed = kUnlimited, .weight = 1000};
      const auto equal = static_cast<std::int64_t>(capacity_) / std::ssize(trace_.projects) / 1000 * 1000;
      project.shares[2] = {.guaranteed = equal, .weight = 1000};
      snapshot_.projects.push_back(project);
      Account account;
      account.name = project.name;
      account.parent = static_cast<std::uint32_t>(trace_.projects.size());
      account.user = true;
      snapshot_.accounts.push_back(account);
    }
    snapshot_.accounts.push_back({"root", kNone, false, 1, 0});
  }

  Member member_of(const ReplayJob& job, std::int64_t number) const {
    Member member;
    member.name = job.name + "." + std::to_string(number);
    member.requested = number;
    member.request = {job.cpu_milli, job.memory_mib << 20, 0};
    member.slots = job.devices;
    member.single_band = true;
    if (job.devices == 1 && job.device_share < 1000) {
      member.devices = 1;
      member.device_share = job.device_share;
    } else {
      member.request.gpu = job.devices * 1000;
    }
    return member;
  }

  int admit(std::int64_t now) {
    int count = 0;
    for (; arrived_ < trace_.jobs.size() && trace_.jobs[arrived_].arrives_s <= now; ++arrived_, ++count) {
      Live live;
      live.job = static_cast<std::uint32_t>(arrived_);
      live.left_s = trace_.jobs[arrived_].runs_s;
      const std::uint32_t band_list = band_lists_.name(trace_.jobs[arrived_].bands, snapshot_);
      for (std::int64_t i = 0; i < trace_.jobs[arrived_].members; ++i) {
        live.members.push_back(member_of(trace_.jobs[arrived_], i));
        live.members.back().band_list = band_list;
      }
      live_.push_back(std::move(live));
    }
    return count;
  }

  int finish(std::int64_t now) {
    const auto has_ended = [now](const Live& live) { return live.runs() && live.started_s + live.left_s <= now; };
    for (const Live& live : live_)
      if (has_ended(live)) charge(live, live.started_s + live.left_s);
    return static_cast<int>(std::erase_if(live_, has_ended));
  }

  void charge(const Live& live, std::int64_t until_s) {
    const ReplayJob& job = trace_.jobs[live.job];
    usage_[job.project].charge(held_by(job) * static_cast<double>(until_s - live.started_s),
                               static_cast<double>(until_s));
  }
  static double held_by(const ReplayJob& job) {
    return static_cast<double>(job.members * job.devices * job.device_share);
  }

  std::int64_t next_event() const {
    std::int64_t next = arrived_ < trace_.jobs.size() ? trace_.jobs[arrived_].arrives_s : INT64_MAX;
    for (const Live& live : live_)
      if (live.runs()) next = std::min(next, live.started_s + live.left_s);
    return next;
  }

  void make_snapshot(std::int64_t now) {
    snapshot_.now = at_second(now);
    snapshot_.workloads.clear();
    snapshot_.members.clear();
    for (std::size_t i = 0; i < usage_.size(); ++i)
      snapshot_.accounts[i].usage = usage_[i].value_at(static_cast<double>(now));
    for (std::uint32_t at = 0; at < live_.size(); ++at) {
      const Live& live = live_[at];
      const ReplayJob& job = trace_.jobs[live.job];
      Workload workload;
      workload.name = job.name;
      workload.project = workload.account = job.project;
      workload.priority = job.priority;
      workload.preemptible = job.priority < 100;
      workload.submitted = live.job;
      workload.submitted_at = at_second(job.arrives_s);
      // Users say how long it will take, and are right.
      workload.time_limit = std::chrono::seconds{live.left_s};
      workload.sets[0].min = job.members;
      if (live.runs()) {
        workload.last_start = at_second(live.started_s);
        workload.ends_by = at_second(live.started_s + live.left_s);
      }
      for (const Member& member : live.members) {
        snapshot_.members.push_back(member);
        snapshot_.members.back().workload = at;
        snapshot_.members.back().submitted = live.job;
      }
      snapshot_.workloads.push_back(std::move(workload));
    }
  }

  void pass(std::int64_t now) {
    make_snapshot(now);
    const Plan plan = engine_.pass(snapshot_);
    ++report_.passes;
    std::vector<Member>& members = snapshot_.members;
    for (const Preemption& each : plan.preemptions) {
      members[each.member].state = MemberState::Pending;
      members[each.member].places.clear();
      members[each.member].device_groups.clear();
    }
    const auto put = [&](const auto& each) {
      members[each.member].state = MemberState::Running;
      members[each.member].places = each.places;
      members[each.member].device_groups = each.device_groups;
    };
    for (const Start& each : plan.starts) put(each);
    // Who was told to leave is gone at once, so that promises are kept at once; a reserved time has no place yet.
    for (const Reservation& each : plan.reservations)
      if (!each.places.empty()) put(each);
    std::vector<bool> was_told(members.size(), false);
    for (const Preemption& each : plan.preemptions) was_told[each.member] = true;
    std::size_t position = 0;
    for (Live& live : live_) take_over(live, position, was_told, now);
  }

  /// What the plan made of the members of one job, beginning at `position`.
  void take_over(Live& live, std::size_t& position, const std::vector<bool>& was_told, std::int64_t now) {
    std::size_t running = 0;
    std::int64_t told = 0;
    for (Member& member : live.members) {
      told += was_told[position] ? 1 : 0;
      member = snapshot_.members[position++];
      running += member.state == MemberState::Running ? 1 : 0;
    }
    const bool runs = running == live.members.size();
    report_.preemptions += told;
    if (runs) report_.moves += told;
    if (live.runs() && !runs) {
      charge(live, now);
      live.left_s = std::max<std::int64_t>(1, live.left_s - (now - live.started_s));
      live.started_s = -1;
    }
    if (!live.runs() && runs) {
      live.started_s = now;
      if (first_starts_[live.job] < 0) first_starts_[live.job] = now;
    }
  }

  void sample_until(std::int64_t then) {
    if (next_sample_s_ >= then || arrived_ >= trace_.jobs.size()) return;
    ReplaySample sample = measure();
    for (; next_sample_s_ < then; next_sample_s_ += sample_every_s_) {
      sample.at_s = next_sample_s_;
      report_.samples.push_back(sample);
    }
  }

  ReplaySample measure() const {
    ReplaySample sample;
    std::vector<double> held(trace_.projects.size(), 0);
    std::vector<double> wanted(trace_.projects.size(), 0);
    std::vector<BandRest> rests(trace_.bands.size());
    for (std::size_t band = 0; band < rests.size(); ++band)
      rests[band] = {trace_.bands[band].capacity.gpu, {}, trace_.bands[band].capacity.cpu};
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> shared;
    double used = 0;
    for (const Live& live : live_) {
      const ReplayJob& job = trace_.jobs[live.job];
      wanted[job.project] += held_by(job);
      if (!live.runs()) {
        ++sample.waiting;
        continue;
      }
      held[job.project] += held_by(job);
      used += held_by(job);
      for (const Member& member : live.members) {
        for (const Place& place : member.places) {
          rests[place.band].cpu_milli -= member.request.cpu;
          if (member.devices == 0 || !by_devices_) rests[place.band].whole -= member.slots * 1000;
        }
        if (by_devices_ && !member.places.empty())
          for (const std::uint32_t group : member.device_groups)
            shared[{member.places.front().band, group}] += job.device_share;
      }
    }
    for (const auto& [device, share] : shared) {
      rests[device.first].whole -= 1000;
      rests[device.first].parts.push_back(1000 - share);
    }
    sample.used = capacity_ > 0 ? used / capacity_ : 0;
    sample.fragmented = requests_.unusable_part(rests);
    sample.fairness = fairness(held, equal_shares(wanted, capacity_));
    return sample;
  }

  static double fairness(const std::vector<double>& held, const std::vector<double>& entitled) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < held.size(); ++i)
      if (entitled[i] > 0) ratios.push_back(held[i] / entitled[i]);
    return jain_index(ratios);
  }

  void summarise() {
    std::vector<std::vector<std::int64_t>> waits(trace_.projects.size());
    std::vector<std::int64_t> never(trace_.projects.size(), 0);
    std::vector<std::int64_t> all;
    for (std::size_t job = 0; job < trace_.jobs.size(); ++job) {
      const std::uint32_t project = trace_.jobs[job].project;
      if (first_starts_[job] < 0) {
        ++never[project];
        continue;
      }
      waits[project].push_back(first_starts_[job] - trace_.jobs[job].arrives_s);
      all.push_back(waits[project].back());
    }
    std::int64_t never_in_all = 0;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      never_in_all += never[i];
      report_.projects.push_back(waits_of(trace_.projects[i], waits[i], never[i]));
    }
    report_.all = waits_of("all", all, never_in_all);
    const auto count = static_cast<double>(report_.samples.size());
    if (count > 0) report_.fairness = 0;
    for (const ReplaySample& sample : report_.samples) {
      report_.used += sample.used / count;
      report_.fragmented += sample.fragmented / count;
      report_.fairness += sample.fairness / count;
    }
  }

  const ReplayTrace& trace_;
  const ReplayOptions& options_;
  const PolicyEngine engine_;
  const TypicalRequests requests_;
  const bool by_devices_;  ///< The policy places parts of devices.
  double capacity_ = 0;    ///< Thousandths of devices.
  std::int64_t sample_every_s_ = 1;
  Snapshot snapshot_;
  BandLists band_lists_;
  std::vector<Live> live_;  ///< By arrival.
  std::size_t arrived_ = 0;
  std::int64_t next_sample_s_ = 0;
  std::vector<std::int64_t> first_starts_;
  std::vector<UsageTally> usage_;
  ReplayReport report_;
};

}  // namespace

ReplayReport replay(const ReplayTrace& trace, const ReplayOptions& options) { return Replay{trace, options}.run(); }

}  // namespace penstock::policy
