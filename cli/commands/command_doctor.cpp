// `penstock doctor`: is this host fit for a cluster, and if not, what to do.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/commands/checkup.hpp"
#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/state_place.hpp"
#include "common/host/clock.hpp"
#include "common/security/own_security.hpp"

namespace penstock::cli {
namespace {

using Level = Finding::Level;

const char* text_of(Level level) {
  switch (level) {
    case Level::Good: return "ok";
    case Level::Warning: return "warning";
    case Level::Bad: return "BAD";
  }
  return "";
}

std::vector<Finding> check_state() {
  const Result<std::string> state = default_state_directory(own_state_surroundings());
  if (!state) return {{"state", Level::Warning, to_string(state.error()), {}}};
  return {check_private_place("state", *state), check_private_place("authority", authority_directory_in(*state))};
}

/// The supervisor, and its workers.
std::vector<Finding> check_cluster(Invocation& invocation) {
  const Result<std::vector<HostPort>> supervisors = supervisors_of(invocation);
  const std::string where = supervisors ? to_string(supervisors->front()) : "";
  const Result<Value> workers = ask(invocation, "workers", {});
  if (!workers)
    return {{"supervisor", Level::Warning, to_string(workers.error()),
             "start one here, or say where it is: `--supervisor` or PENSTOCK_SUPERVISOR"}};
  std::size_t ready = 0;
  std::size_t all = 0;
  for (const Value& worker : workers->list() == nullptr ? Value::List{} : *workers->list()) {
    ++all;
    const std::string* const state = worker["state"].text();
    if (state != nullptr && *state == "ready") ++ready;
  }
  Finding found{"supervisor",
                Level::Good,
                where + " answers; " + std::to_string(ready) + " of " + std::to_string(all) + " workers are ready",
                {}};
  if (ready == 0) found = {found.check, Level::Warning, found.text, "start workers: `penstock worker`"};
  return {found};
}

Result<int> examine(Invocation& invocation) {
  std::vector<Finding> findings = check_state();
  const auto add = [&](std::vector<Finding> more) { findings.insert(findings.end(), more.begin(), more.end()); };
  if (wants_insecure())
    findings.push_back({"security", Level::Warning, "connections are plain, by `--insecure` or PENSTOCK_INSECURE",
                        "leave it out beyond measurements"});
  else
    add(check_credentials(own_credentials().directory(), calendar_now()));
  add({check_clock(), check_open_files(), check_shared_memory(), check_control_groups()});
  add(check_cluster(invocation));
  Value::List rows;
  bool sound = true;
  for (const Finding& finding : findings) {
    rows.emplace_back(Value::Record{{"check", finding.check},
                                    {"state", text_of(finding.level)},
                                    {"found", finding.text},
                                    {"remedy", finding.remedy}});
    sound = sound && finding.level != Level::Bad;
  }
  print(invocation, Value{std::move(rows)});
  return sound ? int{kSuccess} : int{kJobFailed};
}

}  // namespace

void add_doctor_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Examine this host: credentials, permissions, clock, limits, supervisor; exit code 1: something is bad");
  add_supervisor_option(*command, invocation);
  add_json_option(*command, invocation);
  command->callback([&invocation] { invocation.chosen = [&invocation] { return examine(invocation); }; });
}

}  // namespace penstock::cli
