#include "supervisor/actors/cluster_families.hpp"

#include <array>
#include <string_view>

#include "common/protocol/graph.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/job_kind.hpp"

namespace penstock::supervisor {
namespace {

double number(std::uint64_t count) { return static_cast<double>(count); }

const char* word_of(BandKind kind) { return kind == BandKind::Gpu ? "gpu" : "cpu"; }

constexpr std::array<const char*, 3> kRunnerWords{"native", "command", "process"};
constexpr std::array<const char*, PreemptedFor::kCount> kPreemptedWords{
    "above_share", "priority", "reclaim",  "consolidation", "stale_gang",
    "turn",        "on_hold",  "excluded", "limit",         "another_job"};

void add_jobs(MetricFamilies& all, const ClusterMetrics& seen) {
  const SupervisorCounters& counters = seen.counters;
  all.gauge("penstock_jobs_active", "Jobs that have not ended").add(number(seen.jobs_active));
  all.gauge("penstock_jobs_waiting", "Active jobs of which nothing is at a worker").add(number(seen.jobs_waiting));
  all.gauge("penstock_jobs_on_hold", "Active jobs that an operator has put on hold").add(number(seen.jobs_on_hold));
  all.gauge("penstock_jobs_unplaceable", "Active jobs with subtasks that no present band may have")
      .add(number(seen.jobs_unplaceable));
  all.gauge("penstock_jobs_not_looked_at",
            "Active jobs beyond metrics.jobs_max, which are missing in the numbers by project, pool and state")
      .add(number(seen.jobs_not_seen));
  all.counter("penstock_jobs_accepted_total", "Jobs accepted").add(number(counters.jobs_accepted));
  all.counter("penstock_jobs_refused_total", "Jobs refused").add(number(counters.jobs_refused));
  MetricFamily& ended = all.counter("penstock_jobs_ended_total", "Jobs ended by state");
  for (const JobState state : {JobState::Succeeded, JobState::Failed, JobState::Cancelled})
    ended.add(number(counters.job_times[static_cast<std::size_t>(state)].count()),
              {{"state", std::string{to_string(state)}}});
  MetricFamily& waits = all.histogram("penstock_job_wait_seconds",
                                      "From the acceptance of a job to the start of its first attempt, by kind of job, "
                                      "counted when that attempt has ended");
  for (const JobKind kind : {JobKind::Training, JobKind::Interactive, JobKind::Inference})
    waits.add(counters.job_waits[static_cast<std::size_t>(kind)], {{"kind", std::string{to_string(kind)}}});
  MetricFamily& times =
      all.histogram("penstock_job_duration_seconds", "From the acceptance of a job to its end, by state");
  for (const JobState state : {JobState::Succeeded, JobState::Failed, JobState::Cancelled})
    times.add(counters.job_times[static_cast<std::size_t>(state)], {{"state", std::string{to_string(state)}}});
}

void add_attempts(MetricFamilies& all, const SupervisorCounters& counters) {
  const auto count = [&](const char* name, const char* help, std::uint64_t value) {
    all.counter(name, help).add(number(value));
  };
  count("penstock_attempts_assigned_total", "Attempts sent to workers", counters.assigned);
  count("penstock_attempts_succeeded_total", "Attempts that succeeded", counters.succeeded);
  count("penstock_attempts_failed_total", "Attempts that failed", counters.failed_attempts);
  count("penstock_attempts_returned_total", "Attempts that workers gave back unstarted", counters.returned);
  count("penstock_attempts_adopted_total", "Attempts that were taken over after a restart", counters.adopted);
  count("penstock_subtasks_recomputed_total", "Subtasks run again because their outputs were lost",
        counters.recomputed);
  count("penstock_subtasks_moved_total", "Subtasks moved to another band before they were sent", counters.moved_here);
  count("penstock_steals_asked_total", "Times that a worker was asked to give work back for an idle one",
        counters.steals_asked);
  count("penstock_copies_asked_total", "Outputs that another worker was asked to fetch for safety",
        counters.copies_asked);
  count("penstock_reports_stale_total", "Reports of attempts that do not count any more", counters.stale_reports);
  MetricFamily& forwards = all.counter("penstock_forwards_total",
                                       "Cached successors that succeeded, by whether they started without asking");
  forwards.add(number(counters.forward_hits), {{"result", "hit"}});
  forwards.add(number(counters.forward_misses), {{"result", "miss"}});
  MetricFamily& runs = all.histogram("penstock_run_seconds", "Time on a slot of ended attempts, by runner");
  for (std::size_t i = 0; i < kRunnerWords.size(); ++i) runs.add(counters.runs[i], {{"runner", kRunnerWords[i]}});
  MetricFamily& busy = all.counter("penstock_busy_slot_seconds_total",
                                   "Slot-seconds of attempts, counted at their end, by project, pool and kind of band");
  for (const BusyTimes::Row& row : counters.busy.rows())
    busy.add(number(row.slot_us) / 1e6, {{"project", row.project}, {"pool", row.pool}, {"kind", word_of(row.kind)}});
}

void add_pools(MetricFamilies& all, const ClusterMetrics& seen) {
  const auto gauge = [&](const char* name, const char* help, auto value_of) {
    MetricFamily& family = all.gauge(name, help);
    for (const PoolMetrics& row : seen.pools)
      family.add(number(value_of(row)), {{"pool", row.pool}, {"kind", word_of(row.kind)}});
  };
  gauge("penstock_bands", "Bands of the present workers", [](const PoolMetrics& row) { return row.bands; });
  gauge("penstock_slots", "Slots of the present workers", [](const PoolMetrics& row) { return row.slots; });
  gauge("penstock_runs", "Runs with a slot, as workers have reported last",
        [](const PoolMetrics& row) { return row.running; });
  gauge("penstock_runs_yielded", "Runs that have lent their slot to work of their own",
        [](const PoolMetrics& row) { return row.yielded; });
  gauge("penstock_subtasks_ready", "Subtasks on workers that only lack a slot",
        [](const PoolMetrics& row) { return row.ready; });
  gauge("penstock_subtasks_preparing", "Subtasks on workers that lack memory or inputs that exist",
        [](const PoolMetrics& row) { return row.preparing; });
  gauge("penstock_subtasks_cached", "Subtasks on workers that wait for others to finish",
        [](const PoolMetrics& row) { return row.cached; });
  gauge("penstock_subtasks_assigned", "Subtasks sent to workers and not ended",
        [](const PoolMetrics& row) { return row.assigned; });
  gauge("penstock_subtasks_kept", "Ready subtasks that the supervisor keeps until a band has room",
        [](const PoolMetrics& row) { return row.kept; });
  gauge("penstock_pool_jobs", "Active jobs that are tried in the pool",
        [](const PoolMetrics& row) { return row.jobs; });
  gauge("penstock_pool_contended", "1 while more slots are wanted in the pool than it has",
        [](const PoolMetrics& row) { return std::uint64_t{row.contended}; });
}

void add_projects(MetricFamilies& all, const ClusterMetrics& seen) {
  MetricFamily& jobs = all.gauge("penstock_project_jobs", "Active jobs of the project");
  for (const ProjectMetrics& row : seen.projects) jobs.add(number(row.jobs), {{"project", row.project}});
  MetricFamily& waiting =
      all.gauge("penstock_project_jobs_waiting", "Active jobs of the project of which nothing is at a worker");
  for (const ProjectMetrics& row : seen.projects) waiting.add(number(row.waiting_jobs), {{"project", row.project}});
  MetricFamily& wanted =
      all.gauge("penstock_project_slots_wanted", "Slots that the jobs of the project could use, by the last pass");
  for (const ProjectMetrics& row : seen.projects)
    wanted.add(number(row.wanted_milli) / 1000, {{"project", row.project}});
}

void add_policy(MetricFamilies& all, const ClusterMetrics& seen) {
  all.counter("penstock_policy_passes_total", "Passes of the policy that were begun").add(number(seen.passes_begun));
  all.counter("penstock_policy_passes_given_up_total", "Passes of the policy that failed or took too long")
      .add(number(seen.passes_given_up));
  all.histogram("penstock_policy_pass_seconds", "From the snapshot of a pass to its plan").add(seen.counters.passes);
  MetricFamily& preempted = all.counter("penstock_preemptions_total", "Attempts that were told to leave, by reason");
  for (std::size_t i = 0; i < kPreemptedWords.size(); ++i)
    preempted.add(number(seen.preempted_for[i]), {{"reason", kPreemptedWords[i]}});
  MetricFamily& barriers = all.counter("penstock_gang_barriers_total", "Gangs that waited for all their slots, by end");
  barriers.add(number(seen.barriers_opened), {{"end", "begun"}});
  barriers.add(number(seen.barriers_given_up), {{"end", "given_up"}});
}

void add_workers(MetricFamilies& all, const SupervisorNumbers& numbers) {
  const ClusterMetrics& seen = numbers.cluster;
  MetricFamily& workers = all.gauge("penstock_workers", "Workers by state");
  workers.add(number(seen.workers_ready), {{"state", "ready"}});
  workers.add(number(seen.workers_draining), {{"state", "draining"}});
  workers.add(number(seen.workers_suspected), {{"state", "suspected"}});
  all.counter("penstock_workers_lost_total", "Workers that were given up").add(number(seen.counters.workers_lost));
  all.counter("penstock_watchdog_alerts_total", "Alarms because work is pending and nothing runs")
      .add(number(seen.counters.watchdog_alerts));
  all.gauge("penstock_reclaiming", "1 after a restart while workers of before are waited for")
      .add(seen.reclaiming ? 1 : 0);
  all.gauge("penstock_supervisor_held_bytes", "Memory that supervisor.memory_max limits: graphs and jobs")
      .add(number(seen.held_bytes));
}

void add_journal(MetricFamilies& all, const SupervisorNumbers& numbers) {
  all.histogram("penstock_journal_sync_seconds", "Tries of the journal to write and sync what waits")
      .add(numbers.journal.commits);
  all.counter("penstock_journal_sync_failures_total", "Such tries that failed").add(number(numbers.journal.failed));
  all.counter("penstock_journal_changes_total", "Entries that the journal has written or removed")
      .add(number(numbers.journal.changes));
  all.gauge("penstock_journal_in_trouble", "1 while nothing can be written")
      .add(numbers.cluster.journal_in_trouble ? 1 : 0);
}

void add_gateway(MetricFamilies& all, const GatewayCounters& gateway) {
  MetricFamily& peers = all.gauge("penstock_peers", "Linked processes by role");
  peers.add(number(gateway.workers), {{"role", "worker"}});
  peers.add(number(gateway.clients), {{"role", "client"}});
  all.counter("penstock_peers_left_total", "Links that have ended").add(number(gateway.peers_left));
  all.counter("penstock_connections_total", "Connections that were accepted").add(number(gateway.connections));
  MetricFamily& refused = all.counter("penstock_connections_refused_total", "Connections that were refused, by reason");
  refused.add(number(gateway.connections_refused), {{"reason", "too_many"}});
  refused.add(number(gateway.handshakes_failed), {{"reason", "handshake"}});
  refused.add(number(gateway.introductions_refused), {{"reason", "introduction"}});
  all.counter("penstock_certificates_issued_total", "Certificates for tokens, and renewed ones")
      .add(number(gateway.certified));
  all.counter("penstock_requests_total", "Submits, orders, questions and attachments of clients")
      .add(number(gateway.requests));
  MetricFamily& requests = all.counter("penstock_requests_refused_total", "Messages of clients refused, by reason");
  requests.add(number(gateway.requests_over_rate), {{"reason", "rate"}});
  requests.add(number(gateway.requests_not_allowed), {{"reason", "rights"}});
  all.counter("penstock_frames_sent_total", "Frames that links to peers have sent").add(number(gateway.frames_sent));
  all.counter("penstock_frames_resent_total", "Frames that had to be sent again").add(number(gateway.frames_resent));
}

}  // namespace

MetricFamilies families_of(const SupervisorNumbers& numbers) {
  MetricFamilies all;
  all.gauge("penstock_build_info", "1, with the version as a label")
      .add(1, {{"version", std::string{kSoftwareVersion}}});
  add_workers(all, numbers);
  add_pools(all, numbers.cluster);
  add_jobs(all, numbers.cluster);
  add_projects(all, numbers.cluster);
  add_attempts(all, numbers.cluster.counters);
  add_policy(all, numbers.cluster);
  add_journal(all, numbers);
  add_gateway(all, numbers.gateway);
  return all;
}

}  // namespace penstock::supervisor
