#include "common/security/authority.hpp"
#include "common/host/clock.hpp"

#include <gtest/gtest.h>

#include "common/security/private_file.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;

TEST(Authority, ItIsMadeOnceAndFoundAgain) {
  const ScratchDirectory scratch;
  const Result<Authority> made = Authority::open(scratch.at("authority"));
  ASSERT_TRUE(made) << to_string(made.error());
  const Result<Authority> found = Authority::open(scratch.at("authority"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cluster(), made->cluster());
  EXPECT_EQ(made->cluster().size(), 40U);
  EXPECT_NE(Authority::make()->cluster(), made->cluster());
}

TEST(Authority, AKeyWithoutACertificateIsTheRemainderOfAKillAndMadeAnew) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(make_private_directory(scratch.at("authority")));
  ASSERT_TRUE(write_private_file(scratch.at("authority/authority.key"), "half"));
  EXPECT_TRUE(Authority::open(scratch.at("authority")));
  EXPECT_TRUE(Authority::open(scratch.at("authority")));
}

TEST(Authority, ADamagedOneAndTheKeyOfAnotherAreRefused) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(Authority::open(scratch.at("one")));
  ASSERT_TRUE(Authority::open(scratch.at("two")));
  const std::string key = *read_private_file(scratch.at("two/authority.key"));
  ASSERT_TRUE(write_private_file(scratch.at("one/authority.key"), key));
  EXPECT_EQ(Authority::open(scratch.at("one")).error().code, ErrorCode::InvalidArgument);
  ASSERT_TRUE(write_private_file(scratch.at("two/authority.pem"), "-----BEGIN CERTIFICATE-----\nAA"));
  EXPECT_EQ(Authority::open(scratch.at("two")).error().code, ErrorCode::InvalidArgument);
  fs::permissions(scratch.at("one/authority.key"), fs::perms::others_read, fs::perm_options::add);
  EXPECT_NE(Authority::open(scratch.at("one")).error().message.find("may be read by others"), std::string::npos);
}

TEST(Authority, ACertificateSaysWhoHasIt) {
  const Result<Authority> authority = Authority::make();
  ASSERT_TRUE(authority);
  const Result<Credential> issued = authority->issue(Role::Operator, "ada", hours{24});
  ASSERT_TRUE(issued) << to_string(issued.error());
  const Result<PeerIdentity> identity = identity_of(*issued->certificate);
  ASSERT_TRUE(identity);
  EXPECT_EQ(*identity, (PeerIdentity{Role::Operator, "ada", authority->cluster()}));
  EXPECT_EQ(issuer_of(*issued->certificate), authority->cluster());
  EXPECT_EQ(cluster_of(*issued->authority), authority->cluster());
  EXPECT_FALSE(identity_of(*issued->authority)) << "an authority is no peer";
  EXPECT_NE(serial_of(*issued->certificate),
            serial_of(*authority->issue(Role::Operator, "ada", hours{1})->certificate));
  EXPECT_FALSE(authority->issue(Role::Client, "a/b", hours{1}));
}

// Prometheus compares the host name of a server; a user must not be able to pass for one.
TEST(Authority, ServersHaveAHostNameAndUsersHaveNone) {
  const Result<Authority> authority = Authority::make();
  const auto is_named = [&](Role role, const char* name) {
    const Result<Credential> issued = authority->issue(role, "ada", hours{1});
    EXPECT_EQ(identity_of(*issued->certificate)->role, role);
    std::string der(static_cast<std::size_t>(i2d_X509(issued->certificate.get(), nullptr)), '\0');
    auto* out = reinterpret_cast<unsigned char*>(der.data());
    i2d_X509(issued->certificate.get(), &out);
    return der.find(name) != std::string::npos;
  };
  EXPECT_TRUE(is_named(Role::Supervisor, "penstock-supervisor"));
  EXPECT_TRUE(is_named(Role::Worker, "penstock-worker"));
  EXPECT_FALSE(is_named(Role::Worker, "penstock-supervisor"));
  for (const Role role : {Role::Client, Role::Operator, Role::Admin, Role::Metrics, Role::Run})
    for (const char* name : {"penstock-supervisor", "penstock-worker"}) EXPECT_FALSE(is_named(role, name));
}

TEST(Authority, ACertificateIsRenewedAtHalfOfItsLife) {
  const Result<Authority> authority = Authority::make();
  const Result<Credential> issued = authority->issue(Role::Worker, "ada", hours{24});
  const CalendarTime now = calendar_now();
  EXPECT_NEAR(static_cast<double>((valid_until(*issued->certificate) - now) / seconds{1}), 24 * 3600.0, 5);
  EXPECT_FALSE(wants_renewal(*issued->certificate, now));
  EXPECT_FALSE(wants_renewal(*issued->certificate, now + hours{11}));
  EXPECT_TRUE(wants_renewal(*issued->certificate, now + hours{13}));
}

TEST(Authority, ACredentialReadsBackAndItsPartsBelongTogether) {
  const Result<Authority> authority = Authority::make();
  const Result<Credential> one = authority->issue(Role::Client, "ada", hours{1});
  const Result<Credential> two = authority->issue(Role::Client, "bob", hours{1});
  const Result<Credential> read = read_credential(to_pem(*one), "file");
  ASSERT_TRUE(read);
  EXPECT_EQ(to_pem(*read), to_pem(*one));
  const Credential mixed{share(one->key.get()), share(two->certificate.get()), share(one->authority.get())};
  EXPECT_EQ(read_credential(to_pem(mixed), "file").error().code, ErrorCode::InvalidArgument);
  for (const std::string& bad : {std::string{}, std::string{"x"}, to_pem(*one).substr(0, 400), std::string(4096, '\0')})
    EXPECT_EQ(read_credential(bad, "file").error().code, ErrorCode::InvalidArgument);
}

TEST(Authority, AKeyIsCertifiedWithoutItsPrivatePart) {
  const Result<Authority> authority = Authority::make();
  const Result<KeyPtr> key = make_key();
  const Result<KeyPtr> shown = read_public_part(public_part(**key));
  ASSERT_TRUE(shown);
  const Result<CertificatePtr> certificate = authority->certify(**shown, Role::Worker, "ada", hours{1});
  ASSERT_TRUE(certificate);
  EXPECT_EQ(X509_check_private_key(certificate->get(), key->get()), 1);
  for (const std::string& bad : {std::string{}, std::string{"key"}, public_part(**key).substr(1)})
    EXPECT_FALSE(read_public_part(bad));
  const KeyPtr other{EVP_EC_gen("P-384")};
  EXPECT_FALSE(read_public_part(public_part(*other))) << "another curve";
}

}  // namespace
}  // namespace penstock
