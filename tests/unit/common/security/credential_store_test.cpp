#include "common/security/credential_store.hpp"
#include "common/host/clock.hpp"

#include <gtest/gtest.h>

#include "common/security/authority.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

TEST(CredentialStore, ItsPlaceIsTheUsersPlaceForConfiguration) {
  EXPECT_EQ(default_config_directory({"/a", "/b", "/c"}), "/a");
  EXPECT_EQ(default_config_directory({"", "/b", "/c"}), "/b/penstock");
  EXPECT_EQ(default_config_directory({"relative", "", "/c"}), "/c/.config/penstock");
  EXPECT_EQ(default_config_directory({}), "");
}

struct Saved {
  ScratchDirectory scratch;
  CredentialStore store{scratch.at("config")};
  Authority authority = std::move(Authority::make()).value();

  Result<void> save(Role role, hours life = hours{1}) {
    return store.save(authority.cluster(), role, *authority.issue(role, "ada", life));
  }
};

TEST(CredentialStore, AProcessHasTheMightiestCredentialOfItsKind) {
  Saved saved;
  const std::string& cluster = saved.authority.cluster();
  EXPECT_EQ(saved.store.load_for(cluster, PeerRole::Client).error().code, ErrorCode::NotFound);
  ASSERT_TRUE(saved.save(Role::Client));
  EXPECT_EQ(identity_of(*saved.store.load_for(cluster, PeerRole::Client)->certificate)->role, Role::Client);
  ASSERT_TRUE(saved.save(Role::Admin));
  EXPECT_EQ(identity_of(*saved.store.load_for(cluster, PeerRole::Client)->certificate)->role, Role::Admin);
  EXPECT_EQ(saved.store.load_for(cluster, PeerRole::Worker).error().code, ErrorCode::NotFound);
  ASSERT_TRUE(saved.save(Role::Worker));
  EXPECT_EQ(identity_of(*saved.store.load_for(cluster, PeerRole::Client)->certificate)->role, Role::Admin);
  EXPECT_TRUE(saved.store.load_for(cluster, PeerRole::Worker));
  saved.store.forget(cluster);
  EXPECT_FALSE(saved.store.load_for(cluster, PeerRole::Worker));
}

TEST(CredentialStore, ALoginTakesTheRightsOfAnEarlierOne) {
  Saved saved;
  const std::string& cluster = saved.authority.cluster();
  for (const Role role : {Role::Operator, Role::Worker}) ASSERT_TRUE(saved.save(role));
  ASSERT_TRUE(saved.store.save_only(cluster, Role::Client, *saved.authority.issue(Role::Client, "ada", hours{1})));
  EXPECT_EQ(identity_of(*saved.store.load_for(cluster, PeerRole::Client)->certificate)->role, Role::Client);
  EXPECT_TRUE(saved.store.load(cluster, Role::Worker)) << "the worker of this user goes on";
}

TEST(CredentialStore, OneForMetricsStandsBesideThatOfTheUser) {
  Saved saved;
  const std::string& cluster = saved.authority.cluster();
  ASSERT_TRUE(saved.store.save_only(cluster, Role::Metrics, *saved.authority.issue(Role::Metrics, "ada", hours{1})));
  EXPECT_EQ(identity_of(*saved.store.load_for(cluster, PeerRole::Client)->certificate)->role, Role::Metrics)
      << "so that it can be renewed";
  ASSERT_TRUE(saved.save(Role::Client));
  ASSERT_TRUE(saved.store.save_only(cluster, Role::Metrics, *saved.authority.issue(Role::Metrics, "ada", hours{1})));
  EXPECT_EQ(identity_of(*saved.store.load_for(cluster, PeerRole::Client)->certificate)->role, Role::Client);
}

TEST(CredentialStore, TheCredentialOfARunServesWhereTheUserHasNoneThatIsValid) {
  Saved saved;
  const std::string& cluster = saved.authority.cluster();
  const CredentialStore of_run{saved.scratch.at("run")};
  const CredentialStore store{saved.store.directory(), of_run.directory()};
  const auto role = [&] { return identity_of(*store.load_for(cluster, PeerRole::Client)->certificate)->role; };
  EXPECT_EQ(store.load_for(cluster, PeerRole::Client).error().code, ErrorCode::NotFound);
  ASSERT_TRUE(of_run.save(cluster, Role::Run, *saved.authority.issue(Role::Run, "ada", hours{1})));
  EXPECT_EQ(role(), Role::Run);
  EXPECT_EQ(store.load_for(cluster, PeerRole::Worker).error().code, ErrorCode::NotFound);
  ASSERT_TRUE(saved.save(Role::Client));
  EXPECT_EQ(role(), Role::Client);
  const CalendarTime days_ago = calendar_now() - hours{72};
  ASSERT_TRUE(saved.store.save(cluster, Role::Client, *saved.authority.issue(Role::Client, "ada", hours{1}, days_ago)));
  EXPECT_EQ(role(), Role::Run) << "the user's own is out of date";
}

TEST(CredentialStore, ADamagedCredentialIsToldAndNotPassedOver) {
  Saved saved;
  ASSERT_TRUE(saved.save(Role::Client));
  ASSERT_TRUE(saved.save(Role::Admin));
  const std::string file = saved.store.directory() + "/clusters/" + saved.authority.cluster() + "/admin.pem";
  fs::permissions(file, fs::perms::others_read, fs::perm_options::add);
  EXPECT_EQ(saved.store.load_for(saved.authority.cluster(), PeerRole::Client).error().code, ErrorCode::InvalidArgument);
}

TEST(CredentialStore, OldClustersAreForgotten) {
  Saved saved;
  Saved other;
  other.store = saved.store;
  ASSERT_TRUE(saved.save(Role::Client, hours{1}));
  ASSERT_TRUE(other.save(Role::Client, hours{48}));
  saved.store.forget_older(calendar_now() + hours{3}, hours{1});
  EXPECT_FALSE(saved.store.load(saved.authority.cluster(), Role::Client));
  EXPECT_TRUE(saved.store.load(other.authority.cluster(), Role::Client));
}

TEST(CredentialStore, WithoutAPlaceThereIsNone) {
  Saved saved;
  saved.store = CredentialStore{""};
  EXPECT_EQ(saved.save(Role::Client).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(saved.store.load(saved.authority.cluster(), Role::Client).error().code, ErrorCode::NotFound);
  saved.store.forget(saved.authority.cluster());
  saved.store.forget_older(calendar_now(), hours{0});
}

}  // namespace
}  // namespace penstock
