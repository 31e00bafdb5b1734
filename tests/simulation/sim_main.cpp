// The simulator without the rest of the product: what the other compiler builds, and what one debugs.
//
// usage: sim [FIRST [LAST [LEVEL]]] [--trace] [--json] [--no-shrink] [--policy] [--subtasks=N] [--jobs=N] [--workers=N]
//            [--without=KIND]... [--fresh] [--seconds=N]
#include <charconv>
#include <iostream>
#include <string_view>

#include "tests/simulation/world/sim_command.hpp"

using namespace penstock::simulation;

namespace {

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Takes `--name=value` apart; false if this is another option.
bool take_value(std::string_view argument, std::string_view name, std::string_view& value) {
  if (!argument.starts_with(name)) return false;
  value = argument.substr(name.size());
  return true;
}

bool parse_option(std::string_view argument, SimOptions& options) {
  std::string_view value;
  if (argument == "--trace") return options.trace = true;
  if (argument == "--json") return options.json = true;
  if (argument == "--policy") return options.policy = true;
  if (argument == "--fresh") return take_fresh_seeds(options), true;
  if (take_value(argument, "--seconds=", value)) return parse(value, options.seconds_max);
  if (argument == "--no-shrink") return options.shrink = false, true;
  if (take_value(argument, "--subtasks=", value)) return parse(value, options.subtasks_max);
  if (take_value(argument, "--jobs=", value)) return parse(value, options.jobs_max);
  if (take_value(argument, "--workers=", value)) return parse(value, options.workers_max);
  if (!take_value(argument, "--without=", value)) return false;
  options.without.emplace_back(value);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  SimOptions options;
  int position = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument{argv[i]};
    bool good = false;
    if (argument.starts_with("--"))
      good = parse_option(argument, options);
    else if (position == 0)
      good = parse(argument, options.first_seed), options.last_seed = options.first_seed;
    else if (position == 1)
      good = parse(argument, options.last_seed);
    else if (position == 2)
      good = parse(argument, options.fault_level);
    position += !argument.starts_with("--");
    if (good) continue;
    std::cerr << "sim: bad argument '" << argument << "'\n";
    return 2;
  }
  return run_simulation(options, std::cout);
}
