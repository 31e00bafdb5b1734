// Subtasks with several devices of one host, on the production cores in virtual time (docs/policy.md, Several devices).
#include <bit>
#include <map>

#include "common/base/rng.hpp"
#include "tests/conformance/live_policy.hpp"

namespace penstock::tools {
namespace {

const std::vector<std::string> kPresets{"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"};

std::size_t running_on(const LiveCluster& cluster, JobId job, const std::string& worker) {
  return static_cast<std::size_t>(std::count_if(cluster.runs().begin(), cluster.runs().end(), [&](const auto& run) {
    return run.first.job == job && cluster.name_of(run.second.worker) == worker;
  }));
}

TEST(LiveDevices, EachRunHasItsDevicesOnOneHost) {
  for (const std::string& preset : kPresets) {
    LiveCluster cluster{config_of(preset)};
    cluster.join(gpu_host("a", 3));
    cluster.join(gpu_host("b", 4));
    const JobId pairs = submit(cluster, {.name = "pairs", .subtasks = 8, .milli = 2000, .on_gpu = true});
    cluster.settle();
    EXPECT_EQ(running_on(cluster, pairs, "a"), 1U) << preset;
    EXPECT_EQ(running_on(cluster, pairs, "b"), 2U) << preset;
    const JobId single = submit(cluster, {.name = "single", .milli = 1000, .on_gpu = true});
    cluster.settle();
    EXPECT_EQ(running(cluster, single), 1U) << preset << ": a pair does not fit there";
    EXPECT_EQ(running(cluster, pairs), 3U) << preset;
    EXPECT_TRUE(cluster.troubles().empty()) << preset;
  }
}

TEST(LiveDevices, JobsOfPairsAndOfSingleDevicesShareFairly) {
  LiveCluster cluster{config_of("fair_share")};
  cluster.join(gpu_host("a", 8));
  const JobId pairs = submit(cluster, {.name = "pairs", .subtasks = 8, .milli = 2000, .on_gpu = true});
  cluster.settle();
  EXPECT_EQ(running(cluster, pairs), 4U);
  const JobId singles = submit(cluster, {.name = "singles", .subtasks = 16, .milli = 1000, .on_gpu = true});
  cluster.settle();
  EXPECT_EQ(running(cluster, pairs), 2U);
  EXPECT_EQ(running(cluster, singles), 4U);
  const std::uint64_t left = preemptions(cluster);
  cluster.advance(30s);
  EXPECT_EQ(preemptions(cluster), left);
}

// A worker of single devices cannot run a pair, and does not make the gang less of one.
TEST(LiveDevices, AGangOfPairsStartsWithAllOfThemBesideWorkersThatFitNone) {
  for (const std::string& preset : kPresets) {
    SupervisorConfig config = config_of(preset);
    config.policy.projects = {{.name = "p", .guaranteed_gpu_slots = 6}};
    LiveCluster cluster{config};
    cluster.join(gpu_host("a", 2));
    cluster.join(gpu_host("b", 2));
    cluster.join(gpu_worker("singles", 3));
    const JobId busy =
        submit(cluster, {.name = "busy", .project = "p", .milli = 2000, .on_gpu = true, .kind = JobKind::Interactive});
    cluster.settle();
    ASSERT_EQ(running(cluster, busy), 1U) << preset;
    const JobId gang =
        submit(cluster, {.name = "gang", .subtasks = 4, .project = "p", .milli = 2000, .on_gpu = true, .gang = 4});
    cluster.settle();
    EXPECT_EQ(running(cluster, gang), 0U) << preset;
    cluster.end({busy, SubtaskIndex{0}});
    cluster.settle();
    EXPECT_EQ(running(cluster, gang), 2U) << preset;
    EXPECT_TRUE(cluster.troubles().empty()) << preset;
  }
}

// The third of three halves on two single devices: none of the others leaves for it, whenever it comes between passes.
TEST(LiveDevices, APartThatComesTakesNothingFromOthersWhereADeviceIsFree) {
  for (const std::string& preset : kPresets)
    for (int late = 0; late < 100; late += 7) {
      LiveCluster cluster{config_of(preset)};
      cluster.join(gpu_worker("w", 2));
      std::vector<JobId> jobs;
      for (const char* name : {"z1", "z2", "z3", "z4"}) {
        jobs.push_back(submit(cluster, {.name = name, .milli = 500, .on_gpu = true}));
        cluster.advance(1s + late * 1ms);
        for (const JobId job : jobs) EXPECT_EQ(running(cluster, job), 1U) << preset << " after " << name;
      }
      EXPECT_EQ(preemptions(cluster), 0U) << preset;
      for (const auto& [subtask, run] : cluster.runs()) EXPECT_EQ(run.attempt.value(), 1U) << preset;
      EXPECT_TRUE(cluster.troubles().empty()) << preset;
    }
}

TEST(LiveDevices, PartsAreSpreadOverDevicesWhereTheFittingSaysSo) {
  for (const auto& [fitting, devices] : {std::pair{"spread", 2}, {"binpack", 1}, {"fragmentation", 1}}) {
    SupervisorConfig config = config_of("quota");
    config.policy.pools[0].fitting = fitting;
    LiveCluster cluster{config};
    cluster.join(gpu_host("a", 4));
    for (const char* name : {"u1", "u2"}) {
      submit(cluster, {.name = name, .milli = 500, .on_gpu = true});
      cluster.advance(1s);
    }
    DeviceSet used = 0;
    for (const auto& [subtask, run] : cluster.runs()) used |= run.devices;
    EXPECT_EQ(std::popcount(used), devices) << fitting;
  }
}

// Two halves share a device of each host: those of one host move, and leave it to a run of two devices.
TEST(LiveDevices, JobsWithPartsMoveForARunOfSeveralDevices) {
  for (const char* fitting : {"fragmentation", "binpack", "spread"}) {
    SupervisorConfig config = config_of("quota");
    config.policy.pools[0].fitting = fitting;
    config.policy.projects = {{.name = "p", .guaranteed_slots = 8, .guaranteed_gpu_slots = 8}};
    LiveCluster cluster{config};
    for (const char* host : {"a", "b"}) cluster.join(gpu_host(host, 2));
    for (const auto& [open, closed] : {std::pair{"a", "b"}, {"b", "a"}}) {
      ASSERT_TRUE(cluster.ask("drain", {closed}).has_value());
      for (const char* half : {"1", "2"})
        submit(cluster, {.name = std::string{open} + half, .project = "p", .milli = 500, .on_gpu = true});
      cluster.settle();
      ASSERT_TRUE(cluster.ask("undrain", {closed}).has_value());
    }
    const JobId pair = submit(cluster, {.name = "pair", .project = "p", .milli = 2000, .on_gpu = true});
    cluster.advance(5s);
    std::string shown;
    for (const auto& [subtask, run] : cluster.runs())
      shown += to_string(subtask.job) + " on " + cluster.name_of(run.worker) + ":" + std::to_string(run.devices) + " ";
    EXPECT_EQ(running(cluster, pair), 1U) << fitting << ": " << shown;
  }
}

TEST(LiveDevices, AMoreImportantRunGetsAllItsDevicesAtOnce) {
  SupervisorConfig config = config_of("priority");
  config.policy.pools[0].preemption = true;
  LiveCluster cluster{config};
  cluster.join(gpu_host("a", 4));
  const JobId low = submit(cluster, {.name = "low", .subtasks = 4, .milli = 1000, .on_gpu = true});
  cluster.settle();
  EXPECT_EQ(running(cluster, low), 4U);
  const JobId high = submit(cluster, {.name = "high", .milli = 3000, .on_gpu = true, .priority = 5});
  cluster.settle();
  EXPECT_EQ(running(cluster, high), 1U);
  EXPECT_EQ(running(cluster, low), 1U);
}

// Its work was tied to the host where it had been kept first, and waited there while others stood empty.
TEST(LiveDevices, AWideRunTakesWhicheverHostIsFreeAlthoughSomeHostsAreTooSmallForIt) {
  for (const char* preset : {"priority", "multifactor"})
    for (const char* free : {"a", "b", "c"}) {
      LiveCluster cluster{config_of(preset)};
      cluster.join(gpu_host("small", 2));
      for (const char* each : {"a", "b", "c"}) cluster.join(gpu_host(each, 4));
      const JobId singles = submit(cluster, {.name = "singles", .subtasks = 14, .milli = 1000, .on_gpu = true});
      cluster.settle();
      ASSERT_EQ(running(cluster, singles), 14U) << preset;
      const JobId wide = submit(cluster, {.name = "wide", .milli = 4000, .on_gpu = true});
      cluster.settle();
      EXPECT_EQ(running(cluster, wide), 0U) << preset;
      std::vector<SubtaskId> ends;
      for (const auto& [subtask, run] : cluster.runs())
        if (cluster.name_of(run.worker) == free) ends.push_back(subtask);
      for (const SubtaskId each : ends) cluster.end(each);
      cluster.settle();
      EXPECT_EQ(place_of(cluster, wide), free) << preset;
      EXPECT_TRUE(cluster.troubles().empty()) << preset;
    }
}

/// A job of one subtask with so many thousandths of devices, and as many of slots.
SubmitReply offer(LiveCluster& cluster, std::int64_t gpu) {
  JobSpec spec;
  spec.name = "gpu";
  Graph graph = GraphBuilder{}.sources(1).build();
  graph.templates[0].request.slots = MilliSlots{gpu};
  graph.templates[0].request.gpu = MilliGpu{gpu};
  return cluster.submit(spec, graph);
}

TEST(LiveDevices, WhereSlotsAreCountedAPartIsGivenByBandsOfOneDeviceOnly) {
  LiveCluster cluster{config_of("fair_share")};
  cluster.join(gpu_host("a", 2));
  const SubmitReply refused = offer(cluster, 500);
  EXPECT_NE(to_string(refused.refusal).find("a/gpus has several"), std::string::npos) << to_string(refused.refusal);
  cluster.join(gpu_worker("b", 1));
  const JobId part = offer(cluster, 500).job;
  cluster.settle();
  EXPECT_EQ(place_of(cluster, part), "b");
}

/// The devices of all runs of the job, a bit for each.
DeviceSet devices_of(const LiveCluster& cluster, JobId job) {
  DeviceSet devices = 0;
  for (const auto& [subtask, run] : cluster.runs())
    if (subtask.job == job) devices |= run.devices;
  return devices;
}

TEST(LiveDevices, PartsAndWholeDevicesOfOneHostAreKeptApart) {
  LiveCluster cluster{config_of("quota")};
  cluster.join(gpu_host("a", 4));
  const JobId parts = submit(cluster, {.name = "parts", .subtasks = 3, .milli = 500, .on_gpu = true});
  cluster.settle();
  const JobId pair = submit(cluster, {.name = "pair", .milli = 2000, .on_gpu = true});
  cluster.settle();
  const JobId more = submit(cluster, {.name = "more", .milli = 500, .on_gpu = true});
  cluster.settle();
  EXPECT_EQ(running(cluster, parts), 3U);
  EXPECT_EQ(running(cluster, pair), 1U);
  EXPECT_EQ(running(cluster, more), 1U);
  EXPECT_EQ(std::popcount(devices_of(cluster, parts)), 2);
  EXPECT_EQ(devices_of(cluster, parts) & devices_of(cluster, pair), 0);
  EXPECT_EQ(devices_of(cluster, more) & ~devices_of(cluster, parts), 0) << "on the rest of the second";
  EXPECT_EQ(preemptions(cluster), 0U);
  EXPECT_TRUE(cluster.troubles().empty());
}

// D1 of issue 23, on one host: halves that are apart are moved together, once, for a whole device.
TEST(LiveDevices, OneMoveFreesAWholeDeviceOfAHost) {
  SupervisorConfig config = config_of("quota");
  config.policy.projects.push_back({.name = "a", .guaranteed_gpu_slots = 1});
  config.policy.projects.push_back({.name = "b", .guaranteed_gpu_slots = 1});
  LiveCluster cluster{config};
  cluster.join(gpu_host("w1", 2));
  std::vector<JobId> halves;
  for (const char* name : {"first", "second", "third", "fourth"}) {
    halves.push_back(submit(cluster, {.name = name, .project = "a", .milli = 500, .on_gpu = true}));
    cluster.advance(1s);
  }
  ASSERT_EQ(cluster.runs().size(), 4U);
  ASSERT_EQ(devices_of(cluster, halves[0]), devices_of(cluster, halves[1]));
  cluster.end({halves[1], SubtaskIndex{0}});
  cluster.end({halves[2], SubtaskIndex{0}});
  cluster.advance(1s);
  const std::uint64_t before = preemptions(cluster);
  const JobId whole = submit(cluster, {.name = "whole", .project = "b", .on_gpu = true});
  cluster.advance(30s);
  EXPECT_EQ(running(cluster, whole), 1U);
  EXPECT_EQ(running(cluster, halves[0]), 1U);
  EXPECT_EQ(running(cluster, halves[3]), 1U);
  EXPECT_EQ(devices_of(cluster, halves[0]), devices_of(cluster, halves[3]));
  EXPECT_EQ(preemptions(cluster) - before, 1U);
}

// The fuller device is being left for a whole run: a part that would fit there goes where the plan has it.
TEST(LiveDevices, APartKeepsOffADeviceThatIsLeftForAWholeRun) {
  SupervisorConfig config = config_of("quota");
  config.policy.projects.push_back({.name = "a", .guaranteed_gpu_slots = 1});
  config.policy.projects.push_back({.name = "b", .guaranteed_gpu_slots = 1});
  LiveCluster cluster{config};
  cluster.join(gpu_host("w1", 2));
  const JobId older = submit(cluster, {.name = "older", .project = "a", .milli = 500, .on_gpu = true});
  cluster.advance(1s);
  const JobId fuller = submit(cluster, {.name = "fuller", .project = "a", .milli = 600, .on_gpu = true});
  cluster.advance(1s);
  ASSERT_EQ(devices_of(cluster, older) & devices_of(cluster, fuller), 0);
  cluster.set_on_stop(OnStop::Stay);
  const JobId whole = submit(cluster, {.name = "whole", .project = "b", .on_gpu = true});
  cluster.advance(300ms);
  ASSERT_EQ(preemptions(cluster), 1U) << "the younger leaves";
  const JobId part = submit(cluster, {.name = "part", .project = "a", .milli = 400, .on_gpu = true});
  cluster.advance(300ms);
  EXPECT_EQ(devices_of(cluster, part), devices_of(cluster, older));
  EXPECT_EQ(running(cluster, whole), 0U);
  cluster.advance(60s);
  EXPECT_EQ(running(cluster, whole), 1U);
  EXPECT_EQ(running(cluster, part), 1U);
  EXPECT_EQ(preemptions(cluster), 1U);
}

// The next band in its place may have other devices.
TEST(LiveDevices, OfAHostThatIsLostNoDeviceIsRemembered) {
  LiveCluster cluster{config_of("quota")};
  const WorkerId lost = cluster.join(gpu_host("a", 4));
  const JobId parts = submit(cluster, {.name = "parts", .subtasks = 7, .milli = 500, .on_gpu = true});
  const JobId other = submit(cluster, {.name = "other", .milli = 500, .on_gpu = true});
  cluster.settle();
  ASSERT_EQ(running(cluster, parts) + running(cluster, other), 8U);
  const auto told = [&] { return cluster.core().find_job(parts)->shares->devices->size(); };
  ASSERT_EQ(told(), 1U);
  cluster.lose(lost);
  EXPECT_EQ(told(), 0U);
  cluster.join(gpu_host("b", 2));
  cluster.settle();
  EXPECT_EQ(running(cluster, parts) + running(cluster, other), 4U);
}

TEST(LiveDevices, AnotherPolicyIsInForceWithoutARestart) {
  LiveCluster cluster{config_of("quota")};
  cluster.join(gpu_host("a", 2));
  const JobId parts = submit(cluster, {.name = "parts", .subtasks = 2, .milli = 500, .on_gpu = true});
  const JobId whole = submit(cluster, {.name = "whole", .on_gpu = true});
  cluster.settle();
  EXPECT_EQ(running(cluster, parts), 2U);
  ASSERT_TRUE(cluster.reload(config_of("fair_share").policy).has_value());
  cluster.settle();
  EXPECT_EQ(running(cluster, whole), 1U);
  EXPECT_FALSE(offer(cluster, 500).job.valid());
  ASSERT_TRUE(cluster.reload(PolicyConfig{}).has_value());
  cluster.settle();
  const JobId later = offer(cluster, 500).job;
  ASSERT_TRUE(later.valid());
  cluster.settle();
  EXPECT_EQ(running(cluster, parts) + running(cluster, later), 2U);
}

// Whatever comes and goes, no device is given twice; and in the end what fits runs, after few moves.
TEST(LiveDevices, RandomPartsAndPairsAllRunInTheEnd) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng{seed};
    LiveCluster cluster{config_of("quota")};
    for (const char* name : {"a", "b"}) cluster.join(gpu_host(name, rng.between(2, 6)));
    std::vector<std::pair<JobId, std::int64_t>> jobs;
    std::map<std::pair<std::string, int>, std::int64_t> held;
    const auto check = [&] {
      held.clear();
      for (const auto& [subtask, run] : cluster.runs()) {
        const auto job =
            std::find_if(jobs.begin(), jobs.end(), [&](const auto& each) { return each.first == subtask.job; });
        ASSERT_NE(job, jobs.end());
        ASSERT_EQ(std::popcount(run.devices), std::max<std::int64_t>(job->second / 1000, 1));
        for (int i = 0; i < 16; ++i)
          if ((run.devices >> i & 1) != 0)
            held[{cluster.name_of(run.worker), i}] += std::min<std::int64_t>(job->second, 1000);
      }
      for (const auto& [device, milli] : held) ASSERT_LE(milli, 1000) << "seed " << seed;
    };
    for (int step = 0; step < 30; ++step) {
      if (rng.chance(6, 10) || cluster.runs().empty()) {
        static constexpr std::int64_t kSizes[] = {250, 500, 500, 1000, 2000};
        const std::int64_t milli = kSizes[rng.below(std::size(kSizes))];
        jobs.emplace_back(submit(cluster, {.name = "j" + std::to_string(jobs.size()),
                                           .subtasks = static_cast<std::uint32_t>(rng.between(1, 3)),
                                           .milli = milli,
                                           .on_gpu = true}),
                          milli);
      } else {
        auto run = cluster.runs().begin();
        std::advance(run, rng.below(cluster.runs().size()));
        cluster.end(run->first);
      }
      cluster.advance(rng.chance(1, 2) ? Duration{50ms} : Duration{1s});
      check();
    }
    // All end, oldest first, and each has had its turn.
    for (int round = 0; round < 400 && !cluster.runs().empty(); ++round) {
      cluster.end(cluster.runs().begin()->first);
      cluster.advance(500ms);
      check();
    }
    EXPECT_TRUE(cluster.runs().empty()) << "seed " << seed;
    for (const auto& [job, milli] : jobs)
      EXPECT_EQ(cluster.core().find_job(job)->status.state, JobState::Succeeded)
          << "seed " << seed << ": " << to_string(job) << " of " << milli;
    EXPECT_TRUE(cluster.troubles().empty()) << "seed " << seed;
    EXPECT_LE(preemptions(cluster), 20U) << "seed " << seed;
  }
}

TEST(LiveDevices, MoreThanAHostHasIsRefusedWithTheWayOut) {
  LiveCluster cluster{config_of("fair_share")};
  cluster.join(gpu_worker("a", 4));
  const SubmitReply refused = offer(cluster, 2000);
  EXPECT_EQ(refused.refusal.code, ErrorCode::RequestTooLarge);
  EXPECT_NE(refused.refusal.remedy.find("--gpus-together"), std::string::npos) << to_string(refused.refusal);
  EXPECT_NE(to_string(offer(cluster, 1500).refusal).find("1 to 16 whole ones"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
