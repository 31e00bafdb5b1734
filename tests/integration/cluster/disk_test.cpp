// A supervisor with a disk that is slow or breaks. Faults F12 and F14; a full disk (F11) is in `tests/chaos`.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "common/host/clock.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"

namespace penstock {
namespace {

using std::chrono::milliseconds;

/// A cluster; its supervisor keeps its journal on a disk that does what the test says.
class DiskTest : public ::testing::Test {
 protected:
  DiskTest() {
    cluster.start_worker("w1", {"--slots", "2"});
    EXPECT_TRUE(cluster.wait_for_workers(1));
    session = cluster.connect();
  }
  /// `slow MILLISECONDS`, `broken`, or nothing.
  void disk_is(const std::string& how) { std::ofstream{disk.at("disk")} << how; }

  const ScratchDirectory disk;
  ClusterProcesses cluster{{"--state", "state"},
                           {"LD_PRELOAD=" PENSTOCK_FAULTY_DISK, "PENSTOCK_FAULTY_FILES=/state/journal/",
                            "PENSTOCK_FAULTY_DISK=" + disk.at("disk")}};
  std::unique_ptr<client::Session> session;
};

// Fault F14.
TEST_F(DiskTest, ASlowDiskDelaysWhatIsPromisedAndNothingElse) {
  constexpr auto kSync = milliseconds{500};
  disk_is("slow 500");
  Witness witness{*session, 2000};
  const Instant begin = monotonic_now();
  const auto submitted = session->submit(named("slow"), stencil(200, 10, 0, 100));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  EXPECT_GE(monotonic_now() - begin, kSync) << "the disk of this test is not slow";
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  // One sync for each of 2000 subtasks would take a quarter of an hour.
  EXPECT_LT(monotonic_now() - begin, 40 * kSync);
  witness.expect_each_once();
  // Questions need no disk; the answer to one comes between two syncs.
  const auto second = session->submit(named("second"), stencil(200, 10, 0, 100));
  ASSERT_TRUE(second.has_value());
  std::vector<Duration> waits;
  for (int i = 0; i < 20; ++i) {
    const Instant asked = monotonic_now();
    ASSERT_TRUE(session->ask("jobs", {}).has_value());
    waits.push_back(monotonic_now() - asked);
  }
  std::sort(waits.begin(), waits.end());
  EXPECT_LT(waits[waits.size() / 2], kSync / 2);
  EXPECT_EQ(wait_for_end(*session, second->job), JobState::Succeeded);
}

// Fault F14: silence would be noticed in half of the time that one sync takes.
TEST_F(DiskTest, HeartbeatsAreOnTimeWhileTheDiskIsNot) {
  disk_is("slow 2500");
  const std::vector<std::string> impatient{
      "--slots", "2", "--set", "link.heartbeat=100ms", "--set", "link.silence_max=1200ms"};
  cluster.start_worker("w2", impatient);
  ASSERT_TRUE(cluster.wait_for_workers(2));
  const auto submitted = session->submit(named("patient"), stencil(10, 4, 10'000'000, 100));
  ASSERT_TRUE(submitted.has_value()) << to_string(submitted.error());
  EXPECT_EQ(wait_for_end(*session, submitted->job), JobState::Succeeded);
  EXPECT_EQ(session->counts(submitted->job).attempts, 40U);
  EXPECT_EQ(cluster.log_of("w2").find("nothing was heard"), std::string::npos) << cluster.log_of("w2");
}

/// Fault F12: `broken` when it syncs, or `unwritable`.
class BrokenDiskTest : public DiskTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(BrokenDiskTest, AfterAnErrorOfTheDiskNothingMoreIsPromisedAndTheNextLifeGoesOnFromTheLastGoodRecord) {
  const auto early = session->submit(named("early"), stencil(40, 4, 20'000'000, 100));
  ASSERT_TRUE(early.has_value()) << to_string(early.error());
  Witness witness{*session, 160};
  wait_for_some(*session, early->job, witness, 8);
  disk_is(GetParam());
  const auto refused = session->submit(named("late"), stencil(2, 2, 0, 0));
  ASSERT_FALSE(refused.has_value()) << "it was promised, and is on no disk";
  EXPECT_NE(to_string(refused.error()).find("Input/output error"), std::string::npos) << to_string(refused.error());
  EXPECT_FALSE(session->submit(named("later"), stencil(2, 2, 0, 0)).has_value());
  EXPECT_TRUE(session->ask("jobs", {}).has_value()) << "questions are answered";
  EXPECT_NE(cluster.log_of("supervisor").find("Input/output error"), std::string::npos) << cluster.log_of("supervisor");
  cluster.kill_supervisor();
  disk_is("");
  cluster.restart_supervisor();
  EXPECT_EQ(wait_for_end(*session, early->job), JobState::Succeeded);
  EXPECT_EQ(session->counts(early->job).succeeded, 160U);
  // The record of the job may have reached the disk after all; a client that submits again under its name has it once.
  const auto again = session->submit(named("late"), stencil(2, 2, 0, 0));
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(wait_for_end(*session, again->job), JobState::Succeeded);
}

INSTANTIATE_TEST_SUITE_P(Errors, BrokenDiskTest, ::testing::Values("broken", "unwritable"));

}  // namespace
}  // namespace penstock
