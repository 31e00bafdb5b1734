// GraphIntake: what makes a graph acceptable, and how a refusal reads.
#include <gtest/gtest.h>

#include <limits>

#include "supervisor/core/graph_shape.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

Error refusal_of(const Graph& graph, const GraphLimits& limits = {}) {
  const Result<std::unique_ptr<GraphShape>> shape = check_graph(graph, limits);
  EXPECT_FALSE(shape.has_value()) << "the graph was accepted";
  return shape ? Error{} : shape.error();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(GraphIntake, ACycleNamesTheKeysOfOneAndNothingElse) {
  // x feeds the cycle a -> b -> c -> a, which feeds y.
  const Graph graph =
      GraphBuilder{}.add().add({0, 3}).add({1}).add({2}).add({3}).keys({"x", "a", "b", "c", "y"}).build();
  const Error error = refusal_of(graph);
  EXPECT_EQ(error.code, ErrorCode::GraphCycle);
  EXPECT_TRUE(contains(error.message, "cycle of 3 subtasks")) << error.message;
  for (const char* key : {"a -> b", "b -> c", "c -> a"}) EXPECT_TRUE(contains(error.message, key)) << error.message;
  EXPECT_FALSE(contains(error.message, "x")) << error.message;
  EXPECT_FALSE(contains(error.message, "y:")) << error.message;
  EXPECT_FALSE(error.remedy.empty());
}

TEST(GraphIntake, ALongCycleIsShortenedAndFoundWithoutRecursion) {
  constexpr std::uint32_t kSize = 200'000;
  GraphBuilder graph;
  graph.add({kSize - 1}).chain(kSize - 1);
  const Error error = refusal_of(graph.build());
  EXPECT_EQ(error.code, ErrorCode::GraphCycle);
  EXPECT_TRUE(contains(error.message, "cycle of 200000 subtasks")) << error.message;
  EXPECT_TRUE(contains(error.message, "199990 more")) << error.message;
}

TEST(GraphIntake, ASubtaskMayNotDependOnItself) {
  const Error error = refusal_of(GraphBuilder{}.add().add({1}).keys({"a", "b"}).build());
  EXPECT_EQ(error.code, ErrorCode::SelfDependency);
  EXPECT_EQ(error.subject, "b");
}

TEST(GraphIntake, AKeyStandsForOneSubtask) {
  const Error error = refusal_of(GraphBuilder{}.sources(3).keys({"a", "b", "a"}).build());
  EXPECT_EQ(error.code, ErrorCode::DuplicateKey);
  EXPECT_EQ(error.subject, "a");
  EXPECT_TRUE(contains(error.message, "0 and 2")) << error.message;
}

TEST(GraphIntake, AnUnknownPredecessorIsNamed) {
  const Error error = refusal_of(GraphBuilder{}.add().add({7}).keys({"a", "b"}).build());
  EXPECT_EQ(error.code, ErrorCode::UnknownKey);
  EXPECT_EQ(error.subject, "b");
  EXPECT_TRUE(contains(error.message, "subtask 7")) << error.message;
}

TEST(GraphIntake, AnOutputThatIsNotMadeCannotBeRead) {
  GraphBuilder graph;
  graph.template_at(0).output_count = 2;
  EXPECT_TRUE(check_graph(GraphBuilder{graph}.add().add({{0, 1}}).build()).has_value());
  const Error error = refusal_of(GraphBuilder{graph}.add().add({{0, 2}}).build());
  EXPECT_EQ(error.code, ErrorCode::UnknownKey);
  EXPECT_TRUE(contains(error.message, "makes only 2")) << error.message;
  EXPECT_TRUE(check_graph(GraphBuilder{graph}.add().add({GraphBuilder::order(0)}).build()).has_value());
}

TEST(GraphIntake, AWantedSubtaskMustExist) {
  EXPECT_EQ(refusal_of(GraphBuilder{}.add().wanted({1}).build()).code, ErrorCode::UnknownKey);
  EXPECT_TRUE(check_graph(GraphBuilder{}.add().wanted({0, 0}).build()).has_value());
}

TEST(GraphIntake, AnEmptyGraphIsNone) { EXPECT_EQ(refusal_of(Graph{}).code, ErrorCode::InvalidArgument); }

TEST(GraphIntake, AbsurdTemplatesAreRefused) {
  struct Case {
    const char* name;
    void (*spoil)(Template&);
  };
  const Case cases[] = {
      {"negative slots", [](Template& t) { t.request.slots = MilliSlots{-1}; }},
      {"no slot", [](Template& t) { t.request.slots = MilliSlots{0}; }},
      {"negative cpu", [](Template& t) { t.request.cpu = MilliCpu{-1}; }},
      {"negative gpu", [](Template& t) { t.request.gpu = MilliGpu{-1}; }},
      {"negative memory", [](Template& t) { t.request.memory = Bytes{std::numeric_limits<std::int64_t>::min()}; }},
      {"negative device memory", [](Template& t) { t.request.device_memory = Bytes{-5}; }},
      {"negative custom amount",
       [](Template& t) {
         t.request.named = {{"licence", -1}};
       }},
      {"a resource twice",
       [](Template& t) {
         t.request.named = {{"licence", 1}, {"licence", 1}};
       }},
      {"negative time limit", [](Template& t) { t.time_limit = Duration{-1}; }},
      {"negative grace", [](Template& t) { t.kill_grace = Duration{-1}; }},
      {"negative duration", [](Template& t) { t.expected_duration = Duration{-1}; }},
      {"a duration of centuries", [](Template& t) { t.expected_duration = Duration::max(); }},
      {"negative output limit", [](Template& t) { t.output_limit_bytes = -1; }},
      {"negative memory of later attempts", [](Template& t) { t.memory_max = Bytes{-1}; }},
      {"less memory later", [](Template& t) { t.request.memory = Bytes{2}, t.memory_max = Bytes{1}; }},
      {"more memory for what borrows",
       [](Template& t) { t.program = kAliasOperator, t.request.memory = Bytes{1}, t.memory_max = Bytes{2}; }},
      {"a native operator that must be killed", [](Template& t) { t.overlap = Overlap::Never; }},
      {"more memory than none", [](Template& t) { t.memory_max = Bytes{1}; }},
      {"no replica", [](Template& t) { t.replicas = 0; }},
      {"too many replicas", [](Template& t) { t.replicas = kReplicasMax + 1; }},
      {"replicas of several outputs", [](Template& t) { t.output_count = 2, t.replicas = 2; }},
      {"a checkpoint of several outputs", [](Template& t) { t.output_count = 2, t.checkpoint = true; }},
      {"outputs beyond their numbers", [](Template& t) { t.output_count = EdgeKind::kOrderOnly; }},
      {"a variable without a value",
       [](Template& t) {
         t.environment = {"A=1", "NOEQUALS"};
       }},
      {"a variable without a name", [](Template& t) { t.environment = {"=1"}; }},
      {"no program", [](Template& t) { t.program.clear(); }},
      {"a name that climbs", [](Template& t) { t.name = "a/../b"; }},
  };
  for (const Case& entry : cases) {
    GraphBuilder graph;
    graph.add();
    entry.spoil(graph.template_at(0));
    EXPECT_EQ(refusal_of(graph.build()).code, ErrorCode::InvalidArgument) << entry.name;
  }
}

TEST(GraphIntake, AnExpectedDurationIsAtMostAYear) {
  EXPECT_TRUE(check_graph(GraphBuilder{}.add().expected(std::chrono::hours{24 * 366}).build()).has_value());
  EXPECT_EQ(refusal_of(GraphBuilder{}.add().expected(std::chrono::hours{24 * 367}).build()).code,
            ErrorCode::InvalidArgument);
}

TEST(GraphIntake, ColumnsMustFitEachOther) {
  struct Case {
    const char* name;
    void (*spoil)(Graph&);
  };
  const Case cases[] = {
      {"too few offsets", [](Graph& g) { g.input_offsets.pop_back(); }},
      {"no offsets", [](Graph& g) { g.input_offsets.clear(); }},
      {"offsets that fall",
       [](Graph& g) {
         g.input_offsets = {0, 1, 0, 1};
       }},
      {"offsets beyond the edges",
       [](Graph& g) {
         g.input_offsets = {0, 0, 1, 900};
       }},
      {"offsets that start late",
       [](Graph& g) {
         g.input_offsets = {1, 1, 1, 1};
       }},
      {"too few edge outputs",
       [](Graph& g) {
         g.edge_outputs = {0, 0};
       }},
      {"too few priorities", [](Graph& g) { g.priorities = {1}; }},
      {"too many durations",
       [](Graph& g) {
         g.expected_ns = {1, 1, 1, 1};
       }},
      {"payload offsets without payload",
       [](Graph& g) {
         g.payload_offsets = {0, 1, 2, 3};
       }},
      {"payload without offsets", [](Graph& g) { g.payloads = "xyz"; }},
      {"names without offsets", [](Graph& g) { g.names = "abc"; }},
      {"name offsets that fall",
       [](Graph& g) {
         g.names = "abc", g.name_offsets = {0, 2, 1, 3};
       }},
      {"an unknown template", [](Graph& g) { g.template_of[1] = 9; }},
  };
  for (const Case& entry : cases) {
    Graph graph = GraphBuilder{}.sources(2).add({0}).build();
    entry.spoil(graph);
    EXPECT_EQ(refusal_of(graph).code, ErrorCode::InvalidArgument) << entry.name;
  }
}

TEST(GraphIntake, LimitsHoldAtTheirEdges) {
  struct Case {
    const char* setting;
    GraphLimits limits;
  };
  GraphBuilder builder;
  builder.add().add({0}).add({1}, 1).keys({"abc", "b", "c"}).payloads({"1234", "", "5"});
  const Graph graph = builder.build();
  GraphLimits exact;
  exact.subtasks_max = 3;
  exact.edges_max = 2;
  exact.templates_max = 2;
  exact.payload_bytes_max = 5;
  exact.subtask_payload_bytes_max = 4;
  exact.name_bytes_max = 10;
  EXPECT_TRUE(check_graph(graph, exact).has_value());
  Case cases[] = {{"subtasks_max", exact},
                  {"edges_max", exact},
                  {"templates_max", exact},
                  {"payload_bytes_max", exact},
                  {"subtask_payload_bytes_max", exact}};
  --cases[0].limits.subtasks_max;
  --cases[1].limits.edges_max;
  --cases[2].limits.templates_max;
  --cases[3].limits.payload_bytes_max;
  --cases[4].limits.subtask_payload_bytes_max;
  for (const Case& entry : cases) {
    const Error error = refusal_of(graph, entry.limits);
    EXPECT_EQ(error.code, ErrorCode::LimitExceeded) << entry.setting;
    EXPECT_TRUE(contains(error.remedy, entry.setting)) << error.remedy;
  }
  GraphLimits names = exact;
  names.name_bytes_max = 2;
  EXPECT_EQ(refusal_of(graph, names).code, ErrorCode::InvalidArgument);
}

TEST(GraphIntake, OutputsOfAllSubtasksAreBounded) {
  GraphBuilder builder;
  builder.template_at(0).output_count = 60;
  builder.sources(10);
  GraphLimits limits;
  limits.outputs_max = 600;
  EXPECT_TRUE(check_graph(builder.build(), limits).has_value());
  limits.outputs_max = 599;
  const Error error = refusal_of(builder.build(), limits);
  EXPECT_EQ(error.code, ErrorCode::LimitExceeded);
  EXPECT_TRUE(contains(error.remedy, "outputs_max")) << error.remedy;
}

TEST(GraphIntake, LimitsCountOverChunks) {
  GraphLimits limits;
  limits.subtasks_max = 3;
  GraphIntake intake{limits};
  EXPECT_TRUE(intake.add(GraphBuilder{}.sources(2).build()).has_value());
  Graph more = GraphBuilder{}.sources(2).build();
  more.templates.clear();
  EXPECT_FALSE(intake.add(more).has_value());
}

TEST(GraphIntake, NoMoreMayBeWantedThanThereMayBe) {
  GraphLimits limits;
  limits.subtasks_max = 3;
  GraphIntake intake{limits};
  Graph wishes;
  wishes.wanted = {0, 0};
  EXPECT_TRUE(intake.add(wishes).has_value());
  EXPECT_EQ(intake.add(wishes).error().code, ErrorCode::LimitExceeded);
}

TEST(GraphIntake, SmallChunksAreOneGraph) {
  GraphIntake intake{GraphLimits{}};
  for (std::uint32_t i = 0; i < 10000; ++i) {
    Graph one = i == 0 ? GraphBuilder{}.add().build() : GraphBuilder{}.add({i - 1}).build();
    if (i > 0) one.templates.clear();
    ASSERT_TRUE(intake.add(std::move(one)).has_value());
  }
  const auto shape = intake.finish();
  ASSERT_TRUE(shape.has_value()) << to_string(shape.error());
  EXPECT_EQ((*shape)->size(), 10000U);
  EXPECT_EQ((*shape)->predecessors(9999)[0], 9998U);
}

TEST(GraphIntake, ChunksContinueEachOther) {
  GraphIntake intake{GraphLimits{}};
  EXPECT_TRUE(intake.add(GraphBuilder{}.add().add({0}).keys({"a", "b"}).payloads({"x", "yy"}).build()).has_value());
  Graph more = GraphBuilder{}.add().add({1}).keys({"c", "d"}).payloads({"", "z"}).build();
  more.templates.clear();
  EXPECT_TRUE(intake.add(std::move(more)).has_value());
  Result<std::unique_ptr<GraphShape>> shape = intake.finish();
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(intake.finish().error().code, ErrorCode::InvalidArgument) << "nothing is left in it";
  const GraphShape& graph = **shape;
  EXPECT_EQ(graph.size(), 4U);
  EXPECT_EQ(graph.name(3), "d");
  EXPECT_EQ(graph.payload(1), "yy");
  EXPECT_EQ(graph.payload(2), "");
  EXPECT_EQ(graph.payload(3), "z");
  ASSERT_EQ(graph.predecessors(3).size(), 1U);
  EXPECT_EQ(graph.predecessors(3)[0], 1U);
}

TEST(GraphIntake, TemplatesAndWishesMayComeWithoutSubtasks) {
  const Graph whole = GraphBuilder{}.add().add({0}).build();
  Graph before;
  before.templates = whole.templates;
  Graph behind;
  behind.wanted = {1};
  Graph subtasks = whole;
  subtasks.templates.clear();
  subtasks.wanted.clear();
  GraphIntake intake{GraphLimits{}};
  for (const Graph& chunk : {before, Graph{}, subtasks, Graph{}, behind}) EXPECT_TRUE(intake.add(chunk).has_value());
  const auto shape = intake.finish();
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ((*shape)->size(), 2U);
  EXPECT_EQ((*shape)->graph().wanted, behind.wanted);
  EXPECT_EQ((*shape)->graph().templates, whole.templates);
}

TEST(GraphIntake, SpecialEdgesMayBeginInALaterChunk) {
  GraphIntake intake{GraphLimits{}};
  Graph plain = GraphBuilder{}.chain(2).build();
  plain.edge_outputs.clear();
  EXPECT_TRUE(intake.add(plain).has_value());
  Graph more = GraphBuilder{}.add({GraphBuilder::order(0)}).build();
  EXPECT_TRUE(intake.add(more).has_value());
  const auto shape = intake.finish();
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ((*shape)->edge_output(0), 0U);
  EXPECT_EQ((*shape)->edge_output(1), EdgeKind::kOrderOnly);
}

TEST(GraphIntake, ChunksHaveTheSameColumns) {
  GraphIntake intake{GraphLimits{}};
  EXPECT_TRUE(intake.add(GraphBuilder{}.add().keys({"a"}).build()).has_value());
  EXPECT_FALSE(intake.add(GraphBuilder{}.add().build()).has_value());
}

// A hostile first chunk without subtasks, with offsets that promised columns that never came: they were read out of
// bounds.
TEST(GraphIntake, AChunkWithoutSubtasksPromisesNoColumns) {
  for (const bool moved : {false, true}) {
    GraphIntake intake{GraphLimits{}};
    Graph first = GraphBuilder{}.build();
    first.payload_offsets = {0};
    first.name_offsets = {0};
    EXPECT_TRUE((moved ? intake.add(Graph{first}) : intake.add(first)).has_value());
    EXPECT_TRUE(intake.add(GraphBuilder{}.sources(2).build()).has_value());
    const auto shape = intake.finish();
    ASSERT_TRUE(shape.has_value());
    EXPECT_EQ((*shape)->payload(1), "");
    EXPECT_EQ((*shape)->name(1), "1");
  }
}

TEST(GraphIntake, BadNamesAreRefused) {
  const std::string with_nul{"a\0b", 3};
  for (const std::string& name :
       {with_nul, std::string{"a\nb"}, std::string{"\x7f"}, std::string{".."}, std::string{"../a"}, std::string{"a/.."},
        std::string{"a/../b"}, std::string(1025, 'a')}) {
    EXPECT_FALSE(check_name(name, "key", 1024).has_value()) << name;
    EXPECT_EQ(refusal_of(GraphBuilder{}.add().keys({name}).build()).code, ErrorCode::InvalidArgument) << name;
  }
  for (const std::string& name :
       {std::string{"a..b"}, std::string{"...", 3}, std::string{"a/..b"}, std::string{"ä/ß"}, std::string(1024, 'a')})
    EXPECT_TRUE(check_name(name, "key", 1024).has_value()) << name;
  EXPECT_EQ(refusal_of(GraphBuilder{}.add().add().keys({"a", ""}).build()).code, ErrorCode::InvalidArgument);
}

TEST(GraphIntake, ARefusalShowsNoControlCharacters) {
  const Error error = refusal_of(GraphBuilder{}.add().keys({"a\x1b[31m"}).build());
  EXPECT_EQ(error.subject.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace penstock::supervisor
