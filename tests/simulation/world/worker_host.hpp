// A worker's process in the simulated world.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/world/programs.hpp"
#include "tests/simulation/world/worker_link.hpp"
#include "tests/simulation/world/worker_store.hpp"
#include "tests/simulation/world/worker_witness.hpp"
#include "tests/simulation/world/worker_world.hpp"
#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

/// One life of a worker after the other: production's shell and core in a simulated world, and a witness.
class WorkerHost {
 public:
  using Shell = worker::WorkerShell<WorkerWorld>;
  WorkerHost(World& world, std::string name);

  // Faults and ends.
  void crash();
  /// Fault F25: an operator takes its worker along. The process begins again by itself, and names the culprit.
  void crash_of(const ProgramRun& culprit);
  void come_back();
  void hang(Duration duration);
  /// The supervisor has reassigned what this life had: it ends what runs and begins another life.
  void refused();

  bool up() const { return up_; }
  bool hung() const { return world_.now() < hung_until_; }
  Instant hung_until() const { return hung_until_; }
  std::uint64_t life() const { return life_; }
  /// By the clock of its present life.
  Instant own_time() const { return world_.now() + clock_of(Incarnation{life_}); }
  /// The worker goes on with what it has from a state that was replaced by another one since, and has not heard of that
  /// yet.
  bool is_of_another_branch() const { return world_.oracle().is_of_another_branch(life_); }
  const std::string& name() const { return name_; }
  Register description() const;
  const std::vector<BandDescription>& bands() const { return bands_; }
  std::uint32_t largest_band() const;
  bool knows_barriers() const { return knows_barriers_; }
  BandKind kind_of(BandIndex band) const { return bands_[band.value()].kind; }
  std::uint64_t forward_hits() const { return forward_hits_ + core().counters().forward_hits; }

  World& world() const { return world_; }
  WorkerLink& link() { return link_; }
  WorkerStore& data() { return *data_; }
  Programs& programs() { return programs_; }
  WorkerWitness& witness() { return *witness_; }
  const worker::WorkerCore& core() const { return shell_->core(); }
  const Shell& shell() const { return *shell_; }

  /// Does something in this host as soon as it is not stopped; nothing if its life has ended by then.
  void deliver(std::function<void()> what);
  /// The same, after some time.
  void after(Duration delay, std::function<void()> what);

  // Rounds, as a real worker combines them.
  void receive(const ToWorker& order);
  void handle(const worker::WorkerEvent& event);
  void tick();
  /// A round for the ends of runs alone.
  void tell_ends();

 private:
  void begin_life();
  void end_life();
  void go_down();
  void begin_round();
  void end_round();
  void look();
  void note(const worker::WorkerEvent& event) const;

  World& world_;
  const std::string name_;
  std::vector<BandDescription> bands_;
  const bool knows_barriers_;  ///< One of an older version does not.
  bool up_ = true;
  Instant hung_until_{};
  std::uint64_t life_ = 0;
  std::optional<OperatorCrash> crash_;  ///< The end of the life before this one.
  std::uint64_t forward_hits_ = 0;
  WorkerLink link_;
  Programs programs_;
  // Of the present life.
  std::optional<WorkerStore> data_;
  std::optional<WorkerWitness> witness_;
  std::optional<WorkerWorld> surroundings_;
  std::optional<Shell> shell_;
};

}  // namespace penstock::simulation
