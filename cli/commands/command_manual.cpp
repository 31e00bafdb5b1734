// `manual`: the manual page of every command of a binary, made from its help texts.
#include <CLI/CLI.hpp>
#include <cctype>
#include <iostream>
#include <memory>
#include <sstream>

#include "cli/commands/command.hpp"
#include "cli/commands/program.hpp"
#include "common/protocol/handshake.hpp"

namespace penstock::cli {
namespace {

// Escapes roff: a line that begins with a dot or a quote is a request, and `-` and ` print as other characters.
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
    // Every command has --help; the page lists it once.
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

std::string in_capitals(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string page_of(const CLI::App& app, const Program& program) {
  const std::string name = roff(program.name);
  std::ostringstream page;
  page << ".TH " << roff(in_capitals(program.name)) << " 1 \"\" \"" << name << " " << kSoftwareVersion
       << "\" \"User Commands\"\n"
       << ".nh\n"  // Names of commands are not broken.
       << ".SH NAME\n"
       << name << " \\- " << roff(program.summary) << "\n.SH SYNOPSIS\n.B " << name
       << "\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH DESCRIPTION\n"
       << roff(app.get_description()) << "\n.PP\nEach command explains itself with \\fB\\-h\\fR or "
       << "\\fB\\-\\-help\\fR; \\fB" << name << " \\-\\-version\\fR prints the version.\n.SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) write_command(page, program.name + " " + command->get_name(), *command);
  page << program.manual_end;
  return page.str();
}

}  // namespace

void add_manual_command(CLI::App& app, Invocation& invocation, const Program& program) {
  CLI::App* command = app.add_subcommand("manual", "Print the manual page: `" + program.name + " manual | man -l -`");
  command->callback([&invocation, &app, &program] {
    invocation.chosen = [&app, &program]() -> Result<int> {
      std::cout << page_of(app, program);
      return int{kSuccess};
    };
  });
}

}  // namespace penstock::cli
