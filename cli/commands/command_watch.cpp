// `penstock watch`: repeats a question.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <string_view>
#include <thread>

#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/jobfile/field_reader.hpp"
#include "common/base/nearest_name.hpp"
#include "common/base/quantity.hpp"
#include "common/host/clock.hpp"

namespace penstock::cli {
namespace {

struct WatchCommand {
  std::vector<std::string> question{"jobs"};
  std::string every = "1s";
  std::uint32_t times = 0;
};

/// Only questions, each with its argument: an order must not be repeated.
constexpr std::string_view kQuestions[] = {"jobs",  "job JOB", "explain JOB", "workers", "bands", "queues",
                                           "queue", "pools",   "projects",    "shares",  "limits"};

std::string list_questions() {
  std::string text;
  for (const std::string_view each : kQuestions) text.append(text.empty() ? "" : ", ").append(each);
  return text;
}

Result<void> check_question(const std::string& question) {
  NearestName nearest{question};
  for (const std::string_view each : kQuestions) {
    const std::string_view known = each.substr(0, each.find(' '));
    if (question == known) return {};
    nearest.offer(known);
  }
  return Error{ErrorCode::InvalidArgument, in_quotes(question), "is no question that can be watched",
               nearest.best().empty() ? "watch one of " + list_questions() : nearest.remedy()};
}

/// False if the user has stopped the command.
bool pause(StopSignals& stop_signals, Duration duration) {
  const Instant end = later(monotonic_now(), duration);
  while (monotonic_now() < end) {
    if (stop_signals.take()) return false;
    const Duration look = std::min(Duration{std::chrono::milliseconds{50}}, end - monotonic_now());
    std::this_thread::sleep_for(look);  // tidy: allow call: a person watches
  }
  return !stop_signals.take();
}

Result<int> watch(Invocation& invocation, const WatchCommand& command) {
  PENSTOCK_TRY(check_question(command.question.front()));
  const Result<Duration> every = parse_duration(command.every);
  if (!every) return every.error();
  if (*every < std::chrono::milliseconds{10})
    return Error{ErrorCode::InvalidArgument, "--every", "is less than 10ms", "give a longer time, e.g. 1s"};
  const std::vector<std::string> arguments(command.question.begin() + 1, command.question.end());
  for (std::uint32_t round = 1;; ++round) {
    const Result<Value> answer = ask(invocation, command.question.front(), arguments);
    if (!answer) return answer.error();
    if (!invocation.json && command.times != 1) std::cout << "\033[H\033[2J";
    print(invocation, *answer);
    if (round == command.times || !pause(invocation.stop_signals, *every)) return int{kSuccess};
  }
}

}  // namespace

void add_watch_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<WatchCommand>();
  CLI::App* command = app.add_subcommand("watch", "Repeat a question until Ctrl-C, e.g. `watch queues`");
  command->add_option("QUESTION", options->question, list_questions())->capture_default_str();
  command->add_option("-n,--every", options->every, "Time between two answers")
      ->capture_default_str()
      ->type_name("DURATION");
  command->add_option("--times", options->times, "End after so many answers");
  add_supervisor_option(*command, invocation);
  add_json_option(*command, invocation);
  command->callback([&invocation, options] {
    invocation.heeds_signals = true;
    invocation.chosen = [&invocation, options] { return watch(invocation, *options); };
  });
}

}  // namespace penstock::cli
