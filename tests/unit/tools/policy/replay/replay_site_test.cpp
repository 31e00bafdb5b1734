#include "tools/policy/replay/replay_site.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace penstock::policy {
namespace {

Band host(const std::string& name, std::int64_t devices, std::int64_t cpu_milli, std::int64_t memory) {
  Band band;
  band.name = name;
  band.capacity = {cpu_milli, memory, devices * 1000};
  return band;
}

ReplayTrace trace_of(std::vector<Band> bands, std::vector<ReplayJob> jobs) {
  return {std::move(bands), {"a", "b"}, std::move(jobs)};
}

PolicyConfig under(const std::string& preset, const ReplayTrace& trace) {
  return policy_of_equals(trace, {.name = "all", .preset = preset});
}

/// As `make_bands` describes a real host: half of the memory is for devices, and nine tenths of it are given away.
TEST(ReplaySite, AHostDescribesItselfAsItsWorkerWould) {
  const ReplayTrace trace = trace_of({host("x", 4, 64'000, 1'000'000), host("y", 0, 1500, 1'000'000)}, {});
  const PolicyConfig policy = under("quota", trace);
  const std::vector<ReplayHost> hosts = ReplaySite{trace, policy}.hosts();
  ASSERT_EQ(hosts.size(), 2U);
  ASSERT_EQ(hosts[0].worker.bands.size(), 2U);
  const BandDescription& cpu = hosts[0].worker.bands[0];
  const BandDescription& gpu = hosts[0].worker.bands[1];
  EXPECT_EQ(cpu.capacity.slots, kOneSlot * 64);
  EXPECT_EQ(cpu.capacity.memory, Bytes{450'000});
  EXPECT_EQ(cpu.memory_hard_limit, Bytes{500'000});
  EXPECT_EQ(gpu.name, "gpus");
  EXPECT_EQ(gpu.devices.size(), 4U);
  EXPECT_EQ(gpu.capacity.slots, kOneSlot * 4);
  EXPECT_EQ(gpu.capacity.cpu, MilliCpu{64'000});
  EXPECT_EQ(gpu.memory_hard_limit, Bytes{500'000});
  ASSERT_EQ(hosts[1].worker.bands.size(), 1U);
  EXPECT_EQ(hosts[1].worker.bands[0].capacity.slots, kOneSlot * 2);
  EXPECT_EQ(hosts[1].worker.bands[0].capacity.cpu, MilliCpu{1500});
  EXPECT_EQ(hosts[1].worker.bands[0].memory_hard_limit, Bytes{1'000'000});
}

TEST(ReplaySite, AHostOfManyDevicesHasSeveralWorkers) {
  const ReplayTrace trace = trace_of({host("x", 33, 66'000, 3000)}, {});
  const PolicyConfig policy = under("quota", trace);
  const std::vector<ReplayHost> hosts = ReplaySite{trace, policy}.hosts();
  ASSERT_EQ(hosts.size(), 3U);
  for (const ReplayHost& each : hosts) {
    EXPECT_EQ(each.band, 0U);
    EXPECT_EQ(each.worker.host, "x");
    EXPECT_EQ(each.worker.bands[1].devices.size(), 11U);
    EXPECT_EQ(each.worker.bands[1].capacity.cpu, MilliCpu{22'000});
  }
  EXPECT_NE(hosts[0].worker.name, hosts[1].worker.name);
}

TEST(ReplaySite, WhereSlotsAreCountedAJobHasWholeDevicesUnlessNoHostHasSeveral) {
  const ReplayJob job{.devices = 1, .device_share = 460, .cpu_milli = 3000, .memory_mib = 2};
  const ReplayTrace single = trace_of({host("x", 1, 64'000, 1000)}, {job});
  const ReplayTrace several = trace_of({host("x", 1, 64'000, 1000), host("y", 2, 64'000, 1000)}, {job});
  const auto asked = [&](const ReplayTrace& trace, const std::string& preset) {
    const PolicyConfig policy = under(preset, trace);
    return ReplaySite{trace, policy}.request_of(job).gpu.value();
  };
  for (const char* preset : {"fair_share", "fair_share_max_min", "priority", "multifactor"}) {
    EXPECT_EQ(asked(single, preset), 460) << preset;
    EXPECT_EQ(asked(several, preset), 1000) << preset;
  }
  EXPECT_EQ(asked(single, "quota"), 460);
  EXPECT_EQ(asked(several, "quota"), 460);
  const PolicyConfig policy = under("quota", single);
  const ResourceVector request = ReplaySite{single, policy}.request_of(job);
  EXPECT_EQ(request.slots.value(), 460);
  EXPECT_EQ(request.cpu.value(), 3000);
  EXPECT_EQ(request.memory.value(), 2 << 20);
}

TEST(ReplaySite, AJobIsSubmittedWithItsOwnerGangLimitAndPlace) {
  const ReplayTrace trace =
      trace_of({host("x", 4, 64'000, 1000), host("y", 4, 64'000, 1000)},
               {{.project = 1, .runs_s = 50, .members = 3, .devices = 2, .priority = 40, .bands = {1}},
                {.runs_s = 50, .cpu_milli = 2500, .priority = 100}});
  const PolicyConfig policy = under("quota", trace);
  const ReplaySite site{trace, policy};
  const JobSpec gang = site.spec_of(0);
  EXPECT_EQ(gang.policy.project, "b");
  EXPECT_EQ(gang.policy.account, "b");
  EXPECT_EQ(gang.owner, "b");
  EXPECT_EQ(gang.policy.gang, 6U);
  EXPECT_EQ(gang.priority, 40);
  EXPECT_EQ(gang.policy.preemptible, Preemptible::Yes);
  EXPECT_GT(gang.time_limit, std::chrono::seconds{50});
  ASSERT_EQ(gang.policy.labels.size(), 1U);
  const std::vector<ReplayHost> hosts = site.hosts();
  EXPECT_TRUE(hosts[0].worker.labels.empty());
  EXPECT_EQ(hosts[1].worker.labels, gang.policy.labels);
  EXPECT_EQ(site.graph_of(0).size(), 3U);
  const JobSpec alone = site.spec_of(1);
  EXPECT_EQ(alone.policy.gang, 0U);
  EXPECT_EQ(alone.policy.preemptible, Preemptible::No);
  EXPECT_TRUE(alone.policy.labels.empty());
  EXPECT_EQ(site.graph_of(1).templates[0].request.slots.value(), 2500);
  EXPECT_NE(alone.name, gang.name);
}

TEST(ReplaySite, PrioritiesAreWrittenAsThePoolWantsThem) {
  ReplayTrace trace = trace_of({host("x", 1, 64'000, 1000)}, {{.priority = -7}, {.priority = 60}});
  PolicyConfig policy = under("priority", trace);
  EXPECT_EQ(ReplaySite(trace, policy).spec_of(0).priority, -7);
  policy.pools[0].priorities = "1-99";
  trace.priorities_written = true;
  EXPECT_EQ(ReplaySite(trace, policy).spec_of(0).priority, 7);
  trace.priorities_written = false;
  EXPECT_EQ(ReplaySite(trace, policy).spec_of(1).priority, 40) << "of a class: smaller is more important here";
}

TEST(ReplaySite, EqualsAreGuaranteedEqualParts) {
  const ReplayTrace trace = trace_of({host("x", 4, 64'000, 1000), host("y", 3, 1500, 1000)}, {});
  const PolicyConfig policy = under("quota", trace);
  ASSERT_EQ(policy.projects.size(), 2U);
  EXPECT_EQ(policy.projects[1].guaranteed_gpu_slots, 3);
  EXPECT_EQ(policy.projects[1].guaranteed_slots, 33);
  EXPECT_EQ(policy.accounts[1].name, "b");
}

TEST(ReplaySite, APoolOfASiteHasAllHostsAndIsOpenToAll) {
  PolicyConfig config;
  config.pools = {{.name = "x"}, {.name = "y", .workers = {"gpu-*"}}};
  config.projects = {{.name = "a", .pools = {"x"}, .guaranteed_slots = 3, .training_labels = {"fast"}, .users = {"u"}}};
  config.usage_half_life = std::chrono::hours{2};
  const PolicyConfig policy = policy_of_pool(config, 1);
  ASSERT_EQ(policy.pools.size(), 1U);
  EXPECT_EQ(policy.pools[0].name, "y");
  EXPECT_TRUE(policy.pools[0].workers.empty());
  EXPECT_EQ(policy.usage_half_life, std::chrono::hours{2});
  EXPECT_EQ(policy.projects[0].guaranteed_slots, 3);
  EXPECT_TRUE(policy.projects[0].pools.empty());
  EXPECT_TRUE(policy.projects[0].training_labels.empty());
  EXPECT_TRUE(policy.projects[0].users.empty());
}

}  // namespace
}  // namespace penstock::policy
