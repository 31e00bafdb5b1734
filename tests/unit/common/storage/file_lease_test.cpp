#include "common/storage/file_lease.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/scratch_directory.hpp"

namespace penstock {
namespace {

using std::chrono::seconds;

constexpr Instant kBegin = Instant{} + std::chrono::hours{1};

std::unique_ptr<FileLease> must_claim(const ScratchDirectory& directory, LeaseWatch* watch = nullptr,
                                      Instant now = kBegin) {
  Result<std::unique_ptr<FileLease>> lease = FileLease::claim(directory.path(), "somebody", watch, now);
  EXPECT_TRUE(lease.has_value()) << to_string(lease.error());
  return lease ? std::move(lease).value() : nullptr;
}

TEST(FileLease, ASecondOneIsToldWhoHasIt) {
  const ScratchDirectory directory;
  const auto first = must_claim(directory);
  const auto second = FileLease::claim(directory.path(), "host h process 8", nullptr, kBegin);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::StorageLocked);
  EXPECT_NE(second.error().message.find("somebody"), std::string::npos);
  EXPECT_TRUE(first->is_held());
}

TEST(FileLease, ThatOfOneWhoIsGoneIsTakenAtOnceWithAHigherNumber) {
  const ScratchDirectory directory;
  auto first = must_claim(directory);
  const std::uint64_t number = first->number();
  first.reset();
  const auto second = must_claim(directory);
  EXPECT_EQ(second->number(), number + 1);
  EXPECT_FALSE(second->is_contested());
}

TEST(FileLease, ThatOfOneWhoIsSilentIsTakenWhenTheWatchLosesPatienceAndTheSilentOneFindsOut) {
  const ScratchDirectory directory;
  const auto first = must_claim(directory);
  LeaseWatch watch{seconds{10}};
  for (int second = 0; second < 10; second += 2)
    EXPECT_FALSE(FileLease::claim(directory.path(), "b", &watch, kBegin + seconds{second}).has_value()) << second;
  const auto second = must_claim(directory, &watch, kBegin + seconds{10});
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(second->is_contested());
  EXPECT_FALSE(first->is_held());
  EXPECT_FALSE(first->renew().has_value());
  second->settle();
  EXPECT_FALSE(first->is_held());
  EXPECT_TRUE(second->is_held());
  EXPECT_EQ(first->check().error().code, ErrorCode::StorageLocked);
}

TEST(FileLease, WhoHasSleptHimselfDoesNotTakeItOverOnWaking) {
  const ScratchDirectory directory;
  const auto first = must_claim(directory);
  LeaseWatch watch{seconds{10}};
  EXPECT_FALSE(FileLease::claim(directory.path(), "b", &watch, kBegin).has_value());
  EXPECT_FALSE(FileLease::claim(directory.path(), "b", &watch, kBegin + std::chrono::hours{1}).has_value());
  EXPECT_TRUE(first->is_held());
}

TEST(FileLease, WhoRenewsIsLetBeHoweverLongItIsWatched) {
  const ScratchDirectory directory;
  const auto first = must_claim(directory);
  LeaseWatch watch{seconds{10}};
  for (int second = 0; second < 60; second += 5) {
    EXPECT_FALSE(FileLease::claim(directory.path(), "b", &watch, kBegin + seconds{second}).has_value());
    EXPECT_TRUE(first->renew().has_value());
  }
  EXPECT_TRUE(first->is_held());
}

// The process that took over was killed while the process that hangs could still reach the state.
TEST(FileLease, AThirdOneKnowsThatTheFirstMayStillLive) {
  const ScratchDirectory directory;
  const auto first = must_claim(directory);
  LeaseWatch watch{seconds{0}};
  must_claim(directory, &watch).reset();
  const auto third = must_claim(directory);
  EXPECT_TRUE(third->is_contested());
  EXPECT_FALSE(first->is_held());
  third->settle();
  EXPECT_FALSE(first->is_held()) << "its number is not given again";
}

// The caller was told that a process which had long ended holds the directory.
TEST(FileLease, ADirectoryThatCannotBeWrittenToBlamesNobody) {
  const auto refused = FileLease::claim("/proc/self", "b", nullptr, kBegin);  // Not even by root.
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(refused.error().message.find("cannot be written to"), std::string::npos);
}

}  // namespace
}  // namespace penstock
