// Quotas over random clusters at rest: each project has what it is entitled to, and none stands in the way of another.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>

#include "supervisor/policy/quota_pass.hpp"
#include "supervisor/policy/sharing/reclaim_rules.hpp"
#include "tests/property/supervisor/policy/random_cluster.hpp"

namespace penstock::policy {
namespace {

constexpr int kPassesMax = 40;

/// None where passes have not come to rest: that they do is a property of its own (`quota_policy_property_test.cpp`).
std::optional<PolicyBuilder> at_rest(Rng& rng, Shapes shapes) {
  PolicyBuilder builder = random_cluster(rng, shapes);
  const PolicyEngine engine{{parts_named("quota")}};
  for (int pass = 0; pass < kPassesMax; ++pass) {
    if (pass < 4) add_jobs(builder, rng, shapes);
    const Plan plan = engine.pass(builder.snapshot);
    builder.carry_out(plan);
    builder.keep_promises(plan);
    if (pass >= 4 && plan.starts.empty() && plan.preemptions.empty() && plan.reservations.empty()) return builder;
  }
  return std::nullopt;
}

bool within_guarantee(const Owner& owner, const Resources& more) {
  for (std::size_t resource = 0; resource < kResources; ++resource)
    if (!at_most(owner.of[resource].allocated + more.of(resource), owner.of[resource].guaranteed)) return false;
  return true;
}

bool all_within_guarantee(const std::vector<Owner>& owners, std::uint32_t project, const Resources& more) {
  for (std::uint32_t at = project; at != kNone; at = owners[at].parent)
    if (!within_guarantee(owners[at], more)) return false;
  return true;
}

/// No project runs beyond its guarantee on resources that another one waits for within its own: taking away what such a
/// project would lose next of any one job, and nothing else, makes room for no job that its own project and departments
/// have guaranteed.
void nobody_is_in_the_way(std::uint64_t seed, Shapes shapes) {
  Rng rng{seed};
  const std::optional<PolicyBuilder> rested = at_rest(rng, shapes);
  if (!rested) return;
  const PolicyBuilder& builder = *rested;
  const Parts parts = parts_named("quota");
  QuotaPass pass{builder.snapshot, 0, parts};
  const std::vector<Owner> owners = pass.trial().owners();
  for (const std::uint32_t waiting : pass.candidates()) {
    const std::uint32_t project = builder.snapshot.workloads[waiting].project;
    const std::vector<std::uint32_t> members =
        pass.order().next_members(waiting, [&](std::uint32_t member) { return pass.waits(member); });
    if (members.empty() || pass.is_refused_at_best(waiting, members, Leavers::OtherProjects)) continue;
    if (!all_within_guarantee(owners, project, pass.amount_of(members))) continue;
    for (std::uint32_t other = 0; other < builder.snapshot.workloads.size(); ++other) {
      const Workload& victim = builder.snapshot.workloads[other];
      if (victim.project == project || !victim.preemptible || !pass.holds_anything(other)) continue;
      if (within_guarantee(owners[branches_of(owners, project, victim.project).b], {})) continue;
      const std::size_t mark = pass.trial().mark();
      const auto is_there = [&](std::uint32_t member) { return is_active(pass.trial().state(member)); };
      for (const std::uint32_t member : pass.order().next_victims(other, is_there)) pass.trial().leave(member);
      const bool would_fit = pass.place_all(waiting, members, Trial::When::Later, {});
      pass.trial().undo_to(mark);
      RC_ASSERT(!would_fit);
    }
  }
}

TEST(QuotaFairnessProperty, NobodyBeyondHisGuaranteeIsInTheWayOfOneWithin) {
  EXPECT_TRUE(rc::check("nobody beyond his guarantee is in the way of one within",
                        [](std::uint64_t seed) { nobody_is_in_the_way(seed, Shapes::Any); }));
}

TEST(QuotaFairnessProperty, NobodyIsInTheWayOfOneWithinHisGuaranteesOfAllResources) {
  EXPECT_TRUE(rc::check("nobody beyond a guarantee of any resource is in the way of one within all of his",
                        [](std::uint64_t seed) { nobody_is_in_the_way(seed, Shapes::Parts); }));
}

/// With requests of whole single devices, which fit wherever one is free: a project with a job that waits and may be
/// preempted has all of its fair share, so that everybody is within one device of it.
void shares_are_held(std::uint64_t seed) {
  Rng rng{seed};
  const std::optional<PolicyBuilder> rested = at_rest(rng, Shapes::Plain);
  if (!rested) return;
  const PolicyBuilder& builder = *rested;
  const Parts parts = parts_named("quota");
  const QuotaPass pass{builder.snapshot, 0, parts};
  for (const std::uint32_t waiting : pass.candidates()) {
    const Workload& job = builder.snapshot.workloads[waiting];
    if (!job.preemptible) continue;
    const OwnedAmount& devices = pass.trial().owners()[job.project].of[2];
    RC_ASSERT(devices.allocated + 1000 > devices.fair_share);
  }
}

TEST(QuotaFairnessProperty, WhoWaitsHasHisFairShare) {
  EXPECT_TRUE(rc::check("a project that waits has its fair share within a device", shares_are_held));
}

}  // namespace
}  // namespace penstock::policy
