// Real processes that prove their identities: certificates by token, renewal, and what happens without.
#include <gtest/gtest.h>

#include <fstream>

#include "common/security/credential_store.hpp"
#include "tests/integration/cluster/binary.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

/// A user, or a host, with credentials of its own.
struct Elsewhere {
  ScratchDirectory scratch;
  CredentialStore store{scratch.path()};
  std::string environment = "PENSTOCK_CONFIG_DIR=" + scratch.path();

  BinaryRun run(std::vector<std::string> arguments, const std::string& input = {}) const {
    BinaryCall call;
    call.arguments = std::move(arguments);
    call.input = input;
    call.environment = {environment};
    return run_binary(call);
  }
};

std::string cluster_in(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator{directory + "/clusters"})
    return entry.path().filename().string();
  return {};
}

struct Cluster : ClusterProcesses {
  using ClusterProcesses::ClusterProcesses;
  std::string state() const { return path_of("penstock/supervisor"); }
  std::string token(const std::string& role) const {
    std::vector<std::string> words{"token", "create", "--role", role, "--state", state()};
    if (role != "worker") words.insert(words.end(), {"--user", "bob"});
    const BinaryRun made = run_binary(words);
    EXPECT_EQ(made.exit_code, 0) << made.errors;
    return made.output;
  }
};

TEST(Security, AUserLogsInAndIsRefusedBefore) {
  Cluster cluster;
  const Elsewhere bob;
  const std::vector<std::string> ask{"workers", "--supervisor", cluster.address()};
  const BinaryRun stranger = bob.run(ask);
  EXPECT_EQ(stranger.exit_code, 2);
  EXPECT_NE(stranger.errors.find("penstock token create --role client"), std::string::npos) << stranger.errors;
  const std::string token = cluster.token("client");
  const BinaryRun joined = bob.run({"login", "-", "--supervisor", cluster.address()}, token);
  EXPECT_EQ(joined.exit_code, 0) << joined.errors;
  EXPECT_EQ(bob.run(ask).exit_code, 0);
  const BinaryRun drain = bob.run({"drain", "w1", "--supervisor", cluster.address()});
  EXPECT_NE(drain.errors.find("needs the role operator"), std::string::npos) << drain.errors;
  const Elsewhere eve;
  const BinaryRun again = eve.run({"login", "-", "--supervisor", cluster.address()}, token);
  EXPECT_NE(again.errors.find("was used already"), std::string::npos) << again.errors;
}

TEST(Security, AJobIsReplacedByTheUserOfTheCertificate) {
  Cluster cluster;
  const Elsewhere bob;
  ASSERT_EQ(bob.run({"login", "-", "--supervisor", cluster.address()}, cluster.token("client")).exit_code, 0);
  const ScratchDirectory scratch;
  const auto submit = [&](const std::string& command, const std::string& how) {
    std::ofstream{scratch.at("job.toml")} << "[[subtask]]\nkey = \"a\"\ncommand = \"" << command << "\"\n";
    return bob.run({"submit", scratch.at("job.toml"), "--name", "night", how, "--wait-for-resources", "--supervisor",
                    cluster.address()});
  };
  const BinaryRun first = submit("true", "--new");
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  const BinaryRun second = submit("false", "--replace");
  EXPECT_EQ(second.exit_code, 0) << second.errors;
  const BinaryRun former = bob.run({"job", "job-1", "--supervisor", cluster.address()});
  EXPECT_NE(former.output.find("cancelled"), std::string::npos) << former.output;
}

TEST(Security, AJobIsSharedWithAGroupOfItsOwner) {
  Cluster cluster;
  cluster.start_worker("w", {"--set", "worker.run_as=worker", "--set", "worker.accept_users=[\"*\"]"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto join = [&](const Elsewhere& user, const char* name, const std::vector<std::string>& groups) {
    std::vector<std::string> words{"token", "create", "--role", "client", "--user", name, "--state", cluster.state()};
    for (const std::string& group : groups) words.insert(words.end(), {"--group", group});
    const BinaryRun joined = user.run({"login", "-", "--supervisor", cluster.address()}, run_binary(words).output);
    EXPECT_EQ(joined.exit_code, 0) << joined.errors;
  };
  const Elsewhere ada;
  const Elsewhere bob;
  const Elsewhere eve;
  join(ada, "ada", {"vision", "speech"});
  join(bob, "bob", {"vision"});
  join(eve, "eve", {"speech"});
  const ScratchDirectory scratch;
  std::ofstream{scratch.at("job.toml")} << "name = \"ours\"\n[[subtask]]\nkey = \"a\"\ncommand = \"echo result\"\n";
  const auto submit = [&](const std::string& group) {
    return ada.run({"submit", scratch.at("job.toml"), "--share", group, "--wait", "--supervisor", cluster.address()});
  };
  const BinaryRun wrong = submit("other");
  EXPECT_NE(wrong.errors.find("group 'other': is none of user 'ada', which has vision, speech"), std::string::npos)
      << wrong.errors;
  ASSERT_EQ(submit("vision").exit_code, 0);
  const auto result = [&](const Elsewhere& user) {
    return user.run({"result", "ours", "a", "--supervisor", cluster.address()});
  };
  EXPECT_EQ(result(ada).output, "result\n");
  EXPECT_EQ(result(bob).output, "result\n");
  EXPECT_NE(result(eve).errors.find("'ours': is not known"), std::string::npos) << result(eve).errors;
  const auto jobs = [&](const Elsewhere& user) {
    return user.run({"jobs", "--all", "--json", "--supervisor", cluster.address()}).output;
  };
  EXPECT_NE(jobs(bob).find("ours"), std::string::npos);
  EXPECT_EQ(jobs(eve).find("ours"), std::string::npos);
}

TEST(Security, AWorkerJoinsByATokenAndRenewsItsCertificateByItself) {
  Cluster cluster{{"--set", "security.certificate_life=10s"}};
  const Elsewhere host;
  BinaryCall call;
  call.arguments = {"worker", "--supervisor", cluster.address(), "--name", "far", "--no-gpus", "--join-file", "-"};
  call.environment = {host.environment};
  call.input = cluster.token("worker");
  const RunningBinary worker{call};
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const std::string name = cluster_in(host.scratch.path());
  const auto serial = [&] {
    const Result<Credential> now = host.store.load(name, Role::Worker);
    return now ? serial_of(*now->certificate) : std::string{};
  };
  const std::string first = serial();
  ASSERT_FALSE(first.empty());
  EXPECT_TRUE(wait_until([&] { return serial() != first; })) << "it is renewed at half of its life";
  EXPECT_TRUE(cluster.wait_for_workers(1));
}

TEST(Security, AWorkerWithoutARightEndsWithTheReason) {
  const Cluster cluster;
  const Elsewhere host;
  const BinaryRun worker = host.run({"worker", "--supervisor", cluster.address(), "--no-gpus"});
  EXPECT_EQ(worker.exit_code, 2);
  EXPECT_NE(worker.errors.find("penstock worker --join-file"), std::string::npos) << worker.errors;
}

TEST(Security, BothSidesNeedTheWordInsecure) {
  const Elsewhere plain;
  BinaryCall call;
  const Cluster secured;
  call.arguments = {"workers", "--supervisor", secured.address(), "--insecure"};
  const BinaryRun refused = run_binary(call);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("--insecure"), std::string::npos) << refused.errors;
  const Cluster insecure{{"--insecure"}};
  EXPECT_EQ(plain.run({"workers", "--supervisor", insecure.address(), "--insecure"}).exit_code, 0);
  const BinaryRun careful = run_binary({"workers", "--supervisor", insecure.address()});
  EXPECT_EQ(careful.exit_code, 2);
  EXPECT_NE(careful.errors.find("does one side run with `--insecure`"), std::string::npos) << careful.errors;
  EXPECT_NE(insecure.log_of("supervisor").find("every peer may do everything"), std::string::npos);
}

TEST(Security, InsecureBeyondThisHostIsSaidTwice) {
  const BinaryRun once = run_binary({"supervisor", "--listen", "0.0.0.0:0", "--insecure", "--no-state"});
  EXPECT_EQ(once.exit_code, 2);
  EXPECT_NE(once.errors.find("say it twice"), std::string::npos) << once.errors;
}

TEST(Security, ARestartedSupervisorIsTheSameCluster) {
  Cluster cluster;
  const Elsewhere bob;
  ASSERT_EQ(bob.run({"login", "-", "--supervisor", cluster.address()}, cluster.token("client")).exit_code, 0);
  cluster.kill_supervisor();
  cluster.restart_supervisor();
  EXPECT_EQ(bob.run({"workers", "--supervisor", cluster.address()}).exit_code, 0);
}

}  // namespace
}  // namespace penstock
