#include "common/protocol/graph_hash.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/support/graph_builder.hpp"

namespace penstock {
namespace {

Graph sample() { return GraphBuilder{}.sources(3).join().chain(2).build(); }

TEST(GraphHash, TheSameContentHasTheSameName) {
  EXPECT_EQ(content_hash(sample()), content_hash(sample()));
  EXPECT_TRUE(content_hash(Graph{}).valid());
  EXPECT_EQ(to_string(content_hash(sample())).size(), 32U);
}

TEST(GraphHash, WhateverAGraphSaysChangesIt) {
  const std::vector<std::function<void(Graph&)>> changes{
      [](Graph& g) { g.templates[0].name += "x"; },
      [](Graph& g) { g.templates[0].runner = RunnerKind::Command; },
      [](Graph& g) { g.templates[0].program += "x"; },
      [](Graph& g) {
        g.templates[0].arguments = {"ab", "c"};
      },
      [](Graph& g) {
        g.templates[0].arguments = {"a", "bc"};
      },
      [](Graph& g) {
        g.templates[0].environment = {"ab", "c"};
      },
      [](Graph& g) { g.templates[0].working_directory = "/"; },
      [](Graph& g) { g.templates[0].standard_input = "/"; },
      [](Graph& g) { g.templates[0].payload = "/"; },
      [](Graph& g) { g.templates[0].request.slots = MilliSlots{500}; },
      [](Graph& g) { g.templates[0].request.gpu = MilliGpu{500}; },
      [](Graph& g) {
        g.templates[0].request.named = {{"a", 1}};
      },
      [](Graph& g) { g.templates[0].required.worker = "w1"; },
      [](Graph& g) { g.templates[0].required.band = "w1"; },
      [](Graph& g) { g.templates[0].preferred.worker = "w1"; },
      [](Graph& g) { g.templates[0].priority = 1; },
      [](Graph& g) { g.templates[0].attempts_max = 1; },
      [](Graph& g) { g.templates[0].retryable = false; },
      [](Graph& g) { g.templates[0].on_failure = OnFailure::Continue; },
      [](Graph& g) { g.templates[0].time_limit = Duration{1}; },
      [](Graph& g) { g.templates[0].kill_grace = Duration{1}; },
      [](Graph& g) { g.templates[0].expected_duration = Duration{1}; },
      [](Graph& g) { g.templates[0].output_count = 2; },
      [](Graph& g) { g.templates[0].output_limit_bytes = 2; },
      [](Graph& g) { g.templates[0].replicas = 2; },
      [](Graph& g) { g.templates[0].checkpoint = true; },
      [](Graph& g) { g.templates[0].memory_max = kGiB; },
      [](Graph& g) { g.templates[0].overlap = Overlap::Never; },
      [](Graph& g) { g.templates.push_back(g.templates[0]); },
      [](Graph& g) { g.template_of[1] = 1; },
      [](Graph& g) { g.input_offsets[1] = 1; },
      [](Graph& g) { g.predecessors[0] = 1; },
      [](Graph& g) { g.edge_outputs.assign(g.edge_count(), EdgeKind::kOrderOnly); },
      [](Graph& g) { g.priorities.assign(g.size(), 1); },
      [](Graph& g) { g.expected_ns.assign(g.size(), 1); },
      [](Graph& g) { g.payload_offsets.assign(g.size() + 1, 1), g.payloads = "x"; },
      [](Graph& g) { g.name_offsets.assign(g.size() + 1, 1), g.names = "x"; },
      [](Graph& g) { g.wanted = {1}; },
  };
  std::set<GraphHash> seen{content_hash(sample())};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Graph changed = sample();
    changes[i](changed);
    EXPECT_TRUE(seen.insert(content_hash(changed)).second) << "change " << i;
  }
}

TEST(GraphHash, AColumnThatSaysNothingMayBeLeftOut) {
  Graph padded = sample();
  padded.edge_outputs.assign(padded.edge_count(), 0);
  padded.priorities.assign(padded.size(), 0);
  padded.expected_ns.assign(padded.size(), 0);
  padded.payload_offsets.assign(padded.size() + 1, 0);
  Graph bare = sample();
  bare.edge_outputs.clear();
  bare.priorities.clear();
  bare.expected_ns.clear();
  EXPECT_EQ(content_hash(padded), content_hash(bare));
}

// Every single bit of a long column counts, wherever it stands in a block.
TEST(GraphHash, EachBitOfAColumnCounts) {
  Graph graph;
  graph.template_of.assign(21, 0);
  std::set<GraphHash> seen{content_hash(graph)};
  for (std::uint32_t& word : graph.template_of)
    for (std::uint32_t bit = 0; bit < 32; ++bit) {
      word = 1U << bit;
      EXPECT_TRUE(seen.insert(content_hash(graph)).second);
      word = 0;
    }
}

TEST(ContentHash, WhatDecidesTheWorkOfAJobChangesIt) {
  const GraphHash graph{3, 4};
  const std::vector<std::function<void(JobSpec&)>> changes{
      [](JobSpec& s) { s.keep = Keep::Nothing; },
      [](JobSpec& s) { s.time_limit = Duration{1}; },
      [](JobSpec& s) { s.policy.gang = 1; },
      [](JobSpec& s) { s.policy.gang_max = 1; },
      [](JobSpec& s) { s.policy.gang_groups = 1; },
      [](JobSpec& s) { s.policy.together = "host"; },
      [](JobSpec& s) { s.policy.pools = {"a"}; },
      [](JobSpec& s) { s.policy.pools = {"a", "b"}; },
      [](JobSpec& s) { s.policy.labels = {"a"}; },
      [](JobSpec& s) {
        s.secrets = Seldom{std::vector<Secret>{{"A", "x"}}};
      },
  };
  std::set<GraphHash> seen{content_hash(JobSpec{}, graph), content_hash(JobSpec{}, GraphHash{4, 3})};
  for (const auto& change : changes) {
    JobSpec spec;
    change(spec);
    seen.insert(content_hash(spec, graph));
  }
  EXPECT_EQ(seen.size(), changes.size() + 2);
  for (const GraphHash& hash : seen) EXPECT_TRUE(hash.valid());
}

TEST(ContentHash, WhatAnOrderMayChangeAndWhatNobodyMayKnowDoNot) {
  const GraphHash graph{3, 4};
  JobSpec spec;
  spec.secrets = Seldom{std::vector<Secret>{{"A", "x"}}};
  JobSpec other;
  other.secrets = Seldom{std::vector<Secret>{{"A", "y"}}};
  other.name = "name";
  other.owner = "ada";
  other.priority = 3;
  other.submitter = 8;
  other.policy.weight = 3;
  other.policy.queue = "short";
  other.name_use = NameUse::Rerun;
  EXPECT_EQ(content_hash(spec, graph), content_hash(other, graph));
}

TEST(GraphHash, PeopleCompareItsFirstDigits) {
  EXPECT_EQ(to_short_string({0, 0x0123'4567'89ab'cdef}), "01234567");
}

}  // namespace
}  // namespace penstock
