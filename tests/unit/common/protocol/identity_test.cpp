#include "common/protocol/identity.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

const std::string kCluster(40, 'a');

TEST(Identity, ARoleHasOneName) {
  for (const Role role : kRoles) {
    const Result<Role> read = parse_role(to_string(role));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, role);
  }
  EXPECT_EQ(parse_role("root").error().code, ErrorCode::InvalidArgument);
}

TEST(Identity, ItsAddressReadsBack) {
  for (const Role role : kRoles) {
    const PeerIdentity identity{role, "ada.l@lab-1", kCluster};
    const Result<PeerIdentity> read = parse_peer_identity(to_uri(identity));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, identity);
  }
}

TEST(Identity, ItsGroupsReadBack) {
  for (const std::vector<std::string>& groups : {std::vector<std::string>{"vision"}, {"a", "b@c", "d-1"}}) {
    const PeerIdentity identity{Role::Client, "ada", kCluster, groups};
    ASSERT_TRUE(parse_peer_identity(to_uri(identity)));
    EXPECT_EQ(*parse_peer_identity(to_uri(identity)), identity);
  }
  const std::string begin = "penstock://" + kCluster + "/client/ada?groups=";
  for (const char* bad : {"", "a b", "a,b", "a+", "+a", "a++b", "a+b?groups=c"})
    EXPECT_FALSE(parse_peer_identity(begin + bad)) << bad;
}

TEST(Identity, GroupsAreLimited) {
  std::vector<std::string> groups;
  for (std::size_t i = 0; i < kGroupsMax; ++i) groups.push_back("g" + std::to_string(i));
  EXPECT_TRUE(check_groups(groups));
  EXPECT_FALSE(check_groups({"a b"}));
  EXPECT_FALSE(check_groups({""}));
  groups.push_back("more");
  EXPECT_EQ(check_groups(groups).error().code, ErrorCode::LimitExceeded);
}

TEST(Identity, AnythingElseIsNone) {
  const std::string good = "penstock://" + kCluster + "/worker/ada";
  ASSERT_TRUE(parse_peer_identity(good));
  for (const std::string& bad :
       {std::string{}, "http" + good.substr(8), good.substr(0, good.size() - 4), good + "/b", good + " ", good + "\n",
        "penstock://" + kCluster.substr(1) + "/worker/ada", "penstock://" + std::string(40, 'A') + "/worker/ada",
        "penstock://" + kCluster + "/king/ada", "penstock://" + kCluster + "/worker/", good + std::string(1, '\0')})
    EXPECT_FALSE(parse_peer_identity(bad)) << bad;
}

TEST(Identity, AUserHasAPlainName) {
  EXPECT_TRUE(check_user(std::string(kUserBytesMax, 'x')));
  EXPECT_FALSE(check_user(std::string(kUserBytesMax + 1, 'x')));
  for (const char* bad : {"", "-x", "a b", "../x", "a/b", "\x1b[0m", "ä"}) EXPECT_FALSE(check_user(bad)) << bad;
}

TEST(Identity, OnlyWorkersAreWorkers) {
  EXPECT_TRUE(may_introduce_itself(Role::Worker, PeerRole::Worker));
  EXPECT_TRUE(may_introduce_itself(Role::Worker, PeerRole::Client)) << "for its runs";
  for (const Role role : {Role::Client, Role::Operator, Role::Admin}) {
    EXPECT_TRUE(may_introduce_itself(role, PeerRole::Client));
    EXPECT_FALSE(may_introduce_itself(role, PeerRole::Worker));
  }
  for (const Role role : {Role::Supervisor, Role::Metrics})
    for (const PeerRole as : {PeerRole::Worker, PeerRole::Client}) EXPECT_FALSE(may_introduce_itself(role, as));
}

}  // namespace
}  // namespace penstock
