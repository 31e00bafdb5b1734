#include "supervisor/core/policy/policy_view.hpp"

#include <gtest/gtest.h>

#include "supervisor/core/job_indices.hpp"
#include "supervisor/core/jobs/job_table.hpp"
#include "supervisor/core/placement/eligibility.hpp"
#include "supervisor/core/pool_parts.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/pool_fallback_harness.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kFirst = 0;   ///< A pool of quotas.
constexpr std::uint32_t kSecond = 1;  ///< A pool by priority.
constexpr std::uint32_t kRest = 2;    ///< A pool of fair shares.

/// Three pools. The first one has two CPU bands, of four slots and of two, and a device; each of the others has a CPU
/// band of two slots.
class PolicyViewTest : public ::testing::Test {
 protected:
  PolicyViewTest() {
    policy.config.pools = {{.name = "first", .preset = "quota", .workers = {"first-*"}},
                           {.name = "second", .preset = "priority", .workers = {"second-*"}},
                           {.name = "rest", .preset = "fair_share"}};
    policy.config.projects = {{.name = "research", .is_department = true},
                              {.name = "vision", .department = "research", .pools = {"second", "first"}}};
    take_over();
    large = add("first-1", BandKind::Cpu, 4, {"a100"});
    small = add("first-2", BandKind::Cpu, 2);
    device = add("first-3", BandKind::Gpu, 8);
    second = add("second-1", BandKind::Cpu, 2);
    rest = add("elsewhere", BandKind::Cpu, 2);
  }
  /// After a change of the configuration.
  void take_over() {
    policy.tree = project_tree(policy.config);
    policy.parts = parts_in_force(policy.config);
    policy.contended.assign(policy.config.pools.size() * kBandKinds, false);
  }
  BandSlot add(const std::string& name, BandKind kind, std::int64_t slots, std::vector<std::string> labels = {}) {
    Register description;
    description.name = name;
    description.labels = std::move(labels);
    BandDescription& band = description.bands.emplace_back();
    band.kind = kind;
    band.capacity.slots = kOneSlot * slots;
    const WorkerId id{workers.worker_slots() + 1};
    const BandSlot slot = workers[workers.add(id, Incarnation{id.value()}, description)].bands.front();
    policy.pool_of_band.push_back(static_cast<std::uint32_t>(pool_of_worker(policy.config, name)));
    return slot;
  }
  /// A job without a project; its waiting subtasks have tentative bands in its pool.
  Job& job_in(std::uint32_t pool, const JobPolicy& wishes = {}, Duration grace = Duration{0}) {
    const JobId id = jobs.next();
    Job& job = jobs.add(id);
    job.id = id;
    job.spec.policy = wishes;
    job.spec.grace = grace;
    job.graph.shape = shape.get();
    job.graph.shared = &kept;
    job.shares = std::make_unique<JobShares>();
    job.shares->pool.position = job.shares->pool.placed = pool;
    job.shares->project = static_cast<std::uint32_t>(policy.config.projects.size());
    job.shares->position = view.first_position(job);
    indices.active.insert(id, 0);
    return job;
  }
  using Pools = std::vector<std::uint32_t>;

  SharedGraph kept = [] {
    SharedGraph empty;
    empty.eligible.resize(1);
    return empty;
  }();
  JobTable jobs;
  WorkerTable workers;
  Eligibility eligibility{workers};
  PolicyState policy;
  JobIndices indices;
  PolicyView view{jobs, workers, eligibility, policy, indices};
  std::unique_ptr<GraphShape> shape = shape_of(GraphBuilder{}.sources(2).build());
  BandSlot large, small, device, second, rest;
};

TEST_F(PolicyViewTest, PoolsAreThoseOfTheJobElseOfItsProjectElseTheDefaultOne) {
  EXPECT_EQ(view.pools_of({}), Pools{kRest});
  EXPECT_EQ(view.pools_of({.project = "vision"}), (Pools{kSecond, kFirst}));
  EXPECT_EQ(view.pools_of({.project = "vision", .pools = {"nowhere", "first"}}), Pools{kFirst});
  EXPECT_EQ(view.pools_of({.project = "vision", .pools = {"nowhere"}}), (Pools{kSecond, kFirst}));
  EXPECT_EQ(view.pools_of({.project = "unknown"}), Pools{kRest});
}

// Spec: policy-determined 9.1.
TEST_F(PolicyViewTest, AJobWithoutAWholeSlotGoesToThePoolForSuchJobsUnlessItOrItsProjectNamesOne) {
  GraphBuilder light;
  light.sources(1).template_at(0).request.slots = MilliSlots{999};
  const std::unique_ptr<GraphShape> without = shape_of(light.build());
  const auto routed = [&](JobPolicy wishes, const GraphShape& graph) {
    JobSpec spec;
    spec.policy = std::move(wishes);
    view.route_light(spec, graph);
    return spec.policy.pools;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(routed({}, *without), Names{}) << "no pool is for them";
  policy.config.pools[1].light = true;
  EXPECT_EQ(routed({}, *without), Names{"second"});
  EXPECT_EQ(routed({}, *shape), Names{});
  EXPECT_EQ(routed({.pools = {"first"}}, *without), Names{"first"});
  EXPECT_EQ(routed({.project = "vision"}, *without), Names{});
}

JobSpec wanting(JobPolicy policy) {
  JobSpec spec;
  spec.policy = std::move(policy);
  return spec;
}

TEST_F(PolicyViewTest, AReachIsAPoolWithTheLabelsOfTheJob) {
  const std::vector<Reach> reaches = view.reaches_of(wanting({.pools = {"first", "rest"}, .labels = {"a100"}}));
  ASSERT_EQ(reaches.size(), 2U);
  EXPECT_TRUE(view.is_in(reaches[0], large));
  EXPECT_FALSE(view.is_in(reaches[0], small)) << "no such label";
  EXPECT_FALSE(view.is_in(reaches[1], large)) << "another pool";
  EXPECT_TRUE(view.has_workers(reaches[0]));
  EXPECT_FALSE(view.has_workers(reaches[1]));
  workers.remove(workers[large].worker);
  EXPECT_FALSE(view.has_workers(reaches[0]));
}

TEST_F(PolicyViewTest, WithoutAPolicyAllBandsAreInReachAndPrioritiesAreAnyNumbers) {
  policy.config.pools[kRest].priorities = "1-99";
  EXPECT_EQ(view.scale_of({}), PriorityScale{policy.config.pools[kRest]});
  policy.config.pools.clear();
  EXPECT_FALSE(view.policed());
  EXPECT_EQ(view.scale_of({}), PriorityScale{});
  const std::vector<Reach> reaches = view.reaches_of(wanting({.pools = {"first", "rest"}}));
  ASSERT_EQ(reaches.size(), 1U);
  for (const BandSlot band : {large, small, device, second, rest}) EXPECT_TRUE(view.is_in(reaches[0], band));
}

TEST_F(PolicyViewTest, OnlyBandsThatAJobMayUseCountForIt) {
  Job& job = job_in(kFirst);
  EXPECT_TRUE(view.may_use(job, small));
  EXPECT_FALSE(view.may_use(job, second));
  EXPECT_EQ(view.capacity_for(job, BandKind::Cpu, 77), 77U) << "all of its pool, as the caller has it";
  job.place.label_limits = {{"it", {"a100"}}};
  EXPECT_TRUE(view.may_use(job, large));
  EXPECT_FALSE(view.may_use(job, small));
  EXPECT_EQ(view.capacity_for(job, BandKind::Cpu, 77), 4000U);
  EXPECT_EQ(view.capacity_for(job, BandKind::Gpu, 77), 0U);
  job.shares.reset();
  job.place.label_limits.clear();
  EXPECT_TRUE(view.may_use(job, second)) << "no policy holds it in a pool";
}

TEST_F(PolicyViewTest, AJobWithoutTentativeBandsIsAllowedBandsThatFitARequest) {
  Job& job = job_in(kFirst);
  policy.pass.emplace().bands = {rest, device, small, large};
  EXPECT_EQ(view.bands_allowed(job, BandKind::Cpu), Pools{}) << "any";
  job.shares->pool.placed = kAnyPool;
  EXPECT_EQ(view.bands_allowed(job, BandKind::Cpu), Pools{}) << "each of them fits";
  GraphBuilder builder;
  builder.template_at(0).request.slots = kOneSlot * 3;
  shape = shape_of(builder.sources(1).build());
  job.graph.shape = shape.get();
  kept.eligible = std::vector<EligibleBands>(1);
  EXPECT_EQ(view.bands_allowed(job, BandKind::Cpu), Pools{3}) << "the large one, by its position in the pass";
  job.shares->pool.placed = kFirst;
  EXPECT_EQ(view.bands_allowed(job, BandKind::Cpu), Pools{3}) << "also with tentative bands";
  job.place.label_limits = {{"it", {"v100"}}};
  EXPECT_EQ(view.bands_allowed(job, BandKind::Cpu), Pools{policy::kNone});
}

TEST_F(PolicyViewTest, AGraceIsThatOfTheJobUpToTheMostOfTheSite) {
  policy.config.grace = 10s;
  policy.config.grace_max = 60s;
  EXPECT_EQ(view.grace_of(job_in(kFirst)), 10s);
  EXPECT_EQ(view.grace_of(job_in(kFirst, {}, 3s)), 3s);
  EXPECT_EQ(view.longest_grace_in(kFirst), 10s);
  job_in(kFirst, {}, 20s);
  EXPECT_EQ(view.grace_of(job_in(kSecond, {}, 90s)), 60s) << "the limit may have been lowered since";
  EXPECT_EQ(view.longest_grace_in(kFirst), 20s);
  EXPECT_EQ(view.longest_grace_in(kSecond), 60s);
}

TEST_F(PolicyViewTest, LargerSumsGoFirstThenPrioritiesThenPositionsWhereThePoolCountsThem) {
  Job& one = job_in(kSecond);
  Job& other = job_in(kSecond);
  EXPECT_TRUE(view.goes_before(one, other)) << "the earlier one";
  EXPECT_FALSE(view.goes_before(other, one));
  other.spec.priority = 1;
  EXPECT_TRUE(view.goes_before(other, one));
  one.shares->kinds.edit(BandKind::Gpu).why.priority = 5;
  EXPECT_TRUE(view.goes_before(one, other));
  one.shares->kinds.edit(BandKind::Gpu).why.priority = 0;
  one.shares->pool.position = other.shares->pool.position = kRest;
  EXPECT_FALSE(view.goes_before(one, other)) << "neither counts where slots are shared fairly";
  EXPECT_FALSE(view.goes_before(other, one));
  one.shares->pool.position = other.shares->pool.position = kFirst;
  one.spec.policy.kind = JobKind::Interactive;
  EXPECT_TRUE(view.goes_before(one, other)) << "a person waits for it";
}

TEST_F(PolicyViewTest, WhereNoJobWaitsOnlyCappedJobsAreLimited) {
  Job& job = job_in(kFirst);
  job.shares->project = static_cast<std::uint32_t>(find_project(policy.config, "vision"));
  EXPECT_FALSE(view.is_limited(job, BandKind::Cpu));
  EXPECT_TRUE(view.is_limited(job_in(kFirst, {.slots_max = 2}), BandKind::Cpu));
  EXPECT_TRUE(view.is_limited(job_in(kFirst, {.gang = 2}), BandKind::Cpu));
  policy.config.projects[0].gpu_slots_max = 4;
  EXPECT_FALSE(view.is_limited(job, BandKind::Cpu));
  EXPECT_TRUE(view.is_limited(job, BandKind::Gpu)) << "its department has a limit";
  job.shares->pool.position = kSecond;
  EXPECT_FALSE(view.is_limited(job, BandKind::Gpu)) << "quotas do not count there";
  policy.contended[domain_of(kSecond, BandKind::Gpu)] = true;
  EXPECT_TRUE(view.is_limited(job, BandKind::Gpu));
  EXPECT_FALSE(view.is_limited(job, BandKind::Cpu));
}

TEST(UserLimits, AJobRunsOnWorkersThatRunTheJobsOfItsUser) {
  for (const bool policy : {false, true}) {
    PoolFallbackHarness it{policy ? policed("fair_share_max_min") : SupervisorConfig{}};
    it.cluster.join({.slots = 4});
    JobSpec spec;
    spec.owner = "bob";
    it.cluster.submit(GraphBuilder{}.sources(6).build(), spec);
    if (policy) it.cluster.settle(3);
    EXPECT_FALSE(it.cluster.assigned().empty());
    // The job is there already when the first worker comes that does not run jobs of its user.
    it.cluster.join({.slots = 4, .users = {"ada", "eve"}});
    it.cluster.join({.slots = 4, .users = {"ada", "bob"}});
    spec.name = "later";
    it.cluster.submit(GraphBuilder{}.sources(6).build(), spec);
    if (policy) it.cluster.settle(3);
    const Lines given = it.cluster.assigned();
    EXPECT_FALSE(given.empty());
    for (const std::string& line : given) EXPECT_EQ(line.find("to w2"), std::string::npos) << line;
  }
}

TEST(UserLimits, AUserWhoseJobsNoWorkerRunsIsToldSo) {
  SupervisorHarness cluster;
  cluster.join({.users = {"ada"}});
  JobSpec spec;
  spec.owner = "bob";
  cluster.submit(GraphBuilder{}.sources(1).build(), spec);
  EXPECT_NE(
      to_string(cluster.refusal())
          .find("runs on workers that run jobs of user 'bob' only, and no worker does (`accept_users` of [worker])"),
      std::string::npos)
      << to_string(cluster.refusal());
}

}  // namespace
}  // namespace penstock::supervisor
