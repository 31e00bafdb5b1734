#include "supervisor/core/lifecycle/rerun_graph.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "common/protocol/external_input.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

constexpr JobIdentity kIdentity{11, 12};

/// A run of job 3; each text has a letter for each subtask: `-` it did not succeed, `s` it did, `k` its output is kept.
EndedRun ended(const std::string& subtasks) {
  EndedRun run{JobId{3}, kIdentity, {}, {}};
  for (const char c : subtasks) {
    run.succeeded.push_back(c != '-');
    run.kept.push_back(c == 'k');
  }
  return run;
}

RerunGraph part_of(const Graph& graph, const std::string& subtasks, const std::vector<std::uint32_t>& from = {}) {
  return rerun_graph(*shape_of(graph), ended(subtasks), from);
}

/// One line for each subtask: its key, its program, and its inputs by key; `~` before one that it only waits for.
std::vector<std::string> lines_of(const RerunGraph& part) {
  const std::unique_ptr<GraphShape> shape = shape_of(part.graph);
  std::vector<std::string> lines;
  for (std::uint32_t i = 0; shape != nullptr && i < shape->size(); ++i) {
    std::string line = shape->name(i) + " " + shape->template_of(i).program;
    const auto predecessors = shape->predecessors(i);
    for (std::uint32_t k = 0; k < predecessors.size(); ++k)
      line += (shape->edge_output(shape->first_edge(i) + k) == EdgeKind::kOrderOnly ? " ~" : " ") +
              shape->name(predecessors[k]);
    lines.push_back(std::move(line));
  }
  return lines;
}

using Texts = std::vector<std::string>;

TEST(RerunGraph, WhatHasNotSucceededRunsAgain) {
  const RerunGraph part = part_of(GraphBuilder{}.sources(3).keys({"a", "b", "c"}).build(), "k-k");
  EXPECT_EQ(lines_of(part), (Texts{"a alias", "b burn", "c alias"})) << "the others lend their results";
  EXPECT_EQ(part.again, 1U);
  EXPECT_EQ(part.taken, 2U);
  EXPECT_EQ(part.left_out, 0U);
}

TEST(RerunGraph, ABorrowingSubtaskNamesTheRunThatLends) {
  const RerunGraph part = part_of(GraphBuilder{}.sources(2).build(), "-k");
  const std::unique_ptr<GraphShape> shape = shape_of(part.graph);
  ASSERT_EQ(shape->external_inputs().size(), 1U);
  EXPECT_EQ(shape->external_inputs()[0].subtask, 1U);
  EXPECT_EQ(shape->external_inputs()[0].datum, (ExternalDatum{{JobId{3}, SubtaskIndex{1}}, 0, kIdentity}));
}

TEST(RerunGraph, WhatItReadsAndNobodyHasIsMadeAgain) {
  EXPECT_EQ(lines_of(part_of(GraphBuilder{}.chain(3).build(), "ss-")), (Texts{"0 burn", "1 burn 0", "2 burn 1"}));
  EXPECT_EQ(lines_of(part_of(GraphBuilder{}.chain(3).build(), "sk-")), (Texts{"1 alias", "2 burn 1"}))
      << "of what is read by nobody any more nothing is left";
}

TEST(RerunGraph, WhatOnlyHadToComeBeforeIsLeftOut) {
  const Graph graph = GraphBuilder{}.add().add({GraphBuilder::order(0)}).add({GraphBuilder::order(1)}).build();
  const RerunGraph part = part_of(graph, "s--");
  EXPECT_EQ(lines_of(part), (Texts{"1 burn", "2 burn ~1"})) << "each keeps its number as a key";
  EXPECT_EQ(part.left_out, 1U);
}

TEST(RerunGraph, FromASubtaskOnAllRunsThatDependsOnIt) {
  const Graph graph = GraphBuilder{}.add().add({0}).add({GraphBuilder::order(1)}).add().build();
  EXPECT_EQ(lines_of(part_of(graph, "sskk", {1})), (Texts{"0 burn", "1 burn 0", "2 burn ~1", "3 alias"}));
  EXPECT_EQ(part_of(graph, "sskk").again, 0U) << "nothing has failed";
}

TEST(RerunGraph, ARunOfAPartIsARunOfTheWholeInWhichTheRestHadSucceeded) {
  const Graph graph = GraphBuilder{}.add().add({GraphBuilder::order(0)}).add().build();
  const RerunGraph part = part_of(graph, "s-k");
  const EndedRun run = as_run_of_whole(*shape_of(graph), *shape_of(part.graph), ended("k-"));
  EXPECT_EQ(run.succeeded, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(run.kept, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(run.numbers[1], 0U);
  const RerunGraph next = rerun_graph(*shape_of(graph), run, {});
  EXPECT_EQ(lines_of(next), (Texts{"1 alias", "2 burn"}));
  EXPECT_EQ(shape_of(next.graph)->external_inputs()[0].datum.producer.index, SubtaskIndex{0})
      << "by its number in the run that lends";
}

TEST(RerunGraph, EachColumnGoesWithItsSubtask) {
  GraphBuilder builder;
  builder.template_at(1).program = "other";
  const Graph graph = builder.add()
                          .add({}, 1)
                          .priority(7)
                          .expected(std::chrono::seconds{5})
                          .payloads({"zero", "one"})
                          .keys({"a", "b"})
                          .build();
  const std::unique_ptr<GraphShape> shape = shape_of(part_of(graph, "s-").graph);
  ASSERT_EQ(shape->size(), 1U);
  EXPECT_EQ(shape->name(0), "b");
  EXPECT_EQ(shape->template_of(0).program, "other");
  EXPECT_EQ(shape->payload(0), "one");
  EXPECT_EQ(shape->user_priority(0), 7);
  EXPECT_EQ(shape->expected_duration(0), std::chrono::seconds{5});
}

TEST(RerunGraph, WantedSubtasksStayWanted) {
  Graph graph = GraphBuilder{}.add().add({0}).add().build();
  graph.wanted = {0, 2};
  EXPECT_EQ(part_of(graph, "k-s").graph.wanted, (std::vector<std::uint32_t>{0})) << "of the third nothing is kept";
}

RC_GTEST_PROP(RerunGraph, WhatRunsHasAllThatItReadsAndIsAGraphThatWouldBeAccepted, ()) {
  const auto size = *rc::gen::inRange<std::uint32_t>(1, 12);
  GraphBuilder builder;
  std::string states;
  for (std::uint32_t i = 0; i < size; ++i) {
    std::vector<GraphBuilder::Input> inputs;
    for (std::uint32_t from = 0; from < i; ++from)
      if (const auto drawn = *rc::gen::inRange(0, 4); drawn < 2)
        inputs.push_back(drawn == 0 ? GraphBuilder::Input{from} : GraphBuilder::order(from));
    builder.add(std::move(inputs));
    states += *rc::gen::element('-', 's', 'k');
  }
  const Graph graph = builder.build();
  std::vector<std::uint32_t> from;
  if (*rc::gen::arbitrary<bool>()) from.push_back(*rc::gen::inRange<std::uint32_t>(0, size));
  const RerunGraph part = part_of(graph, states, from);
  RC_ASSERT(part.again + part.taken + part.left_out == size);
  if (part.again + part.taken == 0) return;
  RC_ASSERT(check_graph(part.graph).has_value());
  const std::unique_ptr<GraphShape> before = shape_of(graph);
  const std::unique_ptr<GraphShape> after = shape_of(part.graph);
  for (std::uint32_t i = 0; i < size; ++i) {
    const SubtaskIndex found = after->find(std::to_string(i));
    RC_ASSERT(found.valid() || states[i] == 's');
    if (!found.valid() || is_alias(after->template_of(found.value()))) continue;
    std::size_t read = 0;
    for (std::uint32_t k = 0; k < before->predecessors(i).size(); ++k)
      read += before->edge_output(before->first_edge(i) + k) != EdgeKind::kOrderOnly;
    for (std::uint32_t k = 0; k < after->predecessors(found.value()).size(); ++k)
      read -= after->edge_output(after->first_edge(found.value()) + k) != EdgeKind::kOrderOnly;
    RC_ASSERT(read == 0U);
  }
}

}  // namespace
}  // namespace penstock::supervisor
