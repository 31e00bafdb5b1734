// The supervisor's process in the simulated world.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "supervisor/shell/supervisor_shell.hpp"
#include "tests/simulation/world/oracle.hpp"
#include "tests/simulation/world/supervisor_disk.hpp"
#include "tests/simulation/world/supervisor_links.hpp"
#include "tests/simulation/world/supervisor_witness.hpp"

namespace penstock::simulation {

/// One life of a supervisor after the other: production's shell and core in a simulated world, under observation, and
/// the disk that the lives share.
class SupervisorHost {
 public:
  using Shell = supervisor::SupervisorShell<SupervisorHost, SupervisorWitness>;
  SupervisorHost(World& world, const SupervisorConfig& config, Rng rng);

  /// Of its present life.
  Incarnation incarnation() const { return Incarnation{1'000'000 + life_}; }
  bool up() const { return up_; }
  bool stopped() const;
  Instant stopped_until() const { return stopped_until_; }
  bool journals() const;
  /// Renewed whenever the state does not go on from where it was left.
  std::uint64_t branch() const { return branch_; }
  std::uint64_t term() const { return term_; }
  const SupervisorConfig& config() const { return config_; }
  World& world() const { return world_; }
  const supervisor::SupervisorCore& core() const { return witness_.observed(); }
  Shell& shell() { return *shell_; }
  SupervisorLinks& links() { return links_; }
  SupervisorDisk& disk() { return disk_; }
  SupervisorWitness& witness() { return witness_; }

  /// The number of the worker in this life of ours; none: it has not registered.
  WorkerId number_of(const WorkerHost& worker) const;
  /// Whether it knows that the subtask has succeeded once.
  bool knows_success(SubtaskId subtask) const;
  /// Whether this attempt, on this worker, is the one that the supervisor waits for.
  bool counts_on(WorkerId worker, SubtaskId subtask, Attempt attempt) const;
  /// The supervisor has heard a part of what this life holds, or all of it: what it has not taken over is fenced.
  void take_claim(std::uint64_t life, const WorkerClaim& claim);

  // Faults.
  /// The process stands still for so long; what comes meanwhile waits for it.
  void stop_for(Duration duration);
  /// The process dies: its links and what it has not written are gone.
  void crash();
  /// In some worlds it dies now and then just behind an answer: what was answered stands all the same.
  void maybe_die_behind_answer();
  /// The next life goes on from the disk.
  void come_back();
  /// The content of the disk, and what the oracle holds against a life that goes on from that.
  struct Backup {
    supervisor::RecordLog disk;
    Oracle oracle;
    std::uint64_t term = 0;
  };
  Backup back_up() const;
  /// The next life goes on from the backup, as another branch. REQUIRES: the process is down.
  void put_back(const Backup& backup);

  /// Does something at once, or as soon as the process goes on; nothing if it dies before that.
  void when_running(std::function<void()> what);
  /// The same after some time, and at that time.
  void after(Duration delay, std::function<void()> what);
  void at(Instant when, std::function<void()> what);

  // The world of the shell.
  using Mail = MessagePtr;
  Instant now() const;
  /// Counted, not drawn: the seed decides other things.
  JobIdentity draw_identity() { return {1'000'000 + life_, ++identities_}; }
  void joined(Incarnation, WorkerId, const Register&) {}
  void send(Incarnation worker, std::vector<ToWorker> messages) { links_.send(worker.value(), std::move(messages)); }
  void send_to_client(Incarnation client, std::vector<ToClient> messages) {
    links_.send_to_client(client, std::move(messages));
  }
  void dismiss(Incarnation worker) { links_.dismiss(worker.value()); }
  void write(supervisor::supervisor_action::Persist order) { disk_.write(std::move(order)); }
  void run_pass(supervisor::supervisor_action::RunPass order);
  Result<PolicyConfig> read_policy();
  void alert(const Error& error);
  void arm(std::optional<Instant> at);

 private:
  void begin_life(Rng rng);

  World& world_;
  SupervisorConfig config_;  ///< Of the present life; its policy may have been read again.
  Rng rng_;
  bool up_ = true;
  std::uint64_t life_ = 0;
  std::uint64_t term_ = 1;  ///< As the journal counts lives.
  std::uint64_t branch_ = 1;
  std::uint64_t identities_ = 0;
  Rng answers_;  ///< Of deaths behind an answer.
  Instant stopped_until_{};
  Instant tick_at_ = kNever;
  SupervisorDisk disk_;
  SupervisorLinks links_;
  SupervisorWitness witness_;
  std::optional<Shell> shell_;
};

}  // namespace penstock::simulation
