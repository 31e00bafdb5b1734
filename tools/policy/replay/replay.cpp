#include "tools/policy/replay/replay.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "common/base/lookup_map.hpp"
#include "tools/policy/live/live_cluster.hpp"
#include "tools/policy/replay/replay_measures.hpp"
#include "tools/policy/replay/replay_site.hpp"

namespace penstock::policy {
namespace {

using tools::LiveRun;
using tools::RunNews;

/// Jobs that have not started after so long on an idle cluster never will: the waits of gangs, turns and barriers are
/// shorter.
constexpr Duration kPatience = std::chrono::hours{1};
/// A preempted job that goes on so soon was moved.
constexpr Duration kMoveMax = std::chrono::seconds{1};
/// Later times, and longer runs, are cut to this: the line of time has 292 years.
constexpr std::int64_t kSecondsMax = std::int64_t{100} * 365 * 86'400;

/// Bands without work look for that of others after so long, and eight times as long after a search in vain. Runs of a
/// trace last long, and a search for each millisecond of months would take longer than all else.
constexpr Duration kStealAfter = std::chrono::seconds{1};

SupervisorConfig unhurried(SupervisorConfig config) {
  config.steal_after = std::max(config.steal_after, kStealAfter);
  return config;
}

Duration seconds_of(std::int64_t seconds) { return std::chrono::seconds{std::min(seconds, kSecondsMax)}; }

/// A job of the trace in the cluster.
struct Submitted {
  JobId id;
  Duration left{0};          ///< Of its run, since it began to run last.
  Instant since = kNever;    ///< All members run since then; never: it waits.
  Instant stopped = kNever;  ///< The last time that it had to leave.
  Duration ran{0};
  std::int64_t members = 0;  ///< Of those that run.
  bool here = false;         ///< Was accepted, and has not ended.

  bool runs() const { return since != kNever; }
};

class Replay {
 public:
  Replay(const ReplayTrace& trace, const ReplayOptions& options)
      : trace_(trace),
        options_(options),
        site_(trace, options.supervisor.policy),
        cluster_(unhurried(options.supervisor)),
        begins_(cluster_.now()),
        measures_(trace, begins_, options.samples),
        jobs_(trace.jobs.size()) {
    report_.jobs.resize(trace.jobs.size());
    cluster_.set_on_run([this](const LiveRun& run, RunNews news) { news_.emplace_back(run, news); });
    for (const ReplayHost& host : site_.hosts()) join(host);
  }

  ReplayReport run() {
    while (true) {
      end_what_is_due();
      submit_what_has_come();
      const Instant next = std::min(next_arrival(), ends_.empty() ? kNever : ends_.begin()->first);
      const Instant patient_until = here_ == 0 ? cluster_.now() : later(changed_, patience());
      if (next == kNever && cluster_.now() >= patient_until) break;
      cluster_.step(next == kNever ? patient_until : next);
      measures_.pass_time(cluster_.now());
      hear_news();
    }
    summarise();
    return std::move(report_);
  }

 private:
  /// The bands of one worker: where devices are, their room.
  struct Host {
    std::uint32_t band = 0;
    std::vector<std::optional<std::uint32_t>> rooms;
  };

  void join(const ReplayHost& host) {
    Host& known = hosts_.emplace_back();
    known.band = host.band;
    for (const BandDescription& band : host.worker.bands) {
      known.rooms.emplace_back();
      if (band.kind == BandKind::Gpu) known.rooms.back() = measures_.rooms().add(band);
    }
    cluster_.join(host.worker);  // Workers count from 1, as `hosts_` does from 0.
  }

  Duration patience() const { return std::max<Duration>(kPatience, options_.supervisor.policy.period * 4); }

  Instant next_arrival() const {
    if (arrived_ == trace_.jobs.size()) return kNever;
    return later(begins_, seconds_of(trace_.jobs[arrived_].arrives_s - trace_.jobs.front().arrives_s));
  }

  void submit_what_has_come() {
    for (; arrived_ < trace_.jobs.size() && next_arrival() <= cluster_.now(); ++arrived_) submit(arrived_);
  }

  void submit(std::size_t at) {
    const ReplayJob& job = trace_.jobs[at];
    const Graph graph = site_.graph_of(at);
    const SubmitReply reply = cluster_.submit(site_.spec_of(at), graph);
    if (!reply.job.valid()) return note_refusal(job, reply.refusal);
    Submitted& submitted = jobs_[at];
    submitted.id = reply.job;
    submitted.left = seconds_of(job.runs_s);
    submitted.here = true;
    ++here_;
    numbers_[reply.job] = static_cast<std::uint32_t>(at);
    measures_.job_came(job);
    measures_.add_waiting(1);
    changed_ = cluster_.now();
    hear_news();
  }

  void note_refusal(const ReplayJob& job, const Error& refusal) {
    const ErrorCode code = refusal.code;
    if (code == ErrorCode::RequestTooLarge || code == ErrorCode::MissingDevice || code == ErrorCode::NoAvailableBand) {
      ++report_.never_fits;
      if (job.members > 1 && site_.has_slots_for(job) && refusal.subject.starts_with("gang")) ++report_.never_whole;
      return;
    }
    if (report_.refused++ == 0) report_.first_refusal = to_string(refusal);
  }

  void end_what_is_due() {
    while (!ends_.empty() && ends_.begin()->first <= cluster_.now()) {
      const std::uint32_t at = ends_.begin()->second;
      stop(at);
      Submitted& job = jobs_[at];
      job.here = false;
      --here_;
      measures_.add_waiting(-1);
      measures_.job_left(trace_.jobs[at]);
      report_.jobs[at].ended_s = measures_.second_of(cluster_.now());
      const std::int64_t members = trace_.jobs[at].members;
      for (std::int64_t i = 0; i < members; ++i) cluster_.end({job.id, SubtaskIndex{static_cast<std::uint32_t>(i)}});
      hear_news();
      if (options_.progress) options_.progress(static_cast<std::int64_t>(arrived_) - here_);
    }
  }

  void hear_news() {
    for (const auto& [run, news] : std::exchange(news_, {})) hear(run, news);
  }

  void hear(const LiveRun& run, RunNews news) {
    const std::uint32_t at = numbers_[run.subtask.job];
    const ReplayJob& job = trace_.jobs[at];
    const Host& host = hosts_[run.worker.value() - 1];
    const ResourceVector& request = site_.request_of(job);
    const std::optional<std::uint32_t> room = host.rooms[run.band.value()];
    measures_.go_on();
    changed_ = cluster_.now();
    if (news == RunNews::Begun) {
      measures_.run_begun(job);
      if (room) measures_.rooms().take(*room, request, run.devices);
      if (++jobs_[at].members == job.members) begin(at);
      note_place(at, host.band);
    } else {
      measures_.run_ended(job);
      if (room) measures_.rooms().give_back(*room, request, run.devices);
      --jobs_[at].members;
      if (jobs_[at].runs()) leave(at);
    }
  }

  void note_place(std::uint32_t at, std::uint32_t band) {
    std::vector<std::uint32_t>& bands = report_.jobs[at].bands;
    if (jobs_[at].members == 1) bands.clear();
    const auto place = std::lower_bound(bands.begin(), bands.end(), band);
    if (place == bands.end() || *place != band) bands.insert(place, band);
  }

  /// All of its members run now.
  void begin(std::uint32_t at) {
    Submitted& job = jobs_[at];
    job.since = cluster_.now();
    ends_.emplace(later(job.since, job.left), at);
    measures_.add_waiting(-1);
    ReplayOutcome& outcome = report_.jobs[at];
    if (outcome.started_s < 0) outcome.started_s = measures_.second_of(job.since);
    if (job.stopped != kNever && job.since - job.stopped <= kMoveMax) ++report_.moves;
  }

  /// REQUIRES: it runs.
  void stop(std::uint32_t at) {
    Submitted& job = jobs_[at];
    ends_.erase({later(job.since, job.left), at});
    job.ran += cluster_.now() - job.since;
    job.left -= cluster_.now() - job.since;
    job.since = kNever;
    measures_.add_waiting(1);
  }

  /// A member has left before the end.
  void leave(std::uint32_t at) {
    stop(at);
    jobs_[at].stopped = cluster_.now();
    ++report_.preemptions;
    report_.jobs[at].preempted_s.push_back(measures_.second_of(cluster_.now()));
  }

  void summarise() {
    measures_.report(report_);
    report_.passes = static_cast<std::int64_t>(cluster_.core().policy().passes);
    for (const Error& trouble : cluster_.troubles()) report_.troubles.push_back(to_string(trouble));
    std::vector<ProjectTimes> projects(trace_.projects.size());
    ProjectTimes all;
    for (std::size_t at = 0; at < trace_.jobs.size(); ++at) {
      ReplayOutcome& outcome = report_.jobs[at];
      const bool could_run = jobs_[at].here || outcome.ended_s >= 0;
      const std::int64_t arrives_s = trace_.jobs[at].arrives_s;
      const std::int64_t until = outcome.ended_s < 0 ? report_.ended_s : outcome.ended_s;
      outcome.ran_s = jobs_[at].ran / std::chrono::seconds{1};
      if (could_run) outcome.waited_s = std::max<std::int64_t>(until - arrives_s - outcome.ran_s, 0);
      if (could_run && outcome.started_s >= 0 && outcome.ended_s < 0) ++report_.never_ended;
      for (ProjectTimes* times : {&projects[trace_.jobs[at].project], &all}) {
        ++times->jobs;
        if (outcome.started_s < 0) ++times->never_started;
        if (could_run) times->waits_s.push_back(outcome.waited_s);
        if (outcome.ended_s >= 0) times->completions_s.push_back(outcome.ended_s - arrives_s);
      }
    }
    for (std::size_t i = 0; i < projects.size(); ++i)
      report_.projects.push_back(waits_of(trace_.projects[i], std::move(projects[i])));
    report_.all = waits_of("all", std::move(all));
  }

  const ReplayTrace& trace_;
  const ReplayOptions& options_;
  const ReplaySite site_;
  tools::LiveCluster cluster_;
  const Instant begins_;
  ReplayMeasures measures_;
  std::vector<Host> hosts_;      ///< By number of the worker, less 1.
  std::vector<Submitted> jobs_;  ///< As in the trace.
  LookupMap<JobId, std::uint32_t> numbers_;
  std::vector<std::pair<LiveRun, RunNews>> news_;     ///< Not heard yet.
  std::set<std::pair<Instant, std::uint32_t>> ends_;  ///< Of the jobs that run.
  std::size_t arrived_ = 0;
  std::int64_t here_ = 0;  ///< Jobs that were accepted, and have not ended.
  Instant changed_{};      ///< When a job came, or a run began or ended.
  ReplayReport report_;
};

}  // namespace

ReplayReport replay(const ReplayTrace& trace, const ReplayOptions& options) { return Replay{trace, options}.run(); }

}  // namespace penstock::policy
