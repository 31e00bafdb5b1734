// Further copies of outputs on other workers.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/kept_copies.hpp"

namespace penstock::supervisor {
namespace {

using Texts = std::vector<std::string>;

/// Two in a row, the first of which has that wish.
Graph chain_with(std::uint16_t replicas) {
  GraphBuilder graph;
  graph.template_at(0).replicas = replicas;
  graph.template_at(1).required.worker = "worker-1";
  return graph.add().add({0}).build();
}

TEST(Copies, AReplicaIsAskedForAndTakesThePlaceOfTheLostOne) {
  SupervisorHarness supervisor;
  supervisor.join();
  supervisor.join();
  supervisor.submit(chain_with(2));
  const std::uint32_t holder = holder_of_first(supervisor);
  PENSTOCK_EXPECT_COVERAGE_MARK("a copy was asked for", supervisor.succeed(holder, 0, {{0, 100}}));
  EXPECT_EQ(asked(supervisor),
            (std::vector<AskedCopy>{{WorkerId{3 - holder}, {SubtaskIndex{0}, 0, WorkerId{holder}, 100, {}}}}));
  // The other one must know where that is.
  const auto peers = supervisor.take<PeerAddressBatch>();
  ASSERT_FALSE(peers.empty());
  supervisor.report_replica(3 - holder, 0);
  supervisor.lose(holder);
  EXPECT_EQ(supervisor.phase(0), SubtaskPhase::Succeeded);
  EXPECT_EQ(supervisor.core().counters().recomputed, 0U);
  supervisor.ignore();
}

TEST(Copies, WithoutTheWishOrWithoutOutputsOrOtherWorkersNothingIsAsked) {
  for (const std::uint16_t replicas : {std::uint16_t{1}, std::uint16_t{2}})
    for (const std::uint32_t workers : {1U, 2U}) {
      SupervisorHarness supervisor;
      for (std::uint32_t i = 0; i < workers; ++i) supervisor.join();
      supervisor.submit(chain_with(replicas));
      const std::uint32_t holder = holder_of_first(supervisor);
      const bool empty = replicas == 2 && workers == 2;
      supervisor.succeed(holder, 0, empty ? std::vector<OutputReport>{} : std::vector<OutputReport>{{0, 100}});
      EXPECT_EQ(asked(supervisor), std::vector<AskedCopy>{}) << replicas << " " << workers;
      supervisor.ignore();
    }
}

TEST(Copies, ALostReplicaIsReplacedByAnother) {
  SupervisorHarness supervisor;
  for (int i = 0; i < 3; ++i) supervisor.join();
  supervisor.submit(chain_with(2));
  const Texts assigned = supervisor.assigned();
  ASSERT_FALSE(assigned.empty());
  const std::uint32_t holder = static_cast<std::uint32_t>(assigned[0].back() - '0');
  supervisor.succeed(holder, 0, {{0, 100}});
  const auto first = asked(supervisor);
  ASSERT_EQ(first.size(), 1U);
  supervisor.report_replica(first[0].to.value(), 0);
  supervisor.lose(first[0].to.value());
  const auto second = asked(supervisor);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_NE(second[0].to, first[0].to);
  EXPECT_EQ(second[0].what.location, WorkerId{holder});
  supervisor.ignore();
}

TEST(Copies, WhenNobodyReadsItAnyMoreEveryCopyIsDropped) {
  SupervisorHarness supervisor;
  supervisor.join();
  supervisor.join();
  supervisor.submit(chain_with(2));
  const std::uint32_t holder = holder_of_first(supervisor);
  supervisor.succeed(holder, 0, {{0, 100}});
  supervisor.report_replica(3 - holder, 0);
  supervisor.ignore();
  supervisor.succeed(holder, 1, {});
  Texts drops = supervisor.drops();
  std::sort(drops.begin(), drops.end());
  EXPECT_EQ(drops, (Texts{"0 at w1", "0 at w2"}));
  supervisor.ignore();
}

// Found by seed 8594 of the simulator: the order to drop the copy came after the run and took its output.
TEST(Copies, ACopyIsNotDroppedWhereItsDatumIsBeingMadeAgain) {
  SupervisorHarness supervisor;
  supervisor.join();
  supervisor.join();
  GraphBuilder graph;
  graph.template_at(0).replicas = 2;
  supervisor.submit(graph.add().add({0}).build());
  const std::uint32_t holder = holder_of_first(supervisor);
  supervisor.succeed(holder, 0, {{0, 100}});
  ASSERT_EQ(asked(supervisor).size(), 1U);
  supervisor.ignore();
  supervisor.lose(holder);
  ASSERT_EQ(supervisor.phase(0), SubtaskPhase::Assigned) << "at the one that has fetched the copy meanwhile";
  supervisor.report_replica(3 - holder, 0);
  EXPECT_EQ(supervisor.drops(), Texts{});
  supervisor.ignore();
}

}  // namespace
}  // namespace penstock::supervisor
