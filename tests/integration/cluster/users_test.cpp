// Real users of the host: programs run under the account of the owner of their job. Needs root.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "common/host/account.hpp"
#include "common/host/descriptor.hpp"
#include "common/host/host.hpp"
#include "tests/integration/cluster/binary.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

/// A user of the host with a home of its own; its processes really have its number.
class User {
 public:
  explicit User(const std::string& name) : account_(*find_account(name)) {
    EXPECT_EQ(::chown(home_.path().c_str(), account_.uid, account_.gid), 0);
  }
  const Account& account() const { return account_; }
  std::string at(const std::string& name) const { return home_.at(name); }

  BinaryCall call(std::vector<std::string> arguments, const std::string& input = {}) const {
    BinaryCall call;
    call.program = "/usr/bin/setpriv";
    call.arguments = {"--reuid=" + std::to_string(account_.uid), "--regid=" + std::to_string(account_.gid),
                      "--clear-groups", PENSTOCK_BINARY};
    call.arguments.insert(call.arguments.end(), arguments.begin(), arguments.end());
    call.environment = {"PENSTOCK_CONFIG_DIR=" + home_.path(), "TMPDIR=/tmp",
                        "LD_LIBRARY_PATH=" PENSTOCK_FAKE_MUNGE_PLACE};
    call.directory = "/";
    call.input = input;
    return call;
  }
  BinaryRun run(std::vector<std::string> arguments, const std::string& input = {}) const {
    return run_binary(call(std::move(arguments), input));
  }
  /// A job of one command.
  std::string job(const std::string& name, const std::string& command) const {
    const std::string path = home_.at(name + ".toml");
    std::ofstream{path} << "name = \"" << name << "\"\n[[subtask]]\nkey = \"it\"\ncommand = '''" << command << "'''\n";
    EXPECT_EQ(::chown(path.c_str(), account_.uid, account_.gid), 0);
    return path;
  }

 private:
  ScratchDirectory home_;
  Account account_;
};

struct Cluster : ClusterProcesses {
  using ClusterProcesses::ClusterProcesses;
  void log_in(const User& user) const {
    const BinaryRun made = run_binary({"token", "create", "--role", "client", "--user", user.account().name, "--state",
                                       path_of("penstock/supervisor")});
    ASSERT_EQ(made.exit_code, 0) << made.errors;
    const BinaryRun joined = user.run({"login", "-", "--supervisor", address()}, made.output);
    ASSERT_EQ(joined.exit_code, 0) << joined.errors;
  }
  BinaryRun submit(const User& user, const std::string& file) const {
    return user.run({"submit", file, "--wait", "--supervisor", address()});
  }
  std::string result(const User& user, const std::string& job) const {
    return user.run({"result", job, "it", "--supervisor", address()}).output;
  }
};

class Users : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_root()) GTEST_SKIP() << "starts programs of other users, which takes root";
    if (::access("/usr/bin/setpriv", X_OK) != 0) GTEST_SKIP() << "there is no setpriv";
    const FilesAs nobody{*find_account("nobody")};
    if (!Descriptor{::open(PENSTOCK_BINARY, O_RDONLY | O_CLOEXEC)})
      GTEST_SKIP() << "other users cannot reach " << PENSTOCK_BINARY;
  }
};

TEST_F(Users, ProgramsRunAsTheUserWhoSubmittedThem) {
  Cluster cluster;
  cluster.start_worker("w", {"--set", "worker.accept_users=[\"daemon\",\"games\"]"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  for (const char* name : {"daemon", "games", "nobody"}) {
    const User user{name};
    cluster.log_in(user);
    const std::string file =
        user.job("who", "id -u; id -ru; id -g; id -G; stat -c '%u %a' .; echo $USER; grep CapEff /proc/self/status");
    const BinaryRun ran = cluster.submit(user, file);
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    const std::string uid = std::to_string(user.account().uid);
    const std::string gid = std::to_string(user.account().gid);
    EXPECT_EQ(cluster.result(user, "who"), uid + "\n" + uid + "\n" + gid + "\n" + gid + "\n" + uid + " 700\n" + name +
                                               "\nCapEff:\t0000000000000000\n");
  }
}

TEST_F(Users, AProgramReadsNothingOfTheWorkerNorOfAnotherUser) {
  Cluster cluster;
  cluster.start_worker("w", {"--set", "worker.accept_users=[\"daemon\",\"games\"]"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const User alice{"daemon"};
  const User eve{"games"};
  cluster.log_in(alice);
  cluster.log_in(eve);
  // Its program waits, with a secret in its directory, until the other user has looked.
  const std::string seen = alice.at("seen");
  const std::string ready = alice.at("ready");
  ASSERT_EQ(::chmod(alice.at(".").c_str(), 0711), 0);
  const std::string file =
      alice.job("hers", "echo secret > s; chmod 644 s; pwd > " + ready + ".new; mv " + ready + ".new " + ready +
                            "; while ! test -e " + seen + "; do sleep 0.02; done");
  RunningBinary runs{alice.call({"submit", file, "--wait", "--supervisor", cluster.address()})};
  ASSERT_TRUE(wait_until([&] { return ::access(ready.c_str(), F_OK) == 0; }));
  std::string hers;
  std::getline(std::ifstream{ready} >> std::ws, hers);
  const std::string look =
      "cat " + hers + "/s 2>&1; cat " + cluster.path_of("penstock/supervisor/authority/authority.key") +
      " 2>&1; for p in /proc/[0-9]*; do cat $p/environ 2>/dev/null | tr '\\0' '\\n'; done | grep -c " +
      "PENSTOCK_RUNNER; ls " + hers + " 2>&1 | head -1";
  const BinaryRun looked = cluster.submit(eve, eve.job("look", look));
  const std::string found = cluster.result(eve, "look");
  EXPECT_EQ(found.find("secret\n"), std::string::npos) << found;
  EXPECT_EQ(found.find("PRIVATE KEY"), std::string::npos) << found;
  EXPECT_NE(found.find("Permission denied"), std::string::npos) << found << looked.errors;
  std::ofstream{seen} << "yes";
  EXPECT_EQ(runs.wait().exit_code, 0);
}

// Their accounts have never logged in on this host, and have homes that are not theirs.
TEST_F(Users, RunsSubmitWorkOfTheirOwnWithoutALogin) {
  Cluster cluster;
  for (const char* name : {"w1", "w2"})
    cluster.start_worker(name, {"--slots", "2", "--set", "worker.accept_users=[\"daemon\",\"games\"]"});
  ASSERT_TRUE(cluster.wait_for_workers(2));
  for (const char* name : {"daemon", "games"}) {
    const User user{name};
    cluster.log_in(user);
    const BinaryRun ran = cluster.submit(user, user.job("nested", PENSTOCK_NESTING_RUNNER " fibonacci 7"));
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    EXPECT_EQ(cluster.result(user, "nested"), "13\n");
  }
}

TEST_F(Users, TheCertificateOfRunsIsTheirUsersAndDoesNoMore) {
  Cluster cluster;
  cluster.start_worker("w", {"--set", "worker.accept_users=[\"daemon\",\"games\"]"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const User alice{"daemon"};
  const User eve{"games"};
  cluster.log_in(alice);
  cluster.log_in(eve);
  ASSERT_EQ(
      cluster.submit(alice, alice.job("hers", "cd $PENSTOCK_RUN_CREDENTIALS && stat -c '%u %a' . && pwd")).exit_code,
      0);
  const std::string told = cluster.result(alice, "hers");
  const std::string place = told.substr(told.find('\n') + 1, told.size() - told.find('\n') - 2);
  EXPECT_EQ(told.substr(0, told.find('\n')), std::to_string(alice.account().uid) + " 700");
  EXPECT_EQ(cluster.submit(eve, eve.job("look", "! ls " + place + " && ! ls $(dirname " + place + ")")).exit_code, 0);
  const std::string orders =
      std::string{PENSTOCK_BINARY} + " jobs; " + PENSTOCK_BINARY + " drain w; " + PENSTOCK_BINARY + " cancel hers";
  ASSERT_EQ(cluster.submit(alice, alice.job("orders", "(" + orders + ") 2>&1; true")).exit_code, 0);
  const std::string answers = cluster.result(alice, "orders");
  std::size_t refusals = 0;
  for (std::size_t at = 0; (at = answers.find("has the role run", at)) != std::string::npos; ++at) ++refusals;
  EXPECT_EQ(refusals, 2U) << answers;
  EXPECT_NE(answers.find("job 'hers': is not known"), std::string::npos) << "it is no job of a run: " << answers;
}

TEST_F(Users, AUserOfTheSystemAndOneWithoutAnAccountAreRefused) {
  Cluster cluster;
  cluster.start_worker("w");
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const User system{"daemon"};
  cluster.log_in(system);
  const BinaryRun refused = cluster.submit(system, system.job("it", "id"));
  EXPECT_NE(refused.errors.find("`accept_users`"), std::string::npos) << refused.errors;
  EXPECT_EQ(refused.exit_code, 1);
}

TEST_F(Users, AVariableOfTheJobRunsNothingAsRoot) {
  Cluster cluster;
  cluster.start_worker("w", {"--set", "worker.accept_users=[\"games\"]"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const User user{"games"};
  cluster.log_in(user);
  const std::string path = user.at("env.toml");
  // Of the dynamic loader: each process that is started with it writes its files.
  std::ofstream{path} << "name = \"env\"\n[[subtask]]\nkey = \"it\"\ncommand = \"stat -c %u trace.* | sort -u\"\n"
                         "memory = \"64MiB\"\nenv = {LD_DEBUG = \"libs\", LD_DEBUG_OUTPUT = \"trace\"}\n";
  const BinaryRun ran = cluster.submit(user, path);
  EXPECT_EQ(ran.exit_code, 0) << ran.errors;
  EXPECT_EQ(cluster.result(user, "env"), std::to_string(user.account().uid) + "\n");
}

TEST_F(Users, OfASiteWithMungeLogInWithoutATokenOfTheirOwn) {
  Cluster cluster{{"--set", "security.munge=true"}, {"LD_LIBRARY_PATH=" PENSTOCK_FAKE_MUNGE_PLACE}};
  const BinaryRun line = run_binary({"token", "create", "--munge", "--state", cluster.path_of("penstock/supervisor")});
  ASSERT_EQ(line.exit_code, 0) << line.errors;
  for (const char* name : {"daemon", "games"}) {
    const User user{name};
    const BinaryRun joined = user.run({"login", "-", "--supervisor", cluster.address()}, line.output);
    EXPECT_EQ(joined.exit_code, 0) << joined.errors;
    EXPECT_NE(joined.output.find("This user is " + std::string{name} + " with the role client"), std::string::npos);
    EXPECT_EQ(user.run({"jobs", "--supervisor", cluster.address()}).exit_code, 0);
  }
  BinaryCall root{{"login", "-", "--supervisor", cluster.address()}};
  root.environment = {"LD_LIBRARY_PATH=" PENSTOCK_FAKE_MUNGE_PLACE};
  root.input = line.output;
  const BinaryRun refused = run_binary(root);
  EXPECT_NE(refused.errors.find("root: is not logged in by MUNGE"), std::string::npos) << refused.errors;
}

TEST_F(Users, WhereASupervisorDoesNotWantMungeAreRefused) {
  Cluster cluster{{}, {"LD_LIBRARY_PATH=" PENSTOCK_FAKE_MUNGE_PLACE}};
  const BinaryRun line = run_binary({"token", "create", "--munge", "--state", cluster.path_of("penstock/supervisor")});
  const User user{"daemon"};
  const BinaryRun refused = user.run({"login", "-", "--supervisor", cluster.address()}, line.output);
  EXPECT_NE(refused.errors.find("MUNGE: is no login here"), std::string::npos) << refused.errors;
}

TEST_F(Users, AWorkerOfAnOrdinaryUserRunsTheJobsOfThatUserAlone) {
  Cluster cluster;
  const User host{"nobody"};
  const BinaryRun token =
      run_binary({"token", "create", "--role", "worker", "--state", cluster.path_of("penstock/supervisor")});
  BinaryCall call = host.call(
      {"worker", "--supervisor", cluster.address(), "--name", "w", "--no-gpus", "--join-file", "-"}, token.output);
  const RunningBinary worker{call};
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const User other{"games"};
  cluster.log_in(other);
  const BinaryRun refused = cluster.submit(other, other.job("it", "id -u"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("no worker does (`accept_users` of [worker])"), std::string::npos) << refused.errors;
  const User owner{"nobody"};
  cluster.log_in(owner);
  EXPECT_EQ(cluster.submit(owner, owner.job("it", "id -u")).exit_code, 0);
  EXPECT_EQ(cluster.result(owner, "it"), std::to_string(host.account().uid) + "\n");
}

}  // namespace
}  // namespace penstock
