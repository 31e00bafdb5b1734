// Operators change the time limits of jobs.
#include "supervisor/core/admin/time_limit_orders.hpp"

#include <gtest/gtest.h>

#include "tests/support/journal_harness.hpp"
#include "tests/support/time_limit_words.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

double number_of(const Result<Value>& answer, const char* field) {
  const double* number = answer ? (*answer)[field].number() : nullptr;
  return number == nullptr ? -1 : *number;
}

TEST(TimeLimitOrders, AnOrderChangesALimitThatCounts) {
  SupervisorHarness cluster;
  cluster.join({.slots = 1});
  cluster.submit(GraphBuilder{}.sources(2).build(), limited(10s));
  run_for_a_second(cluster);
  const Result<Value> longer = cluster.ask("set", {"time-limit", "night", "1min"});
  ASSERT_TRUE(longer.has_value()) << to_string(longer.error());
  EXPECT_EQ(number_of(longer, "time_limit_s"), 60);
  EXPECT_EQ(number_of(longer, "was"), 10);
  EXPECT_EQ(number_of(longer, "time_left_s"), 59);
  cluster.tick_after(30s);
  EXPECT_FALSE(cluster.job().status.cancelling) << "the former limit is void";
  ASSERT_TRUE(cluster.ask("set", {"time-limit", "night", "none"}).has_value());
  EXPECT_EQ(left(cluster), -1);
  cluster.tick_after(10min);
  EXPECT_FALSE(cluster.job().status.cancelling);
  ASSERT_TRUE(cluster.ask("set", {"time-limit", "night", "5s"}).has_value());
  EXPECT_EQ(left(cluster), 5) << "it had none: it counts from now";
  cluster.tick_after(5s);
  EXPECT_TRUE(cluster.job().status.cancelling);
  EXPECT_EQ(cluster.ask("set", {"time-limit", "night", "5s"}).error().code, ErrorCode::WrongState);
  cluster.ignore();
}

TEST(TimeLimitOrders, AShorterLimitThatIsOverAlreadyEndsTheJob) {
  SupervisorHarness cluster;
  cluster.join({.slots = 1});
  cluster.submit(GraphBuilder{}.sources(2).build(), limited(10s));
  run_for_a_second(cluster);
  ASSERT_TRUE(cluster.ask("set", {"time-limit", "night", "500ms"}).has_value());
  cluster.tick_after(0s);
  EXPECT_TRUE(cluster.job().status.cancelling);
  cluster.ignore();
}

TEST(TimeLimitOrders, AJobThatWaitsHasANewLimitWhenItRuns) {
  SupervisorHarness cluster;
  cluster.submit(GraphBuilder{}.sources(1).build(), limited(Duration{0}));
  ASSERT_TRUE(cluster.ask("set", {"time-limit", "night", "10s"}).has_value());
  EXPECT_EQ(left(cluster), -1) << "nothing of it has run";
  cluster.join({.slots = 1});
  run_for_a_second(cluster);
  EXPECT_EQ(left(cluster), 9);
  cluster.ignore();
}

TEST(TimeLimitOrders, AWrongOrderChangesNothing) {
  SupervisorHarness cluster;
  cluster.submit(GraphBuilder{}.sources(1).build(), limited(10s));
  EXPECT_EQ(cluster.ask("set", {"time-limit", "day", "10s"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(to_string(cluster.ask("set", {"time-limit", "night", "soon"}).error()),
            "time-limit: 'soon' is no time as in 90s, 30min or 2h, nor `none` (see `penstock --help`)");
  EXPECT_EQ(cluster.ask("set", {"time-limit", "night", "1000000h"}).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(cluster.job().spec.time_limit, 10s);
  cluster.ignore();
}

TEST(TimeLimitOrders, AnOrderIsAnsweredWhenItIsWrittenAndSurvivesARestart) {
  JournalHarness cluster;
  cluster->join();
  cluster->submit(GraphBuilder{}.sources(1).build(), limited(10s));
  cluster.write_all();
  constexpr ClientId kOperator{99};
  cluster->client_says(AdminRequest{1, "set", {"time-limit", "night", "1min"}, {}}, kOperator);
  EXPECT_TRUE(cluster->take_for<AdminAnswer>(kOperator).empty()) << "it might be forgotten";
  cluster.write_all();
  EXPECT_EQ(cluster->take_for<AdminAnswer>(kOperator).size(), 1U);
  cluster.restart();
  EXPECT_EQ(cluster->job().spec.time_limit, 1min);
  cluster->ignore();
}

}  // namespace
}  // namespace penstock::supervisor
