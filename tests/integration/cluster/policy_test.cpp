// The cluster's policy with real processes: who gets how many slots, judged by what has run, and who gives them back.
#include <gtest/gtest.h>

#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"

namespace penstock {
namespace {

/// That many runs of `sh -c SCRIPT`.
Graph commands(std::uint32_t count, const std::string& script) {
  Graph graph;
  Template program;
  program.name = "shell";
  program.runner = RunnerKind::Command;
  program.program = "sh";
  program.arguments = {"-c", script};
  graph.templates = {program};
  graph.template_of.assign(count, 0);
  graph.input_offsets.assign(count + 1, 0);
  return graph;
}

JobSpec of_project(const std::string& name, const std::string& project) {
  JobSpec spec = named(name);
  spec.keep = Keep::Nothing;
  spec.policy.project = project;
  return spec;
}

/// Rows of an answer by the field `key`.
std::map<std::string, Value> rows(client::Session& session, const std::string& command, const std::string& key) {
  std::map<std::string, Value> found;
  const Result<Value> answer = session.ask(command, {});
  if (answer.has_value() && answer->list() != nullptr)
    for (const Value& row : *answer->list())
      if (row[key].text() != nullptr) found[*row[key].text()] = row;
  return found;
}

std::int64_t number(const Value& value) { return value.integer() == nullptr ? -1 : *value.integer(); }

TEST(PolicyLive, ThreeProjectsShareTwoWorkersAsConfigured) {
  const ScratchDirectory scratch;
  const std::string config = scratch.write("policy.toml",
                                           "[[policy.pool]]\nname = \"all\"\npreset = \"quota\"\n"
                                           "[[policy.project]]\nname = \"a\"\nweight = 3\n"
                                           "[[policy.project]]\nname = \"b\"\nweight = 2\n"
                                           "[[policy.project]]\nname = \"c\"\nweight = 1\n");
  ClusterProcesses cluster{{"--config", config, "--no-state"}};
  cluster.start_worker("w1", {"--slots", "3"});
  cluster.start_worker("w2", {"--slots", "3"});
  ASSERT_TRUE(cluster.wait_for_workers(2));
  const auto session = cluster.connect();
  for (const char* project : {"a", "b", "c"})
    ASSERT_TRUE(session->submit(of_project(project, project), commands(5000, "sleep 0.05")).has_value());
  const auto slots = [&](const char* project) {
    return number(rows(*session, "projects", "project")[project]["slots"]);
  };
  ASSERT_TRUE(wait_until([&] { return slots("a") == 3 && slots("b") == 2 && slots("c") == 1; }))
      << slots("a") << " " << slots("b") << " " << slots("c");
  const auto succeeded = [&] {
    std::map<std::string, Value> jobs = rows(*session, "jobs", "name");
    return std::array{number(jobs["a"]["succeeded"]), number(jobs["b"]["succeeded"]), number(jobs["c"]["succeeded"])};
  };
  // Two looks at what has run; between them nothing but the shares decides.
  const auto before = succeeded();
  auto after = before;
  const auto sum = [&] { return after[0] + after[1] + after[2] - before[0] - before[1] - before[2]; };
  ASSERT_TRUE(wait_until([&] { return after = succeeded(), sum() >= 600; })) << sum();
  const double expected[] = {3.0 / 6, 2.0 / 6, 1.0 / 6};
  for (std::size_t i = 0; i < 3; ++i) {
    const double part = static_cast<double>(after[i] - before[i]) / static_cast<double>(sum());
    EXPECT_NEAR(part, expected[i], 0.05) << "project " << i << " of " << sum();
  }
}

// It is asked to save what it has, leaves, and goes on from there when the gang is done.
TEST(PolicyLive, AGangOfHigherPriorityPreemptsAndThePreemptedJobResumes) {
  const ScratchDirectory scratch;
  const std::string config = scratch.write(
      "policy.toml", "[policy]\nperiod = \"50ms\"\n[[policy.pool]]\nname = \"all\"\npreset = \"priority\"\n");
  ClusterProcesses cluster{{"--config", config, "--no-state"}};
  const std::string shared = scratch.at("shared");
  cluster.start_worker("w1", {"--slots", "2", "--checkpoints", shared});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  const auto low = session->submit(
      of_project("low", ""),
      commands(2, "if [ -e $PENSTOCK_CHECKPOINT_DIR/saved ]; then touch " + scratch.at("resumed-") +
                      "${PENSTOCK_SUBTASK##*:}; exit 0; fi; trap 'touch $PENSTOCK_CHECKPOINT_DIR/saved; exit 0' TERM; "
                      "touch " +
                      scratch.at("began-") + "${PENSTOCK_SUBTASK##*:}; while :; do sleep 0.02; done"));
  ASSERT_TRUE(low.has_value()) << to_string(low.error());
  const auto exist = [&](const std::string& what) {
    return std::filesystem::exists(scratch.at(what + "-0")) && std::filesystem::exists(scratch.at(what + "-1"));
  };
  ASSERT_TRUE(wait_until([&] { return exist("began"); })) << cluster.log_of("supervisor");
  JobSpec high = of_project("high", "");
  high.priority = 10;
  high.policy.gang = 2;
  const auto gang = session->submit(high, commands(2, "true"));
  ASSERT_TRUE(gang.has_value()) << to_string(gang.error());
  EXPECT_EQ(wait_for_end(*session, gang->job), JobState::Succeeded);
  EXPECT_EQ(wait_for_end(*session, low->job), JobState::Succeeded);
  EXPECT_TRUE(exist("resumed"));
  const std::map<std::string, Value> audit = rows(*session, "audit", "order");
  EXPECT_TRUE(audit.contains("preempt 1:0") && audit.contains("preempt 1:1"));
  EXPECT_FALSE(std::filesystem::exists(shared + "/attempts")) << "what was saved goes with success";
}

}  // namespace
}  // namespace penstock
