// `penstock manual`: the manual page of every command, written from the help texts that the binary has.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <sstream>

#include "cli/command.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock::cli {
namespace {

// A line that begins with a dot or a quote is a request to roff, `-` is not a minus there, and ` not what one types.
std::string roff(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (safe.empty() || safe.back() == '\n')) safe += "\\&";
    if (c == '\\')
      safe += "\\e";
    else if (c == '-')
      safe += "\\-";
    else if (c == '`')
      safe += "\\(ga";
    else
      safe += c;
  }
  return safe;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

/// `-s, --supervisor HOST:PORT`
std::string head_of(const CLI::Option& option) {
  if (option.get_positional()) return italic(option.get_name(true));
  std::string head;
  for (const std::string& name : option.get_snames()) head += (head.empty() ? "" : ", ") + bold("-" + name);
  for (const std::string& name : option.get_lnames()) head += (head.empty() ? "" : ", ") + bold("--" + name);
  if (option.get_items_expected_max() == 0) return head;
  return head + " " + italic(option.get_type_name());
}

void write_options(std::ostream& page, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    // Every command has --help, which is told once.
    if (option->get_group().empty() || option == command.get_help_ptr()) continue;
    page << ".TP\n" << head_of(*option) << "\n" << roff(option->get_description());
    if (!option->get_default_str().empty()) page << " (default: " << roff(option->get_default_str()) << ")";
    page << ".\n";
  }
}

/// `penstock submit [OPTIONS] FILE`
std::string synopsis_of(const std::string& name, const CLI::App& command) {
  std::string line = bold(name);
  if (command.get_options([](const CLI::Option* option) { return !option->get_positional(); }).size() > 1)
    line += " [" + italic("OPTIONS") + "]";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string operand = italic(option->get_name(true));
    line += option->get_required() ? " " + operand : " [" + operand + "]";
  }
  return line;
}

void write_command(std::ostream& page, const std::string& name, const CLI::App& command) {
  page << ".SS " << synopsis_of(name, command) << "\n" << roff(command.get_description()) << ".\n";
  write_options(page, command);
  for (const CLI::App* part : command.get_subcommands([](const CLI::App*) { return true; }))
    write_command(page, name + " " + part->get_name(), *part);
}

constexpr const char* kRest = R"(.SH EXIT STATUS
.TP
.B 0
Done; a job that was waited for has succeeded.
.TP
.B 1
The job failed or was cancelled, or an output file that it promised is missing.
.TP
.B 2
Bad input: one message on standard error, and nothing was changed.
.TP
.B 130
Interrupted; the job that was waited for goes on.
.SH ENVIRONMENT
.TP
.B PENSTOCK_SUPERVISOR
Address of the supervisor, as \fB\-\-supervisor\fR.
.TP
.B PENSTOCK_CONFIG
File of settings, as \fB\-\-config\fR.
.SH FILES
.TP
.I penstock.toml
Settings of the daemons and of \fBpenstock run\fR, if it stands in the current directory.
.TP
.I ~/.penstock_history
What was typed in the admin shell.
.SH EXAMPLES
.EX
penstock run examples/word_count.toml \-\-timeline
penstock supervisor \-\-listen 127.0.0.1:7465 &
penstock worker \-\-name w1 &
penstock submit examples/primes.toml \-\-wait
penstock explain primes
.EE
)";

std::string page_of(const CLI::App& app) {
  std::ostringstream page;
  page << ".TH PENSTOCK 1 \"\" \"penstock " << kSoftwareVersion << "\" \"User Commands\"\n"
       << ".nh\n"  // Names of commands are not broken.
       << ".SH NAME\npenstock \\- run the task graphs of dataframe and tensor engines\n"  // tidy: foreign
       << ".SH SYNOPSIS\n.B penstock\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n"
       << roff(app.get_description()) << "\n.PP\nEach command explains itself with \\fB\\-h\\fR or "
       << "\\fB\\-\\-help\\fR; \\fBpenstock \\-\\-version\\fR prints the version.\n.SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) write_command(page, "penstock " + command->get_name(), *command);
  page << kRest;
  return page.str();
}

}  // namespace

void add_manual_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("manual", "Print the manual page: `penstock manual | man -l -`");
  command->callback([&invocation, &app] {
    invocation.chosen = [&app]() -> Result<int> {
      std::cout << page_of(app);
      return int{kSuccess};
    };
  });
}

}  // namespace penstock::cli
