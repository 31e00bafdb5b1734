// Descriptions of `penstock-lab` by itself: help, version, completion, manual page.
#include "tests/integration/tools/lab.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Lab, WithoutArgumentsItHelps) {
  const BinaryRun run = run_lab(std::vector<std::string>{});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.output, "");
  for (const char* text : {"bench", "sim", "policy", "completion", "manual"})
    EXPECT_NE(run.errors.find(text), std::string::npos) << text;
}

TEST(Lab, HelpAndVersionArePrinted) {
  EXPECT_TRUE(run_lab({"--version"}).output.starts_with("penstock-lab "));
  for (const std::vector<std::string>& command : {std::vector<std::string>{"bench"},
                                                  {"bench", "metg"},
                                                  {"bench", "idle"},
                                                  {"bench", "shares"},
                                                  {"bench", "jobs"},
                                                  {"sim"},
                                                  {"policy", "check"},
                                                  {"policy", "simulate"}}) {
    std::vector<std::string> call = command;
    call.emplace_back("--help");
    const BinaryRun help = run_lab(call);
    EXPECT_EQ(help.exit_code, 0) << command.back();
    EXPECT_NE(help.output.find("--json"), std::string::npos) << command.back();
  }
}

TEST(Lab, AnUnknownCommandIsRefusedInItsOwnName) {
  const BinaryRun run = run_lab({"benhc"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(run.errors.starts_with("penstock-lab: error: ")) << run.errors;
  for (const char* text : {"'bench'", "(see `penstock-lab --help`)"})
    EXPECT_NE(run.errors.find(text), std::string::npos) << run.errors;
}

TEST(Lab, CompletionScriptsAskTheLab) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const BinaryRun script = run_lab({"completion", shell});
    EXPECT_EQ(script.exit_code, 0);
    EXPECT_NE(script.output.find("penstock-lab complete-words"), std::string::npos) << shell;
    EXPECT_EQ(script.output.find("_penstock-lab"), std::string::npos) << shell << " takes no dash in a function's name";
  }
  EXPECT_EQ(run_lab({"complete-words", "policy", ""}).output, "check\nfill\ngenerate\nshapes\nsimulate\n");
}

TEST(Lab, TheManualPageHasEachCommand) {
  const BinaryRun manual = run_lab({"manual"});
  ASSERT_EQ(manual.exit_code, 0);
  EXPECT_TRUE(manual.output.starts_with(".TH PENSTOCK\\-LAB 1 ")) << manual.output.substr(0, 80);
  for (const char* text : {"penstock\\-lab bench metg", "penstock\\-lab sim", "penstock\\-lab policy simulate",
                           ".SH EXIT STATUS", ".SH EXAMPLES"})
    EXPECT_NE(manual.output.find(text), std::string::npos) << text;
}

}  // namespace
}  // namespace penstock
