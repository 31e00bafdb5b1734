#include "common/security/private_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

TEST(PrivateFile, OnlyItsOwnerMayReadIt) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(make_private_directory(scratch.at("a/b")));
  const std::string path = scratch.at("a/b/key");
  ASSERT_TRUE(write_private_file(path, "first"));
  ASSERT_TRUE(write_private_file(path, "second"));
  EXPECT_EQ(*read_private_file(path), "second");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(scratch.at("a/b")).permissions(), fs::perms::owner_all);
  EXPECT_EQ(std::distance(fs::directory_iterator{scratch.at("a/b")}, fs::directory_iterator{}), 1)
      << "no draft is left";
}

TEST(PrivateFile, OneThatOthersMayReadIsRefused) {
  const ScratchDirectory scratch;
  const std::string path = scratch.at("key");
  ASSERT_TRUE(write_private_file(path, "secret"));
  fs::permissions(path, fs::perms::group_read, fs::perm_options::add);
  const Result<std::string> read = read_private_file(path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(read.error().remedy.find("chmod 600"), std::string::npos);
}

TEST(PrivateFile, OneThatIsNotThereOrNoFileIsTold) {
  const ScratchDirectory scratch;
  EXPECT_EQ(read_private_file(scratch.at("none")).error().code, ErrorCode::NotFound);
  ASSERT_EQ(::mkfifo(scratch.at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_private_file(scratch.at("pipe")).error().code, ErrorCode::InvalidArgument) << "and it does not hang";
  scratch.write("large", std::string((1 << 20) + 1, 'x'));
  fs::permissions(scratch.at("large"), fs::perms::owner_read);
  EXPECT_EQ(read_private_file(scratch.at("large")).error().code, ErrorCode::InvalidArgument);
}

TEST(PrivateFile, ADirectoryIsListedInOrderAndOneThatIsNotThereIsEmpty) {
  const ScratchDirectory scratch;
  for (const char* name : {"b", "c", "a"}) scratch.write(name, "");
  EXPECT_EQ(names_in(scratch.path()), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(names_in(scratch.at("none")).empty());
  EXPECT_TRUE(names_in(scratch.at("a")).empty()) << "a file";
}

TEST(PrivateFile, ADirectoryThatOthersMayWriteToIsRefused) {
  const ScratchDirectory scratch;
  ASSERT_TRUE(make_private_directory(scratch.at("open")));
  fs::permissions(scratch.at("open"), fs::perms::all);
  EXPECT_EQ(make_private_directory(scratch.at("open")).error().code, ErrorCode::InvalidArgument);
  scratch.write("file", "");
  EXPECT_FALSE(make_private_directory(scratch.at("file")));
}

}  // namespace
}  // namespace penstock
