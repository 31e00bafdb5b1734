#include "cli/commands/commands.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "cli/commands/command.hpp"
#include "cli/commands/complete.hpp"

namespace penstock::cli {
namespace {

/// The message of `penstock` to such a line of a command that moved, on standard error.
std::string answer_to(const std::string& line) {
  StopSignals stop_signals;
  Invocation invocation{stop_signals};
  CLI::App app{"", "penstock"};
  add_moved_commands(app, invocation);
  app.parse(line);
  testing::internal::CaptureStderr();
  EXPECT_EQ(finish(invocation), kBadInput) << line;
  return testing::internal::GetCapturedStderr();
}

TEST(MovedCommands, NameTheirNewCommandWhateverFollowsThem) {
  const std::string bench = "penstock: error: 'penstock bench' is now 'penstock-lab bench'\n";
  for (const char* line :
       {"bench", "bench --shape flat --subtasks 10 --json", "bench metg --pattern stencil", "bench --help"})
    EXPECT_EQ(answer_to(line), bench) << line;
  EXPECT_EQ(answer_to("sim --seeds 1..20"), "penstock: error: 'penstock sim' is now 'penstock-lab sim'\n");
  EXPECT_EQ(answer_to("policy"), "penstock: error: 'penstock policy' is now 'penstock-lab policy'\n");
  for (const std::string part : {"check", "generate", "simulate"}) {
    std::string said = "penstock: error: 'penstock policy " + part;
    said += "' is now 'penstock-lab policy " + part + "'\n";
    EXPECT_EQ(answer_to("policy " + part + " --json somewhere"), said);
  }
}

TEST(MovedCommands, AreOfferedByNoHelpAndNoCompletion) {
  StopSignals stop_signals;
  Invocation invocation{stop_signals};
  CLI::App app{"", "penstock"};
  add_product_commands(app, invocation);
  for (const char* name : {"bench", "sim", "policy"}) {
    EXPECT_EQ(complete(app, {name}), std::vector<std::string>{}) << name;
    EXPECT_EQ(app.help().find("\n  " + std::string{name} + " "), std::string::npos) << app.help();
  }
}

}  // namespace
}  // namespace penstock::cli
