// Graphs that are too large for the memory of their supervisor: it refuses them, and if it cannot, their client stops.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <future>

#include "common/host/clock.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/integration/cluster/witness.hpp"
#include "tools/bench/shapes.hpp"

namespace penstock {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{420} << 20U;

Graph flat(std::uint32_t subtasks, std::uint32_t payload_bytes = 0) {
  tools::ShapeOptions options;
  options.subtasks = subtasks;
  options.payload_bytes = payload_bytes;
  return tools::make_graph(options).value();
}

/// Memory of a process.
std::uint64_t resident_of(int process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/statm"};
  std::uint64_t pages = 0;
  file >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Of a supervisor and all that it starts, while it is there; a limit that a process begins with.
class SoftLimit {
 public:
  explicit SoftLimit(std::uint64_t bytes) {
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~SoftLimit() { EXPECT_EQ(::setrlimit(RLIMIT_AS, &before_), 0); }
  SoftLimit(const SoftLimit&) = delete;
  SoftLimit& operator=(const SoftLimit&) = delete;

 private:
  rlimit before_{};
};

class DearGraph : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer takes terabytes of address space";
#endif
  }
};

TEST_F(DearGraph, FourMillionSubtasksUnder420MiBAreRefusedWithBothNumbers) {
  std::unique_ptr<ClusterProcesses> cluster;
  {
    const SoftLimit limit{kMemory};
    cluster = std::make_unique<ClusterProcesses>(std::vector<std::string>{"--state", "state"});
  }
  const int supervisor = cluster->supervisor().id();
  const auto session = cluster->connect();
  int refused = 0;
  // From what fits to what cannot, and every size between that a supervisor might think it can hold.
  for (const std::uint32_t subtasks : {50'000U, 200'000U, 400'000U, 800'000U, 1'600'000U, 4'000'000U}) {
    const auto submitted = session->submit(named("of " + std::to_string(subtasks)), flat(subtasks));
    if (submitted) continue;
    ++refused;
    EXPECT_EQ(submitted.error().code, ErrorCode::LimitExceeded) << subtasks << ": " << to_string(submitted.error());
    EXPECT_NE(submitted.error().message.find("would take up to"), std::string::npos) << submitted.error().message;
    EXPECT_NE(submitted.error().message.find("are left"), std::string::npos) << submitted.error().message;
  }
  EXPECT_GE(refused, 1);
  EXPECT_FALSE(session->submit(named("the largest"), flat(4'000'000)).has_value());
  EXPECT_FALSE(cluster->supervisor().wait_for_end(Duration{0})) << "it is still there";
  EXPECT_EQ(cluster->supervisor().id(), supervisor);
  EXPECT_TRUE(session->submit(named("small"), flat(10)).has_value());
}

// The test kills the supervisors while the graph's chunks come, as the kernel does when memory is short.
TEST_F(DearGraph, AClientWhoseGraphTookDownTwoSupervisorsDoesNotSendItToAThird) {
  ClusterProcesses cluster{{"--state", "state", "--set", "supervisor.memory_max=64GiB"}};
  const auto session = cluster.connect();
  auto submitted =
      std::async(std::launch::async, [&] { return session->submit(named("poison"), flat(100'000, 8192)); });
  for (int life = 1; life <= 2; ++life) {
    const int supervisor = cluster.supervisor().id();
    const std::uint64_t enough = resident_of(supervisor) + (std::uint64_t{64} << 20U);
    const Instant late = monotonic_now() + std::chrono::seconds{60};
    while (resident_of(supervisor) < enough) ASSERT_LT(monotonic_now(), late) << "life " << life << " gets no chunks";
    cluster.kill_supervisor();
    cluster.restart_supervisor();
  }
  ASSERT_EQ(submitted.wait_for(std::chrono::seconds{60}), std::future_status::ready);
  const auto end = submitted.get();
  ASSERT_FALSE(end.has_value());
  EXPECT_NE(end.error().message.find("cut short 2 times"), std::string::npos) << to_string(end.error());
  EXPECT_FALSE(cluster.supervisor().wait_for_end(Duration{0})) << "the third life goes on";
  EXPECT_TRUE(cluster.connect()->submit(named("good"), flat(10)).has_value());
}

}  // namespace
}  // namespace penstock
