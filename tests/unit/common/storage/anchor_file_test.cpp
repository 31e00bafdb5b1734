#include "common/storage/anchor_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

Anchor anchor_of(std::uint64_t number) {
  Anchor anchor;
  anchor.number = number;
  anchor.chain = number * 7;
  anchor.doubled = {{"h", "head"}};
  anchor.batch = "batch " + std::to_string(number);
  return anchor;
}

void flip(const std::string& path, std::uintmax_t at) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 1));
}

TEST(AnchorFile, WhatWasWrittenLastIsFound) {
  const ScratchDirectory directory;
  EXPECT_FALSE(AnchorFile::read(directory.path()).exists);
  const auto file = AnchorFile::open(directory.path(), anchor_of(1));
  ASSERT_TRUE(file.has_value()) << to_string(file.error());
  ASSERT_TRUE((*file)->write(anchor_of(2)).has_value());
  (*file)->begin_write(anchor_of(3));
  ASSERT_TRUE((*file)->finish_write().has_value());
  const AnchorFile::Found found = AnchorFile::read(directory.path());
  ASSERT_TRUE(found.anchor.has_value());
  EXPECT_EQ(found.anchor->number, 3U);
  EXPECT_EQ(found.anchor->chain, 21U);
  EXPECT_EQ(found.anchor->doubled.at("h"), "head");
  EXPECT_EQ(found.anchor->batch, "batch 3");
  EXPECT_FALSE(found.anchor->rewritten);
}

TEST(AnchorFile, WhatASalvageHasLostIsFound) {
  const ScratchDirectory directory;
  Anchor salvaged = anchor_of(1);
  SalvageLoss& untold = salvaged.untold.emplace();
  untold.gaps = 2;
  untold.commits_lost = 3;
  untold.end_unknown = true;
  const auto file = AnchorFile::open(directory.path(), salvaged);
  ASSERT_TRUE(file.has_value()) << to_string(file.error());
  const std::optional<Anchor> found = AnchorFile::read(directory.path()).anchor;
  ASSERT_TRUE(found.has_value() && found->untold.has_value());
  EXPECT_EQ(found->batch, "batch 1");
  EXPECT_EQ(found->untold->gaps, 2U);
  EXPECT_EQ(found->untold->commits_lost, 3U);
  EXPECT_TRUE(found->untold->end_unknown);
  ASSERT_TRUE((*file)->write(anchor_of(2)).has_value());
  EXPECT_FALSE(AnchorFile::read(directory.path()).anchor->untold.has_value());
}

TEST(AnchorFile, ATornWriteLeavesTheOneBefore) {
  const ScratchDirectory directory;
  {
    const auto file = AnchorFile::open(directory.path(), anchor_of(1));
    ASSERT_TRUE((*file)->write(anchor_of(2)).has_value());
    ASSERT_TRUE((*file)->write(anchor_of(3)).has_value());
  }
  const std::string path = directory.at("ANCHOR");
  const std::string good = directory.read("ANCHOR");
  for (const std::uintmax_t at : {1U, 9U, 17U, 30U, 60U, 110U})
    for (const std::uintmax_t slot : {0U, 32768U}) {
      directory.write("ANCHOR", good);
      flip(path, slot + at);
      const AnchorFile::Found found = AnchorFile::read(directory.path());
      ASSERT_TRUE(found.anchor.has_value()) << at;
      EXPECT_TRUE(found.anchor->number == 2 || found.anchor->number == 3) << at;
    }
}

TEST(AnchorFile, WhatIsTakenBackIsNotFoundAnyMore) {
  const ScratchDirectory directory;
  const auto file = AnchorFile::open(directory.path(), anchor_of(1));
  ASSERT_TRUE((*file)->write(anchor_of(2)).has_value());
  ASSERT_TRUE((*file)->take_back(anchor_of(1)).has_value());
  EXPECT_EQ(AnchorFile::read(directory.path()).anchor->number, 1U);
  ASSERT_TRUE((*file)->write(anchor_of(2)).has_value());
  EXPECT_EQ(AnchorFile::read(directory.path()).anchor->number, 2U);
}

TEST(AnchorFile, WhateverItsBytesAreItIsReadOrRefused) {
  const ScratchDirectory directory;
  ASSERT_TRUE(AnchorFile::open(directory.path(), anchor_of(1)).has_value());
  const std::string path = directory.at("ANCHOR");
  for (std::uintmax_t bytes = 0; bytes < 200; ++bytes) {
    std::filesystem::resize_file(path, bytes);
    const AnchorFile::Found found = AnchorFile::read(directory.path());
    EXPECT_TRUE(found.exists);
    EXPECT_TRUE(!found.anchor || found.anchor->number == 1) << bytes;
  }
}

TEST(AnchorFile, ABatchThatIsTooLargeDoesNotFit) {
  Anchor anchor = anchor_of(1);
  EXPECT_TRUE(AnchorFile::fits(anchor));
  anchor.batch = std::string(32768, 'x');
  EXPECT_FALSE(AnchorFile::fits(anchor));
}

}  // namespace
}  // namespace penstock
