// `penstock submit`, `penstock rerun` and `penstock wait`: jobs of a cluster.
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
  bool replace = false;
  bool numbered = false;
  bool rerun = false;

  NameUse name_use() const {
    return replace ? NameUse::Replace : numbered ? NameUse::Number : rerun ? NameUse::Rerun : NameUse::Same;
  }
};

struct RerunCommand {
  std::string job;
  bool failed = false;
  std::string from;
  bool wait = false;
};

struct WaitCommand {
  std::string job;
  std::string timeout;
};

/// `known`: what to say of the job beside its end.
Result<int> wait_and_print(Invocation& invocation, client::Session& session, const FollowOptions& options,
                           const Value::Record& known = {}) {
  const Instant begin = monotonic_now();
  const Result<client::JobView> view = follow(session, invocation.stop_signals, options);
  if (!view) return view.error();
  if (!invocation.json) std::cerr << describe_failures(*view);
  Value::Record end = *describe_end(*view, monotonic_now() - begin + options.running_for, std::nullopt).record();
  end.insert(end.begin() + 1, known.begin(), known.end());  // After the number of the job.
  print(invocation, invocation.json ? Value{end} : without_failures(end));
  return exit_code_of(*view);
}

std::string text_in(const Value& record, const char* field) {
  const std::string* text = record[field].text();
  return text == nullptr ? "" : *text;
}

/// Cancels the job of that name if it is this user's and has not ended, and waits for its end: runs of both would be
/// under way together otherwise. One that is not this user's keeps its name, and this user gets a job of its own.
Result<void> end_former(Invocation& invocation, client::Session& session, const JobSpec& spec) {
  const Result<Value> former = session.ask("job", {spec.name});
  if (!former) return former.error().code == ErrorCode::NotFound ? Result<void>{} : former.error();
  const std::string owner = certified_user(invocation).value_or(spec.owner);
  const bool is_meant = text_in(*former, "name") == spec.name && text_in(*former, "owner") == owner;
  if (!is_meant || text_in(*former, "state") != to_string(JobState::Running)) return {};
  FollowOptions options;
  const std::string id = text_in(*former, "id");
  const Result<JobId> job = session.attach(job_selector_of(id));
  if (!job) return job.error();
  const Result<Value> asked = session.ask("cancel", {id});
  if (!asked && asked.error().code != ErrorCode::WrongState) return asked.error();
  options.job = *job;
  options.name = id + ", which is cancelled";
  const Result<client::JobView> end = follow(session, invocation.stop_signals, options);
  if (!end) return end.error();
  if (end->state == JobState::Running)
    return Error{ErrorCode::Cancelled, id, "is being cancelled and has not ended yet; nothing was submitted", {}};
  return {};
}

/// Advice about a job that was there already, and ended otherwise than wished.
std::string advice_on(const std::string& id, const std::string& name, const std::string& state) {
  return "penstock: " + id + " '" + name + "' existed and has " + (state == "failed" ? "failed" : "been " + state) +
         "; nothing was run. `penstock rerun " + id + " --failed` runs again what has not succeeded, `penstock rerun " +
         id + "` or `penstock submit --rerun` all of it.\n";
}

/// The job was there already: says so, and how it has ended.
Result<int> print_existing(Invocation& invocation, client::Session& session, const SubmitCommand& command,
                           FollowOptions options) {
  if (command.name_use() != NameUse::Same)
    return Error{ErrorCode::Unsupported, "the supervisor",
                 "is of an older version, which returns the job that has the name: " + to_string(options.job),
                 "upgrade it, or submit under another name"};
  const Result<Value> known = session.ask("job", {to_string(options.job)});
  if (!known) return known.error();
  const std::string state = text_in(*known, "state");
  const bool ended_badly = state == to_string(JobState::Failed) || state == to_string(JobState::Cancelled);
  if (ended_badly && !invocation.json) std::cerr << advice_on(to_string(options.job), options.name, state);
  if (command.wait) return wait_and_print(invocation, session, options, {{"name", options.name}, {"existed", true}});
  print(invocation,
        Value::Record{{"job", to_string(options.job)}, {"name", options.name}, {"existed", true}, {"state", state}});
  return int{ended_badly ? kJobFailed : kSuccess};
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
  job->spec.name_use = command.name_use();
  if (command.replace) PENSTOCK_TRY(end_former(invocation, **session, job->spec));
  FollowOptions options;
  options.name = job->spec.name;
  options.subtasks = job->graph.size();
  const Result<client::Session::Submitted> submitted = (*session)->submit(job->spec, std::move(job->graph));
  if (!submitted) return submitted.error();
  options.job = submitted->job;
  if (submitted->existed) return print_existing(invocation, **session, command, options);
  if (command.numbered) {  // The supervisor has chosen the number.
    const Result<Value> made = (*session)->ask("job", {to_string(submitted->job)});
    if (!made) return made.error();
    options.name = text_in(*made, "name");
  }
  const Value::Record known{{"name", options.name}, {"existed", false}};
  if (command.wait) return wait_and_print(invocation, **session, options, known);
  print(invocation, Value::Record{{"job", to_string(submitted->job)}, known[0], known[1]});
  return int{kSuccess};
}

Result<int> rerun(Invocation& invocation, const RerunCommand& command) {
  // Should the answer be lost, the order is sent again by itself, and must not be another run.
  std::vector<std::string> arguments{command.job, "--submission=" + std::to_string(random_incarnation().value())};
  if (command.failed) arguments.emplace_back("--failed");
  if (!command.from.empty()) arguments.push_back("--from=" + command.from);
  Result<client::Session*> session = connect(invocation);
  if (!session) return session.error();
  const Result<Value> made = (*session)->ask("rerun", arguments);
  if (!made) return made.error();
  if (!command.wait) {
    print(invocation, *made);
    return int{kSuccess};
  }
  FollowOptions options;
  const Result<JobId> job = (*session)->attach(job_selector_of(text_in(*made, "job")));
  if (!job) return job.error();
  options.job = *job;
  options.name = text_in(*made, "name");
  Value::Record known = *made->record();
  std::erase_if(known, [](const auto& field) { return field.first == "job" || field.first == "subtasks"; });
  return wait_and_print(invocation, **session, options, known);
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
  CLI::Option* replace =
      command->add_flag("--replace", options->replace,
                        "If a job has the name: cancel it, wait for its end, and run this one under the name");
  CLI::Option* numbered = command->add_flag(
      "--new", options->numbered, "If a job has the name: take the first free one of NAME-2, NAME-3 and so on");
  CLI::Option* again = command->add_flag(
      "--rerun", options->rerun, "If a job has the name, has ended and has the same content: run all of it again");
  replace->excludes(numbered)->excludes(again);
  numbered->excludes(again);
  add_supervisor_option(*command, invocation);
  add_json_option(*command, invocation);
  command->callback([&invocation, options] {
    invocation.heeds_signals = true;
    invocation.chosen = [&invocation, options] { return submit(invocation, *options); };
  });
}

void add_rerun_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RerunCommand>();
  CLI::App* command = app.add_subcommand(
      "rerun", "Run an ended job again, under its name: all of it, or what has not succeeded; `job` lists its runs");
  command->add_option("JOB", options->job, "Number (`job-3` or `3`) or name of the job")->required();
  command->add_flag("--failed", options->failed,
                    "Only what has not succeeded and what it reads; results that are still kept are taken over");
  command->add_option("--from", options->from, "The same, with this subtask and all that depend on it")
      ->type_name("SUBTASK")
      ->check([](const std::string& text) { return text.empty() ? "names no subtask" : std::string{}; });
  command->add_flag("--wait", options->wait, "Wait for its end, as `penstock wait` does");
  add_supervisor_option(*command, invocation);
  add_json_option(*command, invocation);
  command->callback([&invocation, options] {
    invocation.heeds_signals = true;
    invocation.chosen = [&invocation, options] { return rerun(invocation, *options); };
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
