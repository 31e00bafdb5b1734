// `completion SHELL`: completion for bash, zsh and fish. The scripts ask the binary, so they are never out of date.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/commands/command.hpp"
#include "cli/commands/complete.hpp"
#include "cli/commands/program.hpp"

namespace penstock::cli {
namespace {

// In each script PROGRAM stands for the binary and FUNCTION for the name of the completing function.
constexpr const char* kBash = R"sh(# eval "$(PROGRAM completion bash)"
FUNCTION() {
  local IFS=$'\n'
  COMPREPLY=($(PROGRAM complete-words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F FUNCTION PROGRAM
)sh";

constexpr const char* kZsh = R"sh(#compdef PROGRAM
# eval "$(PROGRAM completion zsh)"
FUNCTION() {
  local -a candidates
  candidates=(${(f)"$(PROGRAM complete-words "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( ${#candidates} )); then compadd -a candidates; else _files; fi
}
compdef FUNCTION PROGRAM
)sh";

constexpr const char* kFish = R"sh(# PROGRAM completion fish | source
complete -c PROGRAM -a '(PROGRAM complete-words (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
)sh";

void replace_all(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
}

Result<int> print_script(const std::string& program, const std::string& shell) {
  std::string script;
  if (shell == "bash") script = kBash;
  if (shell == "zsh") script = kZsh;
  if (shell == "fish") script = kFish;
  if (script.empty())
    return Error{ErrorCode::InvalidArgument, shell, "is no shell that there is completion for",
                 "use bash, zsh or fish"};
  std::string function = "_" + program;
  std::replace(function.begin(), function.end(), '-', '_');
  replace_all(script, "PROGRAM", program);
  replace_all(script, "FUNCTION", function);
  std::cout << script;
  return int{kSuccess};
}

}  // namespace

void add_completion_command(CLI::App& app, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for bash, zsh or fish");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  command->callback([&invocation, shell] {
    invocation.chosen = [&invocation, shell] { return print_script(invocation.program, *shell); };
  });

  // For the scripts above; it has no group, which hides it.
  CLI::App* ask = app.add_subcommand("complete-words", "Print the possible next words")->group("");
  ask->prefix_command();
  ask->callback([&invocation, &app, ask] {
    invocation.chosen = [&app, ask]() -> Result<int> {
      for (const std::string& candidate : complete(app, ask->remaining())) std::cout << candidate << "\n";
      return int{kSuccess};
    };
  });
}

}  // namespace penstock::cli
