#include "worker/core/band/runner_kinds.hpp"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

Template python() {
  Template program;
  program.runner = RunnerKind::Process;
  program.program = "python";
  return program;
}

TEST(RunnerKinds, ProgramArgumentsEnvironmentAndDirectoryTellKindsApartAndTheFunctionDoesNot) {
  const std::uint64_t kind = runner_kind_of(python());
  EXPECT_NE(kind, 0U);
  Template other = python();
  other.name = other.payload = "a function";
  other.request.memory = kGiB;
  EXPECT_EQ(runner_kind_of(other), kind);
  other.program = "pypy";
  EXPECT_NE(runner_kind_of(other), kind);
  other = python();
  other.arguments = {"-O"};
  EXPECT_NE(runner_kind_of(other), kind);
  other = python();
  other.environment = {"-O"};
  EXPECT_NE(runner_kind_of(other), kind);
  other = python();
  other.working_directory = "/tmp";
  EXPECT_NE(runner_kind_of(other), kind);
}

TEST(RunnerKinds, WhatNeedsNoProcessHasNone) {
  Template program = python();
  program.runner = RunnerKind::Native;
  EXPECT_EQ(runner_kind_of(program), 0U);
  program.runner = RunnerKind::Command;
  EXPECT_EQ(runner_kind_of(program), 0U);
}

TEST(RunnerKinds, AreOrderedOnceForEachLane) {
  RunnerKinds kinds{4};
  EXPECT_FALSE(kinds.order(1, 0));
  EXPECT_TRUE(kinds.order(1, 2));
  EXPECT_FALSE(kinds.order(1, 2));
  EXPECT_FALSE(kinds.order(1, 1));
  EXPECT_TRUE(kinds.order(1, 3));
  EXPECT_TRUE(kinds.order(2, 1));
}

TEST(RunnerKinds, TheOneNotAskedForLongestMakesRoom) {
  RunnerKinds kinds{2};
  EXPECT_TRUE(kinds.order(1, 1));
  EXPECT_TRUE(kinds.order(2, 1));
  EXPECT_FALSE(kinds.order(1, 1));
  EXPECT_TRUE(kinds.order(3, 1));
  EXPECT_FALSE(kinds.order(1, 1));
  EXPECT_TRUE(kinds.order(2, 1)) << "it had made room for the third";
}

TEST(RunnerKinds, AreOrderedAgainWhenTheyAreGone) {
  RunnerKinds kinds{2};
  EXPECT_TRUE(kinds.order(1, 1));
  kinds.forget();
  EXPECT_TRUE(kinds.order(1, 1));
}

}  // namespace
}  // namespace penstock::worker
