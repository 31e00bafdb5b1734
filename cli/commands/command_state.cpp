// `penstock state`: backups of a supervisor's state, and their content.
#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>

#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/state_place.hpp"
#include "supervisor/actors/state_copies.hpp"

namespace penstock::cli {
namespace {

using supervisor::StateSummary;

struct StateCommand {
  std::string state;
  std::string place;
};

Result<std::string> state_of(const StateCommand& options) {
  if (!options.state.empty()) return options.state;
  return default_state_directory(own_state_surroundings());
}

std::string hexadecimal(std::uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

Value::Record headline_of(const StateSummary& summary) {
  return {{"path", summary.path},
          {"bytes", summary.bytes},
          {"commits", summary.commits},
          {"next_job", summary.next_job.valid() ? summary.next_job.value() : 0},
          {"state", hexadecimal(summary.identity.state)},
          {"branch", hexadecimal(summary.identity.branch)},
          {"term", summary.identity.life}};
}

Value value_of(const StateSummary& summary) {
  Value::Record record = headline_of(summary);
  record.insert(record.begin() + 2, {{"jobs", summary.jobs}, {"unfinished", summary.unfinished}});
  return record;
}

Result<int> show(const Invocation& invocation, const Result<StateSummary>& summary) {
  if (!summary) return summary.error();
  print(invocation, value_of(*summary));
  return int{kSuccess};
}

Result<int> restore(const Invocation& invocation, const StateCommand& options) {
  const Result<std::string> state = state_of(options);
  if (!state) return state.error();
  PENSTOCK_TRY(make_state_directory(*state));
  const Result<supervisor::RestoredState> restored = supervisor::restore_state(options.place, *state);
  if (!restored) return restored.error();
  Value::Record record = *value_of(restored->summary).record();
  record.push_back({"replaced", restored->kept});
  print(invocation, record);
  return int{kSuccess};
}

Result<int> list(const Invocation& invocation, const StateCommand& options) {
  std::string place = options.place;
  if (place.empty()) {
    const Result<std::string> state = state_of(options);
    if (!state) return state.error();
    place = *state;
  }
  Value::List rows;
  for (const StateSummary& summary : supervisor::list_states(place)) rows.push_back(headline_of(summary));
  if (rows.empty()) return Error{ErrorCode::NotFound, place, "has no state in it", {}};
  print(invocation, rows);
  return int{kSuccess};
}

using Run = Result<int> (*)(const Invocation&, const StateCommand&);

CLI::App* add(CLI::App& family, Invocation& invocation, const char* name, const char* help,
              const std::shared_ptr<StateCommand>& options, Run run) {
  CLI::App* command = family.add_subcommand(name, help);
  command->add_option("--state", options->state, "The state (default: the default directory of `penstock supervisor`)")
      ->type_name("DIR");
  add_json_option(*command, invocation);
  command->callback([&invocation, options, run] {
    invocation.chosen = [&invocation, options, run] { return run(invocation, *options); };
  });
  return command;
}

}  // namespace

void add_state_command(CLI::App& app, Invocation& invocation) {
  CLI::App* family = app.add_subcommand("state", "The state of a supervisor: back it up, check it, put a backup back");
  family->require_subcommand(1);
  const auto options = std::make_shared<StateCommand>();
  add(*family, invocation, "backup",
      "Copy all that was promised up to now, also while the supervisor runs, and check the copy", options,
      [](const Invocation& call, const StateCommand& said) -> Result<int> {
        const Result<std::string> state = state_of(said);
        if (!state) return state.error();
        return show(call, supervisor::back_up_state(*state, said.place));
      })
      ->add_option("DIR", options->place, "The backup, which must not exist yet; it is a state itself")
      ->required();
  add(*family, invocation, "verify",
      "Read all that was promised up to now and its checksums, also while the supervisor runs", options,
      [](const Invocation& call, const StateCommand& said) -> Result<int> {
        const Result<std::string> state = state_of(said);
        if (!state) return state.error();
        return show(call, supervisor::verify_state(*state));
      });
  add(*family, invocation, "restore",
      "Put a backup in the place of the state, in one step, while no supervisor runs; what was there is kept beside it",
      options, restore)
      ->add_option("DIR", options->place, "The backup, which stays unchanged")
      ->required();
  add(*family, invocation, "list", "List the state and its replaced versions, or the backups in a directory", options,
      list)
      ->add_option("DIR", options->place, "A directory with backups (default: the state)");
}

}  // namespace penstock::cli
