#include "common/security/secret_box.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

using BoxPtr = std::shared_ptr<const SecretBox>;

BoxPtr open(const ScratchDirectory& scratch) { return *SecretBox::open(scratch.at("key")); }

RC_GTEST_PROP(SecretBox, OpensWhatItHasSealed, (const std::string& name, const std::string& value)) {
  static const ScratchDirectory scratch;
  const BoxPtr box = open(scratch);
  const std::string sealed = *box->seal(name, value);
  RC_ASSERT(*open(scratch)->unseal(name, sealed) == value);  // As after a restart.
  RC_ASSERT(*box->seal(name, value) != sealed);              // Two of the same value differ.
}

TEST(SecretBox, NeitherNameNorByteMayChange) {
  const ScratchDirectory scratch;
  const BoxPtr box = open(scratch);
  const std::string sealed = *box->seal("A", "hush");
  EXPECT_EQ(sealed.find("hush"), std::string::npos);
  EXPECT_FALSE(box->unseal("B", sealed));
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(box->unseal("A", changed)) << at;
  }
  for (std::size_t size = 0; size < sealed.size(); ++size) EXPECT_FALSE(box->unseal("A", sealed.substr(0, size)));
  const ScratchDirectory other;
  EXPECT_EQ(open(other)->unseal("A", sealed).error().code, ErrorCode::InvalidArgument);
}

TEST(SecretBox, ItsKeyIsPrivateAndWhole) {
  const ScratchDirectory scratch;
  open(scratch);
  struct stat status {};
  ASSERT_EQ(::stat(scratch.at("key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  ASSERT_EQ(::chmod(scratch.at("key").c_str(), 0644), 0);
  EXPECT_FALSE(SecretBox::open(scratch.at("key"))) << "others may have read it";
  ASSERT_EQ(::chmod(scratch.at("key").c_str(), 0600), 0);
  std::ofstream{scratch.at("key")} << "short";
  EXPECT_NE(to_string(SecretBox::open(scratch.at("key")).error()).find("backup"), std::string::npos);
}

}  // namespace
}  // namespace penstock
