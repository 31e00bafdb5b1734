// `penstock admin`: the shell for operators of a cluster.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/complete.hpp"
#include "cli/shell/line_editor.hpp"
#include "cli/shell/words.hpp"
#include "cli/show/render.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kWelcome = "Penstock admin shell. `help` lists the commands, Tab completes, Ctrl-D leaves.";

/// The commands for one line; made anew for each line, because parsing changes them.
struct Line {
  explicit Line(Invocation& open) : invocation{open.stop_signals}, app{"Commands of the admin shell", ""} {
    invocation.supervisors = open.supervisors;
    invocation.session = open.session;
    app.require_subcommand(1);
    add_session_commands(app, invocation);
    app.add_subcommand("help", "Show this text, or `COMMAND --help`");
    app.add_subcommand("quit", "Leave the shell");
  }
  Invocation invocation;
  CLI::App app;
};

class Shell {
 public:
  explicit Shell(Invocation& invocation) : invocation_(invocation) {}

  Result<int> run() {
    Result<client::Session*> session = connect(invocation_);
    if (!session) return session.error();
    const bool person = ::isatty(STDIN_FILENO) != 0;
    if (person) std::cout << kWelcome << std::endl;
    const char* home = std::getenv("HOME");  // tidy: allow call: where people keep their history
    LineEditor editor{"penstock> ", home == nullptr ? "" : std::string{home} + "/.penstock_history",
                      [this](const std::vector<std::string>& words) { return candidates(words); }};
    int last = kSuccess;
    while (const std::optional<std::string> text = editor.read()) {
      const Result<std::vector<std::string>> words = split_words(*text);
      if (!words) {
        std::cerr << "error: " << to_string(words.error()) << std::endl;
        last = kBadInput;
        continue;
      }
      if (words->empty()) continue;
      if (words->front() == "quit" || words->front() == "exit") break;
      last = obey(*words);
      // A script ends at its first error, as `sh -e` does.
      if (!person && last != kSuccess) return last;
    }
    return int{last};
  }

 private:
  int obey(std::vector<std::string> words) {
    Line line{invocation_};
    if (words.front() == "help") {
      std::cout << line.app.help() << std::flush;
      return kSuccess;
    }
    const std::string unknown = unknown_command(line.app, words.front());
    if (!unknown.empty()) {
      std::cerr << "error: " << unknown << " (see `help`)" << std::endl;
      return kBadInput;
    }
    std::reverse(words.begin(), words.end());  // CLI11 expects reversed words.
    try {
      line.app.parse(std::move(words));
    } catch (const CLI::Success& wish) {
      return line.app.exit(wish);
    } catch (const CLI::ParseError& error) {
      std::cerr << "error: " << harmless(error.what()) << " (see `help`)" << std::endl;
      return kBadInput;
    }
    return finish(line.invocation);
  }

  std::vector<std::string> candidates(const std::vector<std::string>& words) {
    Line line{invocation_};
    std::vector<std::string> found = complete(line.app, words);
    for (const char* kind : {"JOB", "WORKER"}) {
      if (!wants_operand(line.app, words, kind)) continue;
      const Result<Value> names = ask(invocation_, "words", {kind == std::string{"JOB"} ? "jobs" : "workers"});
      if (!names || names->list() == nullptr) continue;
      for (const Value& name : *names->list())
        if (name.text() != nullptr && name.text()->starts_with(words.back())) found.push_back(*name.text());
    }
    return found;
  }

  Invocation& invocation_;
};

}  // namespace

void add_admin_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand(
      "admin", "A shell connected to a supervisor: every question and order, with history and completion");
  add_supervisor_option(*command, invocation);
  command->callback([&invocation] {
    invocation.heeds_signals = true;
    invocation.chosen = [&invocation] { return Shell{invocation}.run(); };
  });
}

}  // namespace penstock::cli
