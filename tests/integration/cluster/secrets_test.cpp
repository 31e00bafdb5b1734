// Secrets of jobs: their programs have them, and nobody else, also over a restart of the supervisor.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/integration/cluster/binary.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

constexpr const char* kValue = "hunter2-and-more";

/// Whether a file below the directory has the value.
bool any_file_has(const std::string& directory, const std::string& value) {
  std::error_code failure;
  for (std::filesystem::recursive_directory_iterator entry{directory, failure}, end; !failure && entry != end;
       entry.increment(failure)) {
    if (!entry->is_regular_file()) continue;
    std::ifstream file{entry->path(), std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    if (text.find(value) != std::string::npos) return true;
  }
  return false;
}

class Secrets : public ::testing::Test {
 protected:
  Secrets() { std::ofstream{scratch_.at("key")} << kValue << "\n"; }
  /// A job with two subtasks; the second one waits for a file.
  std::string job_file() const {
    std::ofstream{scratch_.at("job.toml")}
        << "name = \"hush\"\nsecrets = {KEY = \"file:key\", OUT = \"command:echo from-a-command\"}\n"
        << "[[subtask]]\nkey = \"first\"\ncommand = \"printf %s $KEY-$OUT | md5sum\"\n"
        << "[[subtask]]\nkey = \"second\"\ninputs = [\"first\"]\ncommand = '''while ! test -e " << scratch_.at("go")
        << "; do sleep 0.02; done; printf %s $KEY | md5sum'''\n";
    return scratch_.at("job.toml");
  }
  void go() const { std::ofstream{scratch_.at("go")} << "go"; }

  ScratchDirectory scratch_;
};

std::string md5(const std::string& text) {
  BinaryCall call;
  call.program = "/usr/bin/md5sum";
  call.input = text;
  return run_binary(call).output;
}

TEST_F(Secrets, AreInNoFileAnswerOrLogAndSurviveARestart) {
  ClusterProcesses cluster;
  cluster.start_worker("w", {"--slots", "1"});
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const auto ask = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--supervisor", cluster.address()});
    return run_binary(words);
  };
  const BinaryRun submitted = ask({"submit", job_file()});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.errors;
  ASSERT_TRUE(wait_until([&] {
    return ask({"job", "hush", "--json"}).output.find("\"succeeded\":1") != std::string::npos;
  }));
  const std::string answers = ask({"job", "hush"}).output + ask({"jobs", "--json"}).output +
                              ask({"explain", "hush"}).output + ask({"audit"}).output + ask({"logs", "hush"}).output;
  EXPECT_EQ(answers.find(kValue), std::string::npos);
  // A worker that knows nothing of the job is told the secret by the next supervisor.
  cluster.kill_supervisor();
  cluster.kill_worker("w");
  cluster.restart_supervisor();
  cluster.start_worker("other", {"--slots", "1"});
  go();
  const BinaryRun waited = ask({"wait", "hush", "--timeout", "40s"});
  EXPECT_EQ(waited.exit_code, 0) << waited.errors;
  EXPECT_EQ(ask({"result", "hush", "second"}).output, md5(kValue));
  EXPECT_FALSE(any_file_has(cluster.path_of("penstock"), kValue)) << "of the state";
  EXPECT_TRUE(any_file_has(cluster.path_of("penstock"), "hush")) << "the journal is read by this test";
  EXPECT_EQ((cluster.log_of("supervisor") + cluster.log_of("other")).find(kValue), std::string::npos);
}

TEST_F(Secrets, AreNotTakenWithoutTls) {
  ClusterProcesses cluster{{"--insecure"}};
  cluster.start_worker("w");
  ASSERT_TRUE(cluster.wait_for_workers(1));
  const BinaryRun refused = run_binary({"submit", job_file(), "--supervisor", cluster.address(), "--insecure"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.errors.find("has secrets, and this supervisor runs with --insecure"), std::string::npos)
      << refused.errors;
}

TEST_F(Secrets, ARunInOneProcessHasThem) {
  go();
  const BinaryRun ran = run_binary({"run", job_file()});
  EXPECT_EQ(ran.exit_code, 0) << ran.errors;
  EXPECT_EQ(ran.errors.find(kValue), std::string::npos);
}

TEST_F(Secrets, ACommandLineAddsOne) {
  go();
  std::ofstream{scratch_.at("plain.toml")} << "[[subtask]]\nkey = \"it\"\ncommand = \"test $MORE = x\"\n";
  const BinaryRun ran = run_binary({"run", scratch_.at("plain.toml"), "--secret", "MORE=command:echo x"});
  EXPECT_EQ(ran.exit_code, 0) << ran.errors;
  const BinaryRun value = run_binary({"run", scratch_.at("plain.toml"), "--secret", "MORE=x"});
  EXPECT_EQ(value.exit_code, 2);
}

}  // namespace
}  // namespace penstock
