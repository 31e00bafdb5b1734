#include "worker/runner/command/checkpoint_directory.hpp"

#include <gtest/gtest.h>

#include "tests/support/scratch_directory.hpp"

namespace penstock::worker {
namespace {

TEST(CheckpointDirectory, IsTheSameForEveryAttemptAndGoesWithSuccess) {
  const ScratchDirectory shared;
  Template program;
  program.runner = RunnerKind::Command;
  const SubtaskId id{JobId{3}, SubtaskIndex{7}};
  EXPECT_EQ(open_checkpoint_directory(shared.path(), program, id), "") << "no policy is in force";
  program.environment = {"A=b", "PENSTOCK_CHECKPOINT_KEY=job-3.17"};
  EXPECT_EQ(open_checkpoint_directory("", program, id), "") << "nothing is shared";
  const std::string directory = open_checkpoint_directory(shared.path(), program, id);
  EXPECT_EQ(directory, shared.at("attempts/job-3.17/7"));
  EXPECT_FALSE(has_saved_state(directory));
  std::ofstream{directory + "/state"} << "half";
  EXPECT_TRUE(has_saved_state(directory));
  EXPECT_EQ(open_checkpoint_directory(shared.path(), program, id), directory);
  EXPECT_EQ(shared.read("attempts/job-3.17/7/state"), "half");
  remove_checkpoint_directory(directory);
  EXPECT_FALSE(has_saved_state(directory)) << "it is gone";
  EXPECT_FALSE(std::filesystem::exists(shared.at("attempts/job-3.17")));
}

TEST(CheckpointDirectory, AKeyThatLeadsElsewhereIsNotFollowed) {
  const ScratchDirectory shared;
  Template program;
  program.runner = RunnerKind::Command;
  for (const char* key : {"", "..", "../x", "a/b", "/etc", "job-1.1/..", "job-2.1", "job-11.1", "job-1"}) {
    program.environment = {std::string{"PENSTOCK_CHECKPOINT_KEY="} + key};
    EXPECT_EQ(open_checkpoint_directory(shared.path(), program, {JobId{1}, SubtaskIndex{1}}), "") << key;
  }
}

}  // namespace
}  // namespace penstock::worker
