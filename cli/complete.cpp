#include "cli/complete.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace penstock::cli {
namespace {

const CLI::App* subcommand_of(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == name) return command;
  return nullptr;
}

/// The subcommand that the words before the last one name, and how many operands of it stand there already.
std::pair<const CLI::App*, std::size_t> place_of(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::size_t operands = 0;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].starts_with("-")) continue;
    const CLI::App* next = subcommand_of(*command, words[i]);
    if (next == nullptr) {
      ++operands;
      continue;
    }
    command = next;
    operands = 0;
  }
  return {command, operands};
}

}  // namespace

std::vector<std::string> complete(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string last = words.empty() ? "" : words.back();
  const CLI::App* command = place_of(app, words).first;
  std::vector<std::string> candidates;
  if (last.starts_with("-")) {
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) candidates.push_back("--" + name);
  } else {
    for (const CLI::App* next : command->get_subcommands([](const CLI::App*) { return true; }))
      if (!next->get_group().empty()) candidates.push_back(next->get_name());
  }
  std::erase_if(candidates, [&](const std::string& candidate) { return !candidate.starts_with(last); });
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

bool wants_operand(const CLI::App& app, const std::vector<std::string>& words, const std::string& name) {
  const auto [command, operands] = place_of(app, words);
  std::size_t position = 0;
  for (const CLI::Option* option : command->get_options()) {
    if (!option->get_positional()) continue;
    if (position++ == operands) return option->get_name(true) == name;
  }
  return false;
}

}  // namespace penstock::cli
