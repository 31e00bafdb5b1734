#include "supervisor/core/share_nodes.hpp"

#include <gtest/gtest.h>

namespace penstock::supervisor {
namespace {

class ShareNodesTest : public ::testing::Test {
 protected:
  ShareNodesTest() {
    config.pools = {{.name = "all"}};
    config.projects = {{.name = "a", .department = "d", .weight = 2500, .slots_max = 3},
                       {.name = "d", .is_department = true, .gpu_slots_max = 2},
                       {.name = "b", .department = "d", .weight = 0}};
    tree = project_tree(config);
  }
  std::uint32_t node_of(std::uint32_t project, const std::string& user, BandKind kind = BandKind::Cpu) {
    const ShareNodes::Domain domain{static_cast<std::uint32_t>(kind), kind, kind == BandKind::Cpu ? 1000U : 250U};
    return nodes.user(config, tree, domain, project, user, snapshot);
  }
  const policy::ShareNode& at(std::uint32_t node) const { return snapshot.share_nodes.at(node); }

  PolicyConfig config;
  ProjectTree tree;
  policy::Snapshot snapshot;
  ShareNodes nodes;
};

TEST_F(ShareNodesTest, ADepartmentComesBeforeItsProjectsAndTheseBeforeTheirUsers) {
  const std::uint32_t ada = node_of(0, "ada");
  EXPECT_EQ(
      snapshot.share_nodes,
      (std::vector<policy::ShareNode>{
          {.name = "d"}, {.name = "a", .parent = 0, .weight = 2500, .slots_max = 3}, {.name = "ada", .parent = 1}}));
  EXPECT_EQ(node_of(0, "ada"), ada);
  const std::uint32_t bob = node_of(0, "bob");
  EXPECT_EQ(at(bob).parent, at(ada).parent);
  const std::uint32_t other = node_of(2, "ada");
  EXPECT_EQ(at(at(other).parent).parent, 0U);
  EXPECT_EQ(at(at(other).parent).weight, 1) << "no weight is 0 where all share";
  EXPECT_EQ(nodes.projects(), (std::vector<std::uint32_t>{1, 0, policy::kNone, policy::kNone, 2, policy::kNone}));
}

TEST_F(ShareNodesTest, JobsWithoutAProjectHaveOneOfTheirOwn) {
  const std::uint32_t node = node_of(3, "ada");
  EXPECT_EQ(at(at(node).parent), (policy::ShareNode{.name = "none"}));
}

TEST_F(ShareNodesTest, EachKindOfBandHasItsOwnNodesAndItsOwnLimits) {
  const std::uint32_t cpu = node_of(0, "ada");
  const std::uint32_t gpu = node_of(0, "ada", BandKind::Gpu);
  EXPECT_NE(at(gpu).parent, at(cpu).parent);
  EXPECT_EQ(at(at(gpu).parent).slots_max, policy::kUnlimited);
  EXPECT_EQ(at(at(at(gpu).parent).parent).slots_max, 8) << "two devices in quarters";
}

TEST_F(ShareNodesTest, WithoutProjectsThereAreNoOwners) {
  config.projects.clear();
  tree = project_tree(config);
  EXPECT_EQ(node_of(0, "ada"), policy::kNone);
  EXPECT_TRUE(snapshot.share_nodes.empty());
}

}  // namespace
}  // namespace penstock::supervisor
