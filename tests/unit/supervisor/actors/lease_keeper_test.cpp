#include "supervisor/actors/lease_keeper.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>

#include "common/host/clock.hpp"
#include "tests/support/scratch_directory.hpp"

namespace penstock::supervisor {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<FileLease> claim(const ScratchDirectory& directory, LeaseWatch* watch = nullptr) {
  Result<std::unique_ptr<FileLease>> lease = FileLease::claim(directory.path(), "somebody", watch, monotonic_now());
  return lease ? std::move(lease).value() : nullptr;
}

/// Waits until a standby has it.
std::unique_ptr<FileLease> take_over(const ScratchDirectory& directory, Duration patience) {
  LeaseWatch watch{patience};
  const Instant end = monotonic_now() + std::chrono::seconds{20};
  std::unique_ptr<FileLease> lease;
  while (lease == nullptr && monotonic_now() < end) lease = claim(directory, &watch);
  return lease;
}

TEST(LeaseKeeper, OneWhoseLoopHasStoppedIsReplacedAndIsToldSo) {
  const ScratchDirectory directory;
  LeaseKeeper keeper{claim(directory), milliseconds{200}};
  std::promise<Error> lost;
  keeper.when_lost([&](const Error& error) { lost.set_value(error); });
  keeper.expect_beats();  // And none comes.
  const auto next = take_over(directory, milliseconds{200});
  ASSERT_NE(next, nullptr);
  std::future<Error> told = lost.get_future();
  ASSERT_EQ(told.wait_for(std::chrono::seconds{20}), std::future_status::ready);
  EXPECT_EQ(told.get().code, ErrorCode::StorageLocked);
  EXPECT_FALSE(keeper.check().has_value());
}

TEST(LeaseKeeper, OneThatIsReadingItsJournalKeepsTheLease) {
  const ScratchDirectory directory;
  LeaseKeeper keeper{claim(directory), milliseconds{200}};
  LeaseWatch watch{milliseconds{200}};
  const auto renewals = [&] {
    const std::string content = directory.read("lease-1");
    return std::strtol(content.c_str() + content.find('\n') + 1, nullptr, 10);
  };
  while (renewals() < 30) ASSERT_EQ(claim(directory, &watch), nullptr);  // Three times the duration.
  EXPECT_TRUE(keeper.check().has_value());
}

TEST(LeaseKeeper, WhoeverAsksAfterTheLossIsToldAtOnce) {
  const ScratchDirectory directory;
  LeaseKeeper keeper{claim(directory), std::chrono::hours{1}};
  const auto next = take_over(directory, milliseconds{0});
  ASSERT_FALSE(keeper.check().has_value());
  bool told = false;
  keeper.when_lost([&](const Error&) { told = true; });
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace penstock::supervisor
