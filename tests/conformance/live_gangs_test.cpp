// Gangs of which the groups stay together, on the production cores in virtual time (docs/policy.md, Gangs in groups).
#include <map>
#include <string>
#include <vector>

#include "common/base/rng.hpp"
#include "tests/conformance/live_policy.hpp"
#include "tests/conformance/live_seeds.hpp"

namespace penstock::tools {
namespace {

const std::vector<std::string> kPresets{"fair_share", "fair_share_max_min", "priority", "quota", "multifactor"};

std::map<std::string, std::uint32_t> by_host(const LiveCluster& cluster, JobId job) {
  std::map<std::string, std::uint32_t> runs;
  for (const auto& [subtask, run] : cluster.runs())
    if (subtask.job == job) ++runs[cluster.name_of(run.worker)];
  return runs;
}

// On the first host one slot is free when the gang comes, the second one holds both groups.
TEST(LiveGangs, EachGroupIsOnOneHost) {
  for (const std::string& preset : kPresets) {
    SupervisorConfig config = config_of(preset);
    config.policy.projects = {{.name = "p", .guaranteed_slots = 9}};
    LiveCluster cluster{config};
    cluster.join(cpu_worker("a", 4));
    cluster.join(cpu_worker("b", 5));
    const Wish busy{
        .name = "busy", .subtasks = 3, .project = "p", .gang = 3, .kind = JobKind::Interactive, .together = "host"};
    const JobId first = submit(cluster, busy);
    cluster.settle();
    const std::map<std::string, std::uint32_t> taken = by_host(cluster, first);
    ASSERT_EQ(taken, (std::map<std::string, std::uint32_t>{{"a", 3}})) << preset << ": the fullest that holds it";
    const JobId gang = submit(
        cluster, {.name = "gang", .subtasks = 4, .project = "p", .gang = 4, .together = "host", .gang_groups = 2});
    cluster.settle();
    EXPECT_EQ(by_host(cluster, gang), (std::map<std::string, std::uint32_t>{{"b", 4}})) << preset;
    EXPECT_TRUE(cluster.troubles().empty()) << preset;
  }
}

/// Hosts of several sizes; single subtasks, and gangs in groups that each host of some number could hold.
class RandomGangs {
 public:
  RandomGangs(std::uint64_t seed, const std::string& preset) : rng_{seed}, cluster_{config_of(preset)} {
    for (std::int64_t host = rng_.between(2, 5); host > 0; --host)
      cluster_.join(cpu_worker("h" + std::to_string(host), rng_.between(2, 6)));
    for (std::int64_t job = rng_.between(2, 7); job > 0; --job) draw(job);
  }

  /// A gang of which a group is on several hosts; none.
  JobId torn() const {
    for (const auto& [job, size] : groups_) {
      const std::map<std::string, std::uint32_t> runs = by_host(cluster_, job);
      std::uint32_t all = 0;
      bool whole = true;
      for (const auto& [host, count] : runs) all += count, whole = whole && count % size == 0;
      if (all > 0 && !whole) return job;
    }
    return JobId::none();
  }
  /// Ends a job that runs as a whole; false: none runs.
  bool end_one() {
    if (cluster_.runs().empty()) return false;
    const JobId job = cluster_.runs().begin()->first.job;
    std::vector<SubtaskId> running;
    for (const auto& [subtask, run] : cluster_.runs())
      if (subtask.job == job) running.push_back(subtask);
    for (const SubtaskId subtask : running) cluster_.end(subtask);
    left_ -= running.size();
    return true;
  }
  LiveCluster& live() { return cluster_; }
  std::size_t gangs() const { return groups_.size(); }
  std::size_t left() const { return left_; }

 private:
  void draw(std::int64_t number) {
    JobSpec spec;
    spec.name = "j" + std::to_string(number);
    spec.keep = Keep::Nothing;
    spec.priority = static_cast<std::int32_t>(rng_.between(0, 2));
    auto subtasks = static_cast<std::uint32_t>(rng_.between(1, 4));
    if (rng_.chance(2, 3)) {
      const auto groups = static_cast<std::uint32_t>(rng_.between(2, 4));
      const auto size = static_cast<std::uint32_t>(rng_.between(1, 4));
      spec.policy.gang = subtasks = groups * size;
      spec.policy.together = "host";
      spec.policy.gang_groups = groups;
    }
    const SubmitReply reply = cluster_.submit(spec, GraphBuilder{}.sources(subtasks).build());
    if (reply.job.valid()) left_ += subtasks;
    if (reply.job.valid() && spec.policy.gang > 0) groups_[reply.job] = spec.policy.group_slots();
    if (rng_.chance(1, 2)) cluster_.settle();
  }

  Rng rng_;
  LiveCluster cluster_;
  std::map<JobId, std::uint32_t> groups_;  ///< The slots of one group.
  std::size_t left_ = 0;                   ///< Subtasks that have not ended.
};

TEST(LiveGangs, RandomGangsInGroupsAllRunInTheEndAndNoneIsTorn) {
  std::size_t gangs = 0;
  for (const std::string& preset : kPresets)
    for (const std::uint64_t seed : live_seeds(100)) {
      RandomGangs random{seed, preset};
      gangs += random.gangs();
      for (int round = 0; round < 60; ++round) {
        random.live().advance(20s);
        ASSERT_FALSE(random.torn().valid()) << preset << " seed " << seed << ": " << to_string(random.torn());
        if (!random.end_one()) break;
      }
      ASSERT_EQ(random.left(), 0U) << preset << " seed " << seed << ": a job starves";
      ASSERT_TRUE(random.live().troubles().empty()) << preset << " seed " << seed;
    }
  EXPECT_GT(gangs, 100U);
}

}  // namespace
}  // namespace penstock::tools
