// Backups of a state that is being written to, and what comes of putting them back.
#include "supervisor/actors/state_copies.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "supervisor/actors/state_directory.hpp"
#include "tests/chaos/journal_maker.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::supervisor {
namespace {

namespace fs = std::filesystem;

void accept(Storage& storage, std::uint32_t job, std::uint32_t job_bytes) {
  const Graph graph = made_graph(job, {1, job_bytes});
  JobSpec spec;
  spec.name = "made-" + std::to_string(job);
  StorageBatch batch;
  write_record(record::JobAccepted{JobId{job}, spec, &graph, job}, 0, batch);
  ASSERT_TRUE(storage.commit(batch, Sync::Yes).has_value());
}

std::uint64_t jobs_in(const std::string& directory) {
  const Result<OpenJournal> opened = open_state_directory({directory});
  EXPECT_TRUE(opened.has_value()) << to_string(opened.error());
  return opened ? opened->recovered.state.jobs.size() : 0;
}

class StateCopies : public ::testing::Test {
 protected:
  /// A state with so many jobs, which nobody holds.
  void make(const std::string& name, std::uint32_t jobs) {
    const Result<OpenJournal> opened = open_state_directory({scratch.at(name)});
    ASSERT_TRUE(opened.has_value()) << to_string(opened.error());
    for (std::uint32_t job = 1; job <= jobs; ++job) accept(*opened->storage, job, 100);
  }
  const ScratchDirectory scratch;
};

TEST_F(StateCopies, ABackupOfAStateInUseHasAllThatWasPromisedWhenItBegan) {
  const Result<OpenJournal> opened = open_state_directory({scratch.at("state")});
  ASSERT_TRUE(opened.has_value()) << to_string(opened.error());
  std::atomic<std::uint32_t> promised{0};
  std::atomic<bool> ending{false};
  constexpr std::uint32_t kJobs = 200;
  // Large enough that logs end and files are merged meanwhile.
  std::thread writer{[&] {
    for (std::uint32_t job = 1; !ending && job <= kJobs; ++job) {
      accept(*opened->storage, job, 200'000);
      promised = job;
    }
  }};
  for (std::uint32_t round = 1; round <= 4; ++round) {
    while (promised < round * kJobs / 5) std::this_thread::yield();
    const std::uint32_t before = promised;
    const std::string backup = scratch.at("backup-" + std::to_string(round));
    const Result<StateSummary> made = back_up_state(scratch.at("state"), backup);
    EXPECT_TRUE(made.has_value()) << to_string(made.error());
    if (!made) break;
    EXPECT_GE(made->jobs, before);
    EXPECT_EQ(jobs_in(backup), made->jobs);
    const Result<StateSummary> verified = verify_state(scratch.at("state"));
    EXPECT_TRUE(verified.has_value()) << to_string(verified.error());
  }
  ending = true;
  writer.join();
  for (const auto& entry : fs::directory_iterator{scratch.at("state")})
    EXPECT_EQ(entry.path().filename().string().find(".copy-"), std::string::npos) << entry.path();
}

TEST_F(StateCopies, WhatIsRestoredIsAnotherBranchAndWhatWasThereIsKept) {
  make("state", 3);
  ASSERT_TRUE(back_up_state(scratch.at("state"), scratch.at("backup")).has_value());
  JournalIdentity before;
  {
    const Result<OpenJournal> opened = open_state_directory({scratch.at("state")});
    before = opened->recovered.identity;
    accept(*opened->storage, 4, 100);
    const Result<RestoredState> refused = restore_state(scratch.at("backup"), scratch.at("state"));
    ASSERT_FALSE(refused.has_value()) << "somebody has it";
    EXPECT_EQ(refused.error().code, ErrorCode::StorageLocked);
  }
  const Result<RestoredState> restored = restore_state(scratch.at("backup"), scratch.at("state"));
  ASSERT_TRUE(restored.has_value()) << to_string(restored.error());
  EXPECT_TRUE(fs::exists(restored->kept + "/ANCHOR"));
  const Result<OpenJournal> opened = open_state_directory({scratch.at("state")});
  ASSERT_TRUE(opened.has_value()) << to_string(opened.error());
  EXPECT_EQ(opened->recovered.state.jobs.size(), 3U);
  EXPECT_EQ(opened->recovered.identity.state, before.state);
  EXPECT_NE(opened->recovered.identity.branch, before.branch);
}

TEST_F(StateCopies, ARestoredStateGoesOnAsOneBranch) {
  make("state", 1);
  ASSERT_TRUE(back_up_state(scratch.at("state"), scratch.at("backup")).has_value());
  ASSERT_TRUE(restore_state(scratch.at("backup"), scratch.at("elsewhere")).has_value());
  std::uint64_t branch = 0;
  for (int life = 0; life < 2; ++life) {
    const Result<OpenJournal> opened = open_state_directory({scratch.at("elsewhere")});
    ASSERT_TRUE(opened.has_value()) << to_string(opened.error());
    EXPECT_TRUE(life == 0 || opened->recovered.identity.branch == branch);
    branch = opened->recovered.identity.branch;
  }
}

TEST_F(StateCopies, ADamagedBackupIsRefusedAndTheStateIsAsItWas) {
  make("state", 3);
  ASSERT_TRUE(back_up_state(scratch.at("state"), scratch.at("backup")).has_value());
  fs::remove(scratch.at("backup/journal/ANCHOR"));
  const Result<RestoredState> refused = restore_state(scratch.at("backup"), scratch.at("state"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::StorageDamaged);
  EXPECT_EQ(jobs_in(scratch.at("state")), 3U);
}

TEST_F(StateCopies, ADamagedStateIsNoBackup) {
  make("state", 3);
  fs::remove(scratch.at("state/journal/CURRENT"));
  EXPECT_EQ(verify_state(scratch.at("state")).error().code, ErrorCode::StorageDamaged);
  EXPECT_FALSE(back_up_state(scratch.at("state"), scratch.at("backup")).has_value());
  EXPECT_FALSE(fs::exists(scratch.at("backup")));
  EXPECT_EQ(verify_state(scratch.at("nothing")).error().code, ErrorCode::NotFound);
}

TEST_F(StateCopies, ABackupDoesNotReplaceAnother) {
  make("state", 1);
  ASSERT_TRUE(back_up_state(scratch.at("state"), scratch.at("backup")).has_value());
  EXPECT_EQ(back_up_state(scratch.at("state"), scratch.at("backup")).error().code, ErrorCode::InvalidArgument);
}

TEST_F(StateCopies, TheListNamesStatesBackupsAndWhatWasPutAside) {
  make("state", 2);
  ASSERT_TRUE(back_up_state(scratch.at("state"), scratch.at("backup")).has_value());
  ASSERT_TRUE(restore_state(scratch.at("backup"), scratch.at("state")).has_value());
  std::vector<std::string> names;
  for (const StateSummary& summary : list_states(scratch.path())) {
    names.push_back(fs::path{summary.path}.filename());
    EXPECT_EQ(summary.next_job, JobId{3}) << summary.path;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"backup", "state"}));
  EXPECT_EQ(list_states(scratch.at("state")).size(), 2U) << "the state, and what it replaced";
}

}  // namespace
}  // namespace penstock::supervisor
