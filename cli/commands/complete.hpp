// Completion of command lines, for users' shells and for the admin shell.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace penstock::cli {

/// The possible words: names of subcommands and of options that begin with the last of `words`, sorted. The words
/// before it choose the subcommand. Pure.
std::vector<std::string> complete(const CLI::App& app, const std::vector<std::string>& words);

/// True if the last of `words` is, or begins, an operand called `name`, e.g. `JOB`. Pure.
bool wants_operand(const CLI::App& app, const std::vector<std::string>& words, const std::string& name);

}  // namespace penstock::cli
