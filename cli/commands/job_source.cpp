#include "cli/commands/job_source.hpp"

#include <CLI/CLI.hpp>
#include <cmath>

#include "cli/commands/secret_sources.hpp"
#include "cli/jobfile/amounts.hpp"
#include "cli/jobfile/wfformat.hpp"
#include "common/base/quantity.hpp"
#include "common/host/host.hpp"
#include "common/host/process.hpp"
#include "common/protocol/job_kind.hpp"
#include "common/protocol/time_limit.hpp"

namespace penstock::cli {
namespace {

constexpr double kScaleMax = 1e9;

/// The PATH that a template gives its program, or this process's own.
std::string search_path_of(const Template& program) {
  for (const std::string& entry : program.environment)
    if (entry.starts_with("PATH=")) return entry.substr(5);
  return environment_value("PATH", "/usr/bin:/bin");
}

Result<JobFile> load_workflow(const JobSource& source) {
  ReplayOptions replay;
  replay.replay = source.replay;
  replay.time_scale = source.time_scale;
  replay.data_scale = source.data_scale < 0 ? source.time_scale : source.data_scale;
  for (const auto& [flag, scale] : {std::pair{"--time-scale", replay.time_scale}, {"--data-scale", replay.data_scale}})
    if (!(scale >= 0 && scale <= kScaleMax))
      return Error{ErrorCode::InvalidArgument, flag, show_fixed(scale, 3) + " is no sensible scale",
                   "give a number from 0 to 1e9"};
  Result<WorkflowImport> workflow = read_wfformat(source.wfformat, replay);
  if (!workflow) return workflow.error();
  JobFile job;
  job.spec = std::move(workflow->spec);
  if (job.spec.name.empty()) job.spec.name = workflow->title;
  job.graph = std::move(workflow->graph);
  return job;
}

void add_policy_options(CLI::App& command, JobSource& source) {
  const CLI::Range amount{std::int64_t{1}, kPolicyAmountMax};
  JobPolicy& policy = source.policy;
  command.add_option("--project", policy.project, "Project that the job belongs to (docs/policy.md)");
  command.add_option("--account", policy.account, "Account that is charged with the job's use");
  const auto repeated = [&command](const char* flag, std::vector<std::string>& into, const char* about) {
    command.add_option(flag, into, about)
        ->type_size(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  repeated("--pool", policy.pools,
           "Pool of workers for the job; if repeated, a further pool is used when the one before has no room");
  command.add_option("--share", source.share, "Group of this user: its members may do with the job what the owner may")
      ->type_name("GROUP");
  repeated(
      "--secret", source.secrets,
      "Variable of the job's programs that nobody else is told: NAME=file:PATH or NAME=command:TEXT; may be repeated");
  repeated("--label", policy.labels, "Run on workers with this label; if repeated, with any of them");
  command.add_option("--weight", source.weight, "Weight of the job in dividing slots")->check(CLI::Range{0.001, 1e6});
  command.add_option("--slots-max", policy.slots_max, "Hold at most so many slots at once")->check(amount);
  command.add_option("--gang", policy.gang, "Hold so many slots at once or none")->check(amount);
  command.add_option("--gang-max", policy.gang_max, "Let the gang grow up to so many slots where it can")
      ->check(amount);
  command.add_option("--together", policy.together,
                     "Keep the gang on one `host`, or on workers with one label of this pattern, like rack-*");
  command
      .add_option("--gang-groups", policy.gang_groups, "With --together: keep so many groups of the gang on one each")
      ->check(amount);
  command.add_option("--qos", policy.qos,
                     "Level of service: expedite, normal, standby, or one that the cluster defines");
  command.add_option("--queue", policy.queue, "Queue for the job");
  command
      .add_option("--user-factor", source.user_factor,
                  "From 0 to 1: a smaller factor puts the job behind other ones of the user")
      ->check(CLI::Range{0.0, 1.0});
  command.add_option("--grace", source.grace,
                     "Time for preempted subtasks to save their state, like 30s; at most policy.grace_max");
  command.add_option("--kind", source.kind, "Purpose of the job; interactive and inference jobs are never preempted")
      ->check(CLI::IsMember(job_kind_words()));
  CLI::Option* yes = command.add_flag("--preemptible", source.preemptible, "Policy may take its slots back");
  command.add_flag("--not-preemptible", source.not_preemptible, "Policy may not take its slots back")->excludes(yes);
}

Result<void> apply_policy_options(const JobSource& source, JobSpec& spec) {
  JobPolicy& policy = spec.policy;
  if (!source.grace.empty()) {
    const Result<Duration> grace = parse_duration(source.grace);
    if (!grace) return grace.error();
    spec.grace = *grace;
  }
  if (!source.policy.project.empty()) policy.project = source.policy.project;
  if (!source.policy.account.empty()) policy.account = source.policy.account;
  if (!source.policy.pools.empty()) policy.pools = source.policy.pools;
  if (!source.policy.labels.empty()) policy.labels = source.policy.labels;
  if (source.policy.slots_max > 0) policy.slots_max = source.policy.slots_max;
  if (source.policy.gang > 0) policy.gang = source.policy.gang;
  if (source.policy.gang_max > 0) policy.gang_max = source.policy.gang_max;
  if (!source.policy.together.empty()) policy.together = source.policy.together;
  if (source.policy.gang_groups > 0) policy.gang_groups = source.policy.gang_groups;
  if (!source.policy.qos.empty()) policy.qos = source.policy.qos;
  if (!source.policy.queue.empty()) policy.queue = source.policy.queue;
  if (source.user_factor >= 0)
    policy.user_factor = static_cast<std::uint32_t>(std::lround(source.user_factor * kUserFactorMax));
  if (source.weight > 0) policy.weight = static_cast<std::uint32_t>(std::llround(source.weight * 1000));
  for (const JobKind kind : kJobKinds)
    if (source.kind == to_string(kind)) policy.kind = kind;
  if (source.preemptible) policy.preemptible = Preemptible::Yes;
  if (source.not_preemptible) policy.preemptible = Preemptible::No;
  return {};
}

Result<void> add_secrets(const JobSource& source, JobFile& job) {
  for (const std::string& text : source.secrets) {
    Result<SecretSource> parsed = parse_secret_source(text);
    if (!parsed) return std::move(parsed).error();
    job.secret_sources.push_back(std::move(parsed).value());
  }
  if (job.secret_sources.empty()) return {};
  Result<std::vector<Secret>> secrets = read_secrets(job.secret_sources);
  if (!secrets) return std::move(secrets).error();
  job.spec.secrets = Seldom{std::move(secrets).value()};
  return {};
}

}  // namespace

void add_job_source(CLI::App& command, JobSource& source) {
  CLI::Option* file = command.add_option("FILE", source.file, "Job file, TOML or JSON (docs/job-files.md)");
  CLI::Option* wfformat =
      command.add_option("--wfformat", source.wfformat, "Take the graph from a workflow in WfFormat 1.5 instead")
          ->type_name("FILE");
  file->excludes(wfformat);
  command
      .add_flag("--replay", source.replay, "Compute for the recorded times instead of running the workflow's programs")
      ->needs(wfformat);
  command.add_option("--time-scale", source.time_scale, "Multiply the recorded times")->capture_default_str();
  command.add_option("--data-scale", source.data_scale,
                     "Multiply the recorded sizes of outputs (default: the factor of the times)");
  command.add_option("--name", source.name,
                     "Name of the job: submitting the same under a name again returns the same job");
  command.add_option_function<std::int32_t>(
      "--priority",
      [&source](const std::int32_t& priority) {
        source.priority = priority;
        source.priority_given = true;
      },
      "Priority of the job; larger runs first (in pools with priorities \"1-99\" smaller)");
  command.add_flag("--wait-for-resources", source.wait_for_resources,
                   "Accept requests that no present band can hold, and wait for one");
  command.add_option("--time-limit", source.time_limit,
                     "End the job as failed so long after it first ran something, like 30min; backfill goes by it");
  add_policy_options(command, source);
}

Result<JobFile> load_job(const JobSource& source, const std::string& fallback_name) {
  if (source.file.empty() && source.wfformat.empty())
    return Error{ErrorCode::InvalidArgument, "", "no job was given", "name a job file, or a workflow with --wfformat"};
  Result<JobFile> job = source.wfformat.empty() ? read_job_file(source.file) : load_workflow(source);
  if (!job) return job;
  if (!source.name.empty()) job->spec.name = source.name;
  if (job->spec.name.empty()) job->spec.name = fallback_name;
  if (job->spec.owner.empty()) job->spec.owner = user_name();
  if (source.priority_given) job->spec.priority = source.priority;
  job->spec.wait_for_resources = job->spec.wait_for_resources || source.wait_for_resources;
  if (!source.time_limit.empty()) {
    const Result<Duration> limit = parse_duration(source.time_limit);
    if (!limit) return limit.error();
    PENSTOCK_TRY(check_time_limit("--time-limit", *limit));
    job->spec.time_limit = *limit;
  }
  PENSTOCK_TRY(apply_policy_options(source, job->spec));
  if (!source.share.empty()) job->spec.share = Seldom{source.share};
  PENSTOCK_TRY(add_secrets(source, *job));
  return job;
}

Result<void> check_programs(const Graph& graph) {
  for (const Template& program : graph.templates) {
    if (program.runner != RunnerKind::Command) continue;
    const Result<std::string> found = find_program(program.program, search_path_of(program), program.working_directory);
    if (!found) return found.error();
  }
  return {};
}

}  // namespace penstock::cli
