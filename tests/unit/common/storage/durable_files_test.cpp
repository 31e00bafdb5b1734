#include "common/storage/durable_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

void make(const ScratchDirectory& scratch, const std::string& name, const std::string& content) {
  fs::create_directories(scratch.at(name));
  scratch.write(name + "/data", content);
}

TEST(ReplaceDirectory, TheNewOneIsInItsPlaceAndTheOldOneBesideIt) {
  const ScratchDirectory scratch;
  make(scratch, "d", "old");
  make(scratch, "d.new", "new");
  const Result<std::string> kept = replace_directory(scratch.at("d"), "damaged");
  ASSERT_TRUE(kept.has_value()) << to_string(kept.error());
  EXPECT_EQ(*kept, scratch.at("d.damaged-1"));
  EXPECT_EQ(scratch.read("d/data"), "new");
  EXPECT_EQ(scratch.read("d.damaged-1/data"), "old");
  EXPECT_FALSE(fs::exists(scratch.at("d.new")));
  EXPECT_FALSE(fs::exists(scratch.at("d/REPLACES")));
}

// Each state in which a kill can leave the two directories, made by hand: the content in place is the old or the new
// one.
TEST(FinishReplacement, AKillAtAnyStepLeavesTheOldOrTheNew) {
  {
    const ScratchDirectory scratch;  // While the fresh one was being made.
    make(scratch, "d", "old");
    make(scratch, "d.new", "half");
    ASSERT_TRUE(finish_replacement(scratch.at("d")).has_value());
    EXPECT_EQ(scratch.read("d/data"), "old");
    EXPECT_FALSE(fs::exists(scratch.at("d.new")));
  }
  {
    const ScratchDirectory scratch;  // Complete, and not exchanged yet.
    make(scratch, "d", "old");
    make(scratch, "d.new", "new");
    scratch.write("d.new/REPLACES", "damaged\n");
    ASSERT_TRUE(finish_replacement(scratch.at("d")).has_value());
    EXPECT_EQ(scratch.read("d/data"), "old");
    EXPECT_FALSE(fs::exists(scratch.at("d.new")));
  }
  {
    const ScratchDirectory scratch;  // Exchanged.
    make(scratch, "d", "new");
    scratch.write("d/REPLACES", "damaged\n");
    make(scratch, "d.new", "old");
    ASSERT_TRUE(finish_replacement(scratch.at("d")).has_value());
    EXPECT_EQ(scratch.read("d/data"), "new");
    EXPECT_EQ(scratch.read("d.damaged-1/data"), "old");
  }
  {
    const ScratchDirectory scratch;  // Put aside, too.
    make(scratch, "d", "new");
    scratch.write("d/REPLACES", "damaged\n");
    ASSERT_TRUE(finish_replacement(scratch.at("d")).has_value());
    EXPECT_EQ(scratch.read("d/data"), "new");
    EXPECT_FALSE(fs::exists(scratch.at("d/REPLACES")));
  }
  {
    const ScratchDirectory scratch;  // Between the two steps of a file system that cannot exchange.
    make(scratch, "d.damaged-1", "old");
    make(scratch, "d.new", "new");
    scratch.write("d.new/REPLACES", "damaged\n");
    ASSERT_TRUE(finish_replacement(scratch.at("d")).has_value());
    EXPECT_EQ(scratch.read("d/data"), "new");
  }
}

// 0.1.0 renamed twice, and its next start made an empty state.
TEST(FinishReplacement, ASalvageThatAnOlderVersionHasLeftHalfDoneIsEnded) {
  const ScratchDirectory scratch;
  make(scratch, "d.damaged-1", "old");
  make(scratch, "d.salvaged", "new");
  ASSERT_TRUE(finish_replacement(scratch.at("d")).has_value());
  EXPECT_EQ(scratch.read("d/data"), "new");
}

TEST(CopyDirectory, LocksStayAwayAndTablesAreShared) {
  const ScratchDirectory scratch;
  make(scratch, "d", "data");
  for (const char* name : {"d/LOCK", "d/OWNER", "d/OWNER.LOCK", "d/000001.sst"}) scratch.write(name, name);
  ASSERT_TRUE(copy_directory(scratch.at("d"), scratch.at("copy"), Share::Tables).has_value());
  EXPECT_EQ(scratch.read("copy/data"), "data");
  EXPECT_EQ(fs::hard_link_count(scratch.at("copy/000001.sst")), 2U);
  EXPECT_EQ(fs::hard_link_count(scratch.at("copy/data")), 1U);
  EXPECT_FALSE(fs::exists(scratch.at("copy/LOCK")));
  ASSERT_TRUE(copy_directory(scratch.at("d"), scratch.at("own"), Share::Nothing).has_value());
  EXPECT_EQ(fs::hard_link_count(scratch.at("own/000001.sst")), 1U);
}

TEST(OrphanOpenFiles, WhatIsWrittenToAnOpenFileDoesNotReachItAnyMore) {
  const ScratchDirectory scratch;
  make(scratch, "d", "before ");
  scratch.write("d/LOCK", "");
  std::ofstream open{scratch.at("d/data"), std::ios::app};
  ASSERT_TRUE(orphan_open_files(scratch.at("d")).has_value());
  open << "after" << std::flush;
  EXPECT_EQ(scratch.read("d/data"), "before ");
  EXPECT_FALSE(fs::exists(scratch.at("d/LOCK")));
}

}  // namespace
}  // namespace penstock
