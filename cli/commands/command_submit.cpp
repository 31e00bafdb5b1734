// `penstock submit` and `penstock wait`: jobs of a cluster.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/follow.hpp"
#include "cli/commands/job_source.hpp"
#include "cli/show/job_report.hpp"
#include "common/base/quantity.hpp"
#include "common/host/clock.hpp"
#include "common/host/host.hpp"

namespace penstock::cli {
namespace {

struct SubmitCommand {
  JobSource source;
  bool wait = false;
};

struct WaitCommand {
  std::string job;
  std::string timeout;
};

Result<int> wait_and_print(Invocation& invocation, client::Session& session, const FollowOptions& options) {
  const Instant begin = monotonic_now();
  const Result<client::JobView> view = follow(session, invocation.stop_signals, options);
  if (!view) return view.error();
  if (!invocation.json) std::cerr << describe_failures(*view);
  const Value end = describe_end(*view, monotonic_now() - begin + options.running_for, std::nullopt);
  print(invocation, invocation.json ? end : without_failures(end));
  return exit_code_of(*view);
}

/// Duration of a job so far, or in all; 0 if unknown.
Duration elapsed_of(client::Session& session, JobId job) {
  const Result<Value> answer = session.ask("job", {to_string(job)}, std::chrono::seconds{1});
  const double* elapsed = answer ? (*answer)["elapsed_s"].number() : nullptr;
  return elapsed == nullptr ? Duration{0}
                            : std::chrono::duration_cast<Duration>(std::chrono::duration<double>{*elapsed});
}

Result<int> submit(Invocation& invocation, const SubmitCommand& command) {
  // Each nameless submission gets a unique name, so that it is a job of its own.
  Result<JobFile> job = load_job(command.source, host_name() + "-" + std::to_string(process_id()) + "-" +
                                                     std::to_string(monotonic_now().time_since_epoch().count()));
  if (!job) return job.error();
  Result<client::Session*> session = connect(invocation);
  if (!session) return session.error();
  const std::string name = job->spec.name;
  const std::size_t subtasks = job->graph.size();
  const Result<client::Session::Submitted> submitted = (*session)->submit(job->spec, std::move(job->graph));
  if (!submitted) return submitted.error();
  if (command.wait) {
    FollowOptions options;
    options.job = submitted->job;
    options.name = name;
    options.subtasks = subtasks;
    return wait_and_print(invocation, **session, options);
  }
  print(invocation, Value::Record{{"job", to_string(submitted->job)}, {"name", name}, {"existed", submitted->existed}});
  return int{kSuccess};
}

Result<int> wait(Invocation& invocation, const WaitCommand& command) {
  FollowOptions options;
  if (!command.timeout.empty()) {
    const Result<Duration> timeout = parse_duration(command.timeout);
    if (!timeout) return timeout.error();
    options.timeout = *timeout;
  }
  Result<client::Session*> session = connect(invocation);
  if (!session) return session.error();
  const Result<JobId> job = (*session)->attach(job_selector_of(command.job));
  if (!job) return job.error();
  options.job = *job;
  options.name = to_string(*job);
  options.running_for = elapsed_of(**session, *job);
  return wait_and_print(invocation, **session, options);
}

}  // namespace

void add_submit_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<SubmitCommand>();
  CLI::App* command = app.add_subcommand("submit", "Hand a job to the cluster");
  add_job_source(*command, options->source);
  command->add_flag("--wait", options->wait, "Wait for its end, as `penstock wait` does");
  add_supervisor_option(*command, invocation);
  add_json_option(*command, invocation);
  command->callback([&invocation, options] {
    invocation.heeds_signals = true;
    invocation.chosen = [&invocation, options] { return submit(invocation, *options); };
  });
}

void add_wait_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<WaitCommand>();
  CLI::App* command = app.add_subcommand("wait", "Wait for the end of a job; exit code 0 if it succeeded, 1 if not");
  command->add_option("JOB", options->job, "Number (`job-3` or `3`) or name of the job")->required();
  command->add_option("--timeout", options->timeout, "Give up after this time, e.g. 10min; the job goes on")
      ->type_name("DURATION");
  add_supervisor_option(*command, invocation);
  add_json_option(*command, invocation);
  command->callback([&invocation, options] {
    invocation.heeds_signals = true;
    invocation.chosen = [&invocation, options] { return wait(invocation, *options); };
  });
}

}  // namespace penstock::cli
