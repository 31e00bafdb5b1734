// `penstock doctor` and its parts.
#include <gtest/gtest.h>

#include "cli/commands/checkup.hpp"
#include "common/host/clock.hpp"
#include "common/security/authority.hpp"
#include "common/security/credential_store.hpp"
#include "tests/integration/cluster/binary.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::cli {
namespace {

using Level = Finding::Level;
using std::chrono::hours;

TEST(Doctor, APlaceThatOthersMayReadIsBad) {
  const ScratchDirectory scratch;
  EXPECT_EQ(check_private_place("state", scratch.at("none")).level, Level::Good);
  std::filesystem::permissions(scratch.path(), std::filesystem::perms::owner_all);
  EXPECT_EQ(check_private_place("state", scratch.path()).level, Level::Good);
  std::filesystem::permissions(scratch.path(), std::filesystem::perms::all);
  const Finding open = check_private_place("state", scratch.path());
  EXPECT_EQ(open.level, Level::Bad);
  EXPECT_EQ(open.remedy, "run `chmod 700 " + scratch.path() + "`");
}

TEST(Doctor, CredentialsAreDatedAndDamagedOnesTold) {
  const ScratchDirectory scratch;
  EXPECT_EQ(check_credentials(scratch.path(), calendar_now()).at(0).level, Level::Warning) << "there is none";
  EXPECT_EQ(check_credentials("", calendar_now()).at(0).level, Level::Bad);
  const CredentialStore store{scratch.path()};
  const Authority authority = std::move(Authority::make()).value();
  ASSERT_TRUE(store.save(authority.cluster(), Role::Client, *authority.issue(Role::Client, "ada", hours{5})));
  EXPECT_EQ(check_credentials(scratch.path(), calendar_now()).at(0).level, Level::Good);
  EXPECT_EQ(check_credentials(scratch.path(), calendar_now() + hours{2}).at(0).text, "is valid for 2h");
  EXPECT_EQ(check_credentials(scratch.path(), calendar_now() + hours{6}).at(0).text, "has expired");
  const std::string file = scratch.at("clusters/" + authority.cluster() + "/client.pem");
  std::filesystem::permissions(file, std::filesystem::perms::all);
  EXPECT_EQ(check_credentials(scratch.path(), calendar_now()).at(0).level, Level::Bad);
}

TEST(Doctor, AHostWithoutSharedMemoryIsTold) {
  EXPECT_EQ(check_shared_memory("/no/such/place").level, Level::Bad);
  EXPECT_NE(check_shared_memory("/").text.find("free"), std::string::npos);
  EXPECT_FALSE(check_clock().text.empty());
  EXPECT_FALSE(check_open_files().text.empty());
  EXPECT_NE(check_control_groups().text.find("processors"), std::string::npos);
}

TEST(Doctor, ItFindsTheSupervisorAndItsWorkers) {
  ClusterProcesses cluster;
  cluster.start_worker("one");
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const BinaryRun run = run_binary({"doctor", "--supervisor", cluster.address()});
  EXPECT_NE(run.output.find("1 of 1 workers are ready"), std::string::npos) << run.output << run.errors;
  const BinaryRun none = run_binary({"doctor", "--supervisor", "127.0.0.1:1", "--json"});
  EXPECT_NE(none.output.find("Connection refused"), std::string::npos) << none.output << none.errors;
}

}  // namespace
}  // namespace penstock::cli
