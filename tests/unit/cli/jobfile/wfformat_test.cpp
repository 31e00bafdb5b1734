// tidy: foreign-file task, tasks
#include "cli/jobfile/wfformat.hpp"

#include <gtest/gtest.h>

#include "cli/jobfile/bounds.hpp"
#include "cli/jobfile/graph_builder.hpp"

namespace penstock::cli {
namespace {

using namespace std::chrono_literals;

constexpr const char* kThree = R"({"name": "three", "schemaVersion": "1.5", "workflow": {"specification": {
  "tasks": [
    {"name": "join_ID0000003", "id": "join_ID0000003", "parents": ["split_ID0000001", "other"], "children": [],
     "inputFiles": ["a"], "outputFiles": []},
    {"name": "split_ID0000001", "id": "split_ID0000001", "parents": [], "children": ["join_ID0000003"],
     "inputFiles": ["in"], "outputFiles": ["a", "b"]},
    {"name": "other", "id": "other", "parents": [], "children": ["join_ID0000003"], "inputFiles": [],
     "outputFiles": ["c"]}],
  "files": [{"id": "in", "sizeInBytes": 5}, {"id": "a", "sizeInBytes": 100}, {"id": "b", "sizeInBytes": 50},
            {"id": "c", "sizeInBytes": 7}]},
 "execution": {"tasks": [
    {"id": "split_ID0000001", "runtimeInSeconds": 2.5, "command": {"program": "split", "arguments": ["-x", "in"]}},
    {"id": "join_ID0000003", "runtimeInSeconds": 4, "coreCount": 2,
     "command": {"program": "cat a |\n  wc", "arguments": []}},
    {"id": "other", "runtimeInSeconds": 0, "command": {"program": "true"}}]}}})";

constexpr const char* kOld = R"({"name": "old", "schemaVersion": "1.3", "workflow": {"tasks": [
  {"name": "a", "id": "1", "runtime": 1.5, "parents": [], "children": ["b"], "cores": 1,
   "files": [{"link": "input", "name": "x", "size": 1}, {"link": "output", "name": "y", "sizeInBytes": 10}]},
  {"name": "b", "runtimeInSeconds": 1, "parents": ["a"], "files": [{"link": "input", "name": "y", "size": 10}]}]}})";

WorkflowImport read(std::string_view text, const ReplayOptions& options) {
  Result<WorkflowImport> made = read_wfformat_text(text, {"f", "/where"}, options);
  EXPECT_TRUE(made) << to_string(made.error());
  return made ? std::move(made).value() : WorkflowImport{};
}

TEST(WfFormat, ReplaysRuntimesAndSizes) {
  const WorkflowImport made = read(kThree, {.time_scale = 0.01, .data_scale = 0.5});
  EXPECT_EQ(made.title, "three");
  EXPECT_EQ(made.schema_version, "1.5");
  const Graph& graph = made.graph;
  EXPECT_EQ(name_of(graph, 1), "split_ID0000001");
  EXPECT_EQ(graph.expected_ns, (std::vector<std::uint64_t>{40'000'000, 25'000'000, 0}));
  EXPECT_EQ(graph.predecessors, (std::vector<std::uint32_t>{1, 2}));
  // Task `join` reads a file of `split` and nothing of `other`.
  EXPECT_EQ(graph.edge_outputs, (std::vector<std::uint16_t>{0, EdgeKind::kOrderOnly}));
  EXPECT_EQ(graph.templates[graph.template_of[1]].name, "split");
  EXPECT_EQ(graph.templates[graph.template_of[1]].program, "burn");
  EXPECT_EQ(graph.payloads.substr(16, 16), (std::string{"\x40\x78\x7d\x01\0\0\0\0\x4b\0\0\0\0\0\0\0", 16}));
  EXPECT_EQ(made.work, 65ms);
  EXPECT_EQ(made.output_bytes, 75 + 3);
  EXPECT_EQ(critical_path(graph), 65ms);
}

TEST(WfFormat, RunsTheRecordedPrograms) {
  const Graph graph = read(kThree, {.replay = false}).graph;
  const Template& split = graph.templates[graph.template_of[1]];
  EXPECT_EQ(split.runner, RunnerKind::Command);
  EXPECT_EQ(split.program, "split");
  EXPECT_EQ(split.arguments, (std::vector<std::string>{"-x", "in"}));
  EXPECT_EQ(split.working_directory, "/where");
  const Template& join = graph.templates[graph.template_of[0]];
  EXPECT_EQ(join.program, "sh");
  EXPECT_EQ(join.arguments, (std::vector<std::string>{"-c", "cat a |\n  wc"}));
  EXPECT_EQ(join.request.slots, MilliSlots{2000});
  EXPECT_EQ(graph.edge_outputs, (std::vector<std::uint16_t>(2, EdgeKind::kOrderOnly)));
}

TEST(WfFormat, ReadsOlderSchemas) {
  const WorkflowImport made = read(kOld, {});
  EXPECT_EQ(made.graph.expected_ns, (std::vector<std::uint64_t>{1'500'000'000, 1'000'000'000}));
  EXPECT_EQ(made.graph.predecessors, std::vector<std::uint32_t>{0});
  EXPECT_TRUE(made.graph.edge_outputs.empty());
  EXPECT_EQ(made.output_bytes, 10);
}

struct BadWorkflow {
  const char* what;
  std::string from;
  std::string to;
  ErrorCode code;
  const char* message;
};

void PrintTo(const BadWorkflow& bad, std::ostream* out) { *out << bad.what; }

class BadWfFormat : public testing::TestWithParam<BadWorkflow> {};

TEST_P(BadWfFormat, GetsOnePreciseMessage) {
  const BadWorkflow& bad = GetParam();
  std::string text = kThree;
  const std::size_t at = text.find(bad.from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, bad.from.size(), bad.to);
  const Result<WorkflowImport> made = read_wfformat_text(text, {"f", "/"}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(to_string(made.error().code), to_string(bad.code));
  EXPECT_EQ(made.error().message, bad.message);
  EXPECT_EQ(made.error().subject.substr(0, 2), "f:");
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadWfFormat,
    testing::Values(
        BadWorkflow{"NoWorkflow", "\"workflow\"", "\"werkflow\"", ErrorCode::InvalidArgument,
                    "is no WfFormat file: it has no table 'workflow'"},
        BadWorkflow{"UnknownParent", "\"other\"], \"children\"", "\"othr\"], \"children\"", ErrorCode::UnknownKey,
                    "no task has the id 'othr'"},
        BadWorkflow{"SelfDependency", "\"other\"], \"children\"", "\"join_ID0000003\"], \"children\"",
                    ErrorCode::SelfDependency, "task 'join_ID0000003' depends on itself"},
        BadWorkflow{"Cycle", "\"parents\": [], \"children\": [\"join",
                    "\"parents\": [\"join_ID0000003\"], \"children\": [\"join", ErrorCode::GraphCycle,
                    "tasks depend on each other in a circle: join_ID0000003 -> split_ID0000001 -> join_ID0000003"},
        BadWorkflow{"DuplicateId", "\"id\": \"other\", \"parents\"", "\"id\": \"split_ID0000001\", \"parents\"",
                    ErrorCode::DuplicateKey, "two tasks have the id 'split_ID0000001'"},
        BadWorkflow{"NegativeRuntime", "2.5", "-2.5", ErrorCode::InvalidArgument,
                    "runtimeInSeconds is negative or absurdly large"},
        BadWorkflow{"EndlessRuntime", "2.5", "1e17", ErrorCode::InvalidArgument,
                    "task 'split_ID0000001' has a runtime of more than a year"},
        BadWorkflow{"NoRuntime", "\"runtimeInSeconds\": 2.5", "\"avgCPU\": 1", ErrorCode::InvalidArgument,
                    "task 'split_ID0000001' has no recorded runtime"},
        BadWorkflow{"NegativeSize", "100", "-100", ErrorCode::InvalidArgument,
                    "sizeInBytes is negative or absurdly large"},
        BadWorkflow{"CutShort", "]}}}", "]", ErrorCode::ParseError,
                    "syntax error while parsing object - unexpected end of input; expected '}'"}),
    [](const testing::TestParamInfo<BadWorkflow>& row) { return std::string{row.param.what}; });

TEST(WfFormat, RefusesSenselessScales) {
  EXPECT_FALSE(read_wfformat_text(kThree, {"f", "/"}, {.time_scale = -1}));
  EXPECT_FALSE(read_wfformat_text(kThree, {"f", "/"}, {.data_scale = std::numeric_limits<double>::infinity()}));
}

}  // namespace
}  // namespace penstock::cli
