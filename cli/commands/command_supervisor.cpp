// `penstock supervisor`: the process that coordinates.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/commands/address_file.hpp"
#include "cli/commands/audit_place.hpp"
#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/state_place.hpp"
#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/host/log.hpp"
#include "common/host/open_files.hpp"
#include "common/loop/actor_host.hpp"
#include "common/security/own_security.hpp"
#include "supervisor/actors/credential_office.hpp"
#include "supervisor/actors/gateway_actor.hpp"
#include "supervisor/actors/metrics_port.hpp"
#include "supervisor/actors/supervisor_actor.hpp"
#include "supervisor/audit/missed_orders.hpp"

namespace penstock::cli {
namespace {

struct SupervisorCommand {
  std::string listen = "127.0.0.1:7465";
  std::string address_file;
  std::string state;  ///< Empty until the default has been found, and always with `no_state`.
  bool no_state = false;
  bool salvage = false;
  bool new_branch = false;
  bool standby = false;
  std::size_t insecure = 0;  ///< How often it was said.
};

/// Null without a state. With a watch, the state of a hanging supervisor is taken over.
Result<std::shared_ptr<supervisor::OpenJournal>> open_journal(const SupervisorCommand& options, Duration lease,
                                                              LeaseWatch* watch = nullptr) {
  using supervisor::Damage;
  if (options.no_state) return std::shared_ptr<supervisor::OpenJournal>{};
  PENSTOCK_TRY(make_state_directory(options.state));
  supervisor::StateOptions state;
  state.directory = options.state;
  state.damage = options.salvage ? Damage::Salvage : Damage::Refuse;
  state.lease = lease;
  state.watch = watch;
  state.new_branch = options.new_branch;
  state.tell = [](const supervisor::JournalLoss& loss) { std::cerr << to_string(loss) << '\n'; };
  Result<supervisor::OpenJournal> opened = supervisor::open_state_directory(state);
  if (!opened) return opened.error();
  return std::make_shared<supervisor::OpenJournal>(std::move(opened).value());
}

constexpr Duration kStandbyLooksEvery = std::chrono::milliseconds{200};

/// The same for a standby: waits until the holder of the state ends, or hangs for longer than the lease. Null in the
/// result's value with `stopped` set when the standby was asked to end before.
Result<std::shared_ptr<supervisor::OpenJournal>> wait_for_journal(Invocation& invocation,
                                                                  const SupervisorCommand& options, Duration lease,
                                                                  bool& stopped) {
  Loop loop;
  LeaseWatch watched{lease};
  LoopTimer timer{loop};
  Result<std::shared_ptr<supervisor::OpenJournal>> opened = std::shared_ptr<supervisor::OpenJournal>{};
  stopped = true;
  bool told = false;
  std::function<void()> attempt = [&] {
    opened = open_journal(options, lease, &watched);
    stopped = !opened && opened.error().code == ErrorCode::StorageLocked;
    if (!stopped) return loop.stop();
    if (!std::exchange(told, true))
      log_line(LogLevel::Info, "standing by", "text=\"" + to_string(opened.error()) + "\"");
    timer.arm(monotonic_now() + kStandbyLooksEvery, attempt);
  };
  loop.post(attempt);
  const auto watch = invocation.stop_signals.watch(loop, [&loop] { loop.stop(); });
  loop.run();
  return opened;
}

/// Shows that the loop is alive, and ends it when the state has another holder.
class LeaseWatched {
 public:
  /// Without a state the lease is null, and nothing is done.
  LeaseWatched(Loop& loop, std::shared_ptr<supervisor::LeaseKeeper> lease)
      : loop_(loop), timer_(loop), lease_(std::move(lease)) {
    if (lease_ == nullptr) return;
    lease_->expect_beats();
    lease_->when_lost([this](const Error& error) {
      loop_.post([this, error] {
        lost_ = error;
        loop_.stop();
      });
    });
    beat();
  }
  ~LeaseWatched() {
    if (lease_ != nullptr) lease_->when_lost({});
  }
  LeaseWatched(const LeaseWatched&) = delete;
  LeaseWatched& operator=(const LeaseWatched&) = delete;
  const std::optional<Error>& lost() const { return lost_; }

 private:
  void beat() {
    lease_->beat();
    timer_.arm(monotonic_now() + lease_->beat_every() / 2, [this] { beat(); });
  }

  Loop& loop_;
  LoopTimer timer_;
  const std::shared_ptr<supervisor::LeaseKeeper> lease_;
  std::optional<Error> lost_;
};

/// Without a word about security a supervisor has it; `--insecure` is for this host alone, unless it is said twice.
Result<void> check_insecure(SupervisorCommand& options, const HostPort& listen) {
  if (options.insecure == 0 && wants_insecure()) options.insecure = 1;
  const bool loopback = listen.host == "localhost" || listen.host == "::1" || listen.host.starts_with("127.");
  if (options.insecure != 1 || loopback) return {};
  return Error{ErrorCode::InvalidArgument, to_string(listen),
               "can be reached from other hosts, and `--insecure` lets "
               "everybody who reaches it run programs as this user",
               "leave `--insecure` out, or say it twice"};
}

Result<std::unique_ptr<supervisor::CredentialOffice>> open_office(Loop& loop, const SupervisorCommand& options,
                                                                  const SecurityConfig& config,
                                                                  std::function<void()> on_change) {
  if (options.insecure > 0) {
    want_insecure();
    log_line(LogLevel::Warn, "insecure",
             "text=\"--insecure: every peer may do everything, under whatever name, and everybody can read along\"");
    return std::unique_ptr<supervisor::CredentialOffice>{};
  }
  supervisor::OfficeOptions office;
  if (!options.no_state) office.directory = authority_directory_in(options.state);
  office.store = own_credentials();
  office.user = user_name();
  office.config = config;
  office.on_change = std::move(on_change);
  return supervisor::CredentialOffice::open(loop, std::move(office));
}

supervisor::GatewayOptions gateway_options_of(const FileConfig& config, const HostPort& listen,
                                              const supervisor::OpenJournal* journal,
                                              supervisor::CredentialOffice* office) {
  supervisor::GatewayOptions options;
  if (office != nullptr) {
    options.security = office->security();
    options.certify = [office](const Join& join, const PeerStanding& peer) { return office->certify(join, peer); };
    options.secrets = office->secrets();
    options.is_revoked = [office](const std::string& serial) { return office->is_revoked(serial); };
    options.revoked = [office] { return office->revoked(); };
    options.run_credential = [office](const std::string& user) { return office->run_credential(user); };
  }
  options.listen = listen;
  options.link = config.link;
  options.wire = config.wire;
  options.audit_config = config.audit;
  options.users = config.supervisor.users;
  options.incarnation = random_incarnation();
  if (journal != nullptr) options.identity = journal->recovered.identity;
  return options;
}

/// Orders of the last life that had their effect, as the journal has them.
std::vector<supervisor::DoneOrder> done_orders(const supervisor::OpenJournal& journal) {
  std::vector<supervisor::DoneOrder> done;
  for (const supervisor::record::Ordered& order : journal.recovered.state.orders)
    if (order.who != "policy" && order.who != "supervisor" && order.who != "SIGHUP" &&
        order.outcome.starts_with("done"))
      done.push_back({order.at_ms, order.who, order.order, order.outcome});
  return done;
}

/// An append takes a write and a sync; the holder of the lock beyond that is stopped.
constexpr Duration kAuditPatience = std::chrono::milliseconds{500};

/// Null without a state. Nothing is done unrecorded: a supervisor with an audit that cannot be written does not start.
Result<std::shared_ptr<supervisor::AuditBook>> begin_audit(const SupervisorCommand& options, const AuditConfig& config,
                                                           const supervisor::OpenJournal* journal) {
  if (options.no_state) return std::shared_ptr<supervisor::AuditBook>{};
  Result<std::shared_ptr<supervisor::AuditBook>> book = open_audit(options.state, config);
  if (!book) return book;
  (*book)->take_over(kAuditPatience);
  Result<std::vector<supervisor::AuditRecord>> missed =
      supervisor::missed_orders(audit_directory_in(options.state),
                                journal == nullptr ? std::vector<supervisor::DoneOrder>{} : done_orders(*journal));
  if (!missed) return std::move(missed).error();
  PENSTOCK_TRY(record_supervisor(**book, "start",
                                 "listens at " + options.listen + (options.insecure > 0 ? ", insecure" : ""),
                                 std::move(missed).value()));
  return book;
}

/// REQUIRES: nobody else writes it any more.
void end_audit(const std::shared_ptr<supervisor::AuditBook>& book, const std::string& reason) {
  if (book == nullptr) return;
  if (const Result<void> recorded = record_supervisor(*book, "end", reason); !recorded)
    log_error(LogLevel::Error, "audit is not written", recorded.error());
}

Result<FileConfig> begin_with_settings(Invocation& invocation) {
  Result<FileConfig> config = load_config(invocation);
  if (!config) return config;
  PENSTOCK_TRY(begin_log(invocation, LogLevel::Info));
  for (const std::string& warning : supervisor::warnings_of(config->supervisor.policy))
    log_line(LogLevel::Warn, "policy", warning);
  return config;
}

void tell_address(const SupervisorCommand& options, const std::string& address,
                  const supervisor::CredentialOffice* office) {
  log_line(LogLevel::Info, "supervisor listens",
           "address=" + address + " state=" + (options.no_state ? "none" : options.state) +
               " cluster=" + (office == nullptr ? "insecure" : office->cluster().substr(0, 12)));
}

Result<PolicyConfig> read_policy(const Invocation& invocation) {
  Result<FileConfig> config = load_config(invocation);
  if (!config) return std::move(config).error();
  return std::move(config->supervisor.policy);
}

/// Fills in the default place of the state.
Result<void> find_state(SupervisorCommand& options) {
  if (options.no_state || !options.state.empty()) return {};
  Result<std::string> found = default_state_directory(own_state_surroundings());
  if (!found) return std::move(found).error();
  options.state = std::move(found).value();
  return {};
}

/// Null: none is wanted. Without certificates the port is for this host alone, unless `--insecure` is said twice.
Result<std::unique_ptr<supervisor::MetricsPort>> open_metrics_port(Loop& loop, const SupervisorCommand& options,
                                                                   const MetricsConfig& config,
                                                                   supervisor::CredentialOffice* office,
                                                                   const supervisor::Gateway& gateway,
                                                                   const SupervisorHandle& core) {
  if (config.supervisor_listen.empty()) return std::unique_ptr<supervisor::MetricsPort>{};
  Result<HostPort> listen = parse_host_port(config.supervisor_listen, "127.0.0.1");
  if (!listen) return std::move(listen).error();
  supervisor::MetricsPortOptions port;
  port.config = config;
  port.open_to_all = options.insecure > 1;
  port.listen = *listen;
  if (office != nullptr) {
    port.security = office->security();
    port.revoked = [office] { return office->revoked(); };
  }
  Result<std::unique_ptr<supervisor::MetricsPort>> opened = supervisor::MetricsPort::open(loop, port, gateway, core);
  if (opened)
    log_line(LogLevel::Info, "metrics are served", "address=" + to_string(HostPort{listen->host, (*opened)->port()}));
  return opened;
}

/// The parts of a supervisor that serves.
struct Serving {
  Loop& loop;
  ReloadSignals& reload_signals;
  const SupervisorCommand& options;
  const FileConfig& config;
  supervisor::CredentialOffice* office;
  supervisor::Gateway& gateway;
  const SupervisorHandle& core;
};

/// Runs the loop until a signal comes, or something stops it. Error: an address cannot be used or told.
Result<void> serve_until_stopped(Invocation& invocation, const Serving& parts) {
  const Result<std::unique_ptr<supervisor::MetricsPort>> metrics =
      open_metrics_port(parts.loop, parts.options, parts.config.metrics, parts.office, parts.gateway, parts.core);
  if (!metrics) return metrics.error();
  const Result<HostPort> listen = parse_host_port(parts.options.listen, "127.0.0.1");
  if (!listen) return listen.error();
  const std::string address = to_string(HostPort{listen->host, parts.gateway.port()});
  PENSTOCK_TRY(announce_address(parts.options.address_file, address));
  tell_address(parts.options, address, parts.office);
  const auto watch = invocation.stop_signals.watch(parts.loop, [&parts] { parts.loop.stop(); });
  const auto reload = parts.reload_signals.watch(parts.loop, [&parts] {
    parts.gateway.note_local(supervisor::audit_event::kOrder, "reload by SIGHUP", "`penstock audit` has the result");
    supervisor::reload_policy(parts.core);
  });
  parts.loop.run();
  return {};
}

Result<int> supervise(Invocation& invocation, SupervisorCommand options) {
  set_up_allocator();
  ReloadSignals reload_signals;  // Before the first thread.
  raise_open_files_limit();
  Result<FileConfig> config = begin_with_settings(invocation);
  if (!config) return config.error();
  Result<HostPort> listen = parse_host_port(options.listen, "127.0.0.1");
  if (!listen) return listen.error();
  PENSTOCK_TRY(check_insecure(options, *listen));
  PENSTOCK_TRY(find_state(options));
  bool stopped = false;
  Result<std::shared_ptr<supervisor::OpenJournal>> journal =
      options.standby ? wait_for_journal(invocation, options, config->supervisor.lease, stopped)
                      : open_journal(options, config->supervisor.lease);
  if (stopped) return int{kSuccess};
  if (!journal) return journal.error();

  std::optional<Error> failure;
  Loop loop;
  ActorHost actors{loop};
  // Its threads and its journal take their part of a limit of this process.
  if (config->supervisor.memory_max.is_zero())
    config->supervisor.memory_max = supervisor::default_memory_max(read_memory_bounds());
  supervisor::Gateway* present_gateway = nullptr;
  Result<std::unique_ptr<supervisor::CredentialOffice>> office =
      open_office(loop, options, config->security, [&present_gateway] {
        if (present_gateway != nullptr) present_gateway->credentials_changed();
      });
  if (!office) return office.error();
  const Result<std::shared_ptr<supervisor::AuditBook>> audit = begin_audit(options, config->audit, journal->get());
  if (!audit) return audit.error();
  supervisor::GatewayOptions gateway_options = gateway_options_of(*config, *listen, journal->get(), office->get());
  gateway_options.audit = *audit;
  SupervisorHandle core = supervisor::spawn_supervisor(actors.system(), loop,
                                                       {config->supervisor, Rng{gateway_options.incarnation.value()},
                                                        *journal, [&invocation] { return read_policy(invocation); },
                                                        [&loop, &failure](const Error& error) {
                                                          failure = error;
                                                          loop.stop();
                                                        }});
  Result<std::unique_ptr<supervisor::Gateway>> gateway =
      supervisor::Gateway::open(actors.system(), loop, gateway_options, core);
  if (!gateway) {
    end_actor(core);
    return gateway.error();
  }
  present_gateway = gateway->get();
  LeaseWatched lease_watched{loop, *journal == nullptr ? nullptr : (*journal)->lease};
  const Result<void> served =
      serve_until_stopped(invocation, {loop, reload_signals, options, *config, office->get(), **gateway, core});
  const std::string reason = failure ? "reason=failure" : lease_watched.lost() ? "reason=lease" : "reason=signal";
  log_line(LogLevel::Info, "supervisor ends", served ? reason : "reason=address");
  *gateway = nullptr;
  end_audit(*audit, reason);
  end_actor(core);
  if (!served) return served.error();
  if (failure) return *failure;
  if (lease_watched.lost()) return *lease_watched.lost();
  return int{kSuccess};
}

}  // namespace

void add_supervisor_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<SupervisorCommand>();
  CLI::App* command =
      app.add_subcommand("supervisor", "Coordinate a cluster: accept graphs from clients, assign subtasks to workers");
  command
      ->add_option("--listen", options->listen,
                   "Address for workers and clients; port 0 takes a free one. Every peer needs a certificate: this "
                   "user has one, others get it by `penstock token create`")
      ->capture_default_str()
      ->type_name("HOST:PORT");
  command
      ->add_option("--address-file", options->address_file,
                   "Write the address to this file when the supervisor listens")
      ->type_name("FILE");
  command
      ->add_option("--state", options->state,
                   "Keep accepted jobs and their ended subtasks there, and continue from it after a restart (default: "
                   "penstock/supervisor in $XDG_STATE_HOME or ~/.local/state; systemd's $STATE_DIRECTORY)")
      ->type_name("DIR");
  command->add_flag("--insecure", options->insecure,
                    "No encryption and no certificates: everybody who reaches the address may run programs as this "
                    "user. Addresses beyond this host need it twice (also: PENSTOCK_INSECURE=1)");
  CLI::Option* no_state = command->add_flag("--no-state", options->no_state, "Keep no state beyond this process");
  no_state->excludes("--state");
  command
      ->add_flag("--standby", options->standby,
                 "Wait until no other supervisor holds the state, or its holder shows no sign of life for "
                 "`supervisor.lease`, then "
                 "take over; workers and clients are given both addresses")
      ->excludes(no_state);
  command
      ->add_flag("--salvage", options->salvage,
                 "Start from a damaged state: keep every intact job and list what is lost")
      ->excludes(no_state);
  command
      ->add_flag(
          "--new-branch", options->new_branch,
          "Start from a state that was put back by hand: workers start afresh, without the runs that began since")
      ->excludes(no_state);
  add_config_options(*command, invocation);
  command->callback([&invocation, options] {
    invocation.heeds_signals = true;
    invocation.chosen = [&invocation, options] { return supervise(invocation, *options); };
  });
}

}  // namespace penstock::cli
