// Questions and orders that the supervisor answers at once: `jobs`, `job`, `workers`, `explain`, `cancel`, ...
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>

#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/show/render.hpp"
#include "common/base/quantity.hpp"

namespace penstock::cli {
namespace {

struct Operand {
  const char* name;
  const char* help;
  bool required;
};

struct Flag {
  const char* name;
  const char* help;
};

/// One question: its operands and flags are sent to the supervisor as they were typed.
struct Question {
  const char* name;
  const char* help;
  std::vector<Operand> operands;
  std::vector<Flag> flags;    ///< `--name`
  std::vector<Flag> options;  ///< `--name=VALUE`
};

constexpr const char* kJobHelp = "Number (`job-3` or `3`) or name of the job";

const std::vector<Question>& questions() {
  static const std::vector<Question> all{
      {"jobs",
       "List the running jobs",
       {},
       {{"--all", "List ended jobs, too, the last one first"}},
       {{"--state", "Only jobs in this state: `running`, `succeeded`, `failed` or `cancelled`"},
        {"--name", "Only jobs with a name that matches this pattern, with `*` and `?`"},
        {"--owner", "Only jobs of this user"},
        {"--since", "Of the ended jobs only those that ended within this time, e.g. 24h"},
        {"--limit", "At most so many jobs"}}},
      {"job", "Print everything about one job, with the history of its failures", {{"JOB", kJobHelp, true}}, {}, {}},
      {"explain",
       "Explain why a job or a subtask does not run yet, with numbers",
       {{"JOB", kJobHelp, true},
        {"SUBTASK", "Key or number of the subtask; left out: the job's ready subtasks", false}},
       {},
       {}},
      {"workers", "List the workers", {}, {}, {}},
      {"bands", "List the bands of all workers: their resources and their use", {}, {}, {}},
      {"queues", "Print the load of the queues of every band", {}, {}, {}},
      {"counters", "Print counters of a supervisor or worker", {{"WORKER", "Default: the supervisor", false}}, {}, {}},
      {"priority",
       "Change the priority of a job (larger runs first; in pools with priorities \"1-99\" smaller)",
       {{"JOB", kJobHelp, true}, {"PRIORITY", "A whole number", true}},
       {},
       {{"--subtask", "Only of this subtask, by key or number"}}},
      {"drain",
       "Let a worker finish its subtasks and give it no new ones",
       {{"WORKER", "Name of the worker", true}},
       {{"--now", "Do not wait: retryable subtasks save their state within `policy.grace` and run on other workers"}},
       {}},
      {"audit",
       "List the orders of operators and their results",
       {},
       {},
       {{"--since", "Only orders within this time, e.g. 24h"}, {"--limit", "At most so many, the last ones"}}},
      {"pools", "List the pools of the policy: their resources, and the parts that jobs may hold", {}, {}, {}},
      {"projects", "List projects and departments: quotas, limits, demand and use", {}, {}, {}},
      {"shares", "List the accounts: shares and decayed use", {}, {}, {}},
      {"queue", "List the jobs in policy's order: position, priority, and the rule that delays each", {}, {}, {}},
      {"set",
       "Change a setting of a job, a project or an account for the policy",
       {{"WHAT",
         "Of a job `priority`, `time-limit`, `weight`, `cap`, `qos`, `queue`, `account` or `user-factor`; of a "
         "project `quota`, `gpu-quota` (slots), `memory-quota` or `project-weight`; of an account `shares`",
         true},
        {"WHOM", "The job, the project or the account", true},
        {"VALUE",
         "A priority is any whole number (larger first; in pools with priorities \"1-99\" one of these, smaller "
         "first), a weight from 0.001 to 1000000, a cap of 1 slot or more, a user factor from 0 to 1, memory as in "
         "8GiB, a time as in 30min, or a name; `none` lifts a time limit, a cap or a project's weight, or leaves a "
         "queue or an account. Settings of a project or an account hold until the configuration is read again",
         true}},
       {},
       {}},
      {"move",
       "Put a job ahead of or behind another one of its pool, where jobs go by priority",
       {{"JOB", kJobHelp, true}, {"WHERE", "`ahead-of` or `behind`", true}, {"OTHER", "The other job", true}},
       {},
       {}},
      {"reload",
       "Let the supervisor read `[policy]` of its configuration again; a wrong one changes nothing",
       {},
       {},
       {}},
      {"undrain", "Give a drained worker subtasks again", {{"WORKER", "Name of the worker", true}}, {}, {}},
  };
  return all;
}

/// Questions about users, limits of users and accounts, and holds.
const std::vector<Question>& limit_questions() {
  static const std::vector<Question> all{
      {"limits", "List limited users and accounts: the jobs and slots that they may have, and have", {}, {}, {}},
      {"users", "List users with jobs that have not ended, and the number that each may have", {}, {}, {}},
      {"hold",
       "Keep a job from getting slots: its runs are preempted, and none begins until `release`",
       {{"JOB", kJobHelp, true}},
       {},
       {}},
      {"release", "Release a held job", {{"JOB", kJobHelp, true}}, {}, {}},
  };
  return all;
}

/// Questions about outputs.
const std::vector<Question>& data_questions() {
  static const std::vector<Question> all{
      {"data",
       "List what outputs take, in bytes, and for what they are kept: the client, other jobs, subtasks that have still "
       "to read them, or nobody (`retained` while memory is plentiful); copies on further workers beside",
       {},
       {},
       {{"--by", "Added up by `job` (default), `worker`, `owner` or `template`"},
        {"--job", "Only outputs of this job"},
        {"--limit", "At most so many rows, those with the most bytes"}}},
      {"shared",
       "List the objects that programs share by name: semaphores (locks), variables, queues and subscriptions",
       {},
       {},
       {{"--begins", "Only those with names that begin so"}, {"--limit", "At most so many; at most 1000"}}},
      {"keep",
       "Keep the outputs of a job, whether or not a client follows it, until `unkeep`",
       {{"JOB", kJobHelp, true}},
       {},
       {}},
      {"unkeep",
       "Keep the outputs of a job no longer: they go, unless a client or other jobs need them",
       {{"JOB", kJobHelp, true}},
       {},
       {}},
      {"explain-data",
       "Explain where the outputs of a subtask are and for what they are kept",
       {{"JOB", kJobHelp, true}, {"SUBTASK", "Key or number of the subtask", true}},
       {},
       {}},
  };
  return all;
}

/// The typed arguments of a question.
struct Typed {
  std::vector<std::string> operands;
  std::vector<bool> flags;
  std::vector<std::string> options;
};

std::vector<std::string> arguments_of(const Question& question, const Typed& typed) {
  std::vector<std::string> arguments;
  for (const std::string& operand : typed.operands)
    if (!operand.empty()) arguments.push_back(operand);
  for (std::size_t i = 0; i < question.options.size(); ++i)
    if (!typed.options[i].empty()) arguments.push_back(std::string{question.options[i].name} + "=" + typed.options[i]);
  for (std::size_t i = 0; i < question.flags.size(); ++i)
    if (typed.flags[i]) arguments.emplace_back(question.flags[i].name);
  return arguments;
}

void add_question(CLI::App& app, Invocation& invocation, const Question& question) {
  CLI::App* command = app.add_subcommand(question.name, question.help);
  auto typed = std::make_shared<Typed>();
  typed->operands.resize(question.operands.size());
  typed->flags.resize(question.flags.size());
  typed->options.resize(question.options.size());
  for (std::size_t i = 0; i < question.operands.size(); ++i) {
    CLI::Option* operand =
        command->add_option(question.operands[i].name, typed->operands[i], question.operands[i].help);
    if (question.operands[i].required) operand->required();
  }
  for (std::size_t i = 0; i < question.flags.size(); ++i)
    command->add_flag_callback(
        question.flags[i].name, [typed, i] { typed->flags[i] = true; }, question.flags[i].help);
  for (std::size_t i = 0; i < question.options.size(); ++i)
    command->add_option(question.options[i].name, typed->options[i], question.options[i].help);
  add_supervisor_option(*command, invocation);
  add_json_option(*command, invocation);
  command->callback([&invocation, &question, typed, command] {
    if (!command->get_subcommands().empty()) return;  // Of `audit`: not a question.
    invocation.chosen = [&invocation, &question, typed]() -> Result<int> {
      const Result<Value> answer = ask(invocation, question.name, arguments_of(question, *typed));
      if (!answer) return answer.error();
      print(invocation, *answer);
      return int{kSuccess};
    };
  });
}

struct LogsCommand {
  std::string job;
  std::string subtask;
};

/// Prints the lines one by one, without control characters of the terminal.
Result<int> logs(Invocation& invocation, const LogsCommand& command) {
  std::vector<std::string> arguments{command.job};
  if (!command.subtask.empty()) arguments.push_back(command.subtask);
  const Result<Value> answer = ask(invocation, "logs", arguments);
  if (!answer) return answer.error();
  const Value::List* parts = (*answer)["logs"].list();
  if (invocation.json || parts == nullptr) {
    print(invocation, *answer);
    return int{kSuccess};
  }
  for (const Value& part : *parts) {
    const std::string* worker = part["worker"].text();
    const std::string* log = part["log"].text();
    if (worker == nullptr || log == nullptr) continue;
    std::istringstream lines{*log};
    for (std::string line; std::getline(lines, line);)
      std::cout << harmless(*worker) << ' ' << harmless(line, "\t") << '\n';
  }
  return int{kSuccess};
}

void add_logs_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<LogsCommand>();
  CLI::App* command =
      app.add_subcommand("logs", "Print the end of the log of a job: worker, subtask#attempt and line of its runners");
  command->add_option("JOB", options->job, kJobHelp)->required();
  command->add_option("SUBTASK", options->subtask, "Only the log of this subtask, by key or number");
  add_supervisor_option(*command, invocation);
  add_json_option(*command, invocation);
  command->callback(
      [&invocation, options] { invocation.chosen = [&invocation, options] { return logs(invocation, *options); }; });
}

struct CancelCommand {
  std::string job;
  std::string subtask;
  std::string kill_after;
};

Result<int> cancel(Invocation& invocation, const CancelCommand& command) {
  std::vector<std::string> arguments{command.job};
  if (!command.subtask.empty()) arguments.push_back(command.subtask);
  if (command.kill_after == "never") {
    arguments.emplace_back("--kill-after-ms=never");
  } else if (!command.kill_after.empty()) {
    const Result<Duration> grace = parse_duration(command.kill_after);
    if (!grace) return grace.error();
    arguments.push_back("--kill-after-ms=" +
                        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(*grace).count()));
  }
  const Result<Value> answer = ask(invocation, "cancel", arguments);
  if (!answer) return answer.error();
  print(invocation, *answer);
  return int{kSuccess};
}

void add_cancel_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<CancelCommand>();
  CLI::App* command = app.add_subcommand("cancel",
                                         "End a job, or one subtask and its successors; after the answer "
                                         "none of these subtasks starts any more");
  command->add_option("JOB", options->job, kJobHelp)->required();
  command->add_option("SUBTASK", options->subtask, "Key or number of the subtask");
  command
      ->add_option("--kill-after", options->kill_after,
                   "Time between asking its runs to stop and killing them, e.g. 10s, or `never`")
      ->type_name("DURATION");
  add_supervisor_option(*command, invocation);
  add_json_option(*command, invocation);
  command->callback(
      [&invocation, options] { invocation.chosen = [&invocation, options] { return cancel(invocation, *options); }; });
}

}  // namespace

void add_question_commands(CLI::App& app, Invocation& invocation) {
  for (const std::vector<Question>* all : {&questions(), &limit_questions(), &data_questions()})
    for (const Question& question : *all) add_question(app, invocation, question);
  add_logs_command(app, invocation);
  add_cancel_command(app, invocation);
}

}  // namespace penstock::cli
