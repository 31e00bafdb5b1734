#include "cli/commands/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/jobfile/field_reader.hpp"
#include "cli/show/render.hpp"
#include "cli/show/terminal.hpp"
#include "client/src/transport.hpp"
#include "common/base/nearest_name.hpp"
#include "common/host/host.hpp"
#include "common/host/log.hpp"
#include "common/host/process.hpp"
#include "common/json/json_text.hpp"
#include "common/security/certificate.hpp"
#include "common/security/own_security.hpp"
#include "supervisor/actors/supervisor_actor.hpp"

namespace penstock::cli {
namespace {

constexpr const char* kDefaultSupervisor = "127.0.0.1:7465";
constexpr const char* kDefaultConfig = "penstock.toml";

// Variables are read here and not by the parser, which would set shared options again for each command, and so override
// those of the command line.
std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

Result<std::vector<HostPort>> supervisors_of(const Invocation& invocation) {
  std::vector<HostPort> addresses;
  std::vector<std::string> texts = invocation.supervisors;
  if (texts.empty()) texts = split_list(environment_value("PENSTOCK_SUPERVISOR"));
  if (texts.empty()) texts.emplace_back(kDefaultSupervisor);
  for (const std::string& text : texts) {
    Result<HostPort> address = parse_supervisor_address(text, "127.0.0.1");
    if (!address) return address.error();
    addresses.push_back(std::move(address).value());
  }
  return addresses;
}

Result<client::Session*> connect(Invocation& invocation) {
  if (invocation.session != nullptr) return invocation.session.get();
  Result<std::vector<HostPort>> supervisors = supervisors_of(invocation);
  if (!supervisors) return supervisors.error();
  Result<std::shared_ptr<const TlsClient>> tls = own_security(PeerRole::Client);
  if (!tls) return tls.error();
  client::RemoteOptions options;
  options.supervisors = std::move(supervisors).value();
  options.tls = std::move(tls).value();
  options.name = host_name() + "-" + std::to_string(process_id());
  auto session = std::make_shared<client::Session>();
  Result<std::unique_ptr<client::Transport>> transport = client::connect_remote(options, session->handlers());
  if (!transport) return transport.error();
  session->start(std::move(transport).value());
  invocation.session = std::move(session);
  invocation.tls = options.tls;
  return invocation.session.get();
}

std::optional<std::string> certified_user(const Invocation& invocation) {
  if (invocation.tls == nullptr) return std::nullopt;
  const Result<Credential> own = own_client_credential(invocation.tls->latest_cluster());
  const Result<PeerIdentity> identity = own ? identity_of(*own->certificate) : own.error();
  return identity ? std::optional{identity->user} : std::nullopt;
}

Result<Value> ask(Invocation& invocation, const std::string& command, const std::vector<std::string>& arguments) {
  Result<client::Session*> session = connect(invocation);
  if (!session) return session.error();
  return (*session)->ask(command, arguments);
}

std::string config_path_of(const Invocation& invocation) {
  if (!invocation.config_path.empty()) return invocation.config_path;
  std::string path = environment_value("PENSTOCK_CONFIG");
  std::error_code ignored;
  if (path.empty() && std::filesystem::exists(kDefaultConfig, ignored)) path = kDefaultConfig;
  return path;
}

Result<FileConfig> load_config(const Invocation& invocation) {
  FileConfig config;
  if (const std::string path = config_path_of(invocation); !path.empty()) {
    Result<FileConfig> read = read_config_file(path);
    if (!read) return read;
    config = std::move(read).value();
  }
  PENSTOCK_TRY(change_settings(config, invocation.settings));
  PENSTOCK_TRY(supervisor::check_parts(config.supervisor.policy.pools));
  return config;
}

Result<void> begin_log(const Invocation& invocation, LogLevel fallback) {
  if (invocation.log_level.empty()) {
    start_log(fallback);
    return {};
  }
  const Result<LogLevel> level = parse_log_level(invocation.log_level);
  if (!level) return level.error();
  start_log(*level);
  return {};
}

void print(const Invocation& invocation, const Value& value) {
  std::cout << (invocation.json ? to_json(value, -1) + "\n"
                                : to_table(value, {is_terminal(1) ? terminal_columns(1) : 0}))
            << std::flush;
}

void add_json_option(CLI::App& command, Invocation& invocation) {
  command.add_flag("--json", invocation.json, "Print JSON for programs instead of tables for people");
}

void add_supervisor_option(CLI::App& command, Invocation& invocation) {
  command
      .add_option(
          "-s,--supervisor", invocation.supervisors,
          "Address of the supervisor (default: PENSTOCK_SUPERVISOR, or 127.0.0.1:7465), or @FILE for the file that "
          "holds it (`--address-file`), also "
          "after it has moved; several may be given if one of them may be in charge")
      ->delimiter(',')
      ->type_name("HOST:PORT");
  add_insecure_option(command);
}

void add_insecure_option(CLI::App& command) {
  command.add_flag_callback("--insecure", want_insecure,
                            "Connect without encryption and without proof of who the other side is; both sides need it "
                            "(also: PENSTOCK_INSECURE=1)");
}

void add_set_option(CLI::App& command, Invocation& invocation) {
  command.add_option("--set", invocation.settings, "Change one setting, e.g. worker.report_after=5ms; may be repeated")
      ->type_name("SECTION.NAME=VALUE");
}

void add_config_options(CLI::App& command, Invocation& invocation) {
  command
      .add_option("--config", invocation.config_path,
                  "Settings (default: PENSTOCK_CONFIG, or penstock.toml here, if there is one); see `penstock config`")
      ->type_name("FILE");
  add_set_option(command, invocation);
  command.add_option("--log-level", invocation.log_level, "debug, info, warn, error or off")->type_name("LEVEL");
}

std::string unknown_command(const CLI::App& app, const std::string& name) {
  if (name.starts_with("-")) return {};
  NearestName nearest{name};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return {};
    if (!command->get_group().empty()) nearest.offer(command->get_name());
  }
  return "there is no command " + in_quotes(name) + (nearest.best().empty() ? "" : ", " + nearest.remedy());
}

int finish(Invocation& invocation) {
  if (!invocation.chosen) return kSuccess;
  Result<int> code = invocation.chosen();
  std::cout << std::flush;
  if (code && !std::cout.good())
    code = Error{ErrorCode::Internal, "standard output", "could not take all of it", "is the disk full?"};
  if (code) return *code;
  std::cerr << invocation.program << ": error: " << harmless(to_string(code.error())) << std::endl;
  return kBadInput;
}

}  // namespace penstock::cli
