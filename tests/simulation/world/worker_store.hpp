// The data that a simulated worker holds, in memory and on disk, and the transfers to it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "tests/simulation/world/oracle.hpp"
#include "tests/simulation/world/programs.hpp"
#include "worker/core/actions.hpp"
#include "worker/shell/peer_addresses.hpp"

namespace penstock::simulation {

class World;
class WorkerHost;

/// The store of one life of a worker. Whatever takes time is answered by an event, now and then with a failure.
class WorkerStore {
 public:
  explicit WorkerStore(WorkerHost& host);

  bool has(const DataKey& key) const { return store_.contains(key); }
  /// Null: it is not here.
  const Content* find(const DataKey& key) const;
  const std::map<DataKey, Content>& all() const { return store_; }
  bool is_on_disk(const DataKey& key) const { return spilled_.contains(key); }
  /// A record of the worker relies on its being in memory.
  bool is_pinned(const DataKey& key) const;

  /// The datum is in memory from now on.
  void put(const DataKey& key, const Content& content);
  void store(const worker::worker_action::StoreOutputs& order, Made outputs);
  void note_peers(const PeerAddressBatch& batch);
  void fetch(const worker::worker_action::FetchInput& order);
  void name_job(const worker::worker_action::NameJob& order);
  void cancel_fetch(const DataKey& key);
  void spill(const DataKey& key);
  void release(const DataKey& key);
  void restore(const DataKey& key);
  void checkpoint(const DataKey& key);
  void adopt(const worker::worker_action::AdoptCheckpoint& order);
  void sweep(const worker::worker_action::SweepCheckpoints& order);
  void drop(const DataKey& key);

  /// A fault: the disk says that it has a datum that nobody has asked it to write.
  void spill_something();

 private:
  void note(const char* what, const DataKey& key) const;
  /// Whether a peer that names this identity is given data of the job.
  bool is_named(JobId job, const JobIdentity& identity) const;
  void end_fetch(const worker::worker_action::FetchInput& order, const std::string& address);
  void map_output(const DataKey& key);
  void tell_mapped();

  WorkerHost& host_;
  World& world_;
  std::map<DataKey, Content> store_;
  std::set<DataKey> spilled_;
  struct Mapped {
    Bytes bytes;
    bool told_here = false;  ///< The worker was told that it has it in memory as well.
  };
  std::map<DataKey, Mapped> mapped_;          ///< By clients of its host.
  std::map<DataKey, std::uint64_t> adopted_;  ///< Data of shared storage, and the life that has put them there.
  worker::PeerAddresses peers_;
  std::map<JobId, JobIdentity> names_;
  std::map<DataKey, std::string> fetching_;  ///< From that address.
};

}  // namespace penstock::simulation
