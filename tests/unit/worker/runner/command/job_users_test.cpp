#include "worker/runner/command/job_users.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "common/host/host.hpp"

namespace penstock::worker {
namespace {

constexpr Instant kNow = instant_at(std::chrono::seconds{100});

Account ada() { return {"ada", 1234, 1235, {1235, 7}, "/usr", "/bin/zsh"}; }

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string text_of(const Descriptor& file) {
  std::array<char, 4096> text{};
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

TEST(JobUsers, TheEnvironmentOfAnAccountHasNothingOfTheWorkers) {
  set_environment_value("SECRET_OF_THE_WORKER", "x");
  const std::vector<std::string> environment = environment_of(ada());
  for (const char* entry : {"HOME=/usr", "USER=ada", "LOGNAME=ada", "SHELL=/bin/zsh"})
    EXPECT_TRUE(has(environment, entry)) << entry;
  for (const std::string& entry : environment) EXPECT_EQ(entry.find("SECRET"), std::string::npos) << entry;
}

TEST(JobUsers, NoVariableOfAJobReachesAProcessThatStillHasTheWorkersRights) {
  ProcessStart start;
  start.program = "/usr/bin/tool";
  start.arguments = {"-x", "a b"};
  start.environment = {"LD_PRELOAD=/home/ada/own.so", "QUOTED=it's \"$HOME\""};
  start.directory = "work";
  ASSERT_TRUE(start_as(start, ada()));
  EXPECT_EQ(start.program, "/usr/bin/setpriv");
  EXPECT_EQ(start.environment, std::vector<std::string>{"PATH=/usr/bin:/bin"});
  EXPECT_EQ(start.directory, "/") << "it is entered with the rights of the account";
  for (const char* argument : {"--reuid=1234", "--regid=1235", "--groups=1235,7", "/usr/work", "/usr/bin/tool"})
    EXPECT_TRUE(has(start.arguments, argument)) << argument;
  EXPECT_EQ(text_of(start.further), "export LD_PRELOAD='/home/ada/own.so'\nexport QUOTED='it'\\''s \"$HOME\"'\n");
}

TEST(JobUsers, AnAccountWithoutAHomeStartsAtTheRoot) {
  Account nobody = ada();
  nobody.home = "/nonexistent";
  ProcessStart start;
  start.program = "/usr/bin/tool";
  ASSERT_TRUE(start_as(start, nobody));
  EXPECT_TRUE(has(start.arguments, "/"));
}

TEST(JobUsers, AVariableThatAShellCannotNameIsRefused) {
  for (const char* entry : {"A-B=1", "1A=1", "A;id=1", "=1"}) {
    ProcessStart start;
    start.environment = {entry};
    EXPECT_FALSE(start_as(start, ada())) << entry;
  }
}

TEST(JobUsers, AHostIsAskedForEachUserAndSaysWhoIsUnknown) {
  JobUsers users{{.known = true, .switches = true, .own = "root", .uid_min = 1}, [] { return std::string{"root"}; }};
  const Result<AccountPtr> known = users.account_of("daemon", kNow);
  ASSERT_TRUE(known) << to_string(known.error());
  ASSERT_NE(*known, nullptr);
  EXPECT_EQ((*known)->name, "daemon");
  EXPECT_TRUE(std::count((*known)->groups.begin(), (*known)->groups.end(), (*known)->gid) == 1);
  const Result<AccountPtr> own = users.account_of("root", kNow);
  ASSERT_TRUE(own);
  EXPECT_EQ(*own, nullptr) << "the worker's own account";
  const Result<AccountPtr> unknown = users.account_of("no-such-user", kNow);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::PermissionDenied);
}

}  // namespace
}  // namespace penstock::worker
