#include "common/security/trusted_library.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

// Of `abc`: FIPS 180-2, appendix B.1.
constexpr const char* kDigest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class TrustedLibrary : public ::testing::Test {
 protected:
  TrustedLibrary() : path_(scratch_.at("lib.so")) { std::ofstream{path_} << "abc"; }
  std::string refusal(const std::string& text) const {
    const Result<std::string> checked = trusted_library(text);
    return checked ? std::string{} : to_string(checked.error());
  }
  ScratchDirectory scratch_;
  std::string path_;
};

TEST_F(TrustedLibrary, OfThisUserIsTaken) {
  const Result<std::string> checked = trusted_library(path_);
  ASSERT_TRUE(checked) << to_string(checked.error());
  EXPECT_EQ(*checked, std::filesystem::canonical(path_));
}

TEST_F(TrustedLibrary, ThatOthersMayChangeIsRefused) {
  ASSERT_EQ(::chmod(path_.c_str(), 0664), 0);
  EXPECT_NE(refusal(path_).find("chmod go-w"), std::string::npos);
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 0777), 0);
  EXPECT_NE(refusal(path_).find("is a directory of libraries that users beside its owner may change"),
            std::string::npos)
      << "they could put another one in its place";
  ASSERT_EQ(::chmod(scratch_.path().c_str(), 01777), 0);
  EXPECT_EQ(refusal(path_), "") << "as in /tmp";
}

TEST_F(TrustedLibrary, OfAnotherUserIsRefusedAlsoBehindALink) {
  if (::geteuid() != 0) GTEST_SKIP() << "gives a file away, which takes root";
  ASSERT_EQ(::symlink(path_.c_str(), scratch_.at("link").c_str()), 0);
  ASSERT_EQ(::chown(path_.c_str(), 1, 1), 0);
  EXPECT_NE(refusal(path_).find("of user number 1"), std::string::npos);
  EXPECT_NE(refusal(scratch_.at("link")).find("of user number 1"), std::string::npos);
}

TEST_F(TrustedLibrary, HasTheContentOfItsDigest) {
  EXPECT_EQ(refusal(path_ + "@sha256:" + kDigest), "");
  EXPECT_NE(refusal(path_ + "@sha256:00").find(kDigest), std::string::npos) << "the message has the digest that it has";
  std::ofstream{path_, std::ios::app} << "d";
  EXPECT_NE(refusal(path_ + "@sha256:" + kDigest), "");
}

TEST_F(TrustedLibrary, ThatIsMissingIsRefused) {
  EXPECT_NE(refusal(path_ + "x").find("check the path"), std::string::npos);
}

}  // namespace
}  // namespace penstock
