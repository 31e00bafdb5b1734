#include "cli/commands/complete.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace penstock::cli {
namespace {

using Words = std::vector<std::string>;

/// `wait JOB --timeout T --json`, `workers`, `work hard`, and one that nobody should see.
class Complete : public ::testing::Test {
 protected:
  Complete() {
    CLI::App* wait = app_.add_subcommand("wait", "");
    wait->add_option("JOB", text_, "");
    wait->add_option("SUBTASK", text_, "");
    wait->add_option("-t,--timeout", text_, "");
    wait->add_flag("--json", flag_, "");
    app_.add_subcommand("workers", "");
    app_.add_subcommand("work", "")->add_subcommand("hard", "");
    app_.add_subcommand("secret", "")->group("");
  }

  CLI::App app_{"", "penstock"};

 private:
  std::string text_;
  bool flag_ = false;
};

TEST_F(Complete, OffersSubcommandsThatBeginSo) {
  EXPECT_EQ(complete(app_, {""}), (Words{"wait", "work", "workers"}));
  EXPECT_EQ(complete(app_, {}), (Words{"wait", "work", "workers"}));
  EXPECT_EQ(complete(app_, {"wo"}), (Words{"work", "workers"}));
  EXPECT_EQ(complete(app_, {"x"}), Words{});
  EXPECT_EQ(complete(app_, {"work", ""}), Words{"hard"});
}

TEST_F(Complete, OffersOptionsOfTheSubcommand) {
  EXPECT_EQ(complete(app_, {"wait", "--"}), (Words{"--help", "--json", "--timeout"}));
  EXPECT_EQ(complete(app_, {"wait", "job-1", "--t"}), Words{"--timeout"});
  EXPECT_EQ(complete(app_, {"workers", "--t"}), Words{});
}

TEST_F(Complete, OffersNothingForTheValueOfAnOption) {
  EXPECT_EQ(complete(app_, {"work", "--help", ""}), Words{"hard"});
  EXPECT_EQ(complete(app_, {"wait", "--timeout", ""}), Words{});
  EXPECT_FALSE(wants_operand(app_, {"wait", "--timeout", ""}, "JOB"));
}

TEST_F(Complete, KnowsWhichOperandStandsThere) {
  EXPECT_TRUE(wants_operand(app_, {"wait", ""}, "JOB"));
  EXPECT_FALSE(wants_operand(app_, {"wait", ""}, "SUBTASK"));
  EXPECT_TRUE(wants_operand(app_, {"wait", "job-1", "s"}, "SUBTASK"));
  EXPECT_FALSE(wants_operand(app_, {"wait", "job-1", "s", ""}, "SUBTASK"));
  EXPECT_FALSE(wants_operand(app_, {"wait"}, "JOB"));
  EXPECT_FALSE(wants_operand(app_, {"wait", "--js"}, "JOB"));
}

TEST_F(Complete, ValuesOfOptionsAreNoOperands) {
  EXPECT_TRUE(wants_operand(app_, {"wait", "--timeout", "5s", "j"}, "JOB"));
  EXPECT_TRUE(wants_operand(app_, {"wait", "-t", "5s", "j"}, "JOB"));
  EXPECT_TRUE(wants_operand(app_, {"wait", "--timeout=5s", "--json", "j"}, "JOB"));
}

}  // namespace
}  // namespace penstock::cli
