#include "supervisor/core/graph_table.hpp"

#include <gtest/gtest.h>

#include "tests/support/coverage_marks.hpp"
#include "tests/support/graph_builder.hpp"
#include "tests/support/supervisor_harness.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::uint64_t kPlenty = 1U << 30U;

GraphHash hash_of_chain(std::uint32_t length) { return content_hash(GraphBuilder{}.chain(length).build()); }
std::unique_ptr<GraphShape> chain(std::uint32_t length) { return shape_of(GraphBuilder{}.chain(length).build()); }

TEST(GraphTable, AGraphIsFoundWhileAJobUsesItAndAfterwards) {
  GraphTable table{1, kPlenty};
  SharedGraph& graph = table.add(chain(2));
  EXPECT_EQ(table.join(hash_of_chain(2)), &graph);
  EXPECT_EQ(table.join(hash_of_chain(3)), nullptr);
  table.leave(graph);
  EXPECT_EQ(table.idle_count(), 0U) << "a job still uses it";
  table.leave(graph);
  EXPECT_EQ(table.idle_count(), 1U);
  EXPECT_EQ(table.join(hash_of_chain(2)), &graph);
  EXPECT_EQ(table.idle_count(), 0U);
}

TEST(GraphTable, TheOneUnusedForLongestGoes) {
  GraphTable table{2, kPlenty};
  table.leave(table.add(chain(1)));
  table.leave(table.add(chain(2)));
  table.leave(*table.join(hash_of_chain(1)));
  PENSTOCK_EXPECT_COVERAGE_MARK("a graph is no longer kept for being submitted again",
                                table.leave(table.add(chain(3))));
  EXPECT_EQ(table.join(hash_of_chain(2)), nullptr);
  EXPECT_NE(table.join(hash_of_chain(1)), nullptr);
  EXPECT_NE(table.join(hash_of_chain(3)), nullptr);
}

TEST(GraphTable, AtTheLimitOfBytesAGraphIsKeptAndOneByteBelowItIsNot) {
  GraphTable measured{4, kPlenty};
  const std::uint64_t bytes = measured.add(chain(50)).bytes;
  EXPECT_GT(bytes, 50U * 8);
  GraphTable enough{4, bytes};
  enough.leave(enough.add(chain(50)));
  EXPECT_EQ(enough.idle_count(), 1U);
  GraphTable small{4, bytes - 1};
  small.leave(small.add(chain(1)));
  small.leave(small.add(chain(50)));
  EXPECT_EQ(small.join(hash_of_chain(50)), nullptr);
  EXPECT_NE(small.join(hash_of_chain(1)), nullptr) << "one that is too large takes no other's place";
}

TEST(GraphTable, CountsGraphsOnceAndTheirJobsEach) {
  GraphTable table{1, kPlenty};
  SharedGraph& graph = table.add(chain(2));
  EXPECT_EQ(table.held_bytes(), graph.bytes + graph.price_of_job);
  table.join(graph);
  EXPECT_EQ(table.held_bytes(), graph.bytes + 2 * graph.price_of_job);
  table.leave(graph);
  table.leave(graph);
  EXPECT_EQ(table.held_bytes(), graph.bytes) << "it may be submitted again";
  SharedGraph& other = table.add(chain(3));
  const std::uint64_t bytes = other.bytes;
  table.leave(other);
  EXPECT_EQ(table.held_bytes(), bytes) << "only one is kept";
}

// A scattered object stayed as a payload for as long as its future did, beside its datum.
TEST(GraphTable, LargePayloadsGoWithTheOnlyJobAndTheGraphIsNotFoundAgain) {
  constexpr std::size_t kLarge = 200'000;
  const auto with_payload = [](std::size_t bytes) {
    return shape_of(GraphBuilder{}.sources(2).payloads({std::string(bytes, 'x'), ""}).build());
  };
  GraphTable table{4, kPlenty};
  SharedGraph& graph = table.add(with_payload(kLarge));
  const GraphHash hash = graph.shape->hash();
  const std::uint64_t before = table.held_bytes();
  table.join(graph);
  table.let_payloads_go(graph);
  EXPECT_EQ(graph.shape->payload(0).size(), kLarge) << "another job needs it";
  table.leave(graph);
  PENSTOCK_EXPECT_COVERAGE_MARK("large payloads went with the end of their job", table.let_payloads_go(graph));
  EXPECT_EQ(graph.shape->payload(0), "");
  EXPECT_LT(graph.shape->graph().payloads.capacity(), 100U);
  EXPECT_LE(table.held_bytes() + kLarge, before);
  EXPECT_EQ(table.join(hash), nullptr);
  table.leave(graph);
  EXPECT_EQ(table.held_bytes(), 0U);

  SharedGraph& small = table.add(with_payload(100'000));
  table.let_payloads_go(small);
  EXPECT_EQ(small.shape->payload(0).size(), 100'000U) << "it may be submitted again";
}

TEST(GraphTable, NoneIsKeptWhenNoneMayBe) {
  GraphTable table{0, kPlenty};
  table.leave(table.add(chain(2)));
  EXPECT_EQ(table.memory_bytes(), 0U);
  EXPECT_EQ(table.join(hash_of_chain(2)), nullptr);
}

TEST(GraphTable, TheLaterOfTwoThatCameWholeIsFoundAndTheEarlierLivesForItsJobs) {
  GraphTable table{4, kPlenty};
  SharedGraph& first = table.add(chain(2));
  first.learned[0] = {3, 500};
  SharedGraph& second = table.add(chain(2));
  EXPECT_NE(&first, &second);
  EXPECT_EQ(second.learned[0].mean_ns, 500U) << "what was learned is true of both";
  EXPECT_EQ(table.join(hash_of_chain(2)), &second);
  table.leave(first);
  EXPECT_EQ(table.idle_count(), 0U) << "nobody could find it again";
  table.leave(second);
  table.leave(second);
  EXPECT_EQ(table.idle_count(), 1U);
  table.leave(table.add(chain(2)));
  EXPECT_EQ(table.idle_count(), 1U) << "an idle one of the same content is replaced";
}

TEST(GraphTable, AnIdleOneThatComesWholeAgainStaysInTheJournal) {
  GraphTable table{4, kPlenty};
  SharedGraph& first = table.add(chain(2));
  first.written_as = JobId{7};
  table.leave(first);
  EXPECT_EQ(table.add(chain(2)).written_as, JobId{7});
  EXPECT_TRUE(table.take_forgotten().empty()) << "ended jobs may run again by it";
}

}  // namespace
}  // namespace penstock::supervisor
