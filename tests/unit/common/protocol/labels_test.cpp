#include "common/protocol/labels.hpp"

#include <gtest/gtest.h>

#include "common/protocol/graph.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/policy_config.hpp"

namespace penstock {
namespace {

PolicyConfig departments() {
  PolicyConfig config;
  config.projects = {
      {.name = "research", .is_department = true, .training_labels = {"here"}},
      {.name = "vision", .department = "research", .training_labels = {"a100", "v100"}, .interactive_labels = {"t4"}}};
  return config;
}

Register labelled(std::vector<std::string> labels) {
  Register worker;
  worker.labels = std::move(labels);
  return worker;
}

// Spec: policy-runai 7.
TEST(Labels, TheJobItsProjectAndTheDepartmentsAboveLimitIt) {
  JobPolicy wishes{.project = "vision", .labels = {"fast"}};
  const std::vector<LabelLimit> all = label_limits_of(departments(), wishes);
  EXPECT_EQ(text_of(all),
            "it runs on 'fast' only, and project 'vision' on 'a100' or 'v100' only, and department 'research' on "
            "'here' only");
  EXPECT_TRUE(allow(all, labelled({"here", "v100", "fast", "more"})));
  EXPECT_FALSE(allow(all, labelled({"here", "v100"})));
  EXPECT_FALSE(allow(all, labelled({"v100", "fast"})));
  EXPECT_FALSE(allow(all, {}));
  EXPECT_TRUE(allow({}, {}));
}

TEST(Labels, AUserLimitsItToWorkersThatRunTheUsersJobs) {
  const std::vector<LabelLimit> limits{{"it", {"a100"}}, {"it", {}, "ada"}};
  EXPECT_EQ(text_of(limits), "it runs on 'a100' only, and it on workers that run jobs of user 'ada' only");
  Register worker = labelled({"a100"});
  EXPECT_TRUE(allow(limits, worker)) << "of any user";
  worker.users = {"bob"};
  EXPECT_FALSE(allow(limits, worker));
  worker.users = {"bob", "ada"};
  EXPECT_TRUE(allow(limits, worker));
  worker.labels.clear();
  EXPECT_FALSE(allow(limits, worker));
}

TEST(Labels, EachKindOfJobHasItsOwn) {
  JobPolicy wishes{.project = "vision"};
  for (const JobKind kind : {JobKind::Interactive, JobKind::Inference}) {
    wishes.kind = kind;
    EXPECT_EQ(label_limits_of(departments(), wishes), (std::vector<LabelLimit>{{"project 'vision'", {"t4"}}}));
  }
  EXPECT_TRUE(label_limits_of({}, wishes).empty()) << "where no policy is in force the project is not known";
}

TEST(Labels, TheirNumberAndLengthAreLimited) {
  EXPECT_TRUE(check_labels("x", {std::string(255, 'a'), "b"}));
  EXPECT_FALSE(check_labels("x", {std::string(256, 'a')}));
  std::vector<std::string> many;
  for (std::size_t i = 0; i < kLabelsMax; ++i) many.push_back(std::to_string(i));
  EXPECT_TRUE(check_labels("x", many));
  many.emplace_back("more");
  EXPECT_FALSE(check_labels("x", many));
}

}  // namespace
}  // namespace penstock
