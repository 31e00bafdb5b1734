// tidy: foreign-file pod, pods, nodes
#include "tools/policy/quota_site.hpp"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

cli::DocumentValue parsed(const std::string& text) {
  return cli::parse_document(text, cli::DocumentFormat::Json, "case.json", 32).value();
}

std::string case_of(const std::string& jobs, const std::string& more = "") {
  return R"({"nodes": [{"name": "n0", "gpus": 2, "gpu_memory_mib": 100}],
      "departments": [{"name": "all", "implicit": true}, {"name": "d", "gpu": {"quota": 3}}],
      "queues": [{"name": "q", "parent": "d", "gpu": {"quota": 1, "limit": 2, "weight": 2}},
                 {"name": "free", "parent": "all", "gpu": {"quota": -1}}],
      "jobs": [)" +
         jobs + "]" + more + "}";
}

std::string job_of(const std::string& per_pod, const std::string& more = "",
                   const std::string& pod = R"("state": "Pending")") {
  return R"({"name": "j", "queue": "q", "priority": 50, "per_pod": {)" + per_pod + "}" + more +
         R"(, "pods": [{"id": "j-0", )" + pod + "}]}";
}

bool is_expressible(const std::string& subject, const std::string& file = "{}") {
  const cli::DocumentValue all = parsed(file);
  const cli::DocumentValue one = parsed(subject);
  return QuotaSite{all, one}.is_expressible();
}

TEST(QuotaSite, AQueueIsAProjectWithItsGuaranteeLimitAndWeight) {
  const cli::DocumentValue file = parsed("{}");
  const cli::DocumentValue subject = parsed(case_of(job_of(R"("gpus": 1)")));
  const QuotaSite site{file, subject};
  const PolicyConfig policy = site.policy();
  ASSERT_EQ(policy.projects.size(), 3U);
  EXPECT_TRUE(policy.projects[0].is_department);
  EXPECT_EQ(policy.projects[0].guaranteed_slots, 3);
  EXPECT_EQ(policy.projects[1].department, "d");
  EXPECT_EQ(policy.projects[1].guaranteed_slots, 1);
  EXPECT_EQ(policy.projects[1].slots_max, 2);
  EXPECT_EQ(policy.projects[1].weight, 2000);
  EXPECT_EQ(policy.projects[2].department, "") << "a department that the case does not have limits nothing";
  EXPECT_GT(policy.projects[2].guaranteed_slots, 1000) << "-1 is without bound";
  for (const ProjectConfig& project : site.open_policy().projects) EXPECT_GT(project.guaranteed_slots, 1000);
}

TEST(QuotaSite, ADeviceIsASlotAndABandWherePartsAreAskedFor) {
  const cli::DocumentValue file = parsed("{}");
  const cli::DocumentValue whole = parsed(case_of(job_of(R"("gpus": 2)", R"(, "min_available": 3)")));
  const QuotaSite site{file, whole};
  const Register worker = site.worker(field_of(whole, "nodes").items[0]);
  ASSERT_EQ(worker.bands.size(), 1U);
  EXPECT_EQ(worker.bands[0].capacity.slots, kOneSlot * 2);
  EXPECT_EQ(site.spec_of(field_of(whole, "jobs").items[0]).policy.gang, 6U);
  const cli::DocumentValue part = parsed(case_of(job_of(R"("gpus": 0, "gpu_memory_mib": 40)")));
  const QuotaSite parts{file, part};
  EXPECT_TRUE(parts.has_parts());
  EXPECT_EQ(parts.worker(field_of(part, "nodes").items[0]).bands.size(), 2U);
  EXPECT_EQ(parts.slots_of(field_of(part, "jobs").items[0]), MilliSlots{400});
  EXPECT_EQ(parts.graph_of(field_of(part, "jobs").items[0]).templates[0].request.device_memory, Bytes{40 << 20});
}

TEST(QuotaSite, SaysWhichCasesAClusterCannotHave) {
  EXPECT_TRUE(is_expressible(case_of(job_of(R"("gpus": 1)"))));
  EXPECT_TRUE(is_expressible(case_of(job_of(R"("gpus": 0.5)"))));
  EXPECT_FALSE(is_expressible(case_of(job_of(R"("gpus": 0)")))) << "no devices";
  EXPECT_FALSE(is_expressible(case_of(job_of(R"("gpus": 0.5)", R"(, "min_available": 3)")))) << "a gang of 1.5 slots";
  EXPECT_FALSE(is_expressible(case_of(job_of(R"("gpus": 1)", R"(, "subgroups": {})")))) << "groups within a job";
  EXPECT_FALSE(is_expressible(case_of(job_of(R"("gpus": 1, "cpu_milli": 30000000)")))) << "CPU is scarce";
  EXPECT_FALSE(is_expressible(case_of(job_of(R"("gpus": 1)", "", R"("gpus": 2)")))) << "members that differ";
  EXPECT_FALSE(is_expressible(case_of(job_of(R"("gpus": 1)", "", R"("node": "n0", "state": "Releasing")"))));
  EXPECT_FALSE(is_expressible(case_of(job_of(R"("gpus": 1)")), R"({"runner": {"placement": {"gpu": "spread"}}})"));
  EXPECT_FALSE(is_expressible(case_of(job_of(R"("gpus": 1)")), R"({"runner": {"consolidation_victims": 1}})"));
  EXPECT_FALSE(is_expressible(case_of(job_of(R"("gpus": 1)") + ", " + job_of(R"("gpus": 1)")))) << "two of a name";
  const std::string forbids = R"(, "expect": {"max_binds": 0})";
  EXPECT_FALSE(is_expressible(case_of(job_of(R"("gpus": 1)"), forbids))) << "a pass would start it first";
  EXPECT_TRUE(is_expressible(case_of(job_of(R"("gpus": 3)"), forbids)));
}

}  // namespace
}  // namespace penstock::tools
