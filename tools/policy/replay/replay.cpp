#include "tools/policy/replay/replay.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "supervisor/policy/policy_engine.hpp"
#include "supervisor/policy/sharing/usage_decay.hpp"
#include "supervisor/policy/snapshot.hpp"
#include "tools/policy/replay/replay_requests.hpp"

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
        measured_{{now_, options.samples}, {now_, 2}, {}, now_, 0},
        projects_(trace.projects.size()) {
    for (std::size_t i = 0; i < trace.projects.size(); ++i)
      projects_.usage.emplace_back(static_cast<double>(options.half_life_s), 0, 0);
    report_.jobs.resize(trace.jobs.size());
    for (std::size_t job = 0; job < trace.jobs.size(); ++job)
      if (!requests_.possible(requests_.kind_of(job)).empty()) measured_.last_arrival_s = trace.jobs[job].arrives_s;
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
    report_.ended_s = measured_.last_s;
    summarise();
    return std::move(report_);
  }

 private:
  /// Bands, projects and accounts stay; jobs come and go.
  void make_world() {
    view_.snapshot.bands = requests_.bands();
    for (const Band& band : trace_.bands) capacity_ += band.capacity.gpu;
    if (options_.owners) {
      view_.snapshot.projects = options_.owners->projects;
      view_.snapshot.accounts = options_.owners->accounts;
      projects_.owner_of = options_.owners->of;
      return;
    }
    const std::int64_t equal = capacity_ / std::max<std::int64_t>(1, std::ssize(trace_.projects)) / 1000 * 1000;
    for (std::uint32_t i = 0; i < trace_.projects.size(); ++i) {
      Project project;
      project.name = trace_.projects[i];
      project.created = i;
      project.shares[0] = project.shares[1] = {.guaranteed = kUnlimited, .weight = 1000};
      project.shares[2] = {.guaranteed = equal, .weight = 1000};
      view_.snapshot.projects.push_back(project);
      Account account;
      account.name = project.name;
      account.parent = static_cast<std::uint32_t>(trace_.projects.size());
      account.user = true;
      view_.snapshot.accounts.push_back(account);
      projects_.owner_of.push_back({i, i, 0});
    }
    view_.snapshot.accounts.push_back({"root", kNone, false, 1, 0});
  }

  const ReplayJob& job_of(const Live& live) const { return trace_.jobs[live.job]; }
  const std::vector<std::uint32_t>& possible(const Live& live) const {
    return requests_.possible(requests_.kind_of(live.job));
  }
  static std::int64_t held_by(const ReplayJob& job) { return job.members * job.devices * job.device_share; }

  /// Whether a job has arrived.
  bool admit() {
    bool any = false;
    for (; counts_.arrived < trace_.jobs.size() && trace_.jobs[counts_.arrived].arrives_s <= now_; ++counts_.arrived) {
      const ReplayJob& job = trace_.jobs[counts_.arrived];
      if (requests_.possible(requests_.kind_of(counts_.arrived)).empty()) {
        ++report_.never_fits;
        if (requests_.fits_in_parts(requests_.kind_of(counts_.arrived))) ++report_.never_whole;
        continue;
      }
      go_on();
      Live live;
      live.job = static_cast<std::uint32_t>(counts_.arrived);
      live.left_s = job.runs_s;
      live.members = requests_.members_of(job);
      live_.push_back(std::move(live));
      projects_.wanted[job.project] += held_by(job);
      ++projects_.present[job.project];
      any = true;
    }
    return any;
  }

  /// Whether a job has ended.
  bool finish() {
    const auto has_ended = [this](const Live& live) { return live.runs() && live.ends_s() <= now_; };
    const std::int64_t before = counts_.ended;
    for (Live& live : live_) {
      if (!has_ended(live)) continue;
      stop(live);
      projects_.wanted[job_of(live).project] -= held_by(job_of(live));
      --projects_.present[job_of(live).project];
      report_.jobs[live.job].ended_s = now_;
      ++counts_.ended;
    }
    if (counts_.ended != before)
      std::erase_if(live_, [this](const Live& live) { return report_.jobs[live.job].ended_s >= 0; });
    return counts_.ended != before;
  }

  /// Charges its run and takes its places away. REQUIRES: it holds the places of its run.
  void stop(Live& live) {
    go_on();
    const ReplayJob& job = job_of(live);
    report_.jobs[live.job].ran_s += now_ - live.started_s;
    projects_.usage[job.project].charge(static_cast<double>(held_by(job) * (now_ - live.started_s)),
                                        static_cast<double>(now_));
    projects_.held[job.project] -= held_by(job);
    --counts_.running;
    rooms_.give_back(live.holdings);
    live.holdings.clear();
  }

  std::int64_t next_event() const {
    std::int64_t next = counts_.arrived < trace_.jobs.size() ? trace_.jobs[counts_.arrived].arrives_s : INT64_MAX;
    for (const Live& live : live_)
      if (live.runs()) next = std::min(next, live.ends_s());
    return next;
  }

  /// Whether a job has left, so that another pass has something to give away. Without a waiting job there is nothing to
  /// decide: running jobs stay.
  bool pass() {
    bool left = false;
    for (int round = 0; round < kRoundsMax && counts_.running < std::ssize(live_); ++round) {
      make_snapshot();
      const Plan plan = engine_.pass(view_.snapshot);
      ++report_.passes;
      left |= !plan.preemptions.empty();
      if (!carry_out(plan)) break;
    }
    if (options_.progress) options_.progress(counts_.ended);
    return left;
  }

  void make_snapshot() {
    view_.snapshot.now = at_second(now_);
    for (std::size_t i = 0; i < projects_.usage.size(); ++i)
      if (projects_.owner_of[i].account != kNone)
        view_.snapshot.accounts[projects_.owner_of[i].account].usage =
            projects_.usage[i].value_at(static_cast<double>(now_));
    view_.free_slots.clear();
    for (const Band& band : view_.snapshot.bands) view_.free_slots.push_back(band.slots);
    std::size_t count = 0;
    for (const Live& live : live_) {
      count += live.members.size();
      for (const Member& member : live.members)
        for (const Place& place : member.places) view_.free_slots[place.band] -= place.slots;
    }
    // Overwritten elements keep their memory.
    view_.snapshot.members.resize(count);
    view_.snapshot.workloads.resize(live_.size());
    view_.snapshot.band_lists.clear();
    view_.list_positions.clear();
    view_.lists.assign(requests_.kinds(), std::nullopt);
    view_.shown.assign(requests_.kinds(), {});
    std::size_t position = 0;
    for (std::uint32_t at = 0; at < live_.size(); ++at) {
      show(live_[at], view_.snapshot.workloads[at]);
      const bool waits = !live_[at].runs();
      std::uint32_t band_list = kNone;
      if (waits) view_.snapshot.workloads[at].held = !show_bands(live_[at], band_list);
      for (const Member& member : live_[at].members) {
        Member& seen = view_.snapshot.members[position++];
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
    const ReplayOwners::Owner& owner = projects_.owner_of[job.project];
    workload.project = owner.project;
    workload.account = owner.account;
    // A project's weight is that of its jobs together, as live.
    workload.weight =
        owner.weight > 0 ? std::max<std::int64_t>(owner.weight / projects_.present[job.project], 1) : 1000;
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
    if (bands.size() == view_.snapshot.bands.size()) return kNone;
    std::optional<std::uint32_t>& list = view_.lists[requests_.kind_of(live.job)];
    if (!list) list = name_list(bands);
    return *list;
  }

  /// As `BandLists`, which would sort a sorted list: a good part of a replay.
  std::uint32_t name_list(const std::vector<std::uint32_t>& bands) {
    const auto position = static_cast<std::uint32_t>(view_.snapshot.band_lists.size());
    const auto [known, is_new] = view_.list_positions.try_emplace(bands, position);
    if (is_new) view_.snapshot.band_lists.push_back(bands);
    return known->second;
  }

  /// The bands that a waiting job is shown; false if it is held because none has room for resources that the policy
  /// does not see.
  bool show_bands(const Live& live, std::uint32_t& list) {
    if (!requests_.by_slots() || job_of(live).devices == 0) {
      list = requests_.by_slots() ? kNone : list_of(live);
      return true;
    }
    const bool strict = live.refused_at == counts_.ended;
    Shown& shown = view_.shown[requests_.kind_of(live.job)][strict ? 1 : 0];
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
      const bool no_slots = view_.free_slots[band] < live.members.front().slots / job.members;
      if ((no_slots && !strict) || rooms_.room_for(band, demand, together) >= together) bands.push_back(band);
    }
    if (bands.size() == view_.snapshot.bands.size()) return {true, false, kNone};
    if (bands.empty()) return {true, true, kNone};
    return {true, false, name_list(bands)};
  }

  /// Whether a start was refused on slots that another job might have got.
  bool carry_out(const Plan& plan) {
    std::vector<Member>& members = view_.snapshot.members;
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
    view_.failed_light.assign(requests_.kinds(), false);
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
        const Member& planned = view_.snapshot.members[position++];
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
    live.refused_at = counts_.ended;
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
    if (view_.failed_light[kind]) return false;
    const RoomDemand demand = requests_.demand_of(job_of(live));
    for (std::int64_t i = 0; i < job_of(live).members; ++i) {
      std::uint32_t best = kNone;
      for (const std::uint32_t band : possible(live))
        if ((best == kNone || rooms_.cpu_left(band) < rooms_.cpu_left(best)) && rooms_.room_for(band, demand, 1) > 0)
          best = band;
      std::vector<RoomHolding> holding{{best, demand, kNone}};
      if (best == kNone || !rooms_.take(holding)) {
        view_.failed_light[kind] = true;
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
    ++counts_.running;
    projects_.held[job_of(live).project] += held_by(job_of(live));
    ReplayOutcome& outcome = report_.jobs[live.job];
    if (outcome.started_s < 0) outcome.started_s = now_;
    outcome.bands.clear();
    for (const RoomHolding& each : live.holdings) outcome.bands.push_back(each.band);
    std::sort(outcome.bands.begin(), outcome.bands.end());
    outcome.bands.erase(std::unique(outcome.bands.begin(), outcome.bands.end()), outcome.bands.end());
  }

  /// Of the time from now until something happens.
  void measure_from_now() {
    measured_.waiting.push_back(measure());
    measured_.waiting.back().at_s = now_;
  }

  /// An event happens now, so the time until now counts. The time between the last end and a pass that starts no job,
  /// or the arrival of a job that could never run, is no part of the replay.
  void go_on() {
    measured_.last_s = now_;
    for (std::size_t i = 0; i < measured_.waiting.size(); ++i) {
      const std::int64_t from = measured_.waiting[i].at_s;
      const std::int64_t until = i + 1 < measured_.waiting.size() ? measured_.waiting[i + 1].at_s : now_;
      measured_.meter.hold(measured_.waiting[i], until - from);
      measured_.arriving.hold(measured_.waiting[i], std::min(until, measured_.last_arrival_s) - from);
    }
    measured_.waiting.clear();
  }

  ReplaySample measure() const {
    ReplaySample sample;
    std::int64_t used = 0;
    for (const std::int64_t each : projects_.held) used += each;
    const auto capacity = static_cast<double>(capacity_);
    sample.used = capacity_ > 0 ? static_cast<double>(used) / capacity : 0;
    sample.fragmented = rooms_.unusable_part();
    sample.waiting = static_cast<double>(std::ssize(live_) - counts_.running);
    const std::vector<double> entitled = equal_shares({projects_.wanted.begin(), projects_.wanted.end()}, capacity);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < projects_.held.size(); ++i)
      if (entitled[i] > 0) ratios.push_back(static_cast<double>(projects_.held[i]) / entitled[i]);
    sample.judged = !ratios.empty();
    sample.fairness = jain_index(ratios);
    return sample;
  }

  void summarise() {
    std::vector<ProjectTimes> projects(trace_.projects.size());
    ProjectTimes all;
    for (std::size_t job = 0; job < trace_.jobs.size(); ++job) {
      ReplayOutcome& outcome = report_.jobs[job];
      const bool fits = !requests_.possible(requests_.kind_of(job)).empty();
      if (fits && outcome.started_s >= 0 && outcome.ended_s < 0) ++report_.never_ended;
      const std::int64_t arrives_s = trace_.jobs[job].arrives_s;
      const std::int64_t until = outcome.ended_s < 0 ? report_.ended_s : outcome.ended_s;
      if (fits) outcome.waited_s = until - arrives_s - outcome.ran_s;
      for (ProjectTimes* times : {&projects[trace_.jobs[job].project], &all}) {
        ++times->jobs;
        if (outcome.started_s < 0) ++times->never_started;
        if (fits) times->waits_s.push_back(outcome.waited_s);
        if (outcome.ended_s >= 0) times->completions_s.push_back(outcome.ended_s - arrives_s);
      }
    }
    for (std::size_t i = 0; i < projects.size(); ++i)
      report_.projects.push_back(waits_of(trace_.projects[i], std::move(projects[i])));
    report_.all = waits_of("all", std::move(all));
    report_.samples = measured_.meter.samples();
    report_.mean = measured_.meter.mean();
    if (!measured_.arriving.samples().empty()) report_.while_arriving = measured_.arriving.mean();
  }

  /// The outcome so far.
  struct Measured {
    ReplayMeter meter;
    ReplayMeter arriving;               ///< Until `last_arrival_s`.
    std::vector<ReplaySample> waiting;  ///< Not measured yet, since `last_s`; each until the next one begins.
    std::int64_t last_s;                ///< When something happened last.
    std::int64_t last_arrival_s;        ///< Of jobs that could run.
  };
  /// By project; amounts in thousandths of devices.
  struct Projects {
    explicit Projects(std::size_t count) : held(count, 0), wanted(count, 0), present(count, 0) {}
    std::vector<std::int64_t> held;
    std::vector<std::int64_t> wanted;   ///< Running jobs, and waiting ones that could run.
    std::vector<std::int64_t> present;  ///< Jobs that have come and not ended.
    std::vector<ReplayOwners::Owner> owner_of;
    std::vector<UsageTally> usage;
  };
  /// The cluster as a pass is shown it.
  struct View {
    Snapshot snapshot;
    std::map<std::vector<std::uint32_t>, std::uint32_t> list_positions;  ///< In the snapshot.
    std::vector<std::optional<std::uint32_t>> lists;                     ///< By kind: of bands that are possible.
    std::vector<std::int64_t> free_slots;                                ///< By band, at the last snapshot.
    std::vector<std::array<Shown, 2>> shown;  ///< By kind: the bands shown to jobs, and to refused ones.
    std::vector<bool> failed_light;           ///< By kind: found no room in this pass.
  };
  struct Counts {
    std::int64_t running = 0;
    std::int64_t ended = 0;
    std::size_t arrived = 0;
  };

  const ReplayTrace& trace_;
  const ReplayOptions& options_;
  const PolicyEngine engine_;
  const TypicalRequests typical_;
  const ReplayRequests requests_;
  ReplayRooms rooms_;
  std::int64_t now_;
  Measured measured_;
  std::int64_t capacity_ = 0;  ///< Thousandths of devices.
  Projects projects_;
  View view_;
  std::vector<Live> live_;  ///< By arrival.
  Counts counts_;
  ReplayReport report_;
};

}  // namespace

ReplayReport replay(const ReplayTrace& trace, const ReplayOptions& options) { return Replay{trace, options}.run(); }

}  // namespace penstock::policy
