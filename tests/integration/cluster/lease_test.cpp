// Ownership of the state: a supervisor that hangs is replaced, and does no harm when it goes on.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "common/host/clock.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"
#include "tools/bench/shapes.hpp"

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kLease = seconds{2};
const std::vector<std::string> kWithLease{"--state", "state",
                                          "--set",   "supervisor.lease=2s",
                                          "--set",   "link.silence_max=1s",
                                          "--set",   "link.heartbeat=100ms"};
const std::vector<std::string> kImpatient{
    "--slots", "2", "--set", "link.silence_max=1s", "--set", "link.heartbeat=100ms"};

TEST(Lease, ASupervisorThatHangsIsReplacedInTimeAndEndsWhenItGoesOn) {
  ClusterProcesses cluster{kWithLease};
  const std::string place = "@" + cluster.path_of("address");
  cluster.start_worker_at("w1", place, kImpatient);
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect_to(place);
  Witness witness{*session, 40};
  const auto submitted = session->submit(named("overtaken"), stencil(20, 2, 100'000'000, 1000));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  wait_for_some(*session, submitted->job, witness, 6);
  cluster.start_standby_elsewhere();
  const auto last = session->submit(named("accepted last"), stencil(2, 2, 0, 0));
  ASSERT_TRUE(last.has_value()) << to_string(last.error());
  cluster.supervisor().signal_group(SIGSTOP);
  const Instant begin = monotonic_now();
  cluster.wait_for_takeover_from_the_living();
  EXPECT_LT(monotonic_now() - begin, kLease + seconds{2});
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  witness.expect_each_once();
  cluster.overtaken().signal_group(SIGCONT);
  EXPECT_EQ(cluster.end_of_overtaken(), 2);
  EXPECT_NE(cluster.log_of("supervisor").find("has taken it over"), std::string::npos) << cluster.log_of("supervisor");
  EXPECT_NE(cluster.log_of("supervisor").find("process " + std::to_string(cluster.supervisor().id())),
            std::string::npos)
      << cluster.log_of("supervisor");
  // The actions of the hung supervisor since then reached nothing: the state is whole, and has all accepted jobs.
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  const auto after = cluster.connect();
  for (const char* name : {"overtaken", "accepted last"}) {
    const Result<JobId> attached = after->attach(JobSelector{JobId::none(), name});
    ASSERT_TRUE(attached.has_value()) << to_string(attached.error());
    EXPECT_EQ(wait_for_end(*after, *attached), JobState::Succeeded);
  }
}

TEST(Lease, ASupervisorThatMerelySleptKeepsItsStateItsWorkersAndItsClients) {
  ClusterProcesses cluster{{"--state", "state", "--set", "link.silence_max=500ms", "--set", "link.heartbeat=100ms"}};
  cluster.start_worker("w1", {"--slots", "2", "--set", "link.silence_max=500ms", "--set", "link.heartbeat=100ms"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto session = cluster.connect();
  Witness witness{*session, 80};
  const auto submitted = session->submit(named("slept"), stencil(40, 2, 50'000'000, 100));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  wait_for_some(*session, submitted->job, witness, 6);
  cluster.supervisor().signal_group(SIGSTOP);
  // The supervisor has been silent for as long as its lease when its worker notices.
  EXPECT_TRUE(wait_until([&] { return cluster.log_of("w1").find("nothing was heard") != std::string::npos; }));
  cluster.supervisor().signal_group(SIGCONT);
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  witness.expect_each_once();
  EXPECT_EQ(session->counts(submitted->job).attempts, 80U) << "each has run once";
}

// Both look whether anybody holds the state that is not there yet.
TEST(Lease, APrimaryAndAStandbyThatStartTogetherOnAFreshStateDoNotQuarrel) {
  for (int round = 0; round < 10; ++round) {
    const ScratchDirectory scratch;
    const auto call = [&](const std::string& name) {
      return BinaryCall{{"supervisor", "--listen", "127.0.0.1:0", "--state", scratch.at("state"), "--standby",
                         "--address-file", scratch.at(name)},
                        "",
                        scratch.path(),
                        {}};
    };
    RunningBinary one{call("one")};
    RunningBinary other{call("other")};
    const auto listens = [&](const char* name) { return std::filesystem::exists(scratch.at(name)); };
    ASSERT_TRUE(wait_until([&] { return listens("one") || listens("other"); }));
    RunningBinary& second = listens("one") ? other : one;
    EXPECT_TRUE(second.wait_for_errors("standing by"));
    EXPECT_FALSE(listens("one") && listens("other"));
  }
}

}  // namespace
}  // namespace penstock
