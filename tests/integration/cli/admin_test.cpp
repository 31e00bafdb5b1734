// The admin shell: typed at a terminal, and read from a pipe.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/security/own_security.hpp"
#include "tests/integration/cli/terminal_session.hpp"
#include "tests/integration/cluster/cluster_processes.hpp"

namespace penstock {
namespace {

constexpr const char* kPrompt = "penstock> ";
constexpr const char* kCtrlD = "\x04";
constexpr const char* kUp = "\x1b[A";

// Completion shows what it inserts: the rest of a word, and a blank when nothing else can be meant.

/// A cluster with one worker, and a home for the history.
class Admin : public ::testing::Test {
 protected:
  Admin() {
    cluster_.start_worker("worker-one", {"--slots", "2"});
    EXPECT_TRUE(cluster_.wait_for_workers(1));
    const std::string job =
        home_.write("job.toml", "name = \"night\"\n[[subtask]]\nkey = \"a\"\ncommand = \"sleep 60\"\n");
    EXPECT_EQ(run_binary({"submit", job, "--supervisor", cluster_.address()}).exit_code, 0);
  }

  std::vector<std::string> environment() const {
    // The credentials are those of the processes of the cluster.
    return {"HOME=" + home_.path(), "PENSTOCK_CONFIG_DIR=" + own_credentials().directory()};
  }
  TerminalSession terminal() const { return {{"admin", "--supervisor", cluster_.address()}, environment()}; }
  BinaryRun script(const std::string& lines) const {
    return run_binary(BinaryCall{{"admin", "--supervisor", cluster_.address()}, lines, {}, environment()});
  }

  ScratchDirectory home_;
  ClusterProcesses cluster_;
};

TEST_F(Admin, AsksAndOrdersAtATerminal) {
  TerminalSession person = terminal();
  ASSERT_TRUE(person.sees(kPrompt)) << person.screen();
  EXPECT_NE(person.screen().find("Tab completes"), std::string::npos);
  person.type("workers\r");
  EXPECT_TRUE(person.sees("worker-one")) << person.screen();
  ASSERT_TRUE(person.sees(kPrompt));
  person.type("explain night a\r");
  EXPECT_TRUE(person.sees("reason")) << person.screen();
  ASSERT_TRUE(person.sees(kPrompt));
  // A mistake ends the line, not the shell.
  person.type("wrokers\r");
  EXPECT_TRUE(person.sees("error: ")) << person.screen();
  ASSERT_TRUE(person.sees(kPrompt));
  person.type("job 'open\r");
  EXPECT_TRUE(person.sees("quote")) << person.screen();
  ASSERT_TRUE(person.sees(kPrompt));
  person.type("help\r");
  EXPECT_TRUE(person.sees("drain")) << person.screen();
  ASSERT_TRUE(person.sees(kPrompt));
  person.type(kCtrlD);
  EXPECT_EQ(person.wait(), 0) << person.screen();
}

TEST_F(Admin, TabCompletesCommandsOptionsJobsAndWorkers) {
  TerminalSession person = terminal();
  ASSERT_TRUE(person.sees(kPrompt)) << person.screen();
  person.type("poo\t");
  EXPECT_TRUE(person.sees("ls ")) << person.screen();
  person.type("\rqueues --js\t\r");
  EXPECT_TRUE(person.sees("on ")) << person.screen();
  EXPECT_TRUE(person.sees("\"kept_here\"")) << person.screen();
  ASSERT_TRUE(person.sees(kPrompt));
  // Several: what they share is inserted, then they are shown.
  person.type("w\t");
  EXPECT_TRUE(person.sees("wait  watch  workers")) << person.screen();
  person.type("or\t");
  EXPECT_TRUE(person.sees("kers ")) << person.screen();
  person.type("\r");
  EXPECT_TRUE(person.sees("worker-one")) << person.screen();
  ASSERT_TRUE(person.sees(kPrompt));
  person.type("job ni\t\r");
  EXPECT_TRUE(person.sees("ght ")) << person.screen();
  EXPECT_TRUE(person.sees("running")) << person.screen();
  ASSERT_TRUE(person.sees(kPrompt));
  person.type("drain wor\t\r");
  EXPECT_TRUE(person.sees("ker-one ")) << person.screen();
  EXPECT_TRUE(person.sees("draining  yes")) << person.screen();
  ASSERT_TRUE(person.sees(kPrompt));
  person.type("quit\r");
  EXPECT_EQ(person.wait(), 0);
}

TEST_F(Admin, RemembersWhatWasTyped) {
  {
    TerminalSession person = terminal();
    ASSERT_TRUE(person.sees(kPrompt)) << person.screen();
    person.type("bands\r");
    EXPECT_TRUE(person.sees("milli_cpu")) << person.screen();
    ASSERT_TRUE(person.sees(kPrompt));
    person.type(kUp);
    EXPECT_TRUE(person.sees("bands")) << person.screen();
    person.type("\r");
    EXPECT_TRUE(person.sees("milli_cpu")) << person.screen();
    ASSERT_TRUE(person.sees(kPrompt));
    person.type("exit\r");
    EXPECT_EQ(person.wait(), 0);
  }
  EXPECT_NE(home_.read(".penstock_history").find("bands"), std::string::npos);
  TerminalSession later = terminal();
  ASSERT_TRUE(later.sees(kPrompt)) << later.screen();
  later.type(std::string{kUp} + kUp + "\r");
  EXPECT_TRUE(later.sees("milli_cpu")) << later.screen();
}

TEST_F(Admin, ReadsAScriptFromAPipe) {
  const BinaryRun run = script("# who is there\nworkers --json\n\n  drain worker-one\njob 'night' --json\n");
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  EXPECT_TRUE(run.output.starts_with("[{\"id\":")) << run.output;
  EXPECT_NE(run.output.find("draining  yes"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("\"name\":\"night\""), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find(kPrompt), std::string::npos);
}

TEST_F(Admin, AScriptEndsAtItsFirstError) {
  const BinaryRun run = script("job nobody\ncancel night\n");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.output, "");
  EXPECT_NE(run.errors.find("nobody"), std::string::npos) << run.errors;
  EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
  EXPECT_NE(script("jobs\n").output.find("running"), std::string::npos) << "nothing after the error was done";
  EXPECT_NE(script("wrokers\n").errors.find("did you mean 'workers'?"), std::string::npos);
  EXPECT_EQ(script("frobnicate\n").exit_code, 2);
  EXPECT_EQ(script("job 'open\n").exit_code, 2);
  EXPECT_EQ(script("quit\njob nobody\n").exit_code, 0);
}

TEST_F(Admin, WatchAnswersAgainAndAgain) {
  const BinaryRun run = script("watch jobs --every 10ms --times 3 --json\n");
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 3) << run.output;
}

}  // namespace
}  // namespace penstock
