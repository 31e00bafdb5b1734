// The world of a simulated worker, as its shell sees it.
#pragma once

#include <string>

#include "tests/simulation/world/programs.hpp"
#include "worker/shell/outbox.hpp"
#include "worker/shell/worker_shell.hpp"

namespace penstock::simulation {

/// Carries out the orders of a worker's core in the simulation; see `worker::WorkerShell`. One for each life.
class WorkerWorld {
 public:
  using Outputs = Made;
  WorkerWorld(WorkerHost& host, Register description) : host_(host), outbox_(std::move(description)) {}

  void carry_out(const worker::worker_action::StartSubtask& action);
  void carry_out(const worker::worker_action::StopRun& order);
  void carry_out(const worker::worker_action::AnswerYield& answer);
  void carry_out(const worker::worker_action::RestartRunners& order);
  void carry_out(const worker::worker_action::WarmRunners&) {}  // No runner takes time to start.
  void carry_out(const worker::worker_action::SpillDatum& order);
  void carry_out(const worker::worker_action::RestoreInput& order);
  void carry_out(const worker::worker_action::CheckpointDatum& order);
  void carry_out(const worker::worker_action::SweepCheckpoints& order);
  void carry_out(const worker::worker_action::SweepAttempts&) {}  // Its programs save nothing.
  void carry_out(const worker::worker_action::AdoptCheckpoint& order);
  void carry_out(const worker::worker_action::DropDatum& order);
  void carry_out(const worker::worker_action::ReleaseDatum& order);
  void carry_out(const worker::worker_action::NameJob& order);
  void carry_out(const worker::worker_action::FetchInput& order);
  void carry_out(const worker::worker_action::CancelFetch& order);
  void carry_out(const worker::worker_action::Reject& word);
  void store(const worker::worker_action::StoreOutputs& order, Made outputs);
  void say(FromWorker message);
  void introduce_again();
  std::string log_of(JobId job) const;
  void end_round();
  void arm(Instant at);

 private:
  WorkerHost& host_;
  worker::Outbox outbox_;
  Instant tick_at_ = kNever;
};

}  // namespace penstock::simulation
