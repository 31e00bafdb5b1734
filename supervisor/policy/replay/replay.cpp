#include "supervisor/policy/replay/replay.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/replay/replay_requests.hpp"
#include "supervisor/policy/sharing/usage_decay.hpp"

namespace penstock::policy {
namespace {

/// The most passes at one instant: each but the last has placed a job, or has found a band to avoid.
constexpr int kRoundsMax = 1000;

Instant at_second(std::int64_t seconds) { return Instant{std::chrono::seconds{seconds}}; }

/// A job that has arrived, has not ended, and could be placed in an empty cluster.
struct Live {
  std::uint32_t job = 0;
  std::int64_t left_s = 0;  ///< The rest of its run, from its (last) start.
  std::int64_t started_s = -1;
  std::int64_t refused_at = -1;  ///< How many had ended when a start of it was refused last.
  std::vector<Member> members;
  std::vector<RoomHolding> holdings;

  bool runs() const { return started_s >= 0; }
  std::int64_t ends_s() const { return started_s + left_s; }
};

/// The changes that one plan makes to one job.
struct Change {
  std::uint32_t live = kNone;
  bool ran = false;
};

class Replay {
 public:
  Replay(const ReplayTrace& trace, const ReplayOptions& options)
      : trace_(trace),
        options_(options),
        engine_({options.parts}),
        typical_(trace),
        requests_(trace, options.parts, typical_),
        rooms_(trace.bands, typical_),
        now_(trace.jobs.empty() ? 0 : trace.jobs.front().arrives_s),
        meter_(now_, options.samples),
        arriving_(now_, 2),
        last_s_(now_),
        held_(trace.projects.size(), 0),
        wanted_(trace.projects.size(), 0),
        present_(trace.projects.size(), 0) {
    for (std::size_t i = 0; i < trace.projects.size(); ++i)
      usage_.emplace_back(static_cast<double>(options.half_life_s), 0, 0);
    report_.jobs.resize(trace.jobs.size());
    for (std::size_t job = 0; job < trace.jobs.size(); ++job)
      if (!requests_.possible(requests_.kind_of(job)).empty()) last_arrival_s_ = trace.jobs[job].arrives_s;
    make_world();
  }

  ReplayReport run() {
    bool changed = false;
    std::int64_t next_pass = now_;
    while (true) {
      changed |= admit();
      changed |= finish();
      if (changed && now_ >= next_pass) {
        // Jobs that have left make room for the next pass to give away.
        changed = pass();
        next_pass = now_ + options_.period_s;
      }
      const std::int64_t next = std::min(next_event(), changed ? next_pass : INT64_MAX);
      if (next == INT64_MAX) break;
      measure_from_now();
      now_ = next;
    }
    report_.ended_s = last_s_;
    summarise();
    return std::move(report_);
  }

 private:
  /// Bands, projects and accounts stay; jobs come and go.
  void make_world() {
    snapshot_.bands = requests_.bands();
    for (const Band& band : trace_.bands) capacity_ += band.capacity.gpu;
    if (options_.owners) {
      snapshot_.projects = options_.owners->projects;
      snapshot_.accounts = options_.owners->accounts;
      owner_of_ = options_.owners->of;
      return;
    }
    const std::int64_t equal = capacity_ / std::max<std::int64_t>(1, std::ssize(trace_.projects)) / 1000 * 1000;
    for (std::uint32_t i = 0; i < trace_.projects.size(); ++i) {
      Project project;
      project.name = trace_.projects[i];
      project.created = i;
      project.shares[0] = project.shares[1] = {.guaranteed = kUnlimited, .weight = 1000};
      project.shares[2] = {.guaranteed = equal, .weight = 1000};
      snapshot_.projects.push_back(project);
      Account account;
      account.name = project.name;
      account.parent = static_cast<std::uint32_t>(trace_.projects.size());
      account.user = true;
      snapshot_.accounts.push_back(account);
      owner_of_.push_back({i, i, 0});
    }
    snapshot_.accounts.push_back({"root", kNone, false, 1, 0});
  }

  const ReplayJob& job_of(const Live& live) const { return trace_.jobs[live.job]; }
  const std::vector<std::uint32_t>& possible(const Live& live) const {
    return requests_.possible(requests_.kind_of(live.job));
  }
  static std::int64_t held_by(const ReplayJob& job) { return job.members * job.devices * job.device_share; }

  /// Whether a job has arrived.
  bool admit() {
    bool any = false;
    for (; arrived_ < trace_.jobs.size() && trace_.jobs[arrived_].arrives_s <= now_; ++arrived_) {
      const ReplayJob& job = trace_.jobs[arrived_];
      if (requests_.possible(requests_.kind_of(arrived_)).empty()) {
        ++report_.never_fits;
        if (requests_.fits_in_parts(requests_.kind_of(arrived_))) ++report_.never_whole;
        continue;
      }
      go_on();
      Live live;
      live.job = static_cast<std::uint32_t>(arrived_);
      live.left_s = job.runs_s;
      live.members = requests_.members_of(job);
      live_.push_back(std::move(live));
      wanted_[job.project] += held_by(job);
      ++present_[job.project];
      any = true;
    }
    return any;
  }

  /// Whether a job has ended.
  bool finish() {
    const auto has_ended = [this](const Live& live) { return live.runs() && live.ends_s() <= now_; };
    const std::int64_t before = ended_;
    for (Live& live : live_) {
      if (!has_ended(live)) continue;
      stop(live);
      wanted_[job_of(live).project] -= held_by(job_of(live));
      --present_[job_of(live).project];
      report_.jobs[live.job].ended_s = now_;
      ++ended_;
    }
    if (ended_ != before)
      std::erase_if(live_, [this](const Live& live) { return report_.jobs[live.job].ended_s >= 0; });
    return ended_ != before;
  }

  /// Charges its run and takes its places away. REQUIRES: it holds the places of its run.
  void stop(Live& live) {
    go_on();
    const ReplayJob& job = job_of(live);
    report_.jobs[live.job].ran_s += now_ - live.started_s;
    usage_[job.project].charge(static_cast<double>(held_by(job) * (now_ - live.started_s)), static_cast<double>(now_));
    held_[job.project] -= held_by(job);
    --running_;
    rooms_.give_back(live.holdings);
    live.holdings.clear();
  }

  std::int64_t next_event() const {
    std::int64_t next = arrived_ < trace_.jobs.size() ? trace_.jobs[arrived_].arrives_s : INT64_MAX;
    for (const Live& live : live_)
      if (live.runs()) next = std::min(next, live.ends_s());
    return next;
  }

  /// Whether a job has left, so that another pass has something to give away. Without a waiting job there is nothing to
  /// decide: running jobs stay.
  bool pass() {
    bool left = false;
    for (int round = 0; round < kRoundsMax && running_ < std::ssize(live_); ++round) {
      make_snapshot();
      const Plan plan = engine_.pass(snapshot_);
      ++report_.passes;
      left |= !plan.preemptions.empty();
      if (!carry_out(plan)) break;
    }
    if (options_.progress) options_.progress(ended_);
    return left;
  }

  void make_snapshot() {
    snapshot_.now = at_second(now_);
    for (std::size_t i = 0; i < usage_.size(); ++i)
      if (owner_of_[i].account != kNone)
        snapshot_.accounts[owner_of_[i].account].usage = usage_[i].value_at(static_cast<double>(now_));
    free_slots_.clear();
    for (const Band& band : snapshot_.bands) free_slots_.push_back(band.slots);
    std::size_t count = 0;
    for (const Live& live : live_) {
      count += live.members.size();
      for (const Member& member : live.members)
        for (const Place& place : member.places) free_slots_[place.band] -= place.slots;
    }
    // Overwritten elements keep their memory.
    snapshot_.members.resize(count);
    snapshot_.workloads.resize(live_.size());
    snapshot_.band_lists.clear();
    list_positions_.clear();
    lists_.assign(requests_.kinds(), std::nullopt);
    shown_.assign(requests_.kinds(), {});
    std::size_t position = 0;
    for (std::uint32_t at = 0; at < live_.size(); ++at) {
      show(live_[at], snapshot_.workloads[at]);
      const bool waits = !live_[at].runs();
      std::uint32_t band_list = kNone;
      if (waits) snapshot_.workloads[at].held = !show_bands(live_[at], band_list);
      for (const Member& member : live_[at].members) {
        Member& seen = snapshot_.members[position++];
        seen = member;
        seen.workload = at;
        seen.submitted = live_[at].job;
        seen.band_list = waits ? band_list : list_of(live_[at]);
      }
    }
  }

  void show(const Live& live, Workload& workload) const {
    const ReplayJob& job = job_of(live);
    workload.name = job.name;
    const ReplayOwners::Owner& owner = owner_of_[job.project];
    workload.project = owner.project;
    workload.account = owner.account;
    // A project's weight is that of its jobs together, as live.
    workload.weight = owner.weight > 0 ? std::max<std::int64_t>(owner.weight / present_[job.project], 1) : 1000;
    workload.priority = job.priority;
    workload.preemptible = job.priority < 100;
    workload.submitted = live.job;
    workload.submitted_at = at_second(job.arrives_s);
    // Users say how long it will take, and are right.
    workload.time_limit = std::chrono::seconds{live.left_s};
    workload.sets[0].min = std::ssize(live.members);
    workload.held = false;
    workload.last_start.reset();
    workload.ends_by.reset();
    if (!live.runs()) return;
    workload.last_start = at_second(live.started_s);
    workload.ends_by = at_second(live.ends_s());
  }

  /// The bands that could hold it; none if all can.
  std::uint32_t list_of(const Live& live) {
    const std::vector<std::uint32_t>& bands = possible(live);
    if (bands.size() == snapshot_.bands.size()) return kNone;
    std::optional<std::uint32_t>& list = lists_[requests_.kind_of(live.job)];
    if (!list) list = name_list(bands);
    return *list;
  }

  /// As `BandLists`, which would sort a sorted list: a good part of a replay.
  std::uint32_t name_list(const std::vector<std::uint32_t>& bands) {
    const auto position = static_cast<std::uint32_t>(snapshot_.band_lists.size());
    const auto [known, is_new] = list_positions_.try_emplace(bands, position);
    if (is_new) snapshot_.band_lists.push_back(bands);
    return known->second;
  }

  /// The bands that a waiting job is shown; false if it is held because none has room for resources that the policy
  /// does not see.
  bool show_bands(const Live& live, std::uint32_t& list) {
    if (!requests_.by_slots() || job_of(live).devices == 0) {
      list = requests_.by_slots() ? kNone : list_of(live);
      return true;
    }
    const bool strict = live.refused_at == ended_;
    Shown& shown = shown_[requests_.kind_of(live.job)][strict ? 1 : 0];
    if (!shown.known) shown = look_for_bands(live, strict);
    list = shown.list;
    return !shown.held;
  }

  struct Shown {
    bool known = false;
    bool held = false;
    std::uint32_t list = kNone;
  };

  /// Leaves out bands that have slots free but lack another resource for the job. After a refused start it also leaves
  /// out those that others would have to leave, until a job has ended.
  Shown look_for_bands(const Live& live, bool strict) {
    const ReplayJob& job = job_of(live);
    const RoomDemand demand = requests_.demand_of(job);
    std::vector<std::uint32_t> bands;
    for (const std::uint32_t band : possible(live)) {
      const std::int64_t together = requests_.together_on(job, band);
      const bool no_slots = free_slots_[band] < live.members.front().slots / job.members;
      if ((no_slots && !strict) || rooms_.room_for(band, demand, together) >= together) bands.push_back(band);
    }
    if (bands.size() == snapshot_.bands.size()) return {true, false, kNone};
    if (bands.empty()) return {true, true, kNone};
    return {true, false, name_list(bands)};
  }

  /// Whether a start was refused on slots that another job might have got.
  bool carry_out(const Plan& plan) {
    std::vector<Member>& members = snapshot_.members;
    std::vector<Change> changes;
    std::vector<std::uint32_t> change_of(live_.size(), kNone);
    const auto change = [&](std::uint32_t member) {
      std::uint32_t& at = change_of[members[member].workload];
      if (at == kNone) {
        at = static_cast<std::uint32_t>(changes.size());
        changes.push_back({members[member].workload, live_[members[member].workload].runs()});
      }
    };
    for (const Preemption& each : plan.preemptions) {
      change(each.member);
      members[each.member].state = MemberState::Pending;
      members[each.member].places.clear();
      members[each.member].device_groups.clear();
    }
    const auto put = [&](const auto& each) {
      change(each.member);
      members[each.member].state = MemberState::Running;
      members[each.member].places = each.places;
      members[each.member].device_groups = each.device_groups;
    };
    for (const Start& each : plan.starts) put(each);
    // Members that were told to leave are gone at once, so promises are kept at once; a reservation by time has no
    // place yet.
    for (const Reservation& each : plan.reservations)
      if (!each.places.empty()) put(each);
    take_over();
    failed_light_.assign(requests_.kinds(), false);
    for (const Change& each : changes)
      if (each.ran) leave(live_[each.live]);
    bool refused = false;
    for (const Change& each : changes) refused |= !settle(live_[each.live], each.ran);
    return refused && requests_.by_slots();
  }

  /// Members of jobs as the plan has left them.
  void take_over() {
    std::size_t position = 0;
    for (Live& live : live_)
      for (Member& member : live.members) {
        const Member& planned = snapshot_.members[position++];
        member.state = planned.state;
        member.places = planned.places;
        member.device_groups = planned.device_groups;
      }
  }

  void leave(Live& live) {
    ++report_.preemptions;
    report_.jobs[live.job].preempted_s.push_back(now_);
    stop(live);
    live.left_s = std::max<std::int64_t>(1, live.left_s - (now_ - live.started_s));
    live.started_s = -1;
  }

  /// Starts it if all of it has a place with room; false if not, and it was meant to.
  bool settle(Live& live, bool ran) {
    const bool meant = std::all_of(live.members.begin(), live.members.end(),
                                   [](const Member& member) { return !member.places.empty(); });
    if (meant && take_rooms(live)) {
      if (ran) ++report_.moves;
      begin(live);
      return true;
    }
    for (Member& member : live.members) {
      member.state = MemberState::Pending;
      member.places.clear();
      member.device_groups.clear();
    }
    if (!meant || is_light(live)) return true;
    live.refused_at = ended_;
    return false;
  }

  bool is_light(const Live& live) const { return requests_.by_slots() && job_of(live).devices == 0; }

  bool take_rooms(Live& live) {
    if (is_light(live)) return take_light(live);
    live.holdings = requests_.holdings_of(job_of(live), live.members);
    if (rooms_.take(live.holdings)) return true;
    live.holdings.clear();
    return false;
  }

  /// Where slots are counted, the plan only says that a job without slots may start; it goes where the least is left
  /// beside it.
  bool take_light(Live& live) {
    const std::uint32_t kind = requests_.kind_of(live.job);
    if (failed_light_[kind]) return false;
    const RoomDemand demand = requests_.demand_of(job_of(live));
    for (std::int64_t i = 0; i < job_of(live).members; ++i) {
      std::uint32_t best = kNone;
      for (const std::uint32_t band : possible(live))
        if ((best == kNone || rooms_.cpu_left(band) < rooms_.cpu_left(best)) && rooms_.room_for(band, demand, 1) > 0)
          best = band;
      std::vector<RoomHolding> holding{{best, demand, kNone}};
      if (best == kNone || !rooms_.take(holding)) {
        failed_light_[kind] = true;
        rooms_.give_back(live.holdings);
        live.holdings.clear();
        return false;
      }
      live.holdings.push_back(holding.front());
    }
    live.members.front().places = {{live.holdings.front().band, 0}};
    return true;
  }

  void begin(Live& live) {
    go_on();
    live.started_s = now_;
    ++running_;
    held_[job_of(live).project] += held_by(job_of(live));
    ReplayOutcome& outcome = report_.jobs[live.job];
    if (outcome.started_s < 0) outcome.started_s = now_;
    outcome.bands.clear();
    for (const RoomHolding& each : live.holdings) outcome.bands.push_back(each.band);
    std::sort(outcome.bands.begin(), outcome.bands.end());
    outcome.bands.erase(std::unique(outcome.bands.begin(), outcome.bands.end()), outcome.bands.end());
  }

  /// Of the time from now until something happens.
  void measure_from_now() {
    unmeasured_.push_back(measure());
    unmeasured_.back().at_s = now_;
  }

  /// An event happens now, so the time until now counts. The time between the last end and a pass that starts no job,
  /// or the arrival of a job that could never run, is no part of the replay.
  void go_on() {
    last_s_ = now_;
    for (std::size_t i = 0; i < unmeasured_.size(); ++i) {
      const std::int64_t from = unmeasured_[i].at_s;
      const std::int64_t until = i + 1 < unmeasured_.size() ? unmeasured_[i + 1].at_s : now_;
      meter_.hold(unmeasured_[i], until - from);
      arriving_.hold(unmeasured_[i], std::min(until, last_arrival_s_) - from);
    }
    unmeasured_.clear();
  }

  ReplaySample measure() const {
    ReplaySample sample;
    std::int64_t used = 0;
    for (const std::int64_t each : held_) used += each;
    const auto capacity = static_cast<double>(capacity_);
    sample.used = capacity_ > 0 ? static_cast<double>(used) / capacity : 0;
    sample.fragmented = rooms_.unusable_part();
    sample.waiting = static_cast<double>(std::ssize(live_) - running_);
    const std::vector<double> entitled = equal_shares({wanted_.begin(), wanted_.end()}, capacity);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < held_.size(); ++i)
      if (entitled[i] > 0) ratios.push_back(static_cast<double>(held_[i]) / entitled[i]);
    sample.judged = !ratios.empty();
    sample.fairness = jain_index(ratios);
    return sample;
  }

  void summarise() {
    std::vector<std::vector<std::int64_t>> waits(trace_.projects.size());
    std::vector<std::int64_t> jobs(trace_.projects.size(), 0);
    std::vector<std::int64_t> never(trace_.projects.size(), 0);
    std::int64_t never_in_all = 0;
    std::vector<std::int64_t> all;
    for (std::size_t job = 0; job < trace_.jobs.size(); ++job) {
      const std::uint32_t project = trace_.jobs[job].project;
      ReplayOutcome& outcome = report_.jobs[job];
      ++jobs[project];
      if (outcome.started_s < 0) ++never[project];
      if (requests_.possible(requests_.kind_of(job)).empty()) continue;
      if (outcome.started_s >= 0 && outcome.ended_s < 0) ++report_.never_ended;
      const std::int64_t until = outcome.ended_s < 0 ? report_.ended_s : outcome.ended_s;
      outcome.waited_s = until - trace_.jobs[job].arrives_s - outcome.ran_s;
      waits[project].push_back(outcome.waited_s);
      all.push_back(outcome.waited_s);
    }
    for (std::size_t i = 0; i < waits.size(); ++i) {
      report_.projects.push_back(waits_of(trace_.projects[i], std::move(waits[i]), jobs[i], never[i]));
      never_in_all += never[i];
    }
    report_.all = waits_of("all", std::move(all), std::ssize(trace_.jobs), never_in_all);
    report_.samples = meter_.samples();
    report_.mean = meter_.mean();
    if (!arriving_.samples().empty()) report_.while_arriving = arriving_.mean();
  }

  const ReplayTrace& trace_;
  const ReplayOptions& options_;
  const PolicyEngine engine_;
  const TypicalRequests typical_;
  const ReplayRequests requests_;
  ReplayRooms rooms_;
  std::int64_t now_;
  ReplayMeter meter_;
  ReplayMeter arriving_;                       ///< Until `last_arrival_s_`.
  std::vector<ReplaySample> unmeasured_;       ///< Since `last_s_`; each until the next one begins.
  std::int64_t last_s_;                        ///< When something happened last.
  std::int64_t last_arrival_s_ = 0;            ///< Of those that could run.
  std::int64_t capacity_ = 0;                  ///< Thousandths of devices, as `held_` and `wanted_`.
  std::vector<std::int64_t> held_;             ///< By project.
  std::vector<std::int64_t> wanted_;           ///< By project: running jobs, and waiting ones that could run.
  std::vector<std::int64_t> present_;          ///< By project: jobs that have come and not ended.
  std::vector<ReplayOwners::Owner> owner_of_;  ///< By project.
  Snapshot snapshot_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> list_positions_;  ///< In the snapshot.
  std::vector<std::optional<std::uint32_t>> lists_;                     ///< By kind: of bands that are possible.
  std::vector<std::int64_t> free_slots_;                                ///< By band, at the last snapshot.
  std::vector<std::array<Shown, 2>> shown_;  ///< By kind: the bands shown to jobs, and to refused ones.
  std::vector<bool> failed_light_;           ///< By kind: found no room in this pass.
  std::vector<Live> live_;                   ///< By arrival.
  std::int64_t running_ = 0;
  std::int64_t ended_ = 0;
  std::size_t arrived_ = 0;
  std::vector<UsageTally> usage_;
  ReplayReport report_;
};

}  // namespace

ReplayReport replay(const ReplayTrace& trace, const ReplayOptions& options) { return Replay{trace, options}.run(); }

}  // namespace penstock::policy
