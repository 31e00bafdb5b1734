// The audit on the disk of a real supervisor: what peers and commands leave in it, and that nobody changes it unseen.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/integration/cluster/binary.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

/// A user with credentials of its own.
struct User {
  ScratchDirectory scratch;
  BinaryRun run(std::vector<std::string> arguments, const std::string& input = {}) const {
    BinaryCall call;
    call.arguments = std::move(arguments);
    call.input = input;
    call.environment = {"PENSTOCK_CONFIG_DIR=" + scratch.path()};
    return run_binary(call);
  }
};

struct AuditedCluster : ClusterProcesses {
  using ClusterProcesses::ClusterProcesses;
  std::string state() const { return path_of("penstock/supervisor"); }
  std::string file() const { return state() + "/audit/audit-000001.jsonl"; }

  BinaryRun here(std::vector<std::string> words) const {
    words.insert(words.end(), {"--state", state()});
    return run_binary(words);
  }
  BinaryRun ask(std::vector<std::string> words) const {
    words.insert(words.end(), {"--supervisor", address()});
    return run_binary(words);
  }
  BinaryRun verify() const { return here({"audit", "verify"}); }
  /// The records with all of these in them.
  std::vector<std::string> records(const std::vector<std::string>& parts) const {
    const BinaryRun exported = here({"audit", "export", "--format", "json"});
    EXPECT_EQ(exported.exit_code, 0) << exported.errors;
    std::vector<std::string> found;
    std::istringstream lines{exported.output};
    for (std::string line; std::getline(lines, line);)
      if (std::all_of(parts.begin(), parts.end(),
                      [&](const std::string& part) { return line.find(part) != std::string::npos; }))
        found.push_back(line);
    return found;
  }
  std::string token(const std::string& role, const std::string& user) const {
    return here({"token", "create", "--role", role, "--user", user}).output;
  }
};

std::string event(const std::string& name) { return "\"event\":\"" + name + "\""; }
std::string user(const std::string& name) { return "\"user\":\"" + name + "\""; }

std::string read_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}
void write_file(const std::string& path, const std::string& text) { std::ofstream{path, std::ios::binary} << text; }

TEST(AuditOnDisk, TellsWhoHasDoneWhatFromWhereAndHowItEnded) {
  AuditedCluster cluster;
  cluster.start_worker("w1");
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const User bob;
  const User stranger;
  const std::vector<std::string> ask{"workers", "--supervisor", cluster.address()};
  EXPECT_EQ(stranger.run(ask).exit_code, 2);
  const std::string token = cluster.token("client", "bob");
  ASSERT_EQ(bob.run({"login", "-", "--supervisor", cluster.address()}, token).exit_code, 0);
  EXPECT_EQ(stranger.run({"login", "-", "--supervisor", cluster.address()}, token).exit_code, 2);
  EXPECT_EQ(bob.run({"drain", "w1", "--supervisor", cluster.address()}).exit_code, 2);
  EXPECT_EQ(bob.run({"cancel", "nothing", "--supervisor", cluster.address()}).exit_code, 2);
  EXPECT_EQ(cluster.ask({"drain", "w1"}).exit_code, 0);
  write_file(cluster.path_of("night.toml"), "[[subtask]]\nkey = \"a\"\ncommand = \"true\"\n");
  EXPECT_EQ(cluster.ask({"submit", cluster.path_of("night.toml"), "--name", "night"}).exit_code, 0);
  EXPECT_EQ(cluster.ask({"cancel", "night"}).exit_code, 0);

  const std::string id = token.substr(std::string{"penstock-"}.size() + 41, 8);
  EXPECT_EQ(cluster.records({event("token"), "create token " + id + " for client bob", "\"from\":\"local"}).size(), 1U);
  EXPECT_EQ(
      cluster.records({event("login"), user("bob"), "\"token\":\"" + id + "\"", "127.0.0.1:", "\"serial\""}).size(),
      1U);
  EXPECT_EQ(cluster.records({event("refusal"), "login with token " + id, "was used already"}).size(), 1U);
  EXPECT_EQ(cluster.records({event("refusal"), user("bob"), "`drain`", "needs the role operator", "\"serial\""}).size(),
            1U);
  EXPECT_EQ(
      cluster.records({event("order"), user("bob"), "cancel nothing", "is not known", "\"role\":\"client\""}).size(),
      1U);
  EXPECT_EQ(cluster.records({event("order"), "drain w1", "done", "\"role\":\"admin\"", "127.0.0.1:"}).size(), 1U);
  EXPECT_EQ(cluster.records({event("order"), "cancel night", "done"}).size(), 1U);
  EXPECT_TRUE(wait_until([&] { return cluster.records({event("submit"), "submit 'night'", "accepted"}).size() == 1; }));
  EXPECT_EQ(cluster.verify().exit_code, 0) << cluster.verify().output;
  // The question to the supervisor stays, and shows each client its own.
  EXPECT_NE(cluster.ask({"audit"}).output.find("drain w1"), std::string::npos);
  const BinaryRun own = bob.run({"audit", "--supervisor", cluster.address()});
  EXPECT_EQ(own.exit_code, 0) << own.errors;
  EXPECT_NE(own.output.find("cancel nothing"), std::string::npos) << own.output;
  EXPECT_EQ(own.output.find("drain w1"), std::string::npos) << own.output;
}

TEST(AuditOnDisk, TokensTakenBackAndUsersRemovedAreInItAlsoWithoutASupervisor) {
  AuditedCluster cluster;
  const std::string token = cluster.token("client", "bob");
  const std::string id = token.substr(std::string{"penstock-"}.size() + 41, 8);
  EXPECT_EQ(cluster.here({"token", "revoke", id}).exit_code, 0);
  const std::string other = cluster.token("client", "eve");
  cluster.kill_supervisor();
  EXPECT_EQ(cluster.here({"user", "remove", "eve"}).exit_code, 0);
  EXPECT_EQ(cluster.records({event("token"), "revoke token " + id}).size(), 1U);
  EXPECT_EQ(cluster.records({event("user"), "remove user eve"}).size(), 1U);
  cluster.restart_supervisor();
  EXPECT_EQ(cluster.records({event("supervisor"), "start"}).size(), 2U);
  EXPECT_EQ(cluster.verify().exit_code, 0) << cluster.verify().output;
}

TEST(AuditOnDisk, NothingThatWasAnsweredIsLostByAKill) {
  AuditedCluster cluster;
  cluster.start_worker("w1");
  ASSERT_TRUE(cluster.wait_for_workers(1));
  for (int life = 0; life < 3; ++life) {
    for (int order = 0; order < 5; ++order)
      EXPECT_EQ(cluster.ask({order % 2 == 0 ? "drain" : "undrain", "w1"}).exit_code, 0);
    cluster.kill_supervisor();
    EXPECT_EQ(cluster.records({event("order"), "drain w1", "done"}).size(), 5U * static_cast<unsigned>(life + 1));
    cluster.restart_supervisor();
    ASSERT_TRUE(cluster.wait_for_workers(1));
    EXPECT_EQ(cluster.verify().exit_code, 0) << cluster.verify().output;
  }
}

TEST(AuditOnDisk, AChangedByteIsFoundAtItsRecordAndACutTailByTheHead) {
  AuditedCluster cluster;
  cluster.start_worker("w1");
  ASSERT_TRUE(cluster.wait_for_workers(1));
  EXPECT_EQ(cluster.ask({"drain", "w1"}).exit_code, 0);
  EXPECT_EQ(cluster.ask({"undrain", "w1"}).exit_code, 0);
  cluster.kill_supervisor();
  const std::string whole = read_file(cluster.file());
  const std::size_t drain = whole.find("\"what\":\"drain w1\"");
  ASSERT_NE(drain, std::string::npos);
  std::string changed = whole;
  changed[drain + 15] = '2';
  write_file(cluster.file(), changed);
  const BinaryRun found = cluster.verify();
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_NE(found.output.find("was changed"), std::string::npos) << found.output << found.errors;
  write_file(cluster.file(), whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1));
  EXPECT_NE(cluster.verify().output.find("are not signed"), std::string::npos) << cluster.verify().output;
  // The last record with its signature.
  const std::size_t signature = whole.rfind('\n', whole.size() - 2);
  write_file(cluster.file(), whole.substr(0, whole.rfind('\n', signature - 1) + 1));
  const BinaryRun cut = cluster.verify();
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_NE(cut.output.find("missing at the end"), std::string::npos) << cut.output;
  cluster.restart_supervisor();
  EXPECT_NE(cluster.log_of("supervisor").find("audit damaged"), std::string::npos);
  EXPECT_NE(cluster.verify().output.find("tells of damage"), std::string::npos) << cluster.verify().output;
}

TEST(AuditOnDisk, AFloodOfAStrangerIsOneRecordMore) {
  AuditedCluster cluster{{"--set", "audit.refusals_every=1s"}};
  const User stranger;
  const std::vector<std::string> ask{"workers", "--supervisor", cluster.address()};
  EXPECT_EQ(cluster.ask({"workers"}).exit_code, 0);
  std::size_t sent = 0;
  // Both are seen: a first refusal with a record at once, and a record with the number of those behind it.
  EXPECT_TRUE(wait_until([&] {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(stranger.run(ask).exit_code, 2);
    sent += 5;
    return !cluster.records({event("refusal"), "\"count\":"}).empty();
  }));
  EXPECT_LT(cluster.records({event("refusal")}).size(), sent);
  EXPECT_EQ(cluster.verify().exit_code, 0) << cluster.verify().output;
}

TEST(AuditOnDisk, ItCanBeFollowed) {
  AuditedCluster cluster;
  cluster.start_worker("w1");
  ASSERT_TRUE(cluster.wait_for_workers(1));
  BinaryCall call;
  call.arguments = {"audit", "export", "--follow", "--state", cluster.state()};
  RunningBinary following{call};
  EXPECT_TRUE(wait_until([&] { return following.output().find("\"what\":\"start\"") != std::string::npos; }));
  EXPECT_EQ(cluster.ask({"drain", "w1"}).exit_code, 0);
  EXPECT_TRUE(wait_until([&] { return following.output().find("drain w1") != std::string::npos; }));
  ::kill(following.process().id(), SIGTERM);
  EXPECT_EQ(following.wait().exit_code, 0);
}

TEST(AuditOnDisk, WithoutAStateThereIsNone) {
  const AuditedCluster cluster{{"--no-state"}};
  const BinaryRun verify = cluster.verify();
  EXPECT_EQ(verify.exit_code, 2);
  EXPECT_NE(verify.errors.find("--state"), std::string::npos) << verify.errors;
  EXPECT_EQ(cluster.ask({"audit"}).exit_code, 0);
}

TEST(AuditOnDisk, AHeadThatIsNoneIsRefused) {
  const AuditedCluster cluster;
  for (const char* wrong : {"x", "1:", "1:abc", ":"}) {
    const BinaryRun verify = cluster.here({"audit", "verify", "--head", wrong});
    EXPECT_EQ(verify.exit_code, 2) << wrong;
    EXPECT_NE(verify.errors.find("is no head"), std::string::npos) << verify.errors;
  }
}

}  // namespace
}  // namespace penstock
