// The common parts of every command of `penstock` and of `penstock-lab`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/src/session.hpp"
#include "common/config/config_file.hpp"
#include "common/host/log.hpp"
#include "common/loop/stop_signals.hpp"
#include "common/net/connection.hpp"

namespace CLI {
class App;
}

namespace penstock::cli {

/// Exit codes of a command; `Error` and wrong usage end the process with `kBadInput`.
enum ExitCode : int {
  kSuccess = 0,
  kJobFailed = 1,  ///< The command worked, and its job failed or was cancelled.
  kBadInput = 2,   ///< Nothing was changed.
  kInterrupted = 130,
};

/// One call of a binary, or one line of the admin shell.
struct Invocation {
  StopSignals& stop_signals;
  std::string program = "penstock";  ///< The binary's name, before each of its messages.
  /// The command handles `stop_signals` itself. Without this the signals end the process, as for any program.
  bool heeds_signals = false;
  // Options that all commands share.
  bool json = false;
  std::vector<std::string> supervisors;  ///< `host:port`; empty: the default.
  std::string config_path;
  std::vector<std::string> settings;  ///< `section.name=value`.
  std::string log_level;
  /// Made by `connect` when first needed; the admin shell keeps it from line to line.
  std::shared_ptr<client::Session> session;
  std::shared_ptr<const TlsClient> tls;  ///< Of that session; null: it is plain.
  /// Set by the named subcommand.
  std::function<Result<int>()> chosen;
};

/// The addresses of `--supervisor`, or the default one. Error: InvalidArgument.
Result<std::vector<HostPort>> supervisors_of(const Invocation& invocation);
/// The session with the supervisor; connects if there is none yet. Errors: Unreachable, VersionMismatch, ...
Result<client::Session*> connect(Invocation& invocation);
/// The user that the supervisor takes this one for: of the certificate. None: the session is plain.
std::optional<std::string> certified_user(const Invocation& invocation);
/// Asks the supervisor.
Result<Value> ask(Invocation& invocation, const std::string& command, const std::vector<std::string>& arguments);
/// The file that `load_config` reads; empty if there is none.
std::string config_path_of(const Invocation& invocation);
/// The settings: those of the file, changed by `--set`. Error: InvalidArgument with line and column.
Result<FileConfig> load_config(const Invocation& invocation);
/// Starts the log at `--log-level`, or at `fallback`.
Result<void> begin_log(const Invocation& invocation, LogLevel fallback);
/// Writes a value to standard output: as JSON, or as a table.
void print(const Invocation& invocation, const Value& value);
/// Adds `--json`.
void add_json_option(CLI::App& command, Invocation& invocation);
/// Adds `--supervisor`.
void add_supervisor_option(CLI::App& command, Invocation& invocation);
/// Adds `--insecure`.
void add_insecure_option(CLI::App& command);
/// Adds `--set`.
void add_set_option(CLI::App& command, Invocation& invocation);
/// Adds `--config`, `--set` and `--log-level`.
void add_config_options(CLI::App& command, Invocation& invocation);

/// The error for a name without a subcommand, with the nearest one; empty if there is such a subcommand, or if the name
/// is an option.
std::string unknown_command(const CLI::App& app, const std::string& name);
/// Runs `chosen`, prints its error, and returns the exit code. Fails if standard output has not taken all.
int finish(Invocation& invocation);

}  // namespace penstock::cli
