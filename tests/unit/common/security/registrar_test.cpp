#include "common/security/registrar.hpp"

#include <gtest/gtest.h>

#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const CalendarTime kNow = std::chrono::system_clock::from_time_t(2'000'000'000);

struct Office {
  ScratchDirectory scratch;
  Registrar registrar = std::move(Registrar::open(scratch.at("authority"))).value();
  std::string key = public_part(**make_key());

  Result<TokenText> token(Role role = Role::Client, const std::string& user = "bob", std::size_t most = 10) {
    return registrar.create_token(role, user, minutes{15}, most, kNow);
  }
  Result<CertificatePtr> join(const TokenText& text, CalendarTime now = kNow) {
    return registrar.join(text, key, "ada", hours{24}, now);
  }
};

TEST(Registrar, ATokenReadsBackAndNothingElseDoes) {
  const TokenText token{std::string(40, 'a'), std::string(8, 'b'), std::string(64, 'c')};
  const std::string text = to_string(token);
  const Result<TokenText> read = parse_token(" " + text + "\r\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(to_string(*read), text);
  for (const std::string& bad : {std::string{}, text.substr(1), text + "0", text.substr(0, text.size() - 1) + "G",
                                 std::string(text.size(), '-'), text + "\n" + text}) {
    const Result<TokenText> none = parse_token(bad);
    ASSERT_FALSE(none) << bad;
    EXPECT_EQ(to_string(none.error()).find(std::string(64, 'c')), std::string::npos) << "a secret in a message";
  }
}

TEST(Registrar, ATokenIsUsedOnce) {
  Office office;
  const Result<TokenText> token = office.token(Role::Worker, "");
  ASSERT_TRUE(token);
  ASSERT_EQ(office.registrar.list_tokens(kNow).size(), 1U);
  const Result<CertificatePtr> certificate = office.join(*token);
  ASSERT_TRUE(certificate) << to_string(certificate.error());
  EXPECT_EQ(*identity_of(**certificate), (PeerIdentity{Role::Worker, "ada", office.registrar.authority().cluster()}));
  EXPECT_EQ(office.join(*token).error().code, ErrorCode::PermissionDenied);
  EXPECT_TRUE(office.registrar.list_tokens(kNow).empty());
}

TEST(Registrar, ATokenForAUserMakesNobodyElse) {
  Office office;
  EXPECT_EQ(identity_of(**office.join(*office.token(Role::Client, "bob")))->user, "bob");
  EXPECT_FALSE(office.token(Role::Client, "b/ob"));
  for (const Role role : {Role::Client, Role::Operator, Role::Admin})
    EXPECT_EQ(office.token(role, "").error().code, ErrorCode::InvalidArgument) << "its finder could be anybody";
  EXPECT_EQ(office.token(Role::Supervisor).error().code, ErrorCode::InvalidArgument);
}

TEST(Registrar, GroupsOfATokenAreThoseOfItsCertificates) {
  Office office;
  const std::vector<std::string> groups{"vision", "speech"};
  EXPECT_FALSE(office.registrar.create_token(Role::Client, "ada", hours{1}, 10, kNow, {"a b"}));
  const TokenText token = *office.registrar.create_token(Role::Client, "ada", hours{1}, 10, kNow, groups);
  ASSERT_EQ(office.registrar.list_tokens(kNow).size(), 1U);
  EXPECT_EQ(office.registrar.list_tokens(kNow).front().groups, groups);
  const CertificatePtr first = std::move(office.join(token)).value();
  EXPECT_EQ(identity_of(*first)->groups, groups);
  const auto second = office.registrar.renew(*identity_of(*first), serial_of(*first), office.key, hours{24}, kNow);
  EXPECT_EQ(identity_of(**second)->groups, groups) << "a renewed one as well";
}

TEST(Registrar, AWrongTokenIsRefusedAndTheRightOneStays) {
  Office office;
  const TokenText token = *office.token();
  TokenText guessed = token;
  guessed.secret = std::string(64, '0');
  EXPECT_EQ(office.join(guessed).error().code, ErrorCode::PermissionDenied);
  TokenText elsewhere = token;
  elsewhere.cluster = std::string(40, 'a');
  EXPECT_NE(office.join(elsewhere).error().message.find("another cluster"), std::string::npos);
  EXPECT_EQ(office.registrar.join(token, "no key", "ada", hours{1}, kNow).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(office.registrar.join(*office.token(Role::Worker, ""), office.key, "a/da", hours{1}, kNow).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_TRUE(office.join(token)) << "a mistake does not use it up";
}

TEST(Registrar, AnOldTokenIsRefused) {
  Office office;
  const TokenText token = *office.token();
  EXPECT_EQ(office.join(token, kNow + minutes{15}).error().code, ErrorCode::PermissionDenied);
  const TokenText other = *office.token();
  EXPECT_TRUE(office.join(other, kNow + minutes{14}));
}

TEST(Registrar, TokensAreCounted) {
  Office office;
  ASSERT_TRUE(office.token(Role::Client, "bob", 1));
  EXPECT_EQ(office.token(Role::Client, "bob", 1).error().code, ErrorCode::LimitExceeded);
  EXPECT_TRUE(office.registrar.create_token(Role::Client, "bob", minutes{15}, 1, kNow + minutes{16}))
      << "the old one is gone";
}

TEST(Registrar, ARevokedTokenTakesItsCertificatesBackAlsoRenewedOnes) {
  Office office;
  const TokenText token = *office.token(Role::Worker, "");
  const CertificatePtr first = std::move(office.join(token)).value();
  const PeerIdentity peer = *identity_of(*first);
  const Result<CertificatePtr> second = office.registrar.renew(peer, serial_of(*first), office.key, hours{24}, kNow);
  ASSERT_TRUE(second);
  EXPECT_EQ(*identity_of(**second), peer);
  Registrar command = std::move(Registrar::open(office.scratch.at("authority"))).value();
  ASSERT_TRUE(command.revoke_token(token.id));
  EXPECT_FALSE(office.registrar.is_revoked(serial_of(*first)));
  EXPECT_TRUE(*office.registrar.look_for_revocations());
  EXPECT_FALSE(*office.registrar.look_for_revocations()) << "nothing has changed since";
  EXPECT_TRUE(office.registrar.is_revoked(serial_of(*first)));
  EXPECT_TRUE(office.registrar.is_revoked(serial_of(**second)));
  EXPECT_EQ(office.registrar.renew(peer, serial_of(*first), office.key, hours{24}, kNow).error().code,
            ErrorCode::PermissionDenied);
  EXPECT_EQ(command.revoke_token("00000000").error().code, ErrorCode::NotFound);
  EXPECT_EQ(command.revoke_token("../authority.key").error().code, ErrorCode::NotFound);
}

TEST(Registrar, ARevokedCertificateIsNotRenewedBeforeTheServerHasLooked) {
  Office office;
  const TokenText token = *office.token(Role::Worker, "");
  const CertificatePtr first = std::move(office.join(token)).value();
  ASSERT_TRUE(Registrar::open(office.scratch.at("authority"))->revoke_token(token.id));
  EXPECT_EQ(office.registrar.renew(*identity_of(*first), serial_of(*first), office.key, hours{24}, kNow).error().code,
            ErrorCode::PermissionDenied);
}

TEST(Registrar, TheCertificateOfRunsIsOfNoTokenAndNotRenewedByThem) {
  Office office;
  EXPECT_EQ(office.token(Role::Run, "ada").error().code, ErrorCode::InvalidArgument);
  const Credential of_runs = std::move(office.registrar.issue(Role::Run, "ada", hours{24}, kNow)).value();
  const Result<CertificatePtr> renewed = office.registrar.renew(
      *identity_of(*of_runs.certificate), serial_of(*of_runs.certificate), office.key, hours{24}, kNow);
  EXPECT_EQ(renewed.error().code, ErrorCode::PermissionDenied);
}

TEST(Registrar, ATokenForMungeHasNoSecret) {
  const std::string cluster(40, 'a');
  const std::string text = "penstock-" + cluster + "-munge";
  const Result<TokenText> token = parse_token(text + "\n");
  ASSERT_TRUE(token);
  EXPECT_TRUE(token->by_munge());
  EXPECT_EQ(to_string(*token), text);
  EXPECT_FALSE(parse_token("penstock-" + cluster + "-munge2"));
  EXPECT_FALSE(parse_token("penstock-" + std::string(40, 'x') + "-munge"));
  EXPECT_FALSE(parse_token("penstock-munge"));
  EXPECT_NE(munge_content("one key"), munge_content("another key"));
}

TEST(Registrar, AProvenUserIsAClientUntilAllSuchLoginsAreTakenBack) {
  Office office;
  const CertificatePtr ada = std::move(office.registrar.join_proven("ada", office.key, hours{24}, kNow)).value();
  EXPECT_EQ(identity_of(*ada)->user, "ada");
  EXPECT_EQ(identity_of(*ada)->role, Role::Client);
  const Result<CertificatePtr> renewed =
      office.registrar.renew(*identity_of(*ada), serial_of(*ada), office.key, hours{24}, kNow);
  ASSERT_TRUE(renewed);
  EXPECT_EQ(office.registrar.join_proven("a/b", office.key, hours{24}, kNow).error().code, ErrorCode::InvalidArgument);
  ASSERT_TRUE(office.registrar.revoke_token("munge"));
  ASSERT_TRUE(office.registrar.look_for_revocations());
  EXPECT_TRUE(office.registrar.is_revoked(serial_of(*ada)));
  EXPECT_TRUE(office.registrar.is_revoked(serial_of(**renewed)));
}

TEST(Registrar, AListThatCannotBeReadGivesNothingBack) {
  Office office;
  const CertificatePtr bob = std::move(office.join(*office.token())).value();
  ASSERT_TRUE(office.registrar.revoke_user("bob"));
  ASSERT_TRUE(*office.registrar.look_for_revocations());
  std::filesystem::permissions(office.scratch.at("authority/revoked"), std::filesystem::perms::all);
  EXPECT_FALSE(office.registrar.look_for_revocations());
  EXPECT_TRUE(office.registrar.is_revoked(serial_of(*bob)));
  EXPECT_FALSE(office.registrar.forget_expired(kNow)) << "and the list is not written anew";
  EXPECT_FALSE(Registrar::open(office.scratch.at("authority"))) << "a supervisor does not start without it";
}

TEST(Registrar, ARemovedUserHasNoTokenLeft) {
  Office office;
  const TokenText spare = *office.token(Role::Client, "bob");
  const TokenText other = *office.token(Role::Client, "eve");
  ASSERT_TRUE(office.registrar.revoke_user("bob"));
  EXPECT_EQ(office.join(spare).error().code, ErrorCode::PermissionDenied);
  EXPECT_TRUE(office.join(other));
}

TEST(Registrar, AnUnusedTokenIsTakenBack) {
  Office office;
  const TokenText token = *office.token();
  ASSERT_TRUE(office.registrar.revoke_token(token.id));
  EXPECT_EQ(office.join(token).error().code, ErrorCode::PermissionDenied);
}

TEST(Registrar, AUserLosesAllCertificatesAndOthersNone) {
  Office office;
  const CertificatePtr bob = std::move(office.join(*office.token(Role::Client, "bob"))).value();
  const CertificatePtr eve = std::move(office.join(*office.token(Role::Client, "eve"))).value();
  ASSERT_TRUE(office.registrar.revoke_user("bob"));
  EXPECT_EQ(office.registrar.revoke_user("nobody").error().code, ErrorCode::NotFound);
  ASSERT_TRUE(office.registrar.look_for_revocations());
  EXPECT_TRUE(office.registrar.is_revoked(serial_of(*bob)));
  EXPECT_FALSE(office.registrar.is_revoked(serial_of(*eve)));
}

TEST(Registrar, WhatHasExpiredIsForgottenAndWhatIsRevokedStaysRevoked) {
  Office office;
  const CertificatePtr old = std::move(office.join(*office.token(Role::Client, "bob"), kNow)).value();
  const CertificatePtr present =
      std::move(office.registrar.join(*office.token(Role::Client, "bob"), office.key, "bob", hours{48}, kNow)).value();
  ASSERT_TRUE(office.registrar.revoke_user("bob"));
  ASSERT_TRUE(office.registrar.forget_expired(kNow + hours{30}));
  EXPECT_FALSE(office.registrar.is_revoked(serial_of(*old))) << "it has expired";
  EXPECT_TRUE(office.registrar.is_revoked(serial_of(*present)));
  EXPECT_TRUE(Registrar::open(office.scratch.at("authority"))->is_revoked(serial_of(*present)));
}

}  // namespace
}  // namespace penstock
