#include "common/security/signature.hpp"

#include <gtest/gtest.h>

#include "common/security/authority.hpp"

namespace penstock {
namespace {

TEST(Signature, ADigestIsThatOfTheStandard) {
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Signature, IsOfOneKeyAndOneText) {
  const Result<Authority> authority = Authority::make();
  const Result<Authority> other = Authority::make();
  const Result<std::string> signature = authority->sign("text");
  ASSERT_TRUE(signature.has_value());
  EXPECT_TRUE(is_signed_by(authority->certificate(), "text", *signature));
  EXPECT_FALSE(is_signed_by(authority->certificate(), "texT", *signature));
  EXPECT_FALSE(is_signed_by(other->certificate(), "text", *signature));
}

TEST(Signature, WhatIsNoneIsWrong) {
  const Result<Authority> authority = Authority::make();
  for (const char* none : {"", "0", "zz", "00", "3006020101020101"})
    EXPECT_FALSE(is_signed_by(authority->certificate(), "text", none)) << none;
}

}  // namespace
}  // namespace penstock
