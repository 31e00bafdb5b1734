// Random clusters of real processes: the rules that random clusters of the cores in virtual time keep
// (tests/conformance/live_random_test.cpp) are kept by programs on hosts, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>

#include "common/base/rng.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"
#include "tests/support/fair_shares.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kSeeds = 6;  ///< Of each preset; five presets make a sample of 30.

struct DrawnProject {
  std::string name;
  std::int64_t weight = 1;
  std::int64_t guaranteed = 0;
};

struct DrawnJob {
  std::string name;
  std::uint32_t subtasks = 1;
  std::int32_t priority = 0;
  std::int64_t weight = 1;
  std::string project;
};

/// Single subtasks of one slot each; as the plain clusters of the test in virtual time.
struct DrawnCluster {
  DrawnCluster(std::uint64_t seed, const std::string& wanted_preset) : preset(wanted_preset) {
    Rng rng{seed};
    const auto draw = [&](std::uint64_t below) { return static_cast<std::int64_t>(rng.below(below)); };
    for (std::int64_t count = 1 + draw(2); count > 0; --count) slots_of.push_back(1 + draw(5));
    if (preset == "quota")
      for (std::int64_t count = 1 + draw(3), i = 0; i < count; ++i)
        projects.push_back({"p" + std::to_string(i), 1 + draw(3), draw(3)});
    for (std::int64_t count = 2 + draw(4), i = 0; i < count; ++i) {
      DrawnJob& job = jobs.emplace_back();
      job.name = "j" + std::to_string(i);
      job.subtasks = static_cast<std::uint32_t>(1 + draw(8));
      job.priority = static_cast<std::int32_t>(draw(3));
      job.weight = 1 + draw(3);
      if (!projects.empty()) job.project = projects[static_cast<std::size_t>(draw(projects.size()))].name;
    }
  }

  std::string configuration() const {
    std::string text = "[policy]\nperiod = \"50ms\"\n[[policy.pool]]\nname = \"all\"\npreset = \"" + preset + "\"\n";
    if (preset == "priority") text += "preemption = true\n";
    for (const DrawnProject& project : projects)
      text += "[[policy.project]]\nname = \"" + project.name + "\"\nweight = " + std::to_string(project.weight) +
              "\nguaranteed_slots = " + std::to_string(project.guaranteed) + "\n";
    return text;
  }
  std::int64_t slots() const { return std::accumulate(slots_of.begin(), slots_of.end(), std::int64_t{0}); }
  std::int64_t wanted() const {
    std::int64_t sum = 0;
    for (const DrawnJob& job : jobs) sum += job.subtasks;
    return sum;
  }

  const std::string preset;
  std::vector<std::int64_t> slots_of;
  std::vector<DrawnProject> projects;
  std::vector<DrawnJob> jobs;
};

/// Programs that say in a directory that they run, until they are asked to leave.
class Programs {
 public:
  Graph of(const DrawnJob& job) const {
    Graph graph;
    Template program;
    program.runner = RunnerKind::Command;
    program.program = "sh";
    program.arguments = {"-c", "f=" + scratch_.at(job.name) +
                                   ".$$; trap 'rm -f $f; exit 1' TERM; touch $f; while :; do sleep 0.1; done"};
    graph.templates = {program};
    graph.template_of.assign(job.subtasks, 0);
    graph.input_offsets.assign(job.subtasks + std::size_t{1}, 0);
    return graph;
  }
  /// The files of those that run.
  std::set<std::string> running() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{scratch_.path()})
      names.insert(entry.path().filename().string());
    return names;
  }
  static std::int64_t of_job(const std::set<std::string>& running, const std::string& job) {
    return std::count_if(running.begin(), running.end(),
                         [&](const std::string& name) { return name.starts_with(job + "."); });
  }

 private:
  const ScratchDirectory scratch_;
};

/// The broken rule; empty: none is.
std::string broken_rule(const DrawnCluster& cluster, const std::set<std::string>& running) {
  const std::int64_t most = std::min(cluster.wanted(), cluster.slots());
  if (std::ssize(running) != most)
    return std::to_string(running.size()) + " programs run, and " + std::to_string(most) + " could";
  std::vector<std::int64_t> runs;
  for (const DrawnJob& job : cluster.jobs) runs.push_back(Programs::of_job(running, job.name));
  if (cluster.preset == "fair_share" && cluster.slots() >= std::ssize(cluster.jobs)) {
    std::vector<WeighedDemand> demands;
    for (const DrawnJob& job : cluster.jobs) demands.push_back({job.subtasks, static_cast<double>(job.weight)});
    const std::vector<double> shares = shares_by_demand(demands, cluster.slots());
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (std::abs(static_cast<double>(runs[i]) - shares[i]) > 1.0)
        return cluster.jobs[i].name + " has " + std::to_string(runs[i]) + " slots of " + std::to_string(shares[i]);
  }
  if (cluster.preset == "priority")
    for (std::size_t i = 0; i < runs.size(); ++i)
      for (std::size_t other = 0; other < runs.size(); ++other)
        if (runs[i] < cluster.jobs[i].subtasks && runs[other] > 0 &&
            cluster.jobs[other].priority < cluster.jobs[i].priority)
          return cluster.jobs[i].name + " waits for " + cluster.jobs[other].name;
  std::int64_t guaranteed = 0;
  for (const DrawnProject& project : cluster.projects) guaranteed += project.guaranteed;
  for (const DrawnProject& project : cluster.projects) {
    std::int64_t here = 0;
    std::int64_t wanted = 0;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (cluster.jobs[i].project == project.name) here += runs[i], wanted += cluster.jobs[i].subtasks;
    if (guaranteed <= cluster.slots() && here < std::min(wanted, project.guaranteed))
      return project.name + " has " + std::to_string(here) + " slots of " + std::to_string(project.guaranteed);
  }
  return {};
}

class PolicySample : public ::testing::TestWithParam<const char*> {};

/// The rules come to hold, and then, while no job comes or goes, no program starts or leaves for ten passes.
void expect_rules(const DrawnCluster& drawn, const std::string& which) {
  const ScratchDirectory scratch;
  const Programs programs;
  ClusterProcesses cluster{{"--config", scratch.write("policy.toml", drawn.configuration()), "--no-state"}};
  for (std::size_t i = 0; i < drawn.slots_of.size(); ++i)
    cluster.start_worker("w" + std::to_string(i + 1), {"--slots", std::to_string(drawn.slots_of[i])});
  ASSERT_TRUE(cluster.wait_for_workers(drawn.slots_of.size())) << which;
  const auto session = cluster.connect();
  for (const DrawnJob& job : drawn.jobs) {
    JobSpec spec = named(job.name);
    spec.keep = Keep::Nothing;
    spec.priority = job.priority;
    spec.policy.weight = job.weight * 1000;
    spec.policy.project = job.project;
    const auto submitted = session->submit(spec, programs.of(job));
    ASSERT_TRUE(submitted.has_value()) << which << ": " << to_string(submitted.error());
  }
  const auto passes = [&] {
    const Result<Value> pools = session->ask("pools", {});
    const bool said = pools.has_value() && pools->list() != nullptr && !pools->list()->empty();
    const std::int64_t* count = said ? pools->list()->front()["passes"].integer() : nullptr;
    return count == nullptr ? std::int64_t{0} : *count;
  };
  std::set<std::string> before;
  std::int64_t since = 0;
  int polls = 0;  // A cluster at rest may need no passes.
  std::string broken;
  const bool rests = wait_until([&] {
    const std::set<std::string> now = programs.running();
    broken = broken_rule(drawn, now);
    const std::int64_t count = passes();
    if (!broken.empty() || now != before) before = now, since = count, polls = 0;
    return broken.empty() && (count >= since + 10 || ++polls >= 50);
  });
  EXPECT_TRUE(rests) << which << ": " << broken << "\n" << cluster.log_of("supervisor");
}

TEST_P(PolicySample, ARandomClusterKeepsTheRulesOfItsPreset) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed)
    expect_rules(DrawnCluster{seed, GetParam()}, std::string{GetParam()} + ", seed " + std::to_string(seed));
}

INSTANTIATE_TEST_SUITE_P(Presets, PolicySample,
                         ::testing::Values("fair_share", "fair_share_max_min", "priority", "quota", "multifactor"),
                         [](const auto& preset) { return std::string{preset.param}; });

}  // namespace
}  // namespace penstock
