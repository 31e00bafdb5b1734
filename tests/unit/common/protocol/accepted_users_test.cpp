#include "common/protocol/accepted_users.hpp"

#include <gtest/gtest.h>

#include "common/protocol/handshake.hpp"

namespace penstock {
namespace {

using Names = std::vector<std::string>;

/// `worker`, `submitter`, or why not.
std::string decided(const UserRules& rules, const std::string& user, std::optional<std::uint32_t> uid = {},
                    const std::string& supervisor = "root") {
  const Result<RunAs> as = account_for(rules, user, supervisor, uid);
  if (as) return *as == RunAs::Worker ? "worker" : "submitter";
  return to_string(as.error());
}

bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(AcceptedUsers, WithoutProvenUsersAllRunAsTheWorker) {
  EXPECT_EQ(decided({}, ""), "worker");
  EXPECT_EQ(decided({.switches = true, .own = "root"}, "eve", 1000), "worker");
  EXPECT_EQ(users_to_tell({.own = "ada"}), Names{});
}

TEST(AcceptedUsers, AnOrdinaryWorkerRunsItsOwnUsersJobsAndListedOnes) {
  UserRules rules{.known = true, .own = "ada"};
  EXPECT_EQ(decided(rules, "ada"), "worker");
  EXPECT_TRUE(says(decided(rules, "bob"), "list the user in `accept_users`")) << decided(rules, "bob");
  EXPECT_EQ(users_to_tell(rules), Names{"ada"});
  rules.accepted = {"bob", "ada"};
  EXPECT_EQ(decided(rules, "bob"), "worker") << "under its own account: it has no other";
  EXPECT_TRUE(says(decided(rules, "eve"), "runs those of 'ada'"));
  EXPECT_EQ(users_to_tell(rules), (Names{"ada", "bob"}));
  rules.accepted = {"*"};
  EXPECT_EQ(decided(rules, "eve"), "worker");
  EXPECT_EQ(users_to_tell(rules), Names{}) << "of any user";
}

TEST(AcceptedUsers, AWorkerOfRootBecomesTheUser) {
  UserRules rules{.known = true, .switches = true, .own = "root"};
  EXPECT_EQ(decided(rules, "ada", 1000), "submitter");
  EXPECT_TRUE(says(decided(rules, "ada"), "has no account on this host"));
  EXPECT_TRUE(says(decided(rules, "daemon", 1), "is a user of the system (number 1, and users_uid_min is 1000)"));
  EXPECT_TRUE(says(decided(rules, "ada", 999), "users_uid_min"));
  rules.uid_min = 500;
  EXPECT_EQ(decided(rules, "ada", 500), "submitter") << "at the limit";
  rules.accepted = {"daemon"};
  EXPECT_EQ(decided(rules, "daemon", 1), "submitter");
  EXPECT_EQ(users_to_tell(rules), Names{});
}

TEST(AcceptedUsers, RootsJobsNeedASupervisorOfRootOrTheList) {
  UserRules rules{.known = true, .switches = true, .own = "root"};
  EXPECT_EQ(decided(rules, "root", 0), "worker");
  EXPECT_TRUE(says(decided(rules, "root", 0, "penstock"), "users_uid_min"));
  EXPECT_TRUE(says(decided(rules, "toor", 0), "users_uid_min")) << "another name of root";
  rules.accepted = {"root"};
  EXPECT_EQ(decided(rules, "root", 0, "penstock"), "worker");
}

TEST(AcceptedUsers, AJobWithoutAUserIsRefused) {
  EXPECT_TRUE(says(decided({.known = true, .own = "ada"}, ""), "update the supervisor"));
  EXPECT_TRUE(says(decided({.known = true, .switches = true, .own = "root"}, "", 0), "update the supervisor"));
}

TEST(AcceptedUsers, TheListHoldsNamesAndIsLimited) {
  EXPECT_TRUE(check_accepted_users({"*", "ada", "bob@site"}));
  EXPECT_FALSE(check_accepted_users({""}));
  EXPECT_FALSE(check_accepted_users({"a b"}));
  Names many(kAcceptedUsersMax, "ada");
  EXPECT_TRUE(check_accepted_users(many));
  many.emplace_back("bob");
  EXPECT_FALSE(check_accepted_users(many));
}

}  // namespace
}  // namespace penstock
