// `penstock manual`: the manual page of every command, written from the help texts that the binary has.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <sstream>

#include "cli/command.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock::cli {
namespace {

// A line that begins with a dot or a quote is a request to roff, and `-` is not a minus there.
std::string roff(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\\') safe += "\\e";
    else if (c == '-') safe += "\\-";
    else safe += c;
  }
  if (safe.starts_with(".") || safe.starts_with("'")) safe.insert(0, "\\&");
  return safe;
}

void write_options(std::ostream& page, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    page << ".TP\n.B " << roff(option->get_positional() ? option->get_name(true) : option->get_name(false, true));
    if (!option->get_positional() && option->get_items_expected_max() > 0 && option->get_expected_max() > 0)
      page << " " << roff(option->get_type_name());
    page << "\n" << roff(option->get_description());
    if (!option->get_default_str().empty()) page << " (default " << roff(option->get_default_str()) << ")";
    page << "\n";
  }
}

std::string page_of(const CLI::App& app) {
  std::ostringstream page;
  page << ".TH PENSTOCK 1 \"\" \"penstock " << kSoftwareVersion << "\" \"User Commands\"\n"
       << ".SH NAME\npenstock \\- run the task graphs of dataframe and tensor engines\n"  // tidy: foreign
       << ".SH SYNOPSIS\n.B penstock\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n" << roff(app.get_description()) << "\n"
       << ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    page << ".SS " << roff(command->get_name()) << "\n" << roff(command->get_description()) << ".\n";
    write_options(page, *command);
  }
  page << ".SH EXIT STATUS\n0: done, and the job succeeded; 1: the job failed or was cancelled; 2: bad input, nothing was changed; "
          "130: interrupted.\n"
       << ".SH ENVIRONMENT\n.TP\n.B PENSTOCK_SUPERVISOR\nAddress of the supervisor.\n.TP\n.B PENSTOCK_CONFIG\nFile of settings.\n";
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
