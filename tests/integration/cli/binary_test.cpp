// Descriptions of `penstock` by itself: help, version, completion, manual page, settings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "tests/integration/cluster/binary.hpp"

namespace penstock {
namespace {

/// Runs a program that may not be there, with `input`; empty if it is not.
std::string output_of(const std::string& program, const std::vector<std::string>& arguments) {
  if (!std::filesystem::exists(program)) return {};
  const ScratchDirectory scratch;
  // A subtask of its own is the shortest way to a program with its output.
  std::string list = "\"" + program + "\"";
  for (const std::string& argument : arguments) list += ", '''" + argument + "'''";
  const std::string job = scratch.write("job.toml", "[[subtask]]\nkey = \"a\"\ncommand = [" + list + "]\n");
  const BinaryRun run = run_binary({"run", job, "--quiet"});
  EXPECT_EQ(run.exit_code, 0) << run.errors;
  return run.output;
}

TEST(Binary, WithoutArgumentsItHelps) {
  const BinaryRun run = run_binary(std::vector<std::string>{});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.output, "");
  for (const char* text : {"penstock run FILE", "supervisor", "worker", "submit", "explain", "admin"})
    EXPECT_NE(run.errors.find(text), std::string::npos) << text;
}

TEST(Binary, HelpAndVersionArePrinted) {
  const BinaryRun help = run_binary({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.errors, "");
  EXPECT_NE(help.output.find("submit"), std::string::npos);
  EXPECT_EQ(help.output.find("complete-words"), std::string::npos) << "it is only for the completion scripts";
  EXPECT_EQ(help.output.find("penstock-lab"), std::string::npos) << "a command that moved is not listed";
  const BinaryRun version = run_binary({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(version.output.starts_with("penstock ")) << version.output;
  for (const char* command :
       {"run",     "supervisor", "worker", "submit",   "wait",       "jobs",   "job",     "explain",
        "workers", "bands",      "queues", "priority", "cancel",     "drain",  "undrain", "watch",
        "admin",   "config",     "completion", "manual", "logs",    "result", "counters"}) {
    const BinaryRun one = run_binary({command, "--help"});
    EXPECT_EQ(one.exit_code, 0) << command;
    EXPECT_NE(one.output.find("--help"), std::string::npos) << command;
  }
}

TEST(Binary, QuestionsHaveJson) {
  for (const char* command : {"run", "submit", "wait", "jobs", "job", "explain", "workers", "bands", "queues",
                              "priority", "cancel", "drain", "undrain", "watch", "logs", "result"})
    EXPECT_NE(run_binary({command, "--help"}).output.find("--json"), std::string::npos) << command;
}

TEST(Binary, CompletionScriptsAskTheBinary) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const BinaryRun script = run_binary({"completion", shell});
    EXPECT_EQ(script.exit_code, 0);
    EXPECT_NE(script.output.find("penstock complete-words"), std::string::npos) << shell;
  }
  EXPECT_EQ(run_binary({"complete-words", "w"}).output, "wait\nwatch\nworker\nworkers\n");
  EXPECT_EQ(run_binary({"complete-words", "submit", "--w"}).output,
            "--wait\n--wait-for-resources\n--weight\n--wfformat\n");
  EXPECT_EQ(run_binary({"complete-words", "submit", ""}).output, "") << "files are the shell's own";
}

TEST(Binary, BashCompletesWithTheScript) {
  const std::string bin = std::filesystem::path{PENSTOCK_BINARY}.parent_path();
  const std::string printed =
      output_of("/bin/bash", {"-c", "PATH=" + bin +
                                        ":$PATH; eval \"$(penstock completion bash)\"; "
                                        "COMP_WORDS=(penstock qu); COMP_CWORD=1; _penstock; echo \"${COMPREPLY[@]}\""});
  EXPECT_NE(printed.find("queues\n"), std::string::npos) << printed;
}

TEST(Binary, TheManualPageIsWhatRoffTakes) {
  const BinaryRun manual = run_binary({"manual"});
  ASSERT_EQ(manual.exit_code, 0);
  std::istringstream lines{manual.output};
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with(".TH PENSTOCK 1 ")) << line;
  for (const char* text :
       {".SH NAME", ".SH COMMANDS", "explain", "undrain", ".SH EXIT STATUS", ".SH EXAMPLES", "\\-\\-json"})
    EXPECT_NE(manual.output.find(text), std::string::npos) << text;
  while (std::getline(lines, line)) {
    if (line.starts_with(".") && line != ".nh") {
      EXPECT_TRUE(line.size() >= 3 && std::isupper(static_cast<unsigned char>(line[1])) != 0) << line;
    }
    EXPECT_FALSE(line.starts_with("'")) << line;
    EXPECT_FALSE(line.ends_with("..")) << line;
  }
  const ScratchDirectory scratch;
  const std::string page = scratch.write("penstock.1", manual.output);
  if (!std::filesystem::exists("/usr/bin/groff")) return;
  const std::string said = output_of("/bin/sh", {"-c", "groff -man -ww -z -Tutf8 " + page + " 2>&1; echo read"});
  EXPECT_NE(said.find("read\n"), std::string::npos) << said;
  EXPECT_EQ(said.find("penstock.1:"), std::string::npos) << said;
}

// The output of `config` is a whole file: read back, it prints the same.
TEST(Binary, ConfigReadsBack) {
  const ScratchDirectory scratch;
  const BinaryRun first =
      run_binary({"config", "--set", "link.heartbeat=123ms", "--set", "worker.prepare_bytes_max=64MiB"});
  ASSERT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_NE(first.output.find("heartbeat = \"123ms\""), std::string::npos);
  const std::string path = scratch.write("penstock.toml", first.output);
  EXPECT_EQ(run_binary({"config", "--config", path}).output, first.output);
  EXPECT_EQ(run_binary(BinaryCall{{"config"}, {}, scratch.path(), {}}).output, first.output) << "it is found here";
  EXPECT_EQ(run_binary(BinaryCall{{"config"}, {}, {}, {"PENSTOCK_CONFIG=" + path}}).output, first.output);
  EXPECT_EQ(run_binary({"config", "--config", path, "--set", "link.heartbeat=1s"}).output,
            run_binary({"config", "--set", "worker.prepare_bytes_max=64MiB"}).output);
}

TEST(Binary, WhatStandardOutputDoesNotTakeIsAnError) {
  for (const char* call : {"config", "--help", "--version"}) {
    const BinaryRun run = run_binary(BinaryCall{{call}, {}, {}, {}, "/dev/full"});
    EXPECT_EQ(run.exit_code, 2) << call;
    EXPECT_EQ(run.errors, "penstock: error: standard output: could not take all of it (is the disk full?)\n");
  }
}

// Found by an explorer: the variable won, and orders went to the wrong cluster.
TEST(Binary, WhatTheLineSaysGoesBeforeVariables) {
  const BinaryRun asked =
      run_binary(BinaryCall{{"jobs", "-s", "nowhere"}, {}, {}, {"PENSTOCK_SUPERVISOR=127.0.0.1:1"}});
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_NE(asked.errors.find("nowhere"), std::string::npos) << asked.errors;
  const BinaryRun by_variable = run_binary(BinaryCall{{"jobs"}, {}, {}, {"PENSTOCK_SUPERVISOR=elsewhere"}});
  EXPECT_NE(by_variable.errors.find("elsewhere"), std::string::npos) << by_variable.errors;
  const ScratchDirectory scratch;
  const std::string path = scratch.write("other.toml", "[link]\nheartbeat = \"1s\"\n");
  const BinaryRun worker =
      run_binary(BinaryCall{{"worker", "--config", "/no/such/file"}, {}, {}, {"PENSTOCK_CONFIG=" + path}});
  EXPECT_EQ(worker.exit_code, 2);
  EXPECT_NE(worker.errors.find("/no/such/file"), std::string::npos) << worker.errors;
}

}  // namespace
}  // namespace penstock
