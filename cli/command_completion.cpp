// `penstock completion SHELL`: completion for bash, zsh and fish. The scripts ask the binary, so they never grow stale.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/command.hpp"
#include "cli/complete.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kBash = R"sh(# eval "$(penstock completion bash)"
_penstock() {
  local IFS=$'\n'
  COMPREPLY=($(penstock complete-words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _penstock penstock
)sh";

constexpr const char* kZsh = R"sh(#compdef penstock
# eval "$(penstock completion zsh)"
_penstock() {
  local -a candidates
  candidates=(${(f)"$(penstock complete-words "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( ${#candidates} )); then compadd -a candidates; else _files; fi
}
compdef _penstock penstock
)sh";

constexpr const char* kFish = R"sh(# penstock completion fish | source
complete -c penstock -a '(penstock complete-words (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
)sh";

Result<int> print_script(const std::string& shell) {
  if (shell == "bash") return std::cout << kBash, int{kSuccess};
  if (shell == "zsh") return std::cout << kZsh, int{kSuccess};
  if (shell == "fish") return std::cout << kFish, int{kSuccess};
  return Error{ErrorCode::InvalidArgument, shell, "is no shell that there is completion for", "use bash, zsh or fish"};
}

}  // namespace

void add_completion_command(CLI::App& app, Invocation& invocation) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for bash, zsh or fish");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  command->callback([&invocation, shell] { invocation.chosen = [shell] { return print_script(*shell); }; });

  // For the scripts above; it has no group, which hides it.
  CLI::App* ask = app.add_subcommand("complete-words", "Print what may follow the words")->group("");
  ask->prefix_command();
  ask->callback([&invocation, &app, ask] {
    invocation.chosen = [&app, ask]() -> Result<int> {
      for (const std::string& candidate : complete(app, ask->remaining())) std::cout << candidate << "\n";
      return int{kSuccess};
    };
  });
}

}  // namespace penstock::cli
