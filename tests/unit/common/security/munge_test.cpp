#include "common/security/munge.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace penstock {
namespace {

/// The library of the tests has the name of the real one, and is found in its place once it is loaded.
class MungeTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::dlopen(PENSTOCK_FAKE_MUNGE, RTLD_NOW), nullptr) << ::dlerror(); }
};

TEST_F(MungeTest, ACredentialTellsItsMakerAndWhatWasSealed) {
  const Result<std::string> sealed = munge_seal("a text");
  ASSERT_TRUE(sealed) << to_string(sealed.error());
  const Result<MungeProof> proof = munge_open(*sealed);
  ASSERT_TRUE(proof) << to_string(proof.error());
  EXPECT_EQ(proof->uid, ::geteuid());
  EXPECT_EQ(proof->content, "a text");
}

TEST_F(MungeTest, ACredentialIsOpenedOnce) {
  const Result<std::string> sealed = munge_seal("once");
  ASSERT_TRUE(munge_open(*sealed));
  const Result<MungeProof> again = munge_open(*sealed);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::PermissionDenied);
  EXPECT_EQ(again.error().message, "Replayed credential");
}

TEST_F(MungeTest, WhatIsNoCredentialIsRefused) {
  for (const char* text : {"", "MUNGE:x", "FAKE-MUNGE:x:y"})
    EXPECT_EQ(munge_open(text).error().code, ErrorCode::PermissionDenied) << text;
}

}  // namespace
}  // namespace penstock
