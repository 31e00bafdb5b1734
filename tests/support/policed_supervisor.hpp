// A supervisor's core with a policy in force: its passes are run by the policy that production has.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "supervisor/core/policy_pass.hpp"
#include "tests/support/journal_harness.hpp"

namespace penstock::supervisor {

/// One pool of that preset for everybody, which may take back.
inline SupervisorConfig policed(const std::string& preset, std::vector<ProjectConfig> projects = {}) {
  SupervisorConfig config;
  config.policy.pools = {{.name = "all", .preset = preset}};
  if (preset == "priority") config.policy.pools[0].preemption = true;  // The others take back unless told otherwise.
  config.policy.projects = std::move(projects);
  return config;
}

class PolicedSupervisor : public SupervisorHarness {
 public:
  using SupervisorHarness::SupervisorHarness;

  /// The plan of a pass for the snapshot.
  static supervisor_event::PassEnded run(const supervisor_action::RunPass& order) {
    supervisor_event::PassEnded ended = run_pass(order);
    EXPECT_EQ(ended.failure, "");
    return ended;
  }

  /// Lets time pass until as many passes have been carried out.
  void settle(int passes = 1) {
    for (int tries = 0; passes > 0 && tries < 1000; ++tries) {
      for (supervisor_action::RunPass& order : take_passes()) {
        handle(run(order));
        --passes;
      }
      if (passes > 0) tick_after(std::chrono::milliseconds{1});
    }
    EXPECT_EQ(passes, 0) << "no pass was ordered";
  }

  /// The last word to each worker of what the job may hold: `w1:2`, `w1:250m` or `w1:all`. Forgets the rest.
  std::vector<std::string> entitlements(std::uint32_t job) {
    for (const auto& [worker, batch] : take<EntitlementBatch>())
      for (const Entitlement& each : batch.entitlements) told_[{worker, each.job}] = text_of(each.slots);
    std::vector<std::string> lines;
    for (const auto& [key, slots] : told_)
      if (key.second == JobId{job}) lines.push_back("w" + std::to_string(key.first.value()) + ":" + slots);
    return lines;
  }

 private:
  static std::string text_of(MilliSlots slots) {
    if (slots == MilliSlots::max()) return "all";
    return slots.value() % 1000 == 0 ? std::to_string(slots.value() / 1000) : std::to_string(slots.value()) + "m";
  }

  std::map<std::pair<WorkerId, JobId>, std::string> told_;
};

/// Of a supervisor with a journal: a dozen times all that waits is written, and passes that were ordered are carried
/// out.
inline void run_passes(JournalHarness& cluster) {
  for (int i = 0; i < 12; ++i) {
    cluster.write_all();
    for (const supervisor_action::RunPass& pass : cluster->take_passes()) cluster->handle(PolicedSupervisor::run(pass));
  }
}

}  // namespace penstock::supervisor
