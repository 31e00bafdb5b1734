#include "worker/actors/worker_actor.hpp"

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <filesystem>

#include "common/host/clock.hpp"
#include "common/host/host.hpp"
#include "common/host/log.hpp"
#include "common/host/process.hpp"
#include "common/loop/actor_host.hpp"
#include "common/loop/mail.hpp"
#include "common/security/stored_server.hpp"
#include "worker/actors/band_actor.hpp"
#include "worker/actors/blocking_actor.hpp"
#include "worker/actors/link_actor.hpp"
#include "worker/actors/worker_host.hpp"
#include "worker/actors/worker_tally.hpp"
#include "worker/shell/peer_addresses.hpp"
#include "worker/transfer/transfer_thread.hpp"

namespace penstock::worker {
namespace {

Packing packing_of(Compression compression) {
  if (compression == Compression::Off) return Packing::Never;
  return compression == Compression::On ? Packing::Always : Packing::WherePays;
}

using WorkerSelf = LinkOwner::extend<caf::reacts_to<CommandEndMail>, caf::reacts_to<CommandMemoryMail>>;

/// Owns one incarnation of the worker after the other, and routes between it, the supervisor, commands and data.
class WorkerActor {
  static constexpr Duration kMeasureEvery = std::chrono::milliseconds{250};  ///< Memory of runners and mappings.

 public:
  explicit WorkerActor(WorkerSelf::stateful_pointer<WorkerActor> self) : self_(self) {}
  ~WorkerActor() { end_host(); }

  static constexpr const char* name = "worker";

  WorkerSelf::behavior_type make_behavior(const WorkerSurroundings* surroundings, const WorkerOptions& options,
                                          const SupervisorRoute& route, const OnFatal& on_fatal) {
    take_failures(*self_, ActorFailure::EndsProcess);
    surroundings_ = surroundings;
    options_ = options;
    data_.revoked = options.revoked == nullptr ? std::make_shared<RevokedSerials>() : options.revoked;
    programs_.users = std::make_shared<JobUsers>(
        options.users, [tls = options.tls] { return tls == nullptr ? std::string{} : tls->latest_user(); });
    route_ = route;
    on_fatal_ = on_fatal;
    handle_ = self_;
    self_->set_down_handler([this](const caf::down_msg& down) { part_ended(down); });
    self_->set_exit_handler([this](const caf::exit_msg& message) { leave(message); });
    timers_.deadline = std::make_unique<LoopTimer>(surroundings->loop);
    timers_.measure = std::make_unique<LoopTimer>(surroundings->loop);
    add_devices();
    threads_.disk = own_thread("disk");
    threads_.teardown = own_thread("teardown");
    for (const BandDescription& band : options_.bands)
      threads_.reapers.push_back(own_thread("process runners of " + band.name));
    surroundings->store.use_disk_on(threads_.disk);
    if (Result<void> served = serve_data(); served) {
      for (std::size_t i = 0; i < options_.bands.size(); ++i) bands_.push_back(spawn_band(i));
      begin_life();
    } else {
      on_fatal(served.error());  // Without a life it ignores all mails until it is asked to leave.
    }
    return {[this](const ToWorkerMail& mail) { receive(mail); },
            [this](const LinkEndedMail& mail) { end_life(mail.life, to_string(mail.why)); },
            [this](const SupervisorHeardMail& mail) {
              if (mail.life == life_ && host_ != nullptr) host_->supervisor_heard(mail.sent);
            },
            [this](const SecurityNoticeMail& mail) { take(mail.notice); },
            [this](const LinkRenewedMail& mail) {
              if (mail.life == life_ && host_ != nullptr) host_->supervisor_returned();
            },
            [this](const DismissWorkerMail& mail) { end_life(mail.worker, "dismissed by the supervisor"); },
            [this](const CommandMemoryMail& mail) { memory_measured(mail); },
            [this](const CommandEndMail& mail) { command_ended(mail); }};
  }

 private:
  BandHandle spawn_band(std::size_t index) {
    CommandRunnerConfig config;
    config.band = options_.bands[index].name;
    config.devices = devices_[index];
    if (index < options_.processors.size()) config.processors = options_.processors[index];
    config.device_moves = own_thread("device of " + config.band);
    config.spool = options_.spool;
    config.removals = own_thread("spool of " + config.band);
    config.checkpoints = options_.checkpoints;
    config.users = programs_.users;
    config.ends_daemons = options_.owns_process;
    config.output_bytes_max = options_.core.command_output_max.value();
    config.cluster = options_.cluster;
    return spawn_band_actor(self_->system(), surroundings_->loop, surroundings_->store, config, programs_.commands,
                            self_);
  }

  std::shared_ptr<ActorWork> own_thread(std::string purpose) {
    return threads_.all.emplace_back(std::make_shared<ActorWork>(*self_, std::move(purpose)));
  }

  // A worker without one of them would wait for its answers for ever: its subtasks are run elsewhere.
  void part_ended(const caf::down_msg& down) {
    if (leaving_) return;
    const auto part = std::find_if(threads_.all.begin(), threads_.all.end(),
                                   [&](const auto& thread) { return thread->is(down.source); });
    const Error error{ErrorCode::Internal, part == threads_.all.end() ? "worker" : (*part)->name(),
                      "ended: " + self_->system().render(down.reason), "start the worker again, and report this"};
    log_error(LogLevel::Error, "worker fails", error);
    PENSTOCK_CHECK(on_fatal_);
    on_fatal_(error);
  }

  // Called before any thread uses the store.
  void add_devices() {
    const std::string library = environment_value("PENSTOCK_CUDA_LIBRARY");
    for (const BandDescription& band : options_.bands) {
      std::vector<BandDevice> devices;
      for (const DeviceDescription& device : band.devices) {
        const Bytes most{device.memory.value() / 100 * options_.core.device_store_percent};
        auto tier = std::make_shared<DeviceTier>(surroundings_->store, device.uuid, most, device.memory,
                                                 library.empty() ? "libcuda.so.1" : library);
        devices.push_back({device.uuid, tier.get()});
        surroundings_->store.add_tier(std::move(tier));
      }
      devices_.emplace_back(std::move(devices));
    }
  }

  Result<void> serve_data() {
    if (embedded()) {  // All embedded workers share the store.
      data_.address = options_.data_address;
      return {};
    }
    TransferOptions transfer;
    transfer.listen = options_.data_listen;
    if (options_.tls != nullptr) {
      Result<std::shared_ptr<const TlsClient>> tls =
          TlsClient::make(options_.tls->store(), PeerRole::Worker, Role::Worker);
      if (!tls) return std::move(tls).error();
      transfer.limits.tls = std::move(tls).value();
      const auto server = std::make_shared<StoredServer>(options_.tls);
      transfer.server.security.settings = [server] { return server->settings(calendar_now()); };
      transfer.server.revoked = data_.revoked;
    }
    transfer.limits.streams_max = options_.core.transfer_streams_max;
    transfer.limits.chunk_bytes = static_cast<std::uint32_t>(options_.core.transfer_chunk_bytes.value());
    transfer.limits.packing = transfer.server.packing = packing_of(options_.core.transfer_compression);
    const auto bytes_min = static_cast<std::size_t>(options_.core.transfer_bytes_min.value());
    transfer.limits.pace = transfer.server.pace = PaceLimits{options_.core.transfer_silence_max, bytes_min};
    transfer.limits.idle_max = transfer.server.idle_max = options_.core.transfer_idle_max;
    transfer.limits.reply_max = options_.core.transfer_reply_max;
    transfer.server.visitors_max = options_.core.transfer_connections_max;
    transfer.server.visitors_of_host_max = options_.core.transfer_connections_of_host_max;
    const std::int64_t hundredth = store_bytes_max(options_).value() / 100;
    transfer.server.handles.bytes_max = static_cast<std::uint64_t>(hundredth) * options_.core.mapped_percent;
    transfer.server.handles.handles_max = options_.core.mapped_max;
    transfer.server.handles.wait_max = options_.core.handle_wait_max;
    transfer.limits.handle_wait_max = options_.core.handle_wait_max;
    Result<std::unique_ptr<TransferThread>> opened =
        TransferThread::open(surroundings_->loop, surroundings_->store, transfer);
    if (!opened) {
      Error error = std::move(opened).error();
      error.subject = "--data-listen " + error.subject;
      return error;
    }
    data_.transfers = std::move(opened).value();
    data_.address = to_string(HostPort{options_.data_listen.host, data_.transfers->port()});
    return {};
  }

  void begin_life() {
    life_ = random_incarnation();
    if (options_.tally != nullptr) options_.tally->begin_life();
    data_.told_mapped = false;
    Register description;
    description.name = options_.name;
    description.host = host_name();
    description.data_address = data_.address;
    description.bands = options_.bands;
    description.operators = surroundings_->operators.names();
    description.shared_storage = !options_.checkpoints.empty();
    description.store_bytes_max = store_bytes_max(options_);
    description.labels = options_.labels;
    description.users = users_to_tell(options_.users);
    description.log_questions = true;
    description.barriers = true;
    description.keeps_to_devices = true;
    description.crash = std::exchange(options_.crash, std::nullopt);
    WorkerPorts ports = make_ports();
    ports.life = life_;
    ports.devices = devices_;
    ports.reapers = threads_.reapers;
    ports.description = description;
    ports.cluster = options_.cluster;
    ports.users = programs_.users;
    host_ = std::make_unique<WorkerHost>(options_.core, options_.bands, options_.processors, surroundings_->operators,
                                         surroundings_->store, std::move(ports));
    if (options_.warm_runner != nullptr) host_->warm(*options_.warm_runner, options_.runners_warm);
    measure_later();
    if (!embedded())
      self_->send(caf::actor_cast<LinkHandle>(route_), NewLifeMail{life_});  // Embedded, the route needs no link.
    self_->send(route_, FromWorkerMail{life_, std::make_shared<const std::vector<FromWorker>>(
                                                  1, FromWorker{std::move(description)})});
  }

  // The dispatched subtasks of this incarnation have been given to other workers. Its runs are killed, and those that
  // cannot be killed are waited for on another thread. The next incarnation begins after that: a slot is never used
  // twice.
  void end_life(Incarnation life, const std::string& why) {
    if (life != life_ || host_ == nullptr) return;
    log_line(LogLevel::Warn, "worker starts afresh", "name=" + options_.name + " reason=\"" + why + "\"");
    timers_.deadline->cancel();
    timers_.measure->cancel();
    for (const BandHandle& band : bands_) self_->send(band, KillAllMail{life});
    data_.peers.clear();
    auto host = std::make_shared<std::unique_ptr<WorkerHost>>(std::move(host_));
    threads_.teardown->add(BlockingWork::Turn::Later, [this, host, held = handle_] {
      host->reset();
      surroundings_->loop.post([this, held] {
        if (leaving_) return;
        surroundings_->store.clear();
        begin_life();
      });
    });
  }

  void leave(const caf::exit_msg& message) {
    leaving_ = true;
    timers_.deadline->cancel();
    timers_.measure->cancel();
    for (CommandRunner* commands : *programs_.commands)
      commands->end();  // All at the same time; then each waits for its own.
    for (const BandHandle& band : bands_) self_->send_exit(band, caf::exit_reason::user_shutdown);
    bands_.clear();
    data_.transfers.reset();
    end_host();
    surroundings_->store.quiesce();
    for (const std::shared_ptr<ActorWork>& thread : {threads_.disk, threads_.teardown}) thread->end();
    threads_ = {};                                                               // The threads of a band end with it.
    if (!embedded()) self_->send_exit(route_, caf::exit_reason::user_shutdown);  // The link belongs to this actor.
    route_ = nullptr;
    handle_ = nullptr;
    self_->quit(message.reason);
  }

  void end_host() {
    host_.reset();
    if (threads_.teardown != nullptr) threads_.teardown->quiesce();
  }

  bool embedded() const { return options_.data_listen.host.empty(); }

  // Called from any thread; they capture all that they need.
  WorkerPorts make_ports() {
    WorkerPorts ports;
    Loop* loop = &surroundings_->loop;
    ports.send = [route = route_, self = handle_, life = life_,
                  tally = options_.tally](std::vector<FromWorker>&& messages) {
      if (tally != nullptr) tally->note(messages);
      caf::send_as(self, route,
                   FromWorkerMail{life, std::make_shared<const std::vector<FromWorker>>(std::move(messages))});
    };
    ports.start_command = [bands = bands_, life = life_](CommandStart&& start) {
      const std::size_t band = start.band.value();
      caf::anon_send(bands[band], CommandStartMail{life, std::make_shared<CommandStart>(std::move(start))});
    };
    ports.stop_command = [bands = bands_](BandIndex band, std::uint64_t ticket, bool kill) {
      caf::anon_send(bands[band.value()], CommandStopMail{ticket, kill});
    };
    ports.runner_gone = [bands = bands_](BandIndex band, const std::string& mark) {
      caf::anon_send(bands[band.value()], RunnerGoneMail{mark});
    };
    ports.fetch = [this, loop, life = life_](const worker_action::FetchInput& input) {
      loop->post([this, life, input] { fetch(life, input); });
    };
    ports.cancel_fetch = [this, loop, life = life_](const DataKey& key) {
      loop->post([this, life, key] {
        if (life == life_ && data_.transfers != nullptr) data_.transfers->cancel(key);
      });
    };
    ports.arm = [this, loop, life = life_](Instant at) { loop->post([this, life, at] { arm(life, at); }); };
    ports.post = [loop](std::function<void()> work) { loop->post(std::move(work)); };
    ports.complain = [](const Error& error) { log_error(LogLevel::Error, "protocol broken by the supervisor", error); };
    ports.storage_failed = [](const Error& error) { log_error(LogLevel::Warn, "storage of data", error); };
    return ports;
  }

  void receive(const ToWorkerMail& mail) {
    if (mail.worker != life_ || host_ == nullptr) return;
    for (const ToWorker& message : *mail.messages)
      if (const auto* batch = std::get_if<PeerAddressBatch>(&message))
        for (const std::string& gone : data_.peers.note(*batch)) abandon(gone);
    host_->receive(mail.messages);
  }

  void take(const SecurityNotice& notice) {
    data_.revoked->add(notice.revoked);
    for (const RunCredential& credential : notice.credentials)
      if (const Result<void> kept = keep(credential); !kept)
        log_error(LogLevel::Warn, "runs have no certificate", kept.error());
  }

  Result<void> keep(const RunCredential& told) {
    const Result<Credential> read = read_credential(told.pem, told.user);
    if (!read) return read.error();
    const Result<PeerIdentity> identity = identity_of(*read->certificate);
    if (!identity) return identity.error();
    if (identity->role != Role::Run || identity->user != told.user)
      return Error{ErrorCode::InvalidArgument, to_uri(*identity), "is no certificate for runs of that user", {}};
    return programs_.users->keep(told.user, CredentialStore::place_below(identity->cluster, Role::Run), told.pem,
                                 monotonic_now());
  }

  void abandon(const std::string& data_address) {
    const Result<HostPort> address = parse_host_port(data_address, "127.0.0.1");
    if (address && data_.transfers != nullptr) data_.transfers->abandon(*address);
  }

  void arm(Incarnation life, Instant at) {
    if (life != life_ || host_ == nullptr || timers_.deadline->armed_for() <= at) return;
    timers_.deadline->arm(at, [this] {
      if (host_ != nullptr) host_->tick();
    });
  }

  void fetch(Incarnation life, const worker_action::FetchInput& input) {
    if (life != life_ || host_ == nullptr) return;
    const std::string* known = data_.peers.find(input.from);
    const Result<HostPort> address =
        known == nullptr ? Error{ErrorCode::NotFound, to_string(input.from), "has no known data address", {}}
                         : parse_host_port(*known, "127.0.0.1");
    if (!address || data_.transfers == nullptr) {
      host_->fetched(FetchEnd{input.key, false, {}, true}, nullptr);  // Its worker has been lost meanwhile.
      return;
    }
    data_.transfers->fetch(
        *address, input.key, input.priority,
        [this, life, key = input.key](std::shared_ptr<Blob> blob, const Error& error) {
          if (options_.tally != nullptr) options_.tally->fetched(blob == nullptr ? 0 : blob->bytes().size(), !!blob);
          if (life != life_ || host_ == nullptr) return;
          FetchEnd end{key, blob != nullptr, {}, error.code == ErrorCode::NotFound};
          if (blob != nullptr) end.bytes = Bytes{static_cast<std::int64_t>(blob->bytes().size())};
          host_->fetched(end, std::move(blob));
        },
        input.identity);
  }

  void memory_measured(const CommandMemoryMail& mail) {
    if (mail.life != life_ || host_ == nullptr) return;
    for (std::size_t i = 0; i < options_.bands.size(); ++i)
      if (options_.bands[i].name == mail.band)
        host_->memory_measured(BandIndex{static_cast<std::uint16_t>(i)}, mail.used);
  }

  void measure_later() {
    timers_.measure->arm(monotonic_now() + kMeasureEvery, [this] {
      if (host_ == nullptr) return;
      host_->measure_runners();
      if (data_.transfers != nullptr) look_at_mapped();
      measure_later();
    });
  }

  // The interval is also the time for which memory may exceed its limit unnoticed.
  void look_at_mapped() {
    data_.transfers->look_at_mapped([this, life = life_](const MappedElsewhere& mapped) {
      if (life != life_ || host_ == nullptr) return;
      const bool any = !mapped.here.empty() || !mapped.beyond.is_zero();
      if (std::exchange(data_.told_mapped, any) || any) host_->data_mapped(mapped.here, mapped.beyond);
    });
  }

  void command_ended(const CommandEndMail& mail) {
    if (mail.life == life_ && host_ != nullptr) host_->run_ended(std::move(*mail.end));
  }

  struct Timers {
    std::unique_ptr<LoopTimer> deadline;  ///< Of the host's next one.
    std::unique_ptr<LoopTimer> measure;
  };
  /// Work that blocks. Each thread starts with its first piece.
  struct Threads {
    std::shared_ptr<ActorWork> disk;                     ///< Of the store.
    std::shared_ptr<ActorWork> teardown;                 ///< Of incarnations that were given up.
    std::vector<std::shared_ptr<BlockingWork>> reapers;  ///< Of each band's process runners.
    std::vector<std::shared_ptr<ActorWork>> all;
  };
  /// The side of the worker that serves data to others and fetches theirs.
  struct DataPort {
    std::unique_ptr<TransferThread> transfers;  ///< None when embedded: all workers share the store.
    std::string address;
    PeerAddresses peers;
    bool told_mapped = false;  ///< The present incarnation knows of mapped data.
    std::shared_ptr<RevokedSerials> revoked;
  };

  /// The common parts of all bands.
  struct Programs {
    std::shared_ptr<CommandRunners> commands = std::make_shared<CommandRunners>();
    std::shared_ptr<JobUsers> users;
  };

  WorkerSelf::stateful_pointer<WorkerActor> self_;
  const WorkerSurroundings* surroundings_ = nullptr;
  WorkerOptions options_;
  OnFatal on_fatal_;       ///< Empty: the process ends.
  SupervisorRoute route_;  ///< The supervisor if embedded, or the link to it.
  WorkerSelf handle_;
  std::vector<BandHandle> bands_;
  Programs programs_;
  std::vector<BandDevices> devices_;  // Of each band.
  Timers timers_;
  DataPort data_;
  Incarnation life_;
  std::unique_ptr<WorkerHost> host_;
  Threads threads_;
  bool leaving_ = false;
};

WorkerSelf::behavior_type worker_behavior(WorkerSelf::stateful_pointer<WorkerActor> self,
                                          const WorkerSurroundings* surroundings, const WorkerOptions& options,
                                          const SupervisorRoute& route, const OnFatal& on_fatal) {
  return self->state.make_behavior(surroundings, options, route, on_fatal);
}

}  // namespace

Bytes store_bytes_max(const WorkerOptions& options) {
  if (!options.core.store_bytes_max.is_zero()) return options.core.store_bytes_max;
  Bytes memory;
  for (const BandDescription& band : options.bands) memory += band.capacity.memory;
  return Bytes{memory.value() / 100 * 40};
}

StoreOptions store_options(const WorkerOptions& options, std::size_t open_files) {
  StoreOptions store;
  store.segment_bytes_min = static_cast<std::size_t>(options.core.segment_bytes_min.value());
  const std::size_t spared = std::min<std::size_t>(options.core.descriptors_spared, open_files / 2);
  const std::size_t for_segments = open_files - spared;
  store.reserve.bytes_max = static_cast<std::size_t>(options.core.reserve_bytes_max.value());
  store.reserve.segments_max = std::min<std::size_t>(options.core.reserve_segments_max, for_segments / 4);
  store.segments_max = std::min<std::size_t>(options.core.segments_max, for_segments - store.reserve.segments_max);
  if (const Bytes store_max = options.core.store_bytes_max; store_max > Bytes{0})
    store.reserve.bytes_max = std::min(store.reserve.bytes_max, static_cast<std::size_t>(store_max.value()) / 8);
  store.spill.place = options.spill;
  store.checkpoints = options.checkpoints;
  store.spill.bytes_max = options.core.spill_bytes_max;
  return store;
}

Result<void> prepare_directories(const WorkerOptions& options, ObjectStore& store) {
  const auto named = [](const char* flag, const Result<void>& prepared) -> Result<void> {
    if (prepared) return {};
    Error error = prepared.error();
    error.subject = flag + (" " + error.subject);
    return error;
  };
  PENSTOCK_TRY(named("--checkpoints", store.prepare_checkpoints()));
  const Result<void> spill = store.prepare_spill();
  if (!options.spill.empty()) return named("--spill", spill);
  if (!spill) log_error(LogLevel::Warn, "no place for data that memory has no room for", spill.error());
  return {};
}

WorkerHandle spawn_embedded_worker(caf::actor_system& system, const WorkerSurroundings& surroundings,
                                   const WorkerOptions& options, const SupervisorHandle& supervisor) {
  WorkerOptions embedded = options;
  embedded.data_listen = HostPort{};
  return system.spawn(worker_behavior, &surroundings, embedded, SupervisorRoute{supervisor}, OnFatal{});
}

WorkerHandle spawn_worker(caf::actor_system& system, const WorkerSurroundings& surroundings,
                          const WorkerOptions& options, const std::vector<HostPort>& supervisors,
                          const OnFatal& on_fatal) {
  LinkActorOptions link;
  link.uplink.supervisors = supervisors;
  link.uplink.role = PeerRole::Worker;
  link.uplink.name = options.name;
  link.uplink.tls = options.tls;
  link.uplink.starts_as_users = options.users.known && options.users.switches;
  link.uplink.link = options.link;
  link.uplink.wire = options.wire;
  link.on_fatal = on_fatal;
  const LinkHandle route = spawn_link_actor(system, surroundings.loop, link);
  WorkerOptions linked = options;
  for (HostPort address : supervisors) {
    // Runners and commands have working directories of their own.
    if (!address.file.empty()) address.file = std::filesystem::absolute(address.file).string();
    linked.cluster += (linked.cluster.empty() ? "" : ",") + to_string(address);
  }
  return system.spawn(worker_behavior, &surroundings, linked, SupervisorRoute{route}, on_fatal);
}

}  // namespace penstock::worker
