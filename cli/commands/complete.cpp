#include "cli/commands/complete.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace penstock::cli {
namespace {

const CLI::App* subcommand_of(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == name) return command;
  return nullptr;
}

/// The place of the last word in the command line.
struct Place {
  const CLI::App* command;       ///< The subcommand that the words before it name.
  std::size_t operands = 0;      ///< Number of operands before it.
  bool is_option_value = false;  ///< The last word is the value of the option before it.
};

Place place_of(const CLI::App& app, const std::vector<std::string>& words) {
  Place place{&app};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].starts_with("-")) {
      const CLI::Option* option = place.command->get_option_no_throw(words[i]);  // None if written as `--name=value`.
      if (option == nullptr || option->get_items_expected_max() == 0) continue;
      ++i;
      place.is_option_value = i + 1 == words.size();
    } else if (const CLI::App* next = subcommand_of(*place.command, words[i])) {
      place = {next};
    } else {
      ++place.operands;
    }
  }
  return place;
}

}  // namespace

std::vector<std::string> complete(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string last = words.empty() ? "" : words.back();
  const Place place = place_of(app, words);
  std::vector<std::string> candidates;
  if (place.is_option_value) return candidates;
  if (last.starts_with("-")) {
    for (const CLI::Option* option : place.command->get_options())
      for (const std::string& name : option->get_lnames()) candidates.push_back("--" + name);
  } else {
    for (const CLI::App* next : place.command->get_subcommands([](const CLI::App*) { return true; }))
      if (!next->get_group().empty()) candidates.push_back(next->get_name());
  }
  std::erase_if(candidates, [&](const std::string& candidate) { return !candidate.starts_with(last); });
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

bool wants_operand(const CLI::App& app, const std::vector<std::string>& words, const std::string& name) {
  const Place place = place_of(app, words);
  if (place.is_option_value || words.empty() || words.back().starts_with("-")) return false;
  std::size_t position = 0;
  for (const CLI::Option* option : place.command->get_options()) {
    if (!option->get_positional()) continue;
    if (position++ == place.operands) return option->get_name(true) == name;
  }
  return false;
}

}  // namespace penstock::cli
