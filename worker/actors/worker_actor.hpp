// The actors of a worker process.
#pragma once

#include <caf/fwd.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/loop/loop.hpp"
#include "common/loop/mail.hpp"
#include "common/net/connection.hpp"
#include "common/protocol/accepted_users.hpp"
#include "common/protocol/handshake.hpp"
#include "worker/runner/native/operator_registry.hpp"
#include "worker/store/object_store.hpp"

namespace penstock {
class RevokedSerials;
struct Template;
}  // namespace penstock

namespace penstock::worker {

class WorkerTally;

struct WorkerOptions {
  std::string name;  ///< Unique in the cluster, for people.
  WorkerConfig core;
  LinkConfig link;
  WireConfig wire;
  std::shared_ptr<const TlsClient> tls;  ///< Null: connections are plain; see `own_security`.
  std::vector<BandDescription> bands;
  std::vector<std::vector<int>> processors;  ///< Of each band; empty: not bound.
  HostPort data_listen{"127.0.0.1", 0};      ///< Where other workers and clients fetch data; not used when embedded.
  /// Of an embedded worker: where processes of this host fetch data from its store, see `StoreServer`; empty: nowhere.
  std::string data_address;
  /// Addresses of supervisors for runners and commands that submit work of their own; empty: they have none.
  std::string cluster;
  UserRules users{};  ///< By default it runs all jobs under its own account.
  std::string spool;  ///< Directory for working directories of commands.
  /// This process starts all programs here, so it may end the daemons that commands leave behind.
  bool owns_process = false;
  std::vector<std::string> labels;  ///< Jobs and projects may limit themselves to workers with a label.
  std::string checkpoints;          ///< Directory that all workers share.
  std::string spill;                ///< Directory for data that memory has no room for.
  /// `runners_warm` runners of this template are started before they are needed.
  std::shared_ptr<const Template> warm_runner;
  std::uint32_t runners_warm = 0;
  std::shared_ptr<WorkerTally> tally;  ///< Counts for metrics; null: nothing is counted.
  /// Takes the certificates that the supervisor says to be revoked. Null: the worker has its own list.
  std::shared_ptr<RevokedSerials> revoked;
  std::optional<OperatorCrash> crash;  ///< The operator's crash that ended the previous incarnation of this process.
};

/// `store_bytes_max` as it is set, or 40 % of the memory of the bands; the rest is left to the runs.
Bytes store_bytes_max(const WorkerOptions& options);
/// The options of the store, for a process that may have `open_files` files open.
StoreOptions store_options(const WorkerOptions& options, std::size_t open_files);

/// Tries the directories that the options name, and reclaims what killed workers have left. A default directory for
/// spilled data that cannot be used is only logged, because many workers never spill. Errors: InvalidArgument,
/// StorageFull.
Result<void> prepare_directories(const WorkerOptions& options, ObjectStore& store);

/// The objects of its process that a worker uses; all outlive the actors.
struct WorkerSurroundings {
  Loop& loop;
  const OperatorRegistry& operators;
  ObjectStore& store;
};

/// A worker inside the supervisor's process: speaks to the supervisor's actor without a port.
WorkerHandle spawn_embedded_worker(caf::actor_system& system, const WorkerSurroundings& surroundings,
                                   const WorkerOptions& options, const SupervisorHandle& supervisor);

/// The worker cannot go on. Called on the loop's thread.
using OnFatal = std::function<void(const Error&)>;

/// A worker in a process of its own: links to one of the supervisors, and begins another incarnation when it is fenced.
/// `on_fatal` is called if its data port cannot be opened, and e.g. for a supervisor of another version.
WorkerHandle spawn_worker(caf::actor_system& system, const WorkerSurroundings& surroundings,
                          const WorkerOptions& options, const std::vector<HostPort>& supervisors,
                          const OnFatal& on_fatal);

}  // namespace penstock::worker
