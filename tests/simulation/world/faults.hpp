// The faults of a world, and their times.
#pragma once

#include "tests/simulation/world/world.hpp"

namespace penstock::simulation {

/// Draws faults from the seed while the world lets it, and ends all of them when it does not.
class FaultPlan {
 public:
  explicit FaultPlan(World& world);
  void start();
  /// Everything comes back and heals.
  void stop();

 private:
  void next();
  void strike();
  void plan_late_workers();
  void plan_restore();
  void plan_meddling();
  void meddle();
  bool stop_or_deafen(class WorkerHost& host);
  void crash(class WorkerHost& host);
  void reset(class WorkerHost& host);
  void cut_off(class WorkerHost& host);
  void operate();
  bool keeps_jobs() const;
  void keep_or_not(const std::string& job);
  void keep_to_devices(const std::vector<JobId>& jobs, EntitlementBatch& plan) const;
  void send_entitlements(const EntitlementBatch& plan);
  void change_policy(const std::string& job);
  void change_rules(Rng& rng, const std::string& job);

  World& world_;
  Rng stalls_;    ///< Of stopped supervisors and one-way partitions.
  Rng deaths_;    ///< Of clients.
  Rng meddling_;  ///< Of an operator that looks at what is under way.
  std::uint64_t entitlement_version_ = 1;
};

}  // namespace penstock::simulation
