// A whole cluster in one thread: production cores, simulated network, disks, clocks and user programs.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/world/client_host.hpp"
#include "tests/simulation/world/timeline.hpp"
#include "tests/simulation/world/options.hpp"
#include "tests/simulation/world/oracle.hpp"
#include "tests/simulation/world/story.hpp"
#include "tests/simulation/world/supervisor_host.hpp"
#include "tests/simulation/world/world_config.hpp"

namespace penstock::simulation {

class FaultPlan;

class World {
 public:
  /// The first few subtasks that hold everything up, as supervisor and worker see them.
  std::string describe_unfinished() const;
  explicit World(const WorldOptions& options);
  ~World();
  WorldResult run();

  // The world as the hosts see it.
  Instant now() const { return timeline_.now(); }
  Timeline& timeline() { return timeline_; }
  Rng& rng() { return rng_; }
  Oracle& oracle() { return oracle_; }
  SupervisorHost& supervisor() { return *supervisor_; }
  /// The first one.
  ClientHost& client() { return *clients_.front(); }
  std::vector<std::unique_ptr<ClientHost>>& clients() { return clients_; }
  /// The accepted jobs of all clients, and their words for them.
  std::vector<JobId> jobs() const;
  std::shared_ptr<const Graph> graph_of(const std::string& name) const;
  const JobSpec* spec_of(JobId job) const;
  const WorldOptions& options() const { return options_; }
  const WorldConfig& config() const { return config_; }
  bool faults_on() const { return now() < course_.faults_end; }
  /// Time that a message takes; each frame draws its own.
  Duration latency();
  /// Puts a frame on a wire: it may arrive late, twice or never, and now and then before others that were sent earlier.
  void carry(Instant& wire, bool cut_off, std::function<void()> arrival);
  WorkerHost* find_worker(WorkerId id);
  std::vector<std::unique_ptr<WorkerHost>>& workers() { return workers_; }
  WorkerHost& add_worker();
  /// Slots of the band that has most; with several pools, that each pool has on one band.
  std::uint32_t gang_max() const;
  std::uint64_t next_life() { return ++lives_; }
  std::uint64_t next_connection() { return ++connections_; }

  /// One line of the story; see `Story`. Must be the same on every machine.
  void note(const char* what, std::initializer_list<std::uint64_t> numbers = {}) { story_.note(now(), what, numbers); }
  void job_ended() { course_.last_end = now(); }
  /// A run begins that lasts for so long.
  void note_work(Duration duration) { course_.work += duration; }
  /// The files on shared storage, by the life of the worker that has put them there.
  std::map<std::pair<std::uint64_t, DataKey>, Content>& checkpoints() { return checkpoints_; }

 private:
  friend class FaultPlan;
  void add_clients();
  bool finished();
  bool all_joined() const;
  bool is_late(Instant began) const;
  void check_nothing_left();
  void check_data_left(WorkerHost& host);
  bool is_kept(const DataKey& key) const;
  WorldResult result();

  const WorldOptions options_;
  Rng rng_;
  Timeline timeline_;
  Story story_;
  Oracle oracle_;
  const WorldConfig config_;
  std::unique_ptr<SupervisorHost> supervisor_;
  std::vector<std::unique_ptr<ClientHost>> clients_;
  std::vector<std::unique_ptr<WorkerHost>> workers_;
  std::unique_ptr<FaultPlan> plan_;
  /// How far the run is.
  struct Course {
    Instant faults_end{};
    Duration work{0};  ///< Of all runs that have begun.
    Instant last_end = instant_at(std::chrono::seconds{1});
    std::uint64_t events = 0;
  };
  Course course_;
  std::map<std::pair<std::uint64_t, DataKey>, Content> checkpoints_;
  std::uint64_t lives_ = 0;
  std::uint64_t connections_ = 0;
};

}  // namespace penstock::simulation
