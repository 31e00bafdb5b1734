// `penstock worker`: the process that queues and executes on a host.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "cli/commands/address_file.hpp"
#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/join.hpp"
#include "cli/commands/worker_setup.hpp"
#include "common/host/host.hpp"
#include "common/host/log.hpp"
#include "common/host/open_files.hpp"
#include "common/loop/actor_host.hpp"
#include "common/security/own_security.hpp"
#include "worker/actors/process_life.hpp"
#include "worker/actors/worker_metrics.hpp"

namespace penstock::cli {
namespace {

struct WorkerCommand {
  WorkerFlags flags;
  std::string data_listen = "127.0.0.1:0";
  std::string join_file;
  int crash_note = -1;
};

UserRules user_rules(const FileConfig& config, bool secured) {
  UserRules rules;
  rules.known = secured;
  rules.switches = is_root() && config.worker.run_as == RunAs::Submitter;
  rules.own = user_name();
  rules.accepted = config.accept_users;
  rules.uid_min = config.worker.users_uid_min;
  return rules;
}

/// Null: none are wanted. Sees to it that they are counted.
Result<std::unique_ptr<worker::WorkerMetrics>> open_metrics(Loop& loop, const worker::ObjectStore& store,
                                                            worker::WorkerOptions& options,
                                                            const MetricsConfig& config) {
  if (config.worker_listen.empty()) return std::unique_ptr<worker::WorkerMetrics>{};
  const Result<HostPort> listen = parse_host_port(config.worker_listen, "127.0.0.1");
  if (!listen) return listen.error();
  options.tally = std::make_shared<worker::WorkerTally>();
  options.revoked = std::make_shared<RevokedSerials>();
  Result<std::unique_ptr<worker::WorkerMetrics>> opened =
      worker::WorkerMetrics::open(loop, store, options, config, *listen);
  if (opened)
    log_line(LogLevel::Info, "metrics are served", "address=" + to_string(HostPort{listen->host, (*opened)->port()}));
  return opened;
}

Result<int> work(Invocation& invocation, const WorkerCommand& command) {
  Result<FileConfig> config = load_config(invocation);
  if (!config) return config.error();
  PENSTOCK_TRY(begin_log(invocation, LogLevel::Info));
  Result<worker::WorkerOptions> options = describe_worker(command.flags, *config);
  if (!options) return options.error();
  Result<HostPort> data_listen = parse_host_port(command.data_listen, "127.0.0.1");
  if (!data_listen) return data_listen.error();
  options->data_listen = *data_listen;
  // A token can be used once: a worker that starts again, by itself or by systemd, has its certificate.
  if (!command.join_file.empty() && command.crash_note < 0) {
    const Result<PeerIdentity> joined = join_with_file(invocation, command.join_file, JoinAgain::UnlessValid);
    if (!joined) return joined.error();
  }
  Result<std::shared_ptr<const TlsClient>> tls = own_security(PeerRole::Worker);
  if (!tls) return tls.error();
  options->tls = std::move(tls).value();
  options->users = user_rules(*config, options->tls != nullptr);
  options->owns_process = true;
  options->crash = worker::begin_process_life(command.crash_note, options->core.operator_crashes_max);
  Result<std::vector<HostPort>> supervisors = supervisors_of(invocation);
  if (!supervisors) return supervisors.error();
  worker::OperatorRegistry operators;
  const Result<std::vector<std::string>> libraries = operator_libraries(command.flags);
  if (!libraries) return libraries.error();
  for (const std::string& library : *libraries) PENSTOCK_TRY(operators.load(library));

  Loop loop;
  worker::ObjectStore store{worker::store_options(*options, raise_open_files_limit())};
  PENSTOCK_TRY(worker::prepare_directories(*options, store));
  ActorHost actors{loop};
  std::optional<Error> fatal;
  const Result<std::unique_ptr<worker::WorkerMetrics>> metrics = open_metrics(loop, store, *options, config->metrics);
  if (!metrics) return metrics.error();
  const worker::WorkerSurroundings surroundings{loop, operators, store};
  WorkerHandle worker =
      worker::spawn_worker(actors.system(), surroundings, *options, *supervisors, [&](const Error& error) {
        fatal = error;
        loop.stop();
      });
  log_line(LogLevel::Info, "worker starts",
           "name=" + options->name + " bands=" + std::to_string(options->bands.size()));
  const auto watch = invocation.stop_signals.watch(loop, [&loop] { loop.stop(); });
  loop.run();
  log_line(LogLevel::Info, "worker ends", "name=" + options->name + (fatal ? " reason=error" : " reason=signal"));
  end_actor(worker);
  if (fatal) return *fatal;
  return int{kSuccess};
}

}  // namespace

void add_worker_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<WorkerCommand>();
  CLI::App* command =
      app.add_subcommand("worker", "Queue and execute subtasks on this host; start one worker for each host");
  add_supervisor_option(*command, invocation);
  command->add_option("--name", options->flags.name, "Name in the cluster (default: the host's)");
  command->add_option(
      "--label", options->flags.labels,
      "Label to which jobs and projects may limit themselves; may be repeated (default: [host] labels)");
  add_worker_flags(*command, options->flags);
  command
      ->add_option("--data-listen", options->data_listen,
                   "Address where other workers fetch data; they must be able to "
                   "reach its host")
      ->capture_default_str()
      ->type_name("HOST:PORT");
  command
      ->add_option("--join-file", options->join_file,
                   "File with a token of `penstock token create --role worker`, or - for standard input. Not needed as "
                   "the user of the supervisor on its host, nor once this user has joined")
      ->type_name("FILE");
  // From the previous incarnation of this process; not for people.
  command->add_option("--crash-note", options->crash_note)->group("");
  add_config_options(*command, invocation);
  command->callback([&invocation, options] {
    invocation.heeds_signals = true;
    invocation.chosen = [&invocation, options] { return work(invocation, *options); };
  });
}

}  // namespace penstock::cli
